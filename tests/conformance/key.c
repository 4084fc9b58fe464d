/* SPDX-License-Identifier: MIT */
/* key.c - thread-specific data: values per thread, destructors and their rounds, deleted keys. */
#include "harness.h"

#define THREADS 16
#define MANY 200

static pthread_key_t key;
static flag_t destroyed;

static void counts(void *value)
{
    flag_add(&destroyed, (int)(long)value);
}

static void *keeps(void *arg)
{
    CHECK(pthread_getspecific(key) == NULL);
    OK(pthread_setspecific(key, arg));
    for (int i = 0; i < 20; i++) {
        sched_yield();
        CHECK(pthread_getspecific(key) == arg);
    }
    return NULL;
}

CASE(values_belong_to_their_thread)
{
    pthread_t t[THREADS];
    OK(pthread_key_create(&key, counts));
    flag_set(&destroyed, 0);
    for (long i = 0; i < THREADS; i++) {
        t[i] = start(keeps, (void *)(i + 1));
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    CHECK_EQ(flag_get(&destroyed), THREADS * (THREADS + 1) / 2);
    CHECK(pthread_getspecific(key) == NULL);
    OK(pthread_key_delete(key));
}

static void *sets_and_exits(void *arg)
{
    OK(pthread_setspecific(key, arg));
    pthread_exit(NULL);
}

CASE(destructors_run_when_a_thread_calls_exit)
{
    OK(pthread_key_create(&key, counts));
    flag_set(&destroyed, 0);
    join(start(sets_and_exits, (void *)5L));
    CHECK_EQ(flag_get(&destroyed), 5);
    OK(pthread_key_delete(key));
}

static void *sets_and_clears(void *arg)
{
    OK(pthread_setspecific(key, arg));
    OK(pthread_setspecific(key, NULL));
    return NULL;
}

CASE(destructors_do_not_run_for_null)
{
    OK(pthread_key_create(&key, counts));
    flag_set(&destroyed, 0);
    join(start(sets_and_clears, (void *)5L));
    CHECK_EQ(flag_get(&destroyed), 0);
    OK(pthread_key_delete(key));
}

static void sets_again(void *value)
{
    flag_add(&destroyed, 1);
    OK(pthread_setspecific(key, value));
}

CASE(destructors_run_a_bounded_number_of_rounds)
{
    OK(pthread_key_create(&key, sets_again));
    flag_set(&destroyed, 0);
    join(start(sets_and_exits, (void *)5L));
    CHECK_EQ(flag_get(&destroyed), PTHREAD_DESTRUCTOR_ITERATIONS);
    OK(pthread_key_delete(key));
}

static flag_t step;

static void *lives_through_delete(void *arg)
{
    OK(pthread_setspecific(key, arg));
    flag_set(&step, 1);
    flag_wait(&step, 2);
    return pthread_getspecific(key);
}

CASE(values_of_a_deleted_key_are_not_seen_under_a_new_one)
{
    flag_set(&step, 0);
    flag_set(&destroyed, 0);
    OK(pthread_key_create(&key, counts));
    pthread_key_t old = key;
    pthread_t t = start(lives_through_delete, (void *)5L);
    flag_wait(&step, 1);
    OK(pthread_key_delete(key));
    OK(pthread_key_create(&key, counts));
    CHECK_EQ(key, old);
    flag_set(&step, 2);
    CHECK(join(t) == NULL);
    CHECK_EQ(flag_get(&destroyed), 0);
    OK(pthread_key_delete(key));
}

static pthread_key_t keys[MANY];

static void *uses_many(void *arg)
{
    for (long i = 0; i < MANY; i++) {
        OK(pthread_setspecific(keys[i], (void *)(i + 1)));
    }
    for (long i = 0; i < MANY; i++) {
        CHECK_EQ((long)pthread_getspecific(keys[i]), i + 1);
    }
    return arg;
}

CASE(many_keys_in_one_thread)
{
    for (int i = 0; i < MANY; i++) {
        OK(pthread_key_create(&keys[i], counts));
    }
    flag_set(&destroyed, 0);
    join(start(uses_many, NULL));
    CHECK_EQ(flag_get(&destroyed), MANY * (MANY + 1) / 2);
    for (int i = 0; i < MANY; i++) {
        OK(pthread_key_delete(keys[i]));
    }
}

CASE(keys_run_out_with_eagain)
{
    static pthread_key_t all[PTHREAD_KEYS_MAX + 1];
    int n = 0, error = 0;
    while (n <= PTHREAD_KEYS_MAX && (error = pthread_key_create(&all[n], NULL)) == 0) {
        n++;
    }
    CHECK_EQ(error, EAGAIN);
    CHECK(n >= _POSIX_THREAD_KEYS_MAX);
    while (n-- > 0) {
        OK(pthread_key_delete(all[n]));
    }
}

CASE(unknown_keys_are_refused)
{
    OK(pthread_key_create(&key, NULL));
    OK(pthread_key_delete(key));
    CHECK_EQ(pthread_key_delete(key), EINVAL);
    CHECK_EQ(pthread_setspecific(key, &key), EINVAL);
    CHECK_EQ(pthread_key_delete(PTHREAD_KEYS_MAX), EINVAL);
    CHECK_EQ(pthread_setspecific(PTHREAD_KEYS_MAX, &key), EINVAL);
}

static pthread_key_t outer;

static void uses_the_runtime(void *value)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    OK(pthread_mutex_lock(&m));
    sched_yield();
    OK(pthread_mutex_unlock(&m));
    OK(pthread_setspecific(key, value));
    join(start(sets_and_clears, NULL));
}

static void *sets_outer(void *arg)
{
    OK(pthread_setspecific(outer, arg));
    return NULL;
}

CASE(destructors_may_block_create_threads_and_set_other_keys)
{
    OK(pthread_key_create(&key, counts));
    OK(pthread_key_create(&outer, uses_the_runtime));
    flag_set(&destroyed, 0);
    join(start(sets_outer, (void *)3L));
    CHECK_EQ(flag_get(&destroyed), 3);
    OK(pthread_key_delete(key));
    OK(pthread_key_delete(outer));
}
