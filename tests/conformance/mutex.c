/* SPDX-License-Identifier: MIT */
/* mutex.c - mutexes of all types: locking, owners, timed locking, destruction. */
#include "harness.h"

#include <sys/mman.h>

#define THREADS 8
#define ROUNDS 2000

static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                            PTHREAD_MUTEX_DEFAULT, PTHREAD_MUTEX_ADAPTIVE_NP};

static void init_type(pthread_mutex_t *m, int type)
{
    pthread_mutexattr_t a;
    OK(pthread_mutexattr_init(&a));
    OK(pthread_mutexattr_settype(&a, type));
    memset(m, 0xa5, sizeof(*m));
    OK(pthread_mutex_init(m, &a));
    OK(pthread_mutexattr_destroy(&a)); /* the mutex keeps its type */
}

static pthread_mutex_t *shared;
static long counter;

static void *counts(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        OK(pthread_mutex_lock(shared));
        long seen = counter;
        if (i % 16 == 0) {
            sched_yield();
        }
        counter = seen + 1;
        OK(pthread_mutex_unlock(shared));
    }
    return arg;
}

static void excludes(pthread_mutex_t *m)
{
    pthread_t t[THREADS];
    shared = m;
    counter = 0;
    for (int i = 0; i < THREADS; i++) {
        t[i] = start(counts, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    CHECK_EQ(counter, THREADS * ROUNDS);
}

CASE(initialiser_makes_an_unlocked_mutex)
{
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    excludes(&m);
    OK(pthread_mutex_destroy(&m));
}

CASE(initialisers_of_gnu_types)
{
    static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
                           errorcheck = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
                           adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
    excludes(&recursive);
    OK(pthread_mutex_lock(&recursive));
    OK(pthread_mutex_lock(&recursive));
    excludes(&errorcheck);
    OK(pthread_mutex_lock(&errorcheck));
    CHECK_EQ(pthread_mutex_lock(&errorcheck), EDEADLK);
    excludes(&adaptive);
}

CASE(zeroed_memory_is_an_unlocked_mutex)
{
    pthread_mutex_t *m = calloc(1, sizeof(*m));
    excludes(m);
    OK(pthread_mutex_destroy(m));
    free(m);
}

CASE(init_without_attributes_makes_the_default_type)
{
    pthread_mutex_t m;
    memset(&m, 0xa5, sizeof(m));
    OK(pthread_mutex_init(&m, NULL));
    excludes(&m);
    OK(pthread_mutex_destroy(&m));
}

CASE(init_works_again_after_destroy)
{
    pthread_mutex_t m;
    for (size_t i = 0; i < 2 * COUNT(types); i++) {
        init_type(&m, types[i % COUNT(types)]);
        OK(pthread_mutex_lock(&m));
        OK(pthread_mutex_unlock(&m));
        OK(pthread_mutex_destroy(&m));
    }
}

CASE(every_type_excludes)
{
    for (size_t i = 0; i < COUNT(types); i++) {
        pthread_mutex_t m;
        init_type(&m, types[i]);
        excludes(&m);
        OK(pthread_mutex_destroy(&m));
    }
}

/* Another thread's result of one call on the mutex. */
typedef int (*call_t)(pthread_mutex_t *);
struct request {
    call_t call;
    pthread_mutex_t *mutex;
};

static void *calls(void *arg)
{
    struct request *r = arg;
    return (void *)(long)r->call(r->mutex);
}

static int elsewhere(call_t call, pthread_mutex_t *m)
{
    struct request r = {call, m};
    return (int)(long)in_thread(calls, &r);
}

static int trylock_unlock(pthread_mutex_t *m)
{
    int error = pthread_mutex_trylock(m);
    if (error == 0) {
        pthread_mutex_unlock(m);
    }
    return error;
}

CASE(trylock_is_ebusy_when_another_thread_holds_it)
{
    for (size_t i = 0; i < COUNT(types); i++) {
        pthread_mutex_t m;
        init_type(&m, types[i]);
        OK(pthread_mutex_trylock(&m));
        CHECK_EQ(elsewhere(trylock_unlock, &m), EBUSY);
        OK(pthread_mutex_unlock(&m));
        OK(elsewhere(trylock_unlock, &m));
        OK(pthread_mutex_destroy(&m));
    }
}

CASE(trylock_is_ebusy_when_the_caller_holds_it)
{
    static const int others[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ERRORCHECK,
                                 PTHREAD_MUTEX_DEFAULT, PTHREAD_MUTEX_ADAPTIVE_NP};
    for (size_t i = 0; i < COUNT(others); i++) {
        pthread_mutex_t m;
        init_type(&m, others[i]);
        OK(pthread_mutex_lock(&m));
        CHECK_EQ(pthread_mutex_trylock(&m), EBUSY);
        OK(pthread_mutex_unlock(&m));
        OK(pthread_mutex_destroy(&m));
    }
}

/* It deadlocks; only the time limit ends that. */
CASE(normal_waits_for_itself_when_locked_again)
{
    pthread_mutex_t m;
    init_type(&m, PTHREAD_MUTEX_NORMAL);
    OK(pthread_mutex_lock(&m));
    struct timespec at = after_ms(CLOCK_REALTIME, 5);
    CHECK_EQ(pthread_mutex_timedlock(&m, &at), ETIMEDOUT);
    at = after_ms(CLOCK_MONOTONIC, 5);
    CHECK_EQ(pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &at), ETIMEDOUT);
    OK(pthread_mutex_unlock(&m));
    OK(pthread_mutex_destroy(&m));
}

static void recursive_locks(pthread_mutex_t *m, int i)
{
    struct timespec at = {0};
    switch (i % 4) {
    case 0:
        OK(pthread_mutex_lock(m));
        break;
    case 1:
        OK(pthread_mutex_trylock(m));
        break;
    case 2:
        OK(pthread_mutex_timedlock(m, &at));
        break;
    default:
        OK(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &at));
    }
}

