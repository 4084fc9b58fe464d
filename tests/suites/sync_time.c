/* SPDX-License-Identifier: MIT */
/* Suite sync: timed joins, sleeping, timers. */
#include "sync_tests.h"

static void *sleeps_until(void *arg)
{
    pirn_sleep_until(*(uint64_t *)arg);
    CHECK(pirn_now() >= *(uint64_t *)arg);
    return arg;
}

void test_join_ends_once_when_exit_races_timeout(void *unused)
{
    (void)unused;
    uint64_t deadline = test_after(200 + test_random(400));
    uint64_t until = deadline - test_ns(test_random(150));
    pirn_thread_t t = test_spawn(sleeps_until, &until);
    void *ret = NULL;
    int error = pirn_join_until(t, &ret, deadline);
    if (error == -ETIMEDOUT) {
        CHECK(pirn_now() >= deadline && ret == NULL);
        error = test_random(2) != 0 ? pirn_join(t, &ret) : -EBUSY;
        while (error == -EBUSY) {
            error = pirn_tryjoin(t, &ret);
            pirn_sleep(test_ns(50));
        }
    }
    CHECK(error == 0 && ret == &until);
}

struct flagged {
    uint64_t until;
    int ended;
};

static void *sleeps_and_flags(void *arg)
{
    struct flagged *f = arg;
    pirn_sleep_until(f->until);
    TEST_SET(&f->ended, 1);
    return NULL;
}

void test_join_can_be_followed_by_detach_when_timed_out(void *unused)
{
    (void)unused;
    uint64_t deadline = test_after(100 + test_random(300));
    struct flagged f = {deadline + test_ns(150) - test_ns(test_random(300)), 0};
    pirn_thread_t t = test_spawn(sleeps_and_flags, &f);
    int error = pirn_join_until(t, NULL, deadline);
    CHECK(error == 0 || error == -ETIMEDOUT);
    if (error != 0) {
        CHECK(pirn_detach(t) == 0);
    }
    while (TEST_GET(&f.ended) == 0) {
        pirn_sleep(test_ns(50));
    }
}

struct victim {
    pirn_thread_t target;
    pirn_sem_t end;
    int refused, left;
};

static void *waits_for_end(void *arg)
{
    struct victim *v = arg;
    pirn_sem_wait(&v->end);
    return v;
}

static void *joins_target(void *arg)
{
    struct victim *v = arg;
    void *ret = NULL;
    int error = pirn_join(v->target, &ret);
    if (error == -EINVAL) {
        TEST_ADD(&v->refused, 1);
        pirn_sem_post(&v->end);
    } else {
        CHECK(error == 0 && ret == v);
    }
    return NULL;
}

/* Of two threads that join, one is refused; only then does the thread end. */
void test_join_is_refused_when_another_joins(void *unused)
{
    (void)unused;
    struct victim v = {0};
    pirn_sem_init(&v.end, 0);
    v.target = test_spawn(waits_for_end, &v);
    pirn_thread_t a = test_spawn(joins_target, &v);
    pirn_thread_t b = test_spawn(joins_target, &v);
    test_end(a);
    test_end(b);
    CHECK(v.refused == 1);
}

static void join_foreign(void *arg)
{
    struct victim *v = arg;
    void *ret = NULL;
    int error = -ETIMEDOUT;
    while (error == -ETIMEDOUT) {
        error = pirn_join_until(v->target, &ret,
                                test_random(2) != 0 ? PIRN_FOREVER : test_after(test_random(300)));
    }
    CHECK(error == 0 && ret == v);
    TEST_ADD(&v->left, -1);
}

void test_join_takes_value_when_foreign_thread_joins(void *unused)
{
    (void)unused;
    struct victim v = {0};
    v.left = 1;
    pirn_sem_init(&v.end, 0);
    v.target = test_spawn(waits_for_end, &v);
    test_foreign(join_foreign, &v);
    pirn_sleep(test_ns(test_random(400)));
    pirn_sem_post(&v.end);
    test_await_zero(&v.left);
}

static void *returns_arg(void *arg)
{
    return arg;
}

/* The stack of a joined thread is used again at once, so the thread must have left it. */
void test_join_releases_stack_when_joiner_creates_at_once(void *unused)
{
    (void)unused;
    for (int i = 0; i < 5; i++) {
        pirn_thread_t t = test_spawn(returns_arg, &i);
        if (test_random(2) != 0) {
            CHECK(test_end(t) == &i);
        } else {
            void *ret = NULL;
            CHECK(pirn_join_until(t, &ret, test_far()) == 0 && ret == &i);
        }
    }
}

