/* SPDX-License-Identifier: MIT */
/*
 * Suite sync: objects that processes share (src/sync/shared.h). To these objects another process
 * looks like a foreign kernel thread: that waits in the (simulated) kernel itself, user threads
 * wait by helpers. In the simulator only: the native API has none.
 */
#include "sync_tests.h"

#ifdef PIRN_SIM
#include "../../src/sync/shared.h"

#define FOREIGN 2
#define USERS 3

/* A test body, run by user threads and foreign ones. */
struct crowd {
    void (*run)(void *);
    void *arg;
    int left;
};

static void *crowd_user(void *arg)
{
    struct crowd *c = arg;
    c->run(c->arg);
    return NULL;
}

static void crowd_foreign(void *arg)
{
    struct crowd *c = arg;
    c->run(c->arg);
    TEST_ADD(&c->left, -1);
}

static void crowd_run(void (*run)(void *), void *arg)
{
    struct crowd c = {run, arg, FOREIGN};
    pirn_thread_t t[USERS];
    for (int i = 0; i < USERS; i++) {
        t[i] = test_spawn(crowd_user, &c);
    }
    for (int i = 0; i < FOREIGN; i++) {
        test_foreign(crowd_foreign, &c);
    }
    for (int i = 0; i < USERS; i++) {
        test_end(t[i]);
    }
    test_await_zero(&c.left);
}

/* No limit, or one that is soon. */
static struct rt_shared_limit *some_limit(struct rt_shared_limit *limit, bool *timed)
{
    *limit = (struct rt_shared_limit){.deadline = test_after(test_random(1500))};
    *timed = test_random(2) != 0;
    return *timed ? limit : NULL;
}

struct things {
    struct rt_shmutex mutex;
    struct rt_shsem sem;
    struct rt_shrwlock rw;
    struct rt_shbarrier barrier;
    struct rt_shcond cond;
    struct room room;
    int got, timeouts, readers, units, serial, turn;
};

static void visit_mutex(void *arg)
{
    struct things *s = arg;
    for (int i = 0; i < 3; i++) {
        struct rt_shared_limit limit;
        bool timed;
        struct rt_shared_limit *l = some_limit(&limit, &timed);
        int error = test_random(5) ? rt_shmutex_lock(&s->mutex, l) : rt_shmutex_trylock(&s->mutex);
        if (error == 0) {
            room_visit(&s->room);
            TEST_ADD(&s->got, 1);
            rt_shmutex_unlock(&s->mutex);
        } else {
            CHECK(error == -EBUSY || (timed && pirn_now() >= limit.deadline));
            TEST_ADD(&s->timeouts, 1);
        }
    }
}

void test_shared_mutex_excludes_when_contended(void *unused)
{
    (void)unused;
    struct things s = {0};
    crowd_run(visit_mutex, &s);
    CHECK(s.got + s.timeouts == 3 * (USERS + FOREIGN) && s.room.visits == s.got);
    CHECK(rt_shmutex_trylock(&s.mutex) == 0);
}

/* The holder waits for a thread of the same CPU: a waiter must not block it. */
static void *locks_shared(void *arg)
{
    struct things *s = arg;
    CHECK(rt_shmutex_lock(&s->mutex, NULL) == 0);
    rt_shmutex_unlock(&s->mutex);
    return NULL;
}

void test_shared_wait_leaves_cpu_when_user_thread_waits(void *unused)
{
    (void)unused;
    struct things s = {0};
    pirn_thread_t t[6];
    CHECK(rt_shmutex_lock(&s.mutex, NULL) == 0);
    for (int i = 0; i < 6; i++) {
        t[i] = test_spawn(locks_shared, &s);
    }
    for (int i = 0; i < 6; i++) {
        test_await_blocked(t[i]);
    }
    rt_shmutex_unlock(&s.mutex);
    for (int i = 0; i < 6; i++) {
        test_end(t[i]);
    }
}

