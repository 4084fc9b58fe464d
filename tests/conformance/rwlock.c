/* SPDX-License-Identifier: MIT */
/* rwlock.c - readers-writer locks: exclusion, sharing, time-outs, kinds, errors, attributes. */
#include "harness.h"

#include <sys/mman.h>

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

CASE(initialiser_makes_an_unlocked_lock)
{
    mix();
}

CASE(initialiser_of_writer_preference)
{
    static const pthread_rwlock_t prefer = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
    lock = prefer;
    mix();
    OK(pthread_rwlock_destroy(&lock));
}

CASE(zeroed_memory_is_an_unlocked_lock)
{
    memset(&lock, 0, sizeof(lock));
    mix();
    OK(pthread_rwlock_destroy(&lock));
}

CASE(init_makes_one_of_any_memory)
{
    for (int i = 0; i < 3; i++) {
        memset(&lock, 0xa5, sizeof(lock));
        OK(pthread_rwlock_init(&lock, NULL));
        mix();
        OK(pthread_rwlock_destroy(&lock));
    }
}

CASE(every_kind_excludes)
{
    static const int kinds[] = {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP,
                                PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        pthread_rwlockattr_t a;
        OK(pthread_rwlockattr_init(&a));
        OK(pthread_rwlockattr_setkind_np(&a, kinds[i]));
        OK(pthread_rwlock_init(&lock, &a));
        OK(pthread_rwlockattr_destroy(&a));
        mix();
        OK(pthread_rwlock_destroy(&lock));
    }
}

static flag_t inside;

static void *reads(void *arg)
{
    OK(pthread_rwlock_rdlock(&lock));
    flag_add(&inside, 1);
    flag_wait(&inside, THREADS);
    OK(pthread_rwlock_unlock(&lock));
    return arg;
}

CASE(readers_share)
{
    pthread_t t[THREADS];
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
    return (int)(long)in_thread(calls, &call);
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

CASE(a_reader_may_lock_again)
{
    for (int i = 0; i < 5; i++) {
        OK(i % 2 ? pthread_rwlock_tryrdlock(&lock) : pthread_rwlock_rdlock(&lock));
    }
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(elsewhere(trywrite), EBUSY);
        OK(pthread_rwlock_unlock(&lock));
    }
    OK(elsewhere(trywrite));
}

CASE(tryrdlock_is_ebusy_when_written)
{
    OK(pthread_rwlock_wrlock(&lock));
    CHECK_EQ(elsewhere(tryread), EBUSY);
    CHECK_EQ(pthread_rwlock_tryrdlock(&lock), EBUSY);
    OK(pthread_rwlock_unlock(&lock));
    OK(elsewhere(tryread));
}

CASE(trywrlock_is_ebusy_when_held)
{
    OK(pthread_rwlock_rdlock(&lock));
    OK(elsewhere(tryread));
    CHECK_EQ(elsewhere(trywrite), EBUSY);
    CHECK_EQ(pthread_rwlock_trywrlock(&lock), EBUSY);
    OK(pthread_rwlock_unlock(&lock));
    OK(pthread_rwlock_wrlock(&lock));
    CHECK_EQ(elsewhere(trywrite), EBUSY);
    CHECK_EQ(pthread_rwlock_trywrlock(&lock), EBUSY);
    OK(pthread_rwlock_unlock(&lock));
    OK(elsewhere(trywrite));
}

CASE(lock_is_edeadlk_when_the_caller_writes)
{
    struct timespec at = after_ms(CLOCK_REALTIME, LONG_MS);
    OK(pthread_rwlock_wrlock(&lock));
    CHECK_EQ(pthread_rwlock_wrlock(&lock), EDEADLK);
    CHECK_EQ(pthread_rwlock_rdlock(&lock), EDEADLK);
    CHECK_EQ(pthread_rwlock_timedwrlock(&lock, &at), EDEADLK);
    CHECK_EQ(pthread_rwlock_timedrdlock(&lock, &at), EDEADLK);
    CHECK_EQ(pthread_rwlock_clockwrlock(&lock, CLOCK_REALTIME, &at), EDEADLK);
    CHECK_EQ(pthread_rwlock_clockrdlock(&lock, CLOCK_REALTIME, &at), EDEADLK);
    OK(pthread_rwlock_unlock(&lock));
    OK(elsewhere(trywrite));
}

