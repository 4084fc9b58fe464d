/* SPDX-License-Identifier: MIT */
/* c11.c - <threads.h>: every function and result code. */
#include <threads.h>

#include "check.h"

#define THREADS 8
#define ROUNDS 500

static thrd_t begin(thrd_start_t fn, void *arg)
{
    thrd_t t;
    CHECK_EQ(thrd_create(&t, fn, arg), thrd_success);
    return t;
}

static int end(thrd_t t)
{
    int result = -1;
    CHECK_EQ(thrd_join(t, &result), thrd_success);
    return result;
}

static struct timespec utc_after_ms(long ms)
{
    struct timespec t;
    CHECK_EQ(timespec_get(&t, TIME_UTC), TIME_UTC);
    t.tv_sec += ms / 1000;
    t.tv_nsec += ms % 1000 * NS_PER_MS;
    t.tv_sec += t.tv_nsec / NS_PER_S;
    t.tv_nsec %= NS_PER_S;
    return t;
}

static int returns_minus_7(void *arg)
{
    CHECK(arg == (void *)5);
    return -7;
}

static int exits_with_9(void *arg)
{
    (void)arg;
    thrd_exit(9);
}

static void test_join_gives_the_result(void)
{
    CHECK_EQ(end(begin(returns_minus_7, (void *)5)), -7);
    CHECK_EQ(end(begin(exits_with_9, NULL)), 9);
    CHECK_EQ(thrd_join(begin(exits_with_9, NULL), NULL), thrd_success);
}

static int is_other(void *arg)
{
    thrd_t main_thread = *(thrd_t *)arg;
    CHECK(!thrd_equal(thrd_current(), main_thread));
    CHECK(thrd_equal(thrd_current(), thrd_current()));
    thrd_yield();
    return 0;
}

static void test_threads_know_themselves(void)
{
    thrd_t self = thrd_current();
    CHECK(thrd_equal(self, thrd_current()));
    OK(end(begin(is_other, &self)));
}

static flag_t detached_done;

static int sets_flag(void *arg)
{
    (void)arg;
    flag_set(&detached_done, 1);
    return 0;
}

static void test_detached_thread_runs(void)
{
    CHECK_EQ(thrd_detach(begin(sets_flag, NULL)), thrd_success);
    flag_wait(&detached_done, 1);
}

static void test_sleep_lasts(void)
{
    struct timespec at = utc_after_ms(5), time = {.tv_nsec = 5 * NS_PER_MS}, left = {7, 7};
    OK(thrd_sleep(&time, &left));
    CHECK(has_passed(CLOCK_REALTIME, &at));
    time.tv_nsec = NS_PER_S;
    CHECK(thrd_sleep(&time, NULL) < -1);
}

static mtx_t mutex;
static long counter;

static int counts(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_EQ(mtx_lock(&mutex), thrd_success);
        long seen = counter;
        if (i % 16 == 0) {
            thrd_yield();
        }
        counter = seen + 1;
        CHECK_EQ(mtx_unlock(&mutex), thrd_success);
    }
    return (int)(long)arg;
}

static int try_elsewhere(void *arg)
{
    int result = mtx_trylock(arg);
    if (result == thrd_success) {
        CHECK_EQ(mtx_unlock(arg), thrd_success);
    }
    return result;
}

static int timed_elsewhere(void *arg)
{
    struct timespec at = utc_after_ms(5);
    int result = mtx_timedlock(arg, &at);
    CHECK(has_passed(CLOCK_REALTIME, &at));
    return result;
}

static void test_every_mutex_type_excludes(void)
{
    static const int types[] = {mtx_plain, mtx_timed, mtx_plain | mtx_recursive,
                                mtx_timed | mtx_recursive};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        thrd_t t[THREADS];
        counter = 0;
        CHECK_EQ(mtx_init(&mutex, types[i]), thrd_success);
        for (long k = 0; k < THREADS; k++) {
            t[k] = begin(counts, (void *)k);
        }
        for (long k = 0; k < THREADS; k++) {
            CHECK_EQ(end(t[k]), k);
        }
        CHECK_EQ(counter, THREADS * ROUNDS);
        bool recursive = types[i] & mtx_recursive;
        CHECK_EQ(mtx_lock(&mutex), thrd_success);
        CHECK_EQ(mtx_trylock(&mutex), recursive ? thrd_success : thrd_busy);
        CHECK_EQ(end(begin(try_elsewhere, &mutex)), thrd_busy);
        if (types[i] & mtx_timed) {
            CHECK_EQ(end(begin(timed_elsewhere, &mutex)), thrd_timedout);
        }
        if (recursive) {
            CHECK_EQ(mtx_unlock(&mutex), thrd_success);
            CHECK_EQ(end(begin(try_elsewhere, &mutex)), thrd_busy);
        }
        CHECK_EQ(mtx_unlock(&mutex), thrd_success);
        CHECK_EQ(end(begin(try_elsewhere, &mutex)), thrd_success);
        mtx_destroy(&mutex);
    }
}

