/* SPDX-License-Identifier: MIT */
/*
 * Suite sync: robust mutexes between processes (src/sync/shared_robust.c). As in sync_shared.c,
 * another process looks like a foreign kernel thread. In the simulator only: the native API has
 * none. That the real kernel finds the mutexes of a process that is killed: tests/posix/killed.c.
 */
#include "sync_tests.h"

#ifdef PIRN_SIM
#include "../../src/sync/shared.h"
#include "sim.h"

#define FOREIGN 2
#define USERS 4
#define MUTEXES 2

struct things {
    struct rt_shmutex mutex[MUTEXES];
    struct rt_cond cond;
    struct room room;
    int left, died, told, lost, turn;
};

/* 0, or the error of an attempt that may fail. A mutex whose owner has ended is repaired. */
static int get(struct things *s, struct rt_shmutex *m)
{
    struct rt_shared_limit limit = {.deadline = test_after(test_random(1500))};
    bool timed = test_random(2) != 0;
    int error = test_random(5) ? rt_robust_lock(m, timed ? &limit : NULL) : rt_robust_trylock(m);
    if (error == -EOWNERDEAD) {
        TEST_ADD(&s->told, 1);
        CHECK(rt_robust_is_mine(m) && rt_robust_consistent(m) == 0);
        CHECK(rt_robust_consistent(m) == -EINVAL);
        error = 0;
    }
    CHECK(error == 0 || error == -EBUSY ||
          (error == -ETIMEDOUT && timed && pirn_now() >= limit.deadline));
    CHECK(rt_robust_is_mine(m) == (error == 0));
    return error;
}

static void visit(struct things *s)
{
    if (get(s, &s->mutex[0]) == 0) {
        room_visit(&s->room);
        rt_robust_unlock(&s->mutex[0]);
    }
}

static void foreign_visits(void *arg)
{
    struct things *s = arg;
    for (int i = 0; i < 3; i++) {
        visit(s);
    }
    TEST_ADD(&s->left, -1);
}

/* Some end with the mutex. */
static void *user_visits(void *arg)
{
    struct things *s = arg;
    for (int i = 0; i < 3; i++) {
        visit(s);
    }
    if (test_random(2) != 0 && get(s, &s->mutex[0]) == 0) {
        room_visit(&s->room);
        TEST_ADD(&s->died, 1);
    }
    return NULL;
}

void test_robust_shared_mutex_excludes_when_owners_end(void *unused)
{
    (void)unused;
    struct things s = {.left = FOREIGN};
    pirn_thread_t t[USERS];
    for (int i = 0; i < USERS; i++) {
        t[i] = test_spawn(user_visits, &s);
    }
    for (int i = 0; i < FOREIGN; i++) {
        test_foreign(foreign_visits, &s);
    }
    for (int i = 0; i < USERS; i++) {
        test_end(t[i]);
    }
    test_await_zero(&s.left);
    int error = rt_robust_lock(&s.mutex[0], NULL);
    CHECK(error == (s.told == s.died ? 0 : -EOWNERDEAD));
    CHECK(s.told + (error != 0) == s.died);
    rt_robust_consistent(&s.mutex[0]);
    rt_robust_unlock(&s.mutex[0]);
    CHECK(rt_robust_is_free(&s.mutex[0]) && s.mutex[0].users == 0);
}

/* Looks as the kernel would if the process ended at this moment. */
static void kernel_looks(void *arg)
{
    struct things *s = arg;
    while (TEST_GET(&s->turn) == 0) {
        for (int i = 0; i < MUTEXES; i++) {
            CHECK(sim_robust_finds(&s->mutex[i].word, &s->mutex[i].next));
        }
        test_pause();
    }
    TEST_ADD(&s->left, -1);
}

static void *takes_both(void *arg)
{
    struct things *s = arg;
    for (int i = 0; i < 3; i++) {
        int first = (int)test_random(MUTEXES);
        if (get(s, &s->mutex[first]) != 0) {
            continue;
        }
        pirn_yield(); /* perhaps it goes on on another kernel thread */
        int error = rt_robust_trylock(&s->mutex[!first]);
        pirn_yield();
        if (test_random(2) != 0) {
            rt_robust_unlock(&s->mutex[first]);
        }
        if (error == 0 || error == -EOWNERDEAD) {
            rt_robust_consistent(&s->mutex[!first]);
            rt_robust_unlock(&s->mutex[!first]);
        }
        if (rt_robust_is_mine(&s->mutex[first])) {
            rt_robust_unlock(&s->mutex[first]);
        }
    }
    return NULL;
}