CASE(recursive_counts)
{
    pthread_mutex_t m;
    init_type(&m, PTHREAD_MUTEX_RECURSIVE);
    for (int i = 0; i < 8; i++) {
        recursive_locks(&m, i);
    }
    for (int i = 0; i < 8; i++) {
        CHECK_EQ(elsewhere(trylock_unlock, &m), EBUSY);
        OK(pthread_mutex_unlock(&m));
    }
    OK(elsewhere(trylock_unlock, &m));
    OK(pthread_mutex_destroy(&m));
}

/* 2^32 calls would take a minute, so the counter is found by its changes. */
static uint32_t *find_counter(pthread_mutex_t *m, pthread_mutex_t *before)
{
    for (size_t i = 0; i + sizeof(uint32_t) <= sizeof(*m); i += sizeof(uint32_t)) {
        uint32_t old, new;
        memcpy(&old, (char *)before + i, sizeof(old));
        memcpy(&new, (char *)m + i, sizeof(new));
        if (new == old + 1) {
            return (uint32_t *)((char *)m + i);
        }
    }
    return NULL;
}

CASE(recursive_is_eagain_at_the_most)
{
    pthread_mutex_t m, before;
    struct timespec at = {0};
    init_type(&m, PTHREAD_MUTEX_RECURSIVE);
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_lock(&m));
    memcpy(&before, &m, sizeof(m));
    OK(pthread_mutex_lock(&m));
    uint32_t *count = find_counter(&m, &before);
    CHECK(count != NULL);
    uint32_t real = *count;
    *count = UINT32_MAX;
    CHECK_EQ(pthread_mutex_lock(&m), EAGAIN);
    CHECK_EQ(pthread_mutex_trylock(&m), EAGAIN);
    CHECK_EQ(pthread_mutex_timedlock(&m, &at), EAGAIN);
    CHECK_EQ(pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &at), EAGAIN);
    *count = real;
    for (int i = 0; i < 3; i++) {
        OK(pthread_mutex_unlock(&m));
    }
    OK(pthread_mutex_destroy(&m));
}

CASE(errorcheck_lock_is_edeadlk_when_the_caller_holds_it)
{
    pthread_mutex_t m;
    init_type(&m, PTHREAD_MUTEX_ERRORCHECK);
    struct timespec at = after_ms(CLOCK_REALTIME, LONG_MS);
    OK(pthread_mutex_lock(&m));
    CHECK_EQ(pthread_mutex_lock(&m), EDEADLK);
    CHECK_EQ(pthread_mutex_timedlock(&m, &at), EDEADLK);
    at = after_ms(CLOCK_MONOTONIC, LONG_MS);
    CHECK_EQ(pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &at), EDEADLK);
    OK(pthread_mutex_unlock(&m)); /* once is enough */
    OK(elsewhere(trylock_unlock, &m));
    OK(pthread_mutex_destroy(&m));
}

CASE(unlock_is_eperm_when_another_thread_holds_it)
{
    static const int owned[] = {PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK};
    for (size_t i = 0; i < COUNT(owned); i++) {
        pthread_mutex_t m;
        init_type(&m, owned[i]);
        OK(pthread_mutex_lock(&m));
        CHECK_EQ(elsewhere(pthread_mutex_unlock, &m), EPERM);
        CHECK_EQ(elsewhere(trylock_unlock, &m), EBUSY);
        OK(pthread_mutex_unlock(&m));
        OK(pthread_mutex_destroy(&m));
    }
}

