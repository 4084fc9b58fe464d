/* SPDX-License-Identifier: MIT */
/* c11.c - <threads.h> of C11: every function and result. */
#include "harness.h"

#include <sys/resource.h>
#include <threads.h>

#define THREADS 8
#define ROUNDS 500

#define SUCCESS(expr) CHECK_EQ(expr, thrd_success)

static thrd_t begin(thrd_start_t fn, void *arg)
{
    thrd_t t;
    SUCCESS(thrd_create(&t, fn, arg));
    return t;
}

static int end(thrd_t t)
{
    int result = -1;
    SUCCESS(thrd_join(t, &result));
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

static int returns_its_argument(void *arg)
{
    return (int)(long)arg;
}

static int exits_with(void *arg)
{
    thrd_exit((int)(long)arg);
}

CASE(join_gives_the_result)
{
    static const int results[] = {0, 5, -7, INT_MAX, INT_MIN};
    for (size_t i = 0; i < COUNT(results); i++) {
        CHECK_EQ(end(begin(returns_its_argument, (void *)(long)results[i])), results[i]);
        CHECK_EQ(end(begin(exits_with, (void *)(long)results[i])), results[i]);
    }
    SUCCESS(thrd_join(begin(exits_with, NULL), NULL));
}

CASE(many_threads)
{
    static thrd_t t[200];
    for (long i = 0; i < 200; i++) {
        t[i] = begin(returns_its_argument, (void *)i);
    }
    for (long i = 0; i < 200; i++) {
        CHECK_EQ(end(t[i]), i);
    }
}

static int is_other(void *arg)
{
    thrd_t main_thread = *(thrd_t *)arg;
    CHECK(!thrd_equal(thrd_current(), main_thread));
    CHECK(thrd_equal(thrd_current(), thrd_current()));
    thrd_yield();
    return 0;
}

CASE(threads_know_themselves)
{
    thrd_t self = thrd_current();
    CHECK(thrd_equal(self, thrd_current()));
    OK(end(begin(is_other, &self)));
}

static flag_t go, done;

static int waits_for_go(void *arg)
{
    (void)arg;
    flag_wait(&go, 1);
    flag_add(&done, 1);
    return 0;
}

CASE(detached_thread_runs)
{
    for (int i = 0; i < 10; i++) {
        SUCCESS(thrd_detach(begin(waits_for_go, NULL)));
    }
    flag_set(&go, 1);
    flag_wait(&done, 10);
}

CASE(join_of_a_detached_thread_is_an_error)
{
    thrd_t t = begin(waits_for_go, NULL);
    SUCCESS(thrd_detach(t));
    CHECK_EQ(thrd_join(t, NULL), thrd_error);
    CHECK_EQ(thrd_detach(t), thrd_error);
    flag_set(&go, 1);
    flag_wait(&done, 1);
}

CASE(create_is_refused_without_memory)
{
    enum { MOST = 20000 };
    static thrd_t t[MOST];
    struct rlimit limit = {6ul << 30, 6ul << 30};
    int n = 0, result = thrd_success;
    NOT_SANITIZED("the sanitizer needs all address space");
    end(begin(returns_its_argument, NULL)); /* all lazy initialisation has happened */
    OK(setrlimit(RLIMIT_AS, &limit));
    while (n < MOST && (result = thrd_create(&t[n], waits_for_go, NULL)) == thrd_success) {
        n++;
    }
    CHECK(result == thrd_nomem || result == thrd_error);
    flag_set(&go, 1);
    for (int i = 0; i < n; i++) {
        OK(end(t[i]));
    }
}

CASE(sleep_lasts)
{
    struct timespec at = after_ms(CLOCK_MONOTONIC, 5), time = {.tv_nsec = 5 * NS_PER_MS};
    OK(thrd_sleep(&time, NULL));
    CHECK(has_passed(CLOCK_MONOTONIC, &at));
}

CASE(sleep_is_below_minus_one_for_bad_nanoseconds)
{
    struct timespec time = {.tv_nsec = NS_PER_S};
    CHECK(thrd_sleep(&time, NULL) < -1);
}

static mtx_t mutex;
static long counter;

static int counts(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        SUCCESS(mtx_lock(&mutex));
        long seen = counter;
        if (i % 16 == 0) {
            thrd_yield();
        }
        counter = seen + 1;
        SUCCESS(mtx_unlock(&mutex));
    }
    return (int)(long)arg;
}