void test_robust_shared_mutex_is_found_when_process_ends(void *unused)
{
    (void)unused;
    struct things s = {.left = 1};
    pirn_thread_t t[USERS];
    test_foreign(kernel_looks, &s);
    for (int i = 0; i < USERS; i++) {
        t[i] = test_spawn(takes_both, &s);
    }
    for (int i = 0; i < USERS; i++) {
        test_end(t[i]);
    }
    TEST_SET(&s.turn, 1);
    test_await_zero(&s.left);
}

static void *ends_with_it(void *arg)
{
    struct things *s = arg;
    CHECK(rt_robust_lock(&s->mutex[0], NULL) == 0);
    return NULL;
}

static void *finds_it_lost(void *arg)
{
    struct things *s = arg;
    int error = rt_robust_lock(&s->mutex[0], NULL);
    CHECK(error == -ENOTRECOVERABLE || error == -EOWNERDEAD);
    if (error == -EOWNERDEAD) {
        TEST_ADD(&s->told, 1);
        pirn_yield();
        rt_robust_unlock(&s->mutex[0]); /* not repaired */
    } else {
        TEST_ADD(&s->lost, 1);
    }
    return NULL;
}

static void foreign_finds_it_lost(void *arg)
{
    finds_it_lost(arg);
    TEST_ADD(&((struct things *)arg)->left, -1);
}

void test_robust_shared_mutex_is_lost_when_not_repaired(void *unused)
{
    (void)unused;
    struct things s = {.left = FOREIGN};
    pirn_thread_t t[USERS];
    test_end(test_spawn(ends_with_it, &s));
    for (int i = 0; i < FOREIGN; i++) {
        test_foreign(foreign_finds_it_lost, &s);
    }
    for (int i = 0; i < USERS; i++) {
        t[i] = test_spawn(finds_it_lost, &s);
    }
    for (int i = 0; i < USERS; i++) {
        test_end(t[i]);
    }
    test_await_zero(&s.left);
    CHECK(s.told == 1 && s.lost == USERS + FOREIGN - 1);
    CHECK(rt_robust_trylock(&s.mutex[0]) == -ENOTRECOVERABLE);
    CHECK(rt_robust_is_free(&s.mutex[0]));
}

void test_robust_shared_mutex_times_out_when_held(void *unused)
{
    (void)unused;
    struct things s = {0};
    struct rt_shared_limit limit = {.deadline = test_after(test_random(1000))};
    CHECK(rt_robust_trylock(&s.mutex[0]) == 0);
    CHECK(rt_robust_trylock(&s.mutex[0]) == -EBUSY);
    CHECK(rt_robust_lock(&s.mutex[0], &limit) == -ETIMEDOUT);
    CHECK(pirn_now() >= limit.deadline && rt_robust_consistent(&s.mutex[0]) == -EINVAL);
    rt_robust_unlock(&s.mutex[0]);
    CHECK(!rt_robust_is_mine(&s.mutex[0]));
    CHECK(rt_robust_lock(&s.mutex[0], &limit) == 0);
    rt_robust_unlock(&s.mutex[0]);
}

static void release(struct cpu *cpu, void *m)
{
    (void)cpu;
    rt_robust_unlock_irqoff(m);
}

static void *takes_turns(void *arg)
{
    struct things *s = arg;
    CHECK(rt_robust_lock(&s->mutex[0], NULL) == 0);
    int me = s->told++;
    for (int i = 0; i < 2; i++) {
        while (s->turn % USERS != me) {
            rt_cond_wait_released(&s->cond, UINT64_MAX, release, &s->mutex[0]);
            CHECK(rt_robust_lock(&s->mutex[0], NULL) == 0);
        }
        s->turn++;
        rt_cond_broadcast(&s->cond);
    }
    rt_robust_unlock(&s->mutex[0]);
    return NULL;
}

void test_robust_shared_mutex_passes_when_cond_waits(void *unused)
{
    (void)unused;
    struct things s = {0};
    pirn_thread_t t[USERS];
    rt_cond_init(&s.cond);
    for (int i = 0; i < USERS; i++) {
        t[i] = test_spawn(takes_turns, &s);
    }
    for (int i = 0; i < USERS; i++) {
        test_end(t[i]);
    }
    CHECK(s.turn == 2 * USERS);
}
#endif