CASE(unlock_is_eperm_when_nobody_holds_it)
{
    static const int owned[] = {PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK};
    for (size_t i = 0; i < COUNT(owned); i++) {
        pthread_mutex_t m;
        init_type(&m, owned[i]);
        CHECK_EQ(pthread_mutex_unlock(&m), EPERM);
        OK(pthread_mutex_lock(&m));
        OK(pthread_mutex_unlock(&m));
        CHECK_EQ(pthread_mutex_unlock(&m), EPERM);
        OK(pthread_mutex_destroy(&m));
    }
}

CASE(unlock_in_any_order)
{
    pthread_mutex_t m[4];
    for (size_t i = 0; i < COUNT(m); i++) {
        init_type(&m[i], types[i]);
        OK(pthread_mutex_lock(&m[i]));
    }
    static const int order[] = {2, 0, 3, 1};
    for (size_t i = 0; i < COUNT(m); i++) {
        OK(pthread_mutex_unlock(&m[order[i]]));
        OK(elsewhere(trylock_unlock, &m[order[i]]));
    }
}

static int timed_out(pthread_mutex_t *m)
{
    struct timespec at = after_ms(CLOCK_REALTIME, 5);
    CHECK_EQ(pthread_mutex_timedlock(m, &at), ETIMEDOUT);
    CHECK(has_passed(CLOCK_REALTIME, &at));
    at = after_ms(CLOCK_MONOTONIC, 5);
    CHECK_EQ(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &at), ETIMEDOUT);
    CHECK(has_passed(CLOCK_MONOTONIC, &at));
    at = after_ms(CLOCK_REALTIME, 5);
    CHECK_EQ(pthread_mutex_clocklock(m, CLOCK_REALTIME, &at), ETIMEDOUT);
    CHECK(has_passed(CLOCK_REALTIME, &at));
    at = (struct timespec){.tv_sec = 1};
    CHECK_EQ(pthread_mutex_timedlock(m, &at), ETIMEDOUT);
    at = (struct timespec){.tv_sec = -1};
    return pthread_mutex_timedlock(m, &at);
}

CASE(timedlock_is_etimedout_when_held)
{
    for (size_t i = 0; i < COUNT(types); i++) {
        pthread_mutex_t m;
        init_type(&m, types[i]);
        OK(pthread_mutex_lock(&m));
        CHECK_EQ(elsewhere(timed_out, &m), ETIMEDOUT);
        OK(pthread_mutex_unlock(&m));
        OK(elsewhere(trylock_unlock, &m)); /* threads that gave up left nothing behind */
        OK(pthread_mutex_destroy(&m));
    }
}

static int bad_nanoseconds(pthread_mutex_t *m)
{
    struct timespec at = after_ms(CLOCK_REALTIME, LONG_MS);
    at.tv_nsec = -1;
    CHECK_EQ(pthread_mutex_timedlock(m, &at), EINVAL);
    CHECK_EQ(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &at), EINVAL);
    at.tv_nsec = NS_PER_S;
    CHECK_EQ(pthread_mutex_clocklock(m, CLOCK_REALTIME, &at), EINVAL);
    return pthread_mutex_timedlock(m, &at);
}

CASE(timedlock_is_einval_for_bad_nanoseconds)
{
    for (size_t i = 0; i < COUNT(types); i++) {
        pthread_mutex_t m;
        init_type(&m, types[i]);
        OK(pthread_mutex_lock(&m));
        CHECK_EQ(elsewhere(bad_nanoseconds, &m), EINVAL);
        OK(pthread_mutex_unlock(&m));
        OK(pthread_mutex_destroy(&m));
    }
}

static int bad_clock(pthread_mutex_t *m)
{
    struct timespec at = after_ms(CLOCK_REALTIME, LONG_MS);
    CHECK_EQ(pthread_mutex_clocklock(m, CLOCK_THREAD_CPUTIME_ID, &at), EINVAL);
    return pthread_mutex_clocklock(m, CLOCK_PROCESS_CPUTIME_ID, &at);
}

CASE(clocklock_is_einval_for_other_clocks)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    CHECK_EQ(bad_clock(&m), EINVAL);
    OK(pthread_mutex_lock(&m));
    CHECK_EQ(elsewhere(bad_clock, &m), EINVAL);
    OK(pthread_mutex_unlock(&m));
}

static int timedlock_free(pthread_mutex_t *m)
{
    struct timespec at = {.tv_nsec = -1}; /* the time is not checked */
    OK(pthread_mutex_timedlock(m, &at));
    OK(pthread_mutex_unlock(m));
    OK(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &at));
    return pthread_mutex_unlock(m);
}

CASE(timedlock_does_not_look_at_the_time_when_free)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    OK(elsewhere(timedlock_free, &m));
    OK(pthread_mutex_destroy(&m));
}

