/* SPDX-License-Identifier: MIT */
/* rwlock.c - readers-writer locks: exclusion, sharing, time-outs, kinds, errors. */
#include "check.h"

#define THREADS 6
#define ROUNDS 1500

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static long left, right;

static void *mixes(void *arg)
{
    unsigned seed = (unsigned)(long)arg + 1;
    for (int i = 0; i < ROUNDS; i++) {
        seed = seed * 1103515245u + 12345u;
        if (seed >> 16 & 3) {
            OK(pthread_rwlock_rdlock(&lock));
            CHECK_EQ(left, right);
        } else {
            OK(pthread_rwlock_wrlock(&lock));
            left++;
            if (i % 8 == 0) {
                sched_yield();
            }
            right++;
        }
        OK(pthread_rwlock_unlock(&lock));
    }
    return NULL;
}

static void mix(void)
{
    pthread_t t[THREADS];
    left = right = 0;
    for (long i = 0; i < THREADS; i++) {
        t[i] = start(mixes, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    CHECK(left > 0);
    CHECK_EQ(left, right);
}

static void test_writers_exclude_everybody(void)
{
    mix();
}

static void test_writers_exclude_everybody_when_preferred(void)
{
    pthread_rwlock_t prefer = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
    pthread_rwlock_t old = lock;
    lock = prefer;
    mix();
    OK(pthread_rwlock_destroy(&lock));
    lock = old;
}

static flag_t inside, go;

static void *reads(void *arg)
{
    OK(pthread_rwlock_rdlock(&lock));
    flag_add(&inside, 1);
    flag_wait(&inside, THREADS);
    OK(pthread_rwlock_unlock(&lock));
    return arg;
}

static void test_readers_share(void)
{
    pthread_t t[THREADS];
    flag_set(&inside, 0);
    for (int i = 0; i < THREADS; i++) {
        t[i] = start(reads, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
}

typedef int (*call_t)(void);

static void *calls(void *arg)
{
    call_t call = *(call_t *)arg;
    return (void *)(long)call();
}

static int elsewhere(call_t call)
{
    return (int)(long)join(start(calls, &call));
}

static int unlocked(int error)
{
    if (error == 0) {
        OK(pthread_rwlock_unlock(&lock));
    }
    return error;
}

static int tryread(void)
{
    return unlocked(pthread_rwlock_tryrdlock(&lock));
}

static int trywrite(void)
{
    return unlocked(pthread_rwlock_trywrlock(&lock));
}

static void test_try_returns_ebusy_when_held(void)
{
    OK(pthread_rwlock_rdlock(&lock));
    OK(elsewhere(tryread));
    CHECK_EQ(elsewhere(trywrite), EBUSY);
    OK(pthread_rwlock_unlock(&lock));
    OK(pthread_rwlock_wrlock(&lock));
    CHECK_EQ(elsewhere(tryread), EBUSY);
    CHECK_EQ(elsewhere(trywrite), EBUSY);
    OK(pthread_rwlock_unlock(&lock));
    OK(elsewhere(trywrite));
}

static void test_a_writer_that_locks_again_gets_edeadlk(void)
{
    struct timespec at = after_ms(CLOCK_REALTIME, 1000);
    OK(pthread_rwlock_wrlock(&lock));
    CHECK_EQ(pthread_rwlock_wrlock(&lock), EDEADLK);
    CHECK_EQ(pthread_rwlock_rdlock(&lock), EDEADLK);
    CHECK_EQ(pthread_rwlock_timedwrlock(&lock, &at), EDEADLK);
    CHECK_EQ(pthread_rwlock_timedrdlock(&lock, &at), EDEADLK);
    CHECK_EQ(pthread_rwlock_tryrdlock(&lock), EBUSY);
    OK(pthread_rwlock_unlock(&lock));
}

static int timed_read(void)
{
    struct timespec at = after_ms(CLOCK_REALTIME, 5);
    int error = pthread_rwlock_timedrdlock(&lock, &at);
    CHECK(has_passed(CLOCK_REALTIME, &at));
    at = after_ms(CLOCK_MONOTONIC, 5);
    CHECK_EQ(pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &at), error);
    CHECK(has_passed(CLOCK_MONOTONIC, &at));
    at.tv_nsec = NS_PER_S;
    CHECK_EQ(pthread_rwlock_timedrdlock(&lock, &at), EINVAL);
    CHECK_EQ(pthread_rwlock_clockrdlock(&lock, CLOCK_PROCESS_CPUTIME_ID, &at), EINVAL);
    return error;
}

static int timed_write(void)
{
    struct timespec at = after_ms(CLOCK_REALTIME, 5);
    int error = pthread_rwlock_timedwrlock(&lock, &at);
    CHECK(has_passed(CLOCK_REALTIME, &at));
    at = after_ms(CLOCK_MONOTONIC, 5);
    CHECK_EQ(pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &at), error);
    CHECK(has_passed(CLOCK_MONOTONIC, &at));
    at.tv_nsec = -1;
    CHECK_EQ(pthread_rwlock_timedwrlock(&lock, &at), EINVAL);
    CHECK_EQ(pthread_rwlock_clockwrlock(&lock, CLOCK_PROCESS_CPUTIME_ID, &at), EINVAL);
    return error;
}

static void test_timed_locks_time_out_when_held(void)
{
    OK(pthread_rwlock_wrlock(&lock));
    CHECK_EQ(elsewhere(timed_read), ETIMEDOUT);
    CHECK_EQ(elsewhere(timed_write), ETIMEDOUT);
    OK(pthread_rwlock_unlock(&lock));
    OK(pthread_rwlock_rdlock(&lock));
    CHECK_EQ(elsewhere(timed_write), ETIMEDOUT);
    OK(elsewhere(tryread)); /* the writer that gave up keeps nobody out */
    OK(pthread_rwlock_unlock(&lock));
    OK(elsewhere(trywrite));
}

static void *writes_on_go(void *arg)
{
    struct timespec at = after_ms(CLOCK_REALTIME, 60000);
    flag_add(&go, 1);
    OK(pthread_rwlock_timedwrlock(&lock, &at));
    OK(pthread_rwlock_unlock(&lock));
    return arg;
}

static void test_timed_lock_is_granted_in_time(void)
{
    flag_set(&go, 0);
    OK(pthread_rwlock_rdlock(&lock));
    pthread_t t = start(writes_on_go, NULL);
    flag_wait(&go, 1);
    give_way();
    OK(pthread_rwlock_unlock(&lock));
    join(t);
}

static void test_attributes_are_kept_and_validated(void)
{
    pthread_rwlockattr_t a;
    int value;
    OK(pthread_rwlockattr_init(&a));
    OK(pthread_rwlockattr_getkind_np(&a, &value));
    CHECK_EQ(value, PTHREAD_RWLOCK_DEFAULT_NP);
    CHECK_EQ(pthread_rwlockattr_setkind_np(&a, 77), EINVAL);
    OK(pthread_rwlockattr_setkind_np(&a, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP));
    OK(pthread_rwlockattr_getkind_np(&a, &value));
    CHECK_EQ(value, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    CHECK_EQ(pthread_rwlockattr_setpshared(&a, 77), EINVAL);
    OK(pthread_rwlockattr_setpshared(&a, PTHREAD_PROCESS_PRIVATE));
    OK(pthread_rwlockattr_getpshared(&a, &value));
    CHECK_EQ(value, PTHREAD_PROCESS_PRIVATE);
#ifdef ON_PIRN
    CHECK_EQ(pthread_rwlockattr_setpshared(&a, PTHREAD_PROCESS_SHARED), ENOTSUP);
#endif
    OK(pthread_rwlockattr_destroy(&a));
}

#ifdef ON_PIRN
static int unlock_now(void)
{
    return pthread_rwlock_unlock(&lock);
}

static void test_unlock_returns_eperm_when_not_the_holder(void)
{
    CHECK_EQ(pthread_rwlock_unlock(&lock), EPERM);
    OK(pthread_rwlock_wrlock(&lock));
    CHECK_EQ(elsewhere(unlock_now), EPERM);
    CHECK_EQ(pthread_rwlock_destroy(&lock), EBUSY);
    OK(pthread_rwlock_unlock(&lock));
}
#else
static void test_unlock_returns_eperm_when_not_the_holder(void) {}
#endif

int main(void)
{
    RUN(test_writers_exclude_everybody);
    RUN(test_writers_exclude_everybody_when_preferred);
    RUN(test_readers_share);
    RUN(test_try_returns_ebusy_when_held);
    RUN(test_a_writer_that_locks_again_gets_edeadlk);
    RUN(test_timed_locks_time_out_when_held);
    RUN(test_timed_lock_is_granted_in_time);
    RUN(test_attributes_are_kept_and_validated);
    RUN(test_unlock_returns_eperm_when_not_the_holder);
    OK(pthread_rwlock_destroy(&lock));
    return 0;
}