struct sleeper {
    uint64_t until, woke;
};

static void *sleeps_and_notes(void *arg)
{
    struct sleeper *s = arg;
    pirn_sleep_until(s->until);
    s->woke = pirn_now();
    return NULL;
}

void test_sleep_ends_in_order_when_deadlines_differ(void *unused)
{
    (void)unused;
    struct sleeper s[4];
    pirn_thread_t t[4];
    for (int i = 0; i < 4; i++) {
        s[i].until = test_after(test_random(1000));
        t[i] = test_spawn(sleeps_and_notes, &s[i]);
    }
    for (int i = 0; i < 4; i++) {
        test_end(t[i]);
        CHECK(s[i].woke >= s[i].until);
    }
}

void test_sleep_returns_at_once_when_deadline_is_past(void *unused)
{
    (void)unused;
    uint64_t past = pirn_now() - 1;
    pirn_thread_t t = test_spawn(sleeps_until, &past);
    pirn_sleep(0);
    pirn_sleep_until(0);
    CHECK(test_end(t) == &past);
}

static void sleep_foreign(void *arg)
{
    struct victim *v = arg;
    uint64_t until = test_after(test_random(500));
    pirn_sleep_until(until);
    CHECK(pirn_now() >= until);
    TEST_ADD(&v->left, -1);
}

void test_sleep_lasts_when_foreign_thread_sleeps(void *unused)
{
    (void)unused;
    struct victim v = {0};
    v.left = 2;
    test_foreign(sleep_foreign, &v);
    test_foreign(sleep_foreign, &v);
    uint64_t until = test_after(test_random(500));
    CHECK(sleeps_until(&until) == &until);
    test_await_zero(&v.left);
}

struct timed {
    pirn_sem_t sem;
    uint64_t deadline;
    int result;
};

static void *waits_timed(void *arg)
{
    struct timed *w = arg;
    w->result = pirn_sem_wait_until(&w->sem, w->deadline);
    return NULL;
}

/* Timers leave the heap from any place: some by a post, some by their deadline. */
void test_timers_are_disarmed_when_woken_in_any_order(void *unused)
{
    (void)unused;
    struct timed w[5];
    pirn_thread_t t[5];
    for (int i = 0; i < 5; i++) {
        pirn_sem_init(&w[i].sem, 0);
        w[i].deadline = test_after(200 + test_random(800));
        t[i] = test_spawn(waits_timed, &w[i]);
    }
    unsigned posted = 0;
    for (int i = 0; i < 3; i++) {
        unsigned k = test_random(5);
        pirn_sleep(test_ns(test_random(300)));
        if (!(posted & 1u << k)) {
            pirn_sem_post(&w[k].sem);
            posted |= 1u << k;
        }
    }
    for (unsigned i = 0; i < 5; i++) {
        test_end(t[i]);
        CHECK(w[i].result == 0 || w[i].result == -ETIMEDOUT);
        CHECK(w[i].result != 0 || (posted & 1u << i));
        CHECK(pirn_sem_value(&w[i].sem) == ((posted & 1u << i) && w[i].result != 0));
    }
}

#ifdef PIRN_SIM
static void *joins_timed(void *arg)
{
    struct victim *v = arg;
    void *ret = NULL;
    int error = pirn_join_until(v->target, &ret, test_far());
    CHECK(error == 0 || error == -ECANCELED);
    if (error != 0) {
        CHECK(ret == NULL);
        TEST_ADD(&v->refused, 1);
        error = pirn_join(v->target, &ret);
    }
    CHECK(error == 0 && ret == v);
    return NULL;
}

void test_join_can_be_repeated_when_removed(void *unused)
{
    (void)unused;
    struct victim v = {0};
    pirn_sem_init(&v.end, 0);
    v.target = test_spawn(waits_for_end, &v);
    pirn_thread_t joiner = test_spawn(joins_timed, &v);
    bool early = test_random(2) != 0;
    if (!early) {
        pirn_sem_post(&v.end);
    }
    pirn_sleep(test_random(200));
    bool removed = test_remove(joiner);
    if (early) {
        pirn_sem_post(&v.end);
    }
    test_end(joiner);
    CHECK(v.refused <= removed); /* the end may have come before the joiner looked */
}

static void *sleeps_long(void *arg)
{
    uint64_t until = test_far();
    pirn_sleep_until(until);
    CHECK(pirn_now() < until);
    return arg;
}

void test_sleep_ends_early_when_removed(void *unused)
{
    (void)unused;
    pirn_thread_t t = test_spawn(sleeps_long, NULL);
    test_await_blocked(t);
    test_remove_surely(t);
    test_end(t);
}
#endif