void test_shared_mutex_times_out_when_held(void *unused)
{
    (void)unused;
    struct things s = {0};
    struct rt_shared_limit limit = {.deadline = test_after(test_random(1000))};
    CHECK(rt_shmutex_trylock(&s.mutex) == 0);
    CHECK(rt_shmutex_lock(&s.mutex, &limit) == -ETIMEDOUT);
    CHECK(pirn_now() >= limit.deadline);
    rt_shmutex_unlock(&s.mutex);
    CHECK(rt_shmutex_lock(&s.mutex, &limit) == 0);
}

static void post_and_wait(void *arg)
{
    struct things *s = arg;
    for (int i = 0; i < 3; i++) {
        struct rt_shared_limit limit;
        bool timed;
        struct rt_shared_limit *l = some_limit(&limit, &timed);
        CHECK(rt_shsem_post(&s->sem) == 0);
        TEST_ADD(&s->units, 1);
        int error = rt_shsem_wait(&s->sem, l);
        CHECK(error == 0 || (timed && pirn_now() >= limit.deadline));
        TEST_ADD(&s->units, error == 0 ? -1 : 0);
    }
}

void test_shared_sem_keeps_units_when_contended(void *unused)
{
    (void)unused;
    struct things s = {0};
    crowd_run(post_and_wait, &s);
    CHECK(s.units >= 0 && (int)rt_shsem_value(&s.sem) == s.units);
    CHECK(s.sem.word == (uint64_t)s.units); /* no thread counts as waiting */
    while (s.units-- > 0) {
        CHECK(rt_shsem_trywait(&s.sem) == 0);
    }
    CHECK(rt_shsem_trywait(&s.sem) == -EAGAIN);
}

static void *waits_for_unit(void *arg)
{
    struct things *s = arg;
    CHECK(rt_shsem_wait(&s->sem, NULL) == 0);
    TEST_ADD(&s->got, 1);
    return NULL;
}

void test_shared_sem_wakes_each_when_posted(void *unused)
{
    (void)unused;
    struct things s = {0};
    pirn_thread_t t[4];
    for (int i = 0; i < 4; i++) {
        t[i] = test_spawn(waits_for_unit, &s);
    }
    pirn_sleep(test_random(600));
    for (int i = 0; i < 4; i++) {
        CHECK(rt_shsem_post(&s.sem) == 0);
    }
    for (int i = 0; i < 4; i++) {
        test_end(t[i]);
    }
    s.sem.word = 0x7fffffff;
    CHECK(rt_shsem_post(&s.sem) == -EOVERFLOW);
}

static void read_or_write(void *arg)
{
    struct things *s = arg;
    for (int i = 0; i < 3; i++) {
        struct rt_shared_limit limit;
        bool timed, write = test_random(2) != 0, try = test_random(5) == 0;
        struct rt_shared_limit *l = some_limit(&limit, &timed);
        int error = write ? (try ? rt_shrwlock_trywrlock(&s->rw) : rt_shrwlock_wrlock(&s->rw, l))
                          : (try ? rt_shrwlock_tryrdlock(&s->rw) : rt_shrwlock_rdlock(&s->rw, l));
        if (error != 0) {
            CHECK(try || (timed && pirn_now() >= limit.deadline));
            continue;
        }
        if (write) {
            CHECK(TEST_GET(&s->readers) == 0);
            room_visit(&s->room);
        } else {
            TEST_ADD(&s->readers, 1);
            CHECK(TEST_GET(&s->room.inside) == 0);
            test_pause();
            TEST_ADD(&s->readers, -1);
        }
        CHECK(rt_shrwlock_unlock(&s->rw) == 0);
    }
}

void test_shared_rwlock_excludes_when_contended(void *unused)
{
    (void)unused;
    struct things s = {0};
    s.rw.prefer_writer = test_random(2);
    crowd_run(read_or_write, &s);
    CHECK(rt_shrwlock_unlock(&s.rw) == -EPERM);
    CHECK(rt_shrwlock_trywrlock(&s.rw) == 0);
    CHECK(s.rw.writers == 0);
}

static void *reads_once(void *arg)
{
    struct things *s = arg;
    CHECK(rt_shrwlock_rdlock(&s->rw, NULL) == 0);
    CHECK(rt_shrwlock_unlock(&s->rw) == 0);
    return NULL;
}