static int try_elsewhere(void *arg)
{
    int result = mtx_trylock(arg);
    if (result == thrd_success) {
        SUCCESS(mtx_unlock(arg));
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

static const int types[] = {mtx_plain, mtx_timed, mtx_plain | mtx_recursive,
                            mtx_timed | mtx_recursive};

CASE(every_mutex_type_excludes)
{
    for (size_t i = 0; i < COUNT(types); i++) {
        thrd_t t[THREADS];
        counter = 0;
        memset(&mutex, 0xa5, sizeof(mutex));
        SUCCESS(mtx_init(&mutex, types[i]));
        for (long k = 0; k < THREADS; k++) {
            t[k] = begin(counts, (void *)k);
        }
        for (long k = 0; k < THREADS; k++) {
            CHECK_EQ(end(t[k]), k);
        }
        CHECK_EQ(counter, THREADS * ROUNDS);
        mtx_destroy(&mutex);
    }
}

CASE(trylock_is_busy_when_held)
{
    for (size_t i = 0; i < COUNT(types); i++) {
        bool recursive = types[i] & mtx_recursive;
        SUCCESS(mtx_init(&mutex, types[i]));
        SUCCESS(mtx_lock(&mutex));
        CHECK_EQ(mtx_trylock(&mutex), recursive ? thrd_success : thrd_busy);
        CHECK_EQ(end(begin(try_elsewhere, &mutex)), thrd_busy);
        if (recursive) {
            SUCCESS(mtx_unlock(&mutex));
            CHECK_EQ(end(begin(try_elsewhere, &mutex)), thrd_busy);
        }
        SUCCESS(mtx_unlock(&mutex));
        CHECK_EQ(end(begin(try_elsewhere, &mutex)), thrd_success);
        mtx_destroy(&mutex);
    }
}

CASE(timedlock_is_timedout_when_held)
{
    for (size_t i = 0; i < COUNT(types); i++) {
        if (types[i] & mtx_timed) {
            SUCCESS(mtx_init(&mutex, types[i]));
            SUCCESS(mtx_lock(&mutex));
            CHECK_EQ(end(begin(timed_elsewhere, &mutex)), thrd_timedout);
            SUCCESS(mtx_unlock(&mutex));
            struct timespec past = {.tv_sec = 1};
            SUCCESS(mtx_timedlock(&mutex, &past)); /* it is free */
            SUCCESS(mtx_unlock(&mutex));
            mtx_destroy(&mutex);
        }
    }
}

static int gives_bad_nanoseconds(void *arg)
{
    struct timespec at = utc_after_ms(LONG_MS);
    at.tv_nsec = NS_PER_S;
    return mtx_timedlock(arg, &at);
}

CASE(timedlock_is_an_error_for_bad_nanoseconds)
{
    SUCCESS(mtx_init(&mutex, mtx_timed));
    SUCCESS(mtx_lock(&mutex));
    CHECK_EQ(end(begin(gives_bad_nanoseconds, &mutex)), thrd_error);
    SUCCESS(mtx_unlock(&mutex));
}

/* C11 leaves it open; the C library accepts any number. */
#ifdef ON_PIRN
CASE(mutex_of_no_type_is_an_error)
{
    CHECK_EQ(mtx_init(&mutex, 77), thrd_error);
    CHECK_EQ(mtx_init(&mutex, -1), thrd_error);
}
#endif

CASE(unlock_of_others_is_an_error)
{
    SUCCESS(mtx_init(&mutex, mtx_recursive));
    CHECK_EQ(mtx_unlock(&mutex), thrd_error);
    mtx_destroy(&mutex);
}

static cnd_t cond;
static int items, takers;

static int takes(void *timed)
{
    struct timespec at = utc_after_ms(LONG_MS);
    SUCCESS(mtx_lock(&mutex));
    takers++;
    while (items == 0) {
        SUCCESS(timed != NULL ? cnd_timedwait(&cond, &mutex, &at) : cnd_wait(&cond, &mutex));
    }
    items--;
    SUCCESS(mtx_unlock(&mutex));
    return 0;
}

static void init_condition(void)
{
    memset(&cond, 0xa5, sizeof(cond));
    SUCCESS(mtx_init(&mutex, mtx_plain));
    SUCCESS(cnd_init(&cond));
}

CASE(condition_wakes)
{
    thrd_t t[THREADS];
    init_condition();
    for (int i = 0; i < THREADS; i++) {
        t[i] = begin(takes, i % 2 ? &cond : NULL);
    }
    for (int i = 0; i < THREADS / 2; i++) {
        SUCCESS(mtx_lock(&mutex));
        items++;
        SUCCESS(cnd_signal(&cond));
        SUCCESS(mtx_unlock(&mutex));
    }
    SUCCESS(mtx_lock(&mutex));
    items += THREADS - THREADS / 2;
    SUCCESS(cnd_broadcast(&cond));
    SUCCESS(mtx_unlock(&mutex));
    for (int i = 0; i < THREADS; i++) {
        OK(end(t[i]));
    }
    CHECK_EQ(items, 0);
    cnd_destroy(&cond);
    mtx_destroy(&mutex);
}

CASE(condition_times_out)
{
    init_condition();
    struct timespec at = utc_after_ms(5);
    SUCCESS(mtx_lock(&mutex));
    CHECK_EQ(cnd_timedwait(&cond, &mutex, &at), thrd_timedout);
    CHECK(has_passed(CLOCK_REALTIME, &at));
    CHECK_EQ(end(begin(try_elsewhere, &mutex)), thrd_busy);
    SUCCESS(mtx_unlock(&mutex));
}

CASE(condition_is_an_error_for_bad_nanoseconds)
{
    init_condition();
    struct timespec at = utc_after_ms(LONG_MS);
    at.tv_nsec = NS_PER_S;
    SUCCESS(mtx_lock(&mutex));
    CHECK_EQ(cnd_timedwait(&cond, &mutex, &at), thrd_error);
    SUCCESS(mtx_unlock(&mutex));
}

static tss_t key;
static int rounds, ended;

static void sets_again(void *value)
{
    rounds++;
    SUCCESS(tss_set(key, value));
}

static void counts_end(void *value)
{
    CHECK(value == &ended);
    ended++;
}

static int has_value(void *arg)
{
    CHECK(tss_get(key) == NULL);
    SUCCESS(tss_set(key, arg));
    thrd_yield();
    CHECK(tss_get(key) == arg);
    return 0;
}

static int has_value_and_exits(void *arg)
{
    has_value(arg);
    thrd_exit(3);
}

CASE(values_belong_to_their_thread)
{
    SUCCESS(tss_create(&key, NULL));
    OK(end(begin(has_value, &key)));
    CHECK(tss_get(key) == NULL);
    OK(has_value(&ended));
    OK(end(begin(has_value, &key)));
    CHECK(tss_get(key) == &ended);
    tss_delete(key);
}

CASE(destructors_run_when_a_thread_ends)
{
    SUCCESS(tss_create(&key, counts_end));
    OK(end(begin(has_value, &ended)));
    CHECK_EQ(end(begin(has_value_and_exits, &ended)), 3);
    CHECK_EQ(ended, 2);
    tss_delete(key);
}

CASE(destructors_run_a_bounded_number_of_rounds)
{
    SUCCESS(tss_create(&key, sets_again));
    OK(end(begin(has_value, &rounds)));
    CHECK_EQ(rounds, TSS_DTOR_ITERATIONS);
    tss_delete(key);
}

CASE(destructors_do_not_run_after_delete)
{
    SUCCESS(tss_create(&key, counts_end));
    OK(has_value(&ended));
    tss_delete(key);
    CHECK_EQ(ended, 0);
    CHECK_EQ(tss_set(key, &ended), thrd_error);
}

CASE(keys_run_out_with_an_error)
{
    int n = 0, result;
    while ((result = tss_create(&key, NULL)) == thrd_success) {
        n++;
    }
    CHECK_EQ(result, thrd_error);
    CHECK(n >= 128);
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

CASE(once_is_called_once)
{
    thrd_t t[THREADS];
    for (int i = 0; i < THREADS; i++) {
        t[i] = begin(calls_once, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQ(end(t[i]), 1);
    }
}

static thread_local int own = 11;

static int has_its_own(void *arg)
{
    CHECK_EQ(own, 11);
    own = (int)(long)arg;
    for (int i = 0; i < 50; i++) {
        thrd_yield();
        CHECK_EQ(own, (long)arg);
    }
    return 0;
}

CASE(thread_local_is)
{
    NOT_SANITIZED("threads share TLS in these builds");
    thrd_t t[THREADS];
    own = 12;
    for (long i = 0; i < THREADS; i++) {
        t[i] = begin(has_its_own, (void *)(100 + i));
    }
    for (int i = 0; i < THREADS; i++) {
        OK(end(t[i]));
    }
    CHECK_EQ(own, 12);
}

/* A thread is the same one in both interfaces. */
static int is_a_posix_thread(void *arg)
{
    (void)arg;
    CHECK(pthread_equal((pthread_t)thrd_current(), pthread_self()));
    SUCCESS(tss_set(key, &key));
    return 0;
}

CASE(threads_are_posix_threads)
{
    SUCCESS(tss_create(&key, NULL));
    OK(end(begin(is_a_posix_thread, NULL)));
    CHECK(pthread_equal((pthread_t)thrd_current(), pthread_self()));
}