/* C11 leaves it open; the C library takes any number. */
static void test_bad_mutex_type_is_refused(void)
{
#ifdef ON_PIRN
    CHECK_EQ(mtx_init(&mutex, 77), thrd_error);
    CHECK_EQ(mtx_init(&mutex, -1), thrd_error);
#endif
}

static void test_unlock_of_others_is_an_error(void)
{
    CHECK_EQ(mtx_init(&mutex, mtx_recursive), thrd_success);
    CHECK_EQ(mtx_unlock(&mutex), thrd_error);
    mtx_destroy(&mutex);
}

static cnd_t cond;
static int items, takers;

static int takes(void *arg)
{
    (void)arg;
    CHECK_EQ(mtx_lock(&mutex), thrd_success);
    takers++;
    while (items == 0) {
        CHECK_EQ(cnd_wait(&cond, &mutex), thrd_success);
    }
    items--;
    CHECK_EQ(mtx_unlock(&mutex), thrd_success);
    return 0;
}

static void test_condition_wakes(void)
{
    thrd_t t[THREADS];
    CHECK_EQ(mtx_init(&mutex, mtx_plain), thrd_success);
    CHECK_EQ(cnd_init(&cond), thrd_success);
    for (int i = 0; i < THREADS; i++) {
        t[i] = begin(takes, NULL);
    }
    for (int i = 0; i < THREADS / 2; i++) {
        CHECK_EQ(mtx_lock(&mutex), thrd_success);
        items++;
        CHECK_EQ(cnd_signal(&cond), thrd_success);
        CHECK_EQ(mtx_unlock(&mutex), thrd_success);
    }
    CHECK_EQ(mtx_lock(&mutex), thrd_success);
    items += THREADS - THREADS / 2;
    CHECK_EQ(cnd_broadcast(&cond), thrd_success);
    CHECK_EQ(mtx_unlock(&mutex), thrd_success);
    for (int i = 0; i < THREADS; i++) {
        OK(end(t[i]));
    }
    CHECK_EQ(items, 0);
    struct timespec at = utc_after_ms(5);
    CHECK_EQ(mtx_lock(&mutex), thrd_success);
    CHECK_EQ(cnd_timedwait(&cond, &mutex, &at), thrd_timedout);
    CHECK(has_passed(CLOCK_REALTIME, &at));
    at.tv_nsec = NS_PER_S;
    CHECK_EQ(cnd_timedwait(&cond, &mutex, &at), thrd_error);
    CHECK_EQ(mtx_unlock(&mutex), thrd_success);
    cnd_destroy(&cond);
    mtx_destroy(&mutex);
}

static tss_t key;
static int rounds, ended;

/* Sets the value again: called in every round. */
static void destructor(void *value)
{
    rounds++;
    CHECK_EQ(tss_set(key, value), thrd_success);
}

static void counts_end(void *value)
{
    CHECK(value == &ended);
    ended++;
}

static int has_value(void *arg)
{
    CHECK(tss_get(key) == NULL);
    CHECK_EQ(tss_set(key, arg), thrd_success);
    thrd_yield();
    CHECK(tss_get(key) == arg);
    return 0;
}

static int has_value_and_exits(void *arg)
{
    has_value(arg);
    thrd_exit(3);
}

static void test_specific_values_end_with_their_thread(void)
{
    CHECK_EQ(tss_create(&key, destructor), thrd_success);
    OK(end(begin(has_value, &rounds)));
    CHECK_EQ(rounds, TSS_DTOR_ITERATIONS);
    tss_delete(key);
    CHECK_EQ(tss_set(key, &rounds), thrd_error);
    CHECK_EQ(tss_create(&key, counts_end), thrd_success);
    CHECK_EQ(end(begin(has_value_and_exits, &ended)), 3);
    CHECK_EQ(ended, 1);
    CHECK(tss_get(key) == NULL);
    tss_delete(key);
}

static once_flag once = ONCE_FLAG_INIT;
static int calls;

static void call(void)
{
    thrd_yield();
    calls++;
}

static int calls_once(void *arg)
{
    (void)arg;
    call_once(&once, call);
    return calls;
}

static void test_once_is_called_once(void)
{
    thrd_t t[THREADS];
    for (int i = 0; i < THREADS; i++) {
        t[i] = begin(calls_once, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQ(end(t[i]), 1);
    }
}

int main(void)
{
    RUN(test_join_gives_the_result);
    RUN(test_threads_know_themselves);
    RUN(test_detached_thread_runs);
    RUN(test_sleep_lasts);
    RUN(test_every_mutex_type_excludes);
    RUN(test_bad_mutex_type_is_refused);
    RUN(test_unlock_of_others_is_an_error);
    RUN(test_condition_wakes);
    RUN(test_specific_values_end_with_their_thread);
    RUN(test_once_is_called_once);
    return 0;
}