static void *writes_in_vain(void *arg)
{
    struct things *s = arg;
    struct rt_shared_limit limit = {.deadline = test_after(test_random(800))};
    int error = rt_shrwlock_wrlock(&s->rw, &limit);
    CHECK(error == -ETIMEDOUT);
    return NULL;
}

/* Readers that wait only for a preferred writer continue when it gives up. */
void test_shared_rwlock_lets_readers_in_when_writer_gives_up(void *unused)
{
    (void)unused;
    struct things s = {0};
    pirn_thread_t t[3];
    s.rw.prefer_writer = 1;
    CHECK(rt_shrwlock_rdlock(&s.rw, NULL) == 0);
    t[0] = test_spawn(writes_in_vain, &s);
    t[1] = test_spawn(reads_once, &s);
    t[2] = test_spawn(reads_once, &s);
    for (int i = 0; i < 3; i++) {
        test_end(t[i]);
    }
    CHECK(rt_shrwlock_unlock(&s.rw) == 0);
}

#define ROUNDS 6

static void arrive(void *arg)
{
    struct things *s = arg;
    for (int round = 1; round <= ROUNDS; round++) {
        TEST_ADD(&s->got, 1);
        if (rt_shbarrier_wait(&s->barrier)) {
            TEST_ADD(&s->serial, 1);
        }
        CHECK(TEST_GET(&s->got) >= round * (USERS + FOREIGN));
        CHECK(TEST_GET(&s->serial) >= round - 1);
    }
}

/* In the simulator a barrier starts again after 8 arrivals: here after each round of 5. */
void test_shared_barrier_opens_when_all_have_arrived(void *unused)
{
    (void)unused;
    struct things s = {0};
    s.barrier.count = USERS + FOREIGN;
    crowd_run(arrive, &s);
    CHECK(s.got == ROUNDS * (USERS + FOREIGN) && s.serial == ROUNDS);
    CHECK(rt_shbarrier_destroy(&s.barrier) == 0);
}

static void *arrives_twice(void *arg)
{
    struct rt_shbarrier *b = arg;
    rt_shbarrier_wait(b);
    rt_shbarrier_wait(b);
    return NULL;
}

void test_shared_barrier_is_not_touched_when_destroyed(void *unused)
{
    (void)unused;
    for (uint32_t count = 2; count <= 4; count += 2) {
        struct rt_shbarrier b = {.count = count};
        pirn_thread_t t[3];
        for (uint32_t i = 0; i < count - 1; i++) {
            t[i] = test_spawn(arrives_twice, &b);
        }
        rt_shbarrier_wait(&b);
        rt_shbarrier_wait(&b);
        CHECK(rt_shbarrier_destroy(&b) == 0);
        memset((void *)&b, 0x5a, sizeof(b));
        for (uint32_t i = 0; i < count - 1; i++) {
            test_end(t[i]);
        }
        for (size_t i = 0; i < sizeof(b); i++) {
            CHECK(((const unsigned char *)&b)[i] == 0x5a);
        }
    }
}

static int cond_wait(struct things *s, struct rt_shared_limit *limit)
{
    uint32_t ticket = rt_shcond_enter(&s->cond);
    rt_shmutex_unlock(&s->mutex);
    int error = rt_shcond_wait(&s->cond, ticket, limit);
    CHECK(rt_shmutex_lock(&s->mutex, NULL) == 0);
    return error;
}

static void take_turns(void *arg)
{
    struct things *s = arg;
    CHECK(rt_shmutex_lock(&s->mutex, NULL) == 0);
    int me = s->serial++;
    for (int i = 0; i < 2; i++) {
        while (s->turn % (USERS + FOREIGN) != me) {
            struct rt_shared_limit limit;
            bool timed;
            struct rt_shared_limit *l = some_limit(&limit, &timed);
            int error = cond_wait(s, l);
            CHECK(error == 0 || (timed && pirn_now() >= limit.deadline));
        }
        s->turn++;
        rt_shcond_wake(&s->cond, RT_SHARED_ALL);
    }
    rt_shmutex_unlock(&s->mutex);
}