static int timedlock_long(pthread_mutex_t *m)
{
    struct timespec at = after_ms(CLOCK_REALTIME, LONG_MS);
    int error = pthread_mutex_timedlock(m, &at);
    return error != 0 ? error : pthread_mutex_unlock(m);
}

static int clocklock_long(pthread_mutex_t *m)
{
    struct timespec at = after_ms(CLOCK_MONOTONIC, LONG_MS);
    int error = pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &at);
    return error != 0 ? error : pthread_mutex_unlock(m);
}

CASE(timedlock_gets_it_when_released_in_time)
{
    for (size_t i = 0; i < COUNT(types); i++) {
        pthread_mutex_t m;
        init_type(&m, types[i]);
        struct request r = {timedlock_long, &m}, s = {clocklock_long, &m};
        OK(pthread_mutex_lock(&m));
        pthread_t t = start(calls, &r), u = start(calls, &s);
        give_way();
        OK(pthread_mutex_unlock(&m));
        OK((long)join(t));
        OK((long)join(u));
        OK(pthread_mutex_destroy(&m));
    }
}

/* Recommended by POSIX. */
CASE(destroy_is_ebusy_when_held)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    OK(pthread_mutex_lock(&m));
    CHECK_EQ(pthread_mutex_destroy(&m), EBUSY);
    OK(pthread_mutex_unlock(&m));
    OK(pthread_mutex_destroy(&m));
}

/* The last user of an object destroys it and frees its memory. A thread that touched it after the
 * unlock that let the last user in would crash. */
struct counted {
    pthread_mutex_t mutex;
    int users;
};

static void *drops(void *arg)
{
    struct counted *c = arg;
    OK(pthread_mutex_lock(&c->mutex));
    int left = --c->users;
    OK(pthread_mutex_unlock(&c->mutex));
    if (left == 0) {
        OK(pthread_mutex_destroy(&c->mutex));
        OK(munmap(c, sizeof(*c)));
    }
    return NULL;
}

CASE(destroy_may_follow_the_last_unlock_at_once)
{
    for (int round = 0; round < 400; round++) {
        struct counted *c =
            mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        pthread_t t[4];
        CHECK(c != MAP_FAILED);
        init_type(&c->mutex, types[round % COUNT(types)]);
        c->users = COUNT(t);
        for (size_t i = 0; i < COUNT(t); i++) {
            t[i] = start(drops, c);
        }
        for (size_t i = 0; i < COUNT(t); i++) {
            join(t[i]);
        }
    }
}

/* Initialisation takes constant time and no memory, however many there are. */
CASE(init_needs_no_memory)
{
    enum { N = 200000 };
    pthread_mutex_t *all = malloc(N * sizeof(*all));
    void *before = sbrk(0);
    for (int i = 0; i < N; i++) {
        OK(pthread_mutex_init(&all[i], NULL));
        OK(pthread_mutex_lock(&all[i]));
    }
    CHECK(sbrk(0) == before);
    free(all);
}

static flag_t got;

static int locks(pthread_mutex_t *m)
{
    int error = pthread_mutex_lock(m);
    flag_add(&got, 1);
    return error != 0 ? error : pthread_mutex_unlock(m);
}

CASE(unlock_wakes_every_waiter_in_turn)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    struct request r = {locks, &m};
    pthread_t t[THREADS];
    OK(pthread_mutex_lock(&m));
    for (int i = 0; i < THREADS; i++) {
        t[i] = start(calls, &r);
    }
    give_way();
    CHECK_EQ(flag_get(&got), 0);
    OK(pthread_mutex_unlock(&m));
    for (int i = 0; i < THREADS; i++) {
        OK((long)join(t[i]));
    }
    CHECK_EQ(flag_get(&got), THREADS);
}

#ifdef ON_PIRN
/* A glibc mutex of an unknown kind, used by mistake, gives an error. */
CASE(unknown_kind_is_einval)
{
    pthread_mutex_t strange = PTHREAD_MUTEX_INITIALIZER;
    MUTEX_KIND(strange) = 0x7f00;
    CHECK_EQ(pthread_mutex_lock(&strange), EINVAL);
    CHECK_EQ(pthread_mutex_trylock(&strange), EINVAL);
    CHECK_EQ(pthread_mutex_unlock(&strange), EINVAL);
}

CASE(lock_is_einval_after_destroy)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    OK(pthread_mutex_destroy(&m));
    CHECK_EQ(pthread_mutex_lock(&m), EINVAL);
    CHECK_EQ(pthread_mutex_trylock(&m), EINVAL);
    CHECK_EQ(pthread_mutex_unlock(&m), EINVAL);
}
#endif
