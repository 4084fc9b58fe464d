/* SPDX-License-Identifier: MIT */
/*
 * posix_ops_locks.c - mutexes and rwlocks of all kinds, in all ways in which they are taken.
 *
 * Checked at once: exclusion inside, and the results of each kind for its owner and for others.
 * Checked at the end: a plain counter that each visit increments equals the atomic one. A thread
 * holds several mutexes only in their order.
 */
#include "posix_mix.h"

enum mutex_kind {
    NORMAL,
    RECURSIVE,
    ERRORCHECK,
    ADAPTIVE,
    INHERIT,
    CEILING,
    ROBUST,
    SHARED,
    KINDS
};
enum { RWLOCKS = 4, CEILING_PRIORITY = 50 };

static struct {
    pthread_mutex_t mutex;
    const void *owner; /* (mutex) */
    uint64_t visits;   /* (mutex) */
    uint64_t granted;  /* (A) */
} mutexes[KINDS];

static struct {
    pthread_rwlock_t lock;
    uint64_t a, b;             /* (lock) equal */
    unsigned readers, writers; /* (A) */
    uint64_t written;          /* (A) */
} rwlocks[RWLOCKS];

/* ---- mutexes ---- */

static int mutex_init(pthread_mutex_t *mutex, enum mutex_kind kind)
{
    static const int types[KINDS] = {[RECURSIVE] = PTHREAD_MUTEX_RECURSIVE,
                                     [ERRORCHECK] = PTHREAD_MUTEX_ERRORCHECK,
                                     [ADAPTIVE] = PTHREAD_MUTEX_ADAPTIVE_NP};
    pthread_mutexattr_t attr;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutexattr_settype(&attr, types[kind]));
    if (kind == INHERIT) {
        OK(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT));
    } else if (kind == CEILING) {
        OK(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_PROTECT));
        OK(pthread_mutexattr_setprioceiling(&attr, CEILING_PRIORITY));
    } else if (kind == ROBUST) {
        OK(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
    } else if (kind == SHARED) {
        OK(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
    }
    int error = pthread_mutex_init(mutex, &attr);
    pthread_mutexattr_destroy(&attr);
    return error;
}

/* The C library's ceilings need a real-time class and the right to use it: otherwise a normal mutex
 * stands in. */
static void ceiling_probe(void)
{
    int error = pthread_mutex_lock(&mutexes[CEILING].mutex);
    if (error == 0) {
        OK(pthread_mutex_unlock(&mutexes[CEILING].mutex));
        return;
    }
    CHECK(!mix_on_pirn);
    printf("no mutexes with a ceiling: %s\n", strerror(error));
    OK(mutex_init(&mutexes[CEILING].mutex, NORMAL));
}

static int mutex_acquire(struct actor *a, unsigned i)
{
    pthread_mutex_t *mutex = &mutexes[i].mutex;
    /* Kernels before 5.14 have no monotonic time limit for mutexes with inheritance. */
    clockid_t clock = i == INHERIT || mix_random(a, 2) ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    struct timespec limit = mix_deadline(a, clock);
    int error;
    switch (mix_random(a, 4)) {
    case 0:
        error = pthread_mutex_trylock(mutex);
        CHECK(error == 0 || error == EBUSY || error == EOWNERDEAD);
        return error;
    case 1:
        limit = mix_deadline(a, CLOCK_REALTIME);
        error = pthread_mutex_timedlock(mutex, &limit);
        break;
    case 2:
        error = pthread_mutex_clocklock(mutex, clock, &limit);
        break;
    default:
        error = pthread_mutex_lock(mutex);
        CHECK(error == 0 || error == EOWNERDEAD);
        break;
    }
    CHECK(error == 0 || error == ETIMEDOUT || error == EOWNERDEAD);
    return error;
}

static void own_again(unsigned i)
{
    pthread_mutex_t *mutex = &mutexes[i].mutex;
    if (i == RECURSIVE) {
        OK(pthread_mutex_lock(mutex));
        OK(pthread_mutex_trylock(mutex));
        OK(pthread_mutex_unlock(mutex));
        OK(pthread_mutex_unlock(mutex));
    } else {
        CHECK_EQ(pthread_mutex_trylock(mutex), EBUSY);
    }
    if (i == ERRORCHECK) {
        CHECK_EQ(pthread_mutex_lock(mutex), EDEADLK);
    }
}

static void mutex_try(struct actor *a, unsigned first);

/* The mutex is held. */
static void mutex_visit(struct actor *a, unsigned i, int error)
{
    if (error == EOWNERDEAD) {
        CHECK_EQ(i, ROBUST);
        OK(pthread_mutex_consistent(&mutexes[i].mutex));
        mutexes[i].owner = NULL;
    }
    CHECK(mutexes[i].owner == NULL);
    mutexes[i].owner = a;
    mutexes[i].visits++;
    own_again(i);
    mix_pause(a);
    if (i + 1 < KINDS && mix_random(a, 4) == 0) {
        mutex_try(a, i + 1);
    }
    CHECK(mutexes[i].owner == a);
    mutexes[i].owner = NULL;
    ADD(&mutexes[i].granted, 1u);
    OK(pthread_mutex_unlock(&mutexes[i].mutex));
}

/* Tries one of the mutexes from `first` on. */
static void mutex_try(struct actor *a, unsigned first)
{
    unsigned i = first + mix_random(a, KINDS - first);
    int error = mutex_acquire(a, i);
    if (error == 0 || error == EOWNERDEAD) {
        mutex_visit(a, i, error);
    }
}

void op_mutex(struct actor *a)
{
    mutex_try(a, 0);
    if (mix_random(a, 16) == 0) {
        unsigned i = mix_random(a, 2) ? ERRORCHECK : mix_random(a, 2) ? RECURSIVE : ROBUST;
        CHECK_EQ(pthread_mutex_unlock(&mutexes[i].mutex), EPERM);
    }
}

/* ---- robust mutexes whose owners end ---- */

struct owner {
    pthread_mutex_t *mutex;
    bool exits, waits;
};

static void *owner_main(void *arg)
{
    struct owner *o = arg;
    int error = pthread_mutex_lock(o->mutex);
    CHECK(error == 0 || error == EOWNERDEAD);
    if (error == EOWNERDEAD) {
        OK(pthread_mutex_consistent(o->mutex));
    }
    while (o->waits) {
        pause();
    }
    if (o->exits) {
        pthread_exit(NULL);
    }
    return NULL;
}

/* The owner dies, by return, exit or cancellation. */
static void owner_dies(struct actor *a, pthread_mutex_t *mutex)
{
    struct owner o = {.mutex = mutex, .waits = mix_random(a, 3) == 0};
    o.exits = mix_random(a, 2);
    pthread_t owner = child_start(a, false, owner_main, &o);
    if (o.waits) {
        mix_pause(a);
        OK(pthread_cancel(owner));
    }
    CHECK(child_join(a, owner) == (o.waits ? PTHREAD_CANCELED : NULL));
}

static void private_robust(struct actor *a)
{
    pthread_mutex_t mutex;
    OK(mutex_init(&mutex, ROBUST));
    owner_dies(a, &mutex);
    /* The cancellation request can come before the lock. */
    int error = pthread_mutex_lock(&mutex);
    CHECK(error == 0 || error == EOWNERDEAD);
    if (error == EOWNERDEAD && mix_random(a, 2)) {
        OK(pthread_mutex_consistent(&mutex));
        error = 0;
    }
    OK(pthread_mutex_unlock(&mutex));
    CHECK_EQ(pthread_mutex_trylock(&mutex), error != 0 ? ENOTRECOVERABLE : 0);
    if (error == 0) {
        OK(pthread_mutex_unlock(&mutex));
    }
    OK(pthread_mutex_destroy(&mutex));
}

void op_robust(struct actor *a)
{
    if (mix_random(a, 2)) {
        owner_dies(a, &mutexes[ROBUST].mutex);
    } else {
        private_robust(a);
    }
}

/* ---- rwlocks ---- */

typedef int rwlock_plain(pthread_rwlock_t *);
typedef int rwlock_timed(pthread_rwlock_t *, const struct timespec *);
typedef int rwlock_clock(pthread_rwlock_t *, clockid_t, const struct timespec *);

static const struct {
    rwlock_plain *lock, *try;
    rwlock_timed *timed;
    rwlock_clock *clocked;
} rwlock_calls[] = {
    {pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, pthread_rwlock_timedrdlock,
     pthread_rwlock_clockrdlock},
    {pthread_rwlock_wrlock, pthread_rwlock_trywrlock, pthread_rwlock_timedwrlock,
     pthread_rwlock_clockwrlock},
};

static bool rwlock_acquire(struct actor *a, pthread_rwlock_t *lock, bool write)
{
    clockid_t clock = mix_random(a, 2) ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    struct timespec limit;
    int error;
    switch (mix_random(a, 4)) {
    case 0:
        error = rwlock_calls[write].try(lock);
        CHECK(error == 0 || error == EBUSY);
        return error == 0;
    case 1:
        limit = mix_deadline(a, CLOCK_REALTIME);
        error = rwlock_calls[write].timed(lock, &limit);
        break;
    case 2:
        limit = mix_deadline(a, clock);
        error = rwlock_calls[write].clocked(lock, clock, &limit);
        break;
    default:
        OK(rwlock_calls[write].lock(lock));
        return true;
    }
    CHECK(error == 0 || error == ETIMEDOUT);
    return error == 0;
}

static void rwlock_read(struct actor *a, unsigned i)
{
    ADD(&rwlocks[i].readers, 1u);
    CHECK(GET(&rwlocks[i].writers) == 0 && rwlocks[i].a == rwlocks[i].b);
    mix_pause(a);
    CHECK(GET(&rwlocks[i].writers) == 0 && rwlocks[i].a == rwlocks[i].b);
    ADD(&rwlocks[i].readers, -1u);
}

static void rwlock_write(struct actor *a, unsigned i)
{
    CHECK(ADD(&rwlocks[i].writers, 1u) == 1 && GET(&rwlocks[i].readers) == 0);
    rwlocks[i].a++;
    mix_pause(a);
    rwlocks[i].b++;
    CHECK(ADD(&rwlocks[i].writers, -1u) == 0 && GET(&rwlocks[i].readers) == 0);
    ADD(&rwlocks[i].written, 1u);
}

void op_rwlock(struct actor *a)
{
    unsigned i = mix_random(a, RWLOCKS);
    bool write = mix_random(a, 3) == 0;
    if (rwlock_acquire(a, &rwlocks[i].lock, write)) {
        (write ? rwlock_write : rwlock_read)(a, i);
        OK(pthread_rwlock_unlock(&rwlocks[i].lock));
    }
}

/* ---- start and end ---- */

void locks_init(void)
{
    static const int kinds[RWLOCKS] = {
        PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP,
        PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP, PTHREAD_RWLOCK_DEFAULT_NP};
    for (unsigned i = 0; i < KINDS; i++) {
        OK(mutex_init(&mutexes[i].mutex, (enum mutex_kind)i));
    }
    ceiling_probe();
    for (unsigned i = 0; i < RWLOCKS; i++) {
        pthread_rwlockattr_t attr;
        OK(pthread_rwlockattr_init(&attr));
        OK(pthread_rwlockattr_setkind_np(&attr, kinds[i]));
        OK(pthread_rwlockattr_setpshared(&attr, i == RWLOCKS - 1 ? PTHREAD_PROCESS_SHARED
                                                                 : PTHREAD_PROCESS_PRIVATE));
        OK(pthread_rwlock_init(&rwlocks[i].lock, &attr));
        OK(pthread_rwlockattr_destroy(&attr));
    }
}

void locks_verify(void)
{
    for (unsigned i = 0; i < KINDS; i++) {
        CHECK_EQ(mutexes[i].visits, mutexes[i].granted);
        int error = pthread_mutex_trylock(&mutexes[i].mutex);
        CHECK(error == 0 || (error == EOWNERDEAD && i == ROBUST));
    }
    for (unsigned i = 0; i < RWLOCKS; i++) {
        CHECK(rwlocks[i].a == rwlocks[i].written && rwlocks[i].b == rwlocks[i].written);
        OK(pthread_rwlock_trywrlock(&rwlocks[i].lock));
    }
}