/* Each of the timed calls on a lock that is not free. */
struct timed {
    const char *name;
    int (*call)(const struct timespec *);
    clockid_t clock;
    bool reads;
};

static int timedrdlock(const struct timespec *at)
{
    return pthread_rwlock_timedrdlock(&lock, at);
}
static int timedwrlock(const struct timespec *at)
{
    return pthread_rwlock_timedwrlock(&lock, at);
}
static int clockrdlock(const struct timespec *at)
{
    return pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, at);
}
static int clockwrlock(const struct timespec *at)
{
    return pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, at);
}

static const struct timed timed[] = {
    {"timedrdlock", timedrdlock, CLOCK_REALTIME, true},
    {"timedwrlock", timedwrlock, CLOCK_REALTIME, false},
    {"clockrdlock", clockrdlock, CLOCK_MONOTONIC, true},
    {"clockwrlock", clockwrlock, CLOCK_MONOTONIC, false},
};

static void *times_out(void *arg)
{
    const struct timed *t = arg;
    struct timespec at = after_ms(t->clock, 5);
    CHECK_EQ(t->call(&at), ETIMEDOUT);
    CHECK(has_passed(t->clock, &at));
    at = (struct timespec){.tv_sec = 1};
    CHECK_EQ(t->call(&at), ETIMEDOUT);
    at = (struct timespec){.tv_sec = -1};
    CHECK_EQ(t->call(&at), ETIMEDOUT);
    return NULL;
}

static void is_etimedout(const void *row)
{
    const struct timed *t = row;
    OK(pthread_rwlock_wrlock(&lock));
    in_thread(times_out, (void *)row);
    OK(pthread_rwlock_unlock(&lock));
    if (!t->reads) {
        OK(pthread_rwlock_rdlock(&lock));
        in_thread(times_out, (void *)row);
        OK(elsewhere(tryread)); /* the writer that gave up keeps nobody out */
        OK(pthread_rwlock_unlock(&lock));
    }
    OK(elsewhere(trywrite));
}

static void *gives_bad_nanoseconds(void *arg)
{
    const struct timed *t = arg;
    struct timespec at = after_ms(t->clock, LONG_MS);
    at.tv_nsec = NS_PER_S;
    CHECK_EQ(t->call(&at), EINVAL);
    at.tv_nsec = -1;
    CHECK_EQ(t->call(&at), EINVAL);
    return NULL;
}

static void is_einval(const void *row)
{
    OK(pthread_rwlock_wrlock(&lock));
    in_thread(gives_bad_nanoseconds, (void *)row);
    OK(pthread_rwlock_unlock(&lock));
}

static void *gets_it(void *arg)
{
    const struct timed *t = arg;
    struct timespec at = after_ms(t->clock, LONG_MS);
    flag_add(&inside, 1);
    OK(t->call(&at));
    OK(pthread_rwlock_unlock(&lock));
    return NULL;
}

static void is_granted(const void *row)
{
    OK(pthread_rwlock_wrlock(&lock));
    pthread_t t = start(gets_it, (void *)row);
    flag_wait(&inside, 1);
    give_way();
    OK(pthread_rwlock_unlock(&lock));
    join(t);
}

static void takes_a_free_lock(const void *row)
{
    const struct timed *t = row;
    struct timespec past = {.tv_sec = 1};
    OK(t->call(&past));
    OK(pthread_rwlock_unlock(&lock));
}