void test_shared_cond_passes_turns_when_broadcast(void *unused)
{
    (void)unused;
    struct things s = {0};
    crowd_run(take_turns, &s);
    CHECK(s.turn == 2 * (USERS + FOREIGN));
    rt_shcond_destroy(&s.cond);
}

static void take_item(void *arg)
{
    struct things *s = arg;
    CHECK(rt_shmutex_lock(&s->mutex, NULL) == 0);
    while (s->units == 0) {
        CHECK(cond_wait(s, NULL) == 0);
    }
    s->units--;
    s->got++;
    rt_shmutex_unlock(&s->mutex);
}

static void *gives_items(void *arg)
{
    struct things *s = arg;
    for (int i = 0; i < USERS + FOREIGN; i++) {
        CHECK(rt_shmutex_lock(&s->mutex, NULL) == 0);
        s->units++;
        if (test_random(2) != 0) {
            rt_shcond_wake(&s->cond, 1);
            rt_shmutex_unlock(&s->mutex);
        } else {
            rt_shmutex_unlock(&s->mutex);
            rt_shcond_wake(&s->cond, 1);
        }
    }
    return NULL;
}

void test_shared_cond_signal_wakes_one_each_when_many_wait(void *unused)
{
    (void)unused;
    struct things s = {0};
    pirn_thread_t giver = test_spawn(gives_items, &s);
    crowd_run(take_item, &s);
    test_end(giver);
    CHECK(s.got == USERS + FOREIGN && s.units == 0);
}

#define ARRIVING 3

static void waits_once(void *arg)
{
    struct things *s = arg;
    CHECK(rt_shmutex_lock(&s->mutex, NULL) == 0);
    TEST_ADD(&s->serial, 1);
    CHECK(cond_wait(s, NULL) == 0);
    rt_shmutex_unlock(&s->mutex);
    TEST_SET(&s->units, 0);
    TEST_ADD(&s->turn, -1);
}

/* Signalled without the mutex: a thread that arrives meanwhile may be woken, and then that one
 * returns. */
void test_shared_cond_signal_lets_one_return_when_others_arrive(void *unused)
{
    (void)unused;
    struct things s = {.units = 1, .turn = 1 + ARRIVING};
    test_foreign(waits_once, &s);
    while (TEST_GET(&s.serial) == 0) {
        pirn_yield();
    }
    CHECK(rt_shmutex_lock(&s.mutex, NULL) == 0); /* it waits */
    rt_shmutex_unlock(&s.mutex);
    for (int i = 0; i < ARRIVING; i++) {
        test_foreign(waits_once, &s);
    }
    rt_shcond_wake(&s.cond, 1);
    test_await_zero(&s.units);
    while (TEST_GET(&s.turn) != 0) {
        rt_shcond_wake(&s.cond, RT_SHARED_ALL);
        pirn_yield();
    }
}

/* Destroyed as soon as all were asked to leave. */
static void *waits_to_go(void *arg)
{
    struct things *s = arg;
    CHECK(rt_shmutex_lock(&s->mutex, NULL) == 0);
    s->got++;
    while (s->turn == 0) {
        CHECK(cond_wait(s, NULL) == 0);
    }
    rt_shmutex_unlock(&s->mutex);
    return NULL;
}

void test_shared_cond_is_not_touched_when_destroyed_after_broadcast(void *unused)
{
    (void)unused;
    struct things s = {0};
    pirn_thread_t t[3];
    for (int i = 0; i < 3; i++) {
        t[i] = test_spawn(waits_to_go, &s);
    }
    for (bool all = false; !all;) {
        CHECK(rt_shmutex_lock(&s.mutex, NULL) == 0);
        all = s.got == 3;
        s.turn = all;
        rt_shmutex_unlock(&s.mutex);
        pirn_sleep(20);
    }
    rt_shcond_wake(&s.cond, RT_SHARED_ALL);
    rt_shcond_destroy(&s.cond);
    memset((void *)&s.cond, 0x5a, sizeof(s.cond));
    for (int i = 0; i < 3; i++) {
        test_end(t[i]);
    }
    for (size_t i = 0; i < sizeof(s.cond); i++) {
        CHECK(((const unsigned char *)&s.cond)[i] == 0x5a);
    }
}
#endif
