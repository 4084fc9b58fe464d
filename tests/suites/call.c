/* SPDX-License-Identifier: MIT */
/* Suite call: threads whose system calls block the kernel thread, and threads that lose their CPU
 * without an announced call. */
#include <errno.h>

#include "suite.h"

enum { THREADS = 4, ROUNDS = 3 };

struct shared {
    pirn_mutex_t mutex;
    int count; /* under the mutex */
    pirn_sem_t sem;
    uint32_t flag;
};

static void blocks_for(uint32_t ns)
{
    pirn_call_t call;
    pirn_call_begin(&call, test_random(2) != 0);
    test_block(ns);
    pirn_call_end(&call);
}

static void *blocks_and_counts(void *arg)
{
    struct shared *s = arg;
    for (int i = 0; i < ROUNDS; i++) {
        blocks_for(test_random(2000));
        pirn_mutex_lock(&s->mutex);
        int seen = s->count;
        test_pause();
        s->count = seen + 1;
        pirn_mutex_unlock(&s->mutex);
    }
    return NULL;
}

static void test_threads_go_on_after_their_calls(void *unused)
{
    (void)unused;
    struct shared s = {0};
    pirn_thread_t t[THREADS];
    for (int i = 0; i < THREADS; i++) {
        CHECK(pirn_create(&t[i], NULL, blocks_and_counts, &s) == 0);
    }
    blocks_and_counts(&s);
    for (int i = 0; i < THREADS; i++) {
        CHECK(pirn_join(t[i], NULL) == 0);
    }
    CHECK(s.count == (THREADS + 1) * ROUNDS);
}

/* In one call until the flag is set, by a thread that needs the same CPU if there is only one. */
static void *blocks_until_flag(void *arg)
{
    struct shared *s = arg;
    pirn_call_t call;
    pirn_call_begin(&call, test_random(2) != 0);
    while (TEST_GET(&s->flag) == 0) {
        test_block(500);
    }
    pirn_call_end(&call);
    return NULL;
}

static void test_others_run_during_a_call(void *unused)
{
    (void)unused;
    struct shared s = {0};
    pirn_thread_t t[THREADS];
    for (int i = 0; i < THREADS; i++) {
        CHECK(pirn_create(&t[i], NULL, blocks_until_flag, &s) == 0);
    }
    for (int i = 0; i < 3; i++) {
        pirn_yield();
        pirn_sleep(20);
    }
    TEST_SET(&s.flag, 1);
    for (int i = 0; i < THREADS; i++) {
        CHECK(pirn_join(t[i], NULL) == 0);
    }
}

/* A permitted action of a signal handler in the middle of a call. */
static void *posts_in_a_call(void *arg)
{
    struct shared *s = arg;
    pirn_call_t call;
    pirn_call_begin(&call, test_random(2) != 0);
    test_block(test_random(1000));
    CHECK(pirn_sem_post(&s->sem) == 0);
    test_block(test_random(1000));
    pirn_call_end(&call);
    return NULL;
}

static void test_semaphores_are_posted_in_a_call(void *unused)
{
    (void)unused;
    struct shared s = {0};
    pirn_thread_t t[THREADS];
    for (int i = 0; i < THREADS; i++) {
        CHECK(pirn_create(&t[i], NULL, posts_in_a_call, &s) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pirn_sem_wait(&s.sem);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pirn_join(t[i], NULL) == 0);
    }
}

static void *sleeps_after_call(void *arg)
{
    struct shared *s = arg;
    blocks_for(test_random(500));
    pirn_sleep(test_random(500));
    blocks_for(test_random(500));
    if (pirn_sem_wait_until(&s->sem, pirn_now() + test_random(300)) != 0) {
        pirn_mutex_lock(&s->mutex);
        s->count++;
        pirn_mutex_unlock(&s->mutex);
    }
    blocks_for(test_random(500));
    return NULL;
}

/* The timers of a CPU keep running when its carrier changes. */
static void test_timers_survive_calls(void *unused)
{
    (void)unused;
    struct shared s = {0};
    pirn_thread_t t[THREADS];
    for (int i = 0; i < THREADS; i++) {
        CHECK(pirn_create(&t[i], NULL, sleeps_after_call, &s) == 0);
    }
    pirn_sem_post(&s.sem);
    for (int i = 0; i < THREADS; i++) {
        CHECK(pirn_join(t[i], NULL) == 0);
    }
    CHECK(s.count + 1 - (int)pirn_sem_value(&s.sem) == THREADS);
}

static void *ends_without_cpu(void *arg)
{
    test_lose_cpu();
    return arg;
}

/* Each way into the runtime gives a CPU to a thread that has lost its own. */
static void *loses_cpu(void *arg)
{
    struct shared *s = arg;
    pirn_thread_t t;
    for (int i = 0; i < ROUNDS; i++) {
        test_lose_cpu();
        test_block(test_random(300));
        switch (test_random(7)) {
        case 0:
            pirn_mutex_lock(&s->mutex);
            test_lose_cpu();
            s->count++;
            pirn_mutex_unlock(&s->mutex);
            break;
        case 1:
            pirn_yield();
            break;
        case 2:
            pirn_sem_post(&s->sem);
            test_lose_cpu();
            pirn_sem_wait(&s->sem);
            break;
        case 3:
            CHECK(pirn_create(&t, NULL, ends_without_cpu, s) == 0);
            test_lose_cpu();
            CHECK(pirn_join(t, NULL) == 0);
            break;
        case 4:
            pirn_sleep(test_random(200));
            break;
        case 5:
            blocks_for(test_random(200));
            break;
        default:
            CHECK(pirn_self() != NULL);
            break;
        }
    }
    return NULL;
}