static const struct behaviour {
    const char *suffix;
    void (*run)(const void *);
} behaviours[] = {{"is_etimedout_when_held", is_etimedout},
                  {"is_einval_for_bad_nanoseconds", is_einval},
                  {"is_granted_in_time", is_granted},
                  {"takes_a_free_lock_after_its_time", takes_a_free_lock}};

static const struct behaviour *naming;

static const char *name_of(const void *row)
{
    char *name = malloc(80);
    snprintf(name, 80, "%s_%s", ((const struct timed *)row)->name, naming->suffix);
    return name;
}

static __attribute__((constructor)) void add(void)
{
    for (naming = behaviours; naming != behaviours + COUNT(behaviours); naming++) {
        cases_add(naming->run, timed, sizeof(timed[0]), COUNT(timed), name_of);
    }
}

CASE(clock_is_einval_for_other_clocks)
{
    struct timespec at = after_ms(CLOCK_REALTIME, LONG_MS);
    CHECK_EQ(pthread_rwlock_clockrdlock(&lock, CLOCK_PROCESS_CPUTIME_ID, &at), EINVAL);
    CHECK_EQ(pthread_rwlock_clockwrlock(&lock, CLOCK_PROCESS_CPUTIME_ID, &at), EINVAL);
    CHECK_EQ(pthread_rwlock_clockrdlock(&lock, CLOCK_THREAD_CPUTIME_ID, &at), EINVAL);
    CHECK_EQ(pthread_rwlock_clockwrlock(&lock, CLOCK_THREAD_CPUTIME_ID, &at), EINVAL);
}

static void *writes(void *arg)
{
    flag_add(&inside, 1);
    OK(pthread_rwlock_wrlock(&lock));
    left++;
    OK(pthread_rwlock_unlock(&lock));
    return arg;
}

static void *reads_once(void *arg)
{
    flag_add(&inside, 1);
    OK(pthread_rwlock_rdlock(&lock));
    OK(pthread_rwlock_unlock(&lock));
    return arg;
}

CASE(unlock_of_a_writer_wakes_everybody_in_turn)
{
    pthread_t t[2 * THREADS];
    OK(pthread_rwlock_wrlock(&lock));
    for (int i = 0; i < 2 * THREADS; i++) {
        t[i] = start(i % 2 ? writes : reads_once, NULL);
    }
    flag_wait(&inside, 2 * THREADS);
    give_way();
    CHECK_EQ(left, 0);
    OK(pthread_rwlock_unlock(&lock));
    for (int i = 0; i < 2 * THREADS; i++) {
        join(t[i]);
    }
    CHECK_EQ(left, THREADS);
}

static flag_t stop;

static void *reads_on_and_on(void *arg)
{
    while (!flag_get(&stop)) {
        OK(pthread_rwlock_rdlock(&lock));
        sched_yield();
        OK(pthread_rwlock_unlock(&lock));
    }
    return arg;
}

/* The kind promises it: a stream of readers does not keep a writer out for ever. */
CASE(writers_that_are_preferred_get_in)
{
    static const pthread_rwlock_t prefer = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
    pthread_t t[THREADS];
    lock = prefer;
    for (int i = 0; i < THREADS; i++) {
        t[i] = start(reads_on_and_on, NULL);
    }
    for (int i = 0; i < 20; i++) {
        OK(pthread_rwlock_wrlock(&lock));
        OK(pthread_rwlock_unlock(&lock));
    }
    flag_set(&stop, 1);
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
}

struct counted {
    pthread_rwlock_t lock;
    int users;
};

static void *drops(void *arg)
{
    struct counted *c = arg;
    OK(pthread_rwlock_wrlock(&c->lock));
    int last = --c->users == 0;
    OK(pthread_rwlock_unlock(&c->lock));
    if (last) {
        OK(pthread_rwlock_destroy(&c->lock));
        OK(munmap(c, sizeof(*c)));
    }
    return NULL;
}

CASE(destroy_may_follow_the_last_unlock_at_once)
{
    for (int round = 0; round < 300; round++) {
        struct counted *c =
            mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        pthread_t t[4];
        CHECK(c != MAP_FAILED);
        OK(pthread_rwlock_init(&c->lock, NULL));
        c->users = COUNT(t);
        for (size_t i = 0; i < COUNT(t); i++) {
            t[i] = start(drops, c);
        }
        for (size_t i = 0; i < COUNT(t); i++) {
            join(t[i]);
        }
    }
}

CASE(attr_init_sets_defaults)
{
    pthread_rwlockattr_t a;
    int value;
    memset(&a, 0xa5, sizeof(a));
    OK(pthread_rwlockattr_init(&a));
    OK(pthread_rwlockattr_getkind_np(&a, &value));
    CHECK_EQ(value, PTHREAD_RWLOCK_DEFAULT_NP);
    OK(pthread_rwlockattr_getpshared(&a, &value));
    CHECK_EQ(value, PTHREAD_PROCESS_PRIVATE);
    OK(pthread_rwlockattr_destroy(&a));
}

CASE(attr_kind_is_kept)
{
    pthread_rwlockattr_t a;
    int value;
    OK(pthread_rwlockattr_init(&a));
    OK(pthread_rwlockattr_setkind_np(&a, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP));
    OK(pthread_rwlockattr_getkind_np(&a, &value));
    CHECK_EQ(value, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    CHECK_EQ(pthread_rwlockattr_setkind_np(&a, 77), EINVAL);
    CHECK_EQ(pthread_rwlockattr_setkind_np(&a, -1), EINVAL);
    OK(pthread_rwlockattr_getkind_np(&a, &value));
    CHECK_EQ(value, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    OK(pthread_rwlockattr_destroy(&a));
}

CASE(attr_pshared_is_kept)
{
    pthread_rwlockattr_t a;
    int value;
    OK(pthread_rwlockattr_init(&a));
    OK(pthread_rwlockattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
    OK(pthread_rwlockattr_getpshared(&a, &value));
    CHECK_EQ(value, PTHREAD_PROCESS_SHARED);
    OK(pthread_rwlockattr_setpshared(&a, PTHREAD_PROCESS_PRIVATE));
    OK(pthread_rwlockattr_getpshared(&a, &value));
    CHECK_EQ(value, PTHREAD_PROCESS_PRIVATE);
    OK(pthread_rwlockattr_destroy(&a));
}

CASE(attr_pshared_is_einval_for_other_values)
{
    pthread_rwlockattr_t a;
    OK(pthread_rwlockattr_init(&a));
    CHECK_EQ(pthread_rwlockattr_setpshared(&a, 77), EINVAL);
    CHECK_EQ(pthread_rwlockattr_setpshared(&a, -1), EINVAL);
    OK(pthread_rwlockattr_destroy(&a));
}

/* POSIX only recommends these; glibc does not check. */
#ifdef ON_PIRN
static int unlock_now(void)
{
    return pthread_rwlock_unlock(&lock);
}

CASE(unlock_is_eperm_when_not_the_holder)
{
    CHECK_EQ(pthread_rwlock_unlock(&lock), EPERM);
    OK(pthread_rwlock_wrlock(&lock));
    CHECK_EQ(elsewhere(unlock_now), EPERM);
    OK(pthread_rwlock_unlock(&lock));
}

CASE(destroy_is_ebusy_when_held)
{
    OK(pthread_rwlock_wrlock(&lock));
    CHECK_EQ(pthread_rwlock_destroy(&lock), EBUSY);
    OK(pthread_rwlock_unlock(&lock));
    OK(pthread_rwlock_destroy(&lock));
}
#endif

/* Undefined; programs rely on the C library, which returns. */
CASE(destroy_returns_for_a_null_pointer)
{
    pthread_rwlock_t *volatile none = NULL;
    OK(pthread_rwlock_destroy(none));
}