static void test_threads_that_lost_their_cpu_get_one_again(void *unused)
{
    (void)unused;
    struct shared s = {0};
    pirn_thread_t t[THREADS];
    blocks_for(1000); /* from now on there are spares */
    for (int i = 0; i < THREADS; i++) {
        CHECK(pirn_create(&t[i], NULL, loses_cpu, &s) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pirn_join(t[i], NULL) == 0);
    }
    CHECK(pirn_sem_value(&s.sem) == 0);
}

static void foreign_calls(void *arg)
{
    struct shared *s = arg;
    blocks_for(test_random(100));
    pirn_sem_post(&s->sem);
}

static void test_foreign_threads_may_call_too(void *unused)
{
    (void)unused;
    static struct shared s;
    s = (struct shared){0};
    test_foreign(foreign_calls, &s);
    blocks_for(test_random(200));
    pirn_sem_wait(&s.sem);
}

enum { FDS = 3, READABLE = 1 };

/* Some wait with a limit, some without; each takes one turn at what is ready. */
static void wait_for_fd(struct shared *s, unsigned fd)
{
    for (;;) {
        bool limited = test_random(2) != 0;
        uint64_t deadline = limited ? pirn_now() + test_random(1000) : PIRN_FOREVER;
        int error = pirn_wait_fd(test_fd(fd), READABLE, deadline);
        CHECK(error == 0 || (limited && error == -ETIMEDOUT && pirn_now() >= deadline));
        if (error == 0 && test_fd_get(fd)) {
            break;
        }
    }
    pirn_mutex_lock(&s->mutex);
    s->count++;
    pirn_mutex_unlock(&s->mutex);
}

static void *waits_for_fd(void *arg)
{
    wait_for_fd(arg, test_random(FDS));
    return NULL;
}

static void *waits_for_first_fd(void *arg)
{
    wait_for_fd(arg, 0);
    return NULL;
}

static void test_threads_wait_for_descriptors(void *unused)
{
    (void)unused;
    struct shared s = {0};
    pirn_thread_t t[2 * THREADS];
    for (unsigned i = 0; i < FDS; i++) {
        test_fd_set(i, false);
    }
    for (int i = 0; i < 2 * THREADS; i++) {
        CHECK(pirn_create(&t[i], NULL, waits_for_fd, &s) == 0);
    }
    for (unsigned i = 0; i < FDS; i++) {
        pirn_sleep(test_random(500));
        test_fd_set(i, true);
    }
    for (int i = 0; i < 2 * THREADS; i++) {
        CHECK(pirn_join(t[i], NULL) == 0);
    }
    CHECK(s.count == 2 * THREADS);
}

/* Waits end without a report, and leave the report armed; the number then means another
 * descriptor. */
static void test_renewed_descriptors_are_waited_for(void *unused)
{
    (void)unused;
    struct shared s = {0};
    pirn_thread_t t[THREADS];
    test_fd_set(0, false);
    for (int i = 0; i < 3; i++) {
        int error = pirn_wait_fd(test_fd(0), READABLE, pirn_now() + 1);
        CHECK(error == -ETIMEDOUT || error == 0);
        test_fd_renew(0);
        for (int j = 0; j < THREADS; j++) {
            CHECK(pirn_create(&t[j], NULL, waits_for_first_fd, &s) == 0);
        }
        pirn_sleep(test_random(500));
        test_fd_set(0, true);
        for (int j = 0; j < THREADS; j++) {
            CHECK(pirn_join(t[j], NULL) == 0);
        }
        test_fd_set(0, false);
    }
    CHECK(s.count == 3 * THREADS);
}

static void test_bad_descriptors_are_refused(void *unused)
{
    (void)unused;
    CHECK(pirn_wait_fd(-1, READABLE, PIRN_FOREVER) == -EBADF);
    CHECK(pirn_wait_fd(1 << 30, READABLE, PIRN_FOREVER) == -EBADF);
}

static const struct test tests[] = {
    {"threads_go_on_after_their_calls", test_threads_go_on_after_their_calls, 0},
    {"others_run_during_a_call", test_others_run_during_a_call, 0},
    {"semaphores_are_posted_in_a_call", test_semaphores_are_posted_in_a_call, 0},
    {"timers_survive_calls", test_timers_survive_calls, 0},
    {"threads_that_lost_their_cpu_get_one_again", test_threads_that_lost_their_cpu_get_one_again,
     0},
    {"foreign_threads_may_call_too", test_foreign_threads_may_call_too, 0},
    {"threads_wait_for_descriptors", test_threads_wait_for_descriptors, 0},
    {"renewed_descriptors_are_waited_for", test_renewed_descriptors_are_waited_for, 0},
    {"bad_descriptors_are_refused", test_bad_descriptors_are_refused, 0},
    {NULL, NULL, 0},
};

const struct suite suite_call = {"call", tests, NULL, false};
