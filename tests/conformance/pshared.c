/* SPDX-License-Identifier: MIT */
/* pshared.c - objects that processes share, in memory that they share. */
#include "harness.h"

#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define ROUNDS 300

static struct shared {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    pthread_rwlock_t lock;
    pthread_barrier_t barrier;
    pthread_spinlock_t spin;
    sem_t items, room;
    long counter;
    int turn;
    flag_t flag;
} * s;

static void share(void)
{
    s = shared_memory(sizeof(*s));
}

static void init_mutex(int type)
{
    pthread_mutexattr_t a;
    OK(pthread_mutexattr_init(&a));
    OK(pthread_mutexattr_settype(&a, type));
    OK(pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
    OK(pthread_mutex_init(&s->mutex, &a));
    OK(pthread_mutexattr_destroy(&a));
}

static void init_cond(void)
{
    pthread_condattr_t a;
    OK(pthread_condattr_init(&a));
    OK(pthread_condattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
    OK(pthread_cond_init(&s->cond, &a));
    OK(pthread_condattr_destroy(&a));
}

/* In this process and in a child at the same time. */
static void in_both(void (*fn)(void))
{
    pid_t child = child_start(fn);
    fn();
    child_ends_well(child);
}

static void count(void)
{
    s->counter++; /* the lock's memory order makes it safe */
}

static void counts_with_mutex(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        OK(pthread_mutex_lock(&s->mutex));
        count();
        if (i % 16 == 0) {
            sched_yield();
        }
        OK(pthread_mutex_unlock(&s->mutex));
    }
}

CASE(mutex_excludes_processes)
{
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
                                PTHREAD_MUTEX_ERRORCHECK};
    share();
    for (size_t i = 0; i < COUNT(types); i++) {
        s->counter = 0;
        init_mutex(types[i]);
        in_both(counts_with_mutex);
        CHECK_EQ(s->counter, 2 * ROUNDS);
        OK(pthread_mutex_destroy(&s->mutex));
    }
}

static void *counts_in_thread(void *arg)
{
    counts_with_mutex();
    return arg;
}

static void counts_with_threads(void)
{
    pthread_t t[3];
    for (int i = 0; i < 3; i++) {
        t[i] = start(counts_in_thread, NULL);
    }
    for (int i = 0; i < 3; i++) {
        join(t[i]);
    }
}

CASE(mutex_excludes_threads_of_processes)
{
    share();
    init_mutex(PTHREAD_MUTEX_NORMAL);
    in_both(counts_with_threads);
    CHECK_EQ(s->counter, 6 * ROUNDS);
}

static void finds_it_held(void)
{
    struct timespec at = after_ms(CLOCK_REALTIME, 5);
    CHECK_EQ(pthread_mutex_trylock(&s->mutex), EBUSY);
    CHECK_EQ(pthread_mutex_timedlock(&s->mutex, &at), ETIMEDOUT);
    CHECK_EQ(pthread_mutex_unlock(&s->mutex), EPERM);
}

CASE(mutex_is_held_against_processes)
{
    share();
    init_mutex(PTHREAD_MUTEX_ERRORCHECK);
    OK(pthread_mutex_lock(&s->mutex));
    in_child(finds_it_held);
    OK(pthread_mutex_unlock(&s->mutex));
}

static void plays(int me)
{
    for (int i = 0; i < 100; i++) {
        OK(pthread_mutex_lock(&s->mutex));
        while (s->turn != me) {
            OK(pthread_cond_wait(&s->cond, &s->mutex));
        }
        s->turn = !me;
        OK(pthread_cond_signal(&s->cond));
        OK(pthread_mutex_unlock(&s->mutex));
    }
}

static void plays_second(void)
{
    plays(1);
}

CASE(cond_wakes_processes)
{
    share();
    init_mutex(PTHREAD_MUTEX_NORMAL);
    init_cond();
    pid_t child = child_start(plays_second);
    plays(0);
    child_ends_well(child);
    struct timespec at = after_ms(CLOCK_REALTIME, 5);
    OK(pthread_mutex_lock(&s->mutex));
    CHECK_EQ(pthread_cond_timedwait(&s->cond, &s->mutex, &at), ETIMEDOUT);
    OK(pthread_mutex_unlock(&s->mutex));
}

static void waits_for_broadcast(void)
{
    OK(pthread_mutex_lock(&s->mutex));
    s->counter++;
    while (s->turn == 0) {
        OK(pthread_cond_wait(&s->cond, &s->mutex));
    }
    OK(pthread_mutex_unlock(&s->mutex));
}

CASE(cond_broadcast_wakes_all_processes)
{
    pid_t children[3];
    share();
    init_mutex(PTHREAD_MUTEX_NORMAL);
    init_cond();
    for (int i = 0; i < 3; i++) {
        children[i] = child_start(waits_for_broadcast);
    }
    OK(pthread_mutex_lock(&s->mutex));
    while (s->counter < 3) {
        OK(pthread_mutex_unlock(&s->mutex));
        sched_yield();
        OK(pthread_mutex_lock(&s->mutex));
    }
    s->turn = 1;
    OK(pthread_cond_broadcast(&s->cond));
    OK(pthread_mutex_unlock(&s->mutex));
    for (int i = 0; i < 3; i++) {
        child_ends_well(children[i]);
    }
}

static void counts_with_lock(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        OK(pthread_rwlock_wrlock(&s->lock));
        count();
        OK(pthread_rwlock_unlock(&s->lock));
        OK(pthread_rwlock_rdlock(&s->lock));
        CHECK(s->counter > i);
        OK(pthread_rwlock_unlock(&s->lock));
    }
}

static void finds_it_written(void)
{
    struct timespec at = after_ms(CLOCK_REALTIME, 5);
    CHECK_EQ(pthread_rwlock_tryrdlock(&s->lock), EBUSY);
    CHECK_EQ(pthread_rwlock_trywrlock(&s->lock), EBUSY);
    CHECK_EQ(pthread_rwlock_timedrdlock(&s->lock, &at), ETIMEDOUT);
}

CASE(rwlock_excludes_processes)
{
    pthread_rwlockattr_t a;
    share();
    OK(pthread_rwlockattr_init(&a));
    OK(pthread_rwlockattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
    OK(pthread_rwlock_init(&s->lock, &a));
    OK(pthread_rwlockattr_destroy(&a));
    in_both(counts_with_lock);
    CHECK_EQ(s->counter, 2 * ROUNDS);
    OK(pthread_rwlock_wrlock(&s->lock));
    in_child(finds_it_written);
    OK(pthread_rwlock_unlock(&s->lock));
}

static void walks(void)
{
    for (int i = 0; i < 100; i++) {
        int result = pthread_barrier_wait(&s->barrier);
        OK_OR(result, PTHREAD_BARRIER_SERIAL_THREAD);
        if (result != 0) {
            flag_add(&s->flag, 1);
        }
    }
}

CASE(barrier_joins_processes)
{
    pthread_barrierattr_t a;
    share();
    OK(pthread_barrierattr_init(&a));
    OK(pthread_barrierattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
    OK(pthread_barrier_init(&s->barrier, &a, 2));
    OK(pthread_barrierattr_destroy(&a));
    in_both(walks);
    CHECK_EQ(flag_get(&s->flag), 100);
}

static void counts_with_spin(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        OK(pthread_spin_lock(&s->spin));
        count();
        OK(pthread_spin_unlock(&s->spin));
    }
}

CASE(spin_lock_excludes_processes)
{
    share();
    OK(pthread_spin_init(&s->spin, PTHREAD_PROCESS_SHARED));
    in_both(counts_with_spin);
    CHECK_EQ(s->counter, 2 * ROUNDS);
}

static void produces(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        OK(sem_wait(&s->room));
        flag_add(&s->flag, 1);
        OK(sem_post(&s->items));
    }
}

CASE(semaphore_counts_for_processes)
{
    share();
    OK(sem_init(&s->items, 1, 0));
    OK(sem_init(&s->room, 1, 2));
    pid_t child = child_start(produces);
    for (int i = 0; i < ROUNDS; i++) {
        OK(sem_wait(&s->items));
        OK(sem_post(&s->room));
    }
    child_ends_well(child);
    CHECK_EQ(flag_get(&s->flag), ROUNDS);
    struct timespec at = after_ms(CLOCK_REALTIME, 5);
    FAILS(sem_timedwait(&s->items, &at), ETIMEDOUT);
    OK(sem_destroy(&s->items));
    OK(sem_destroy(&s->room));
}

static void finds_a_robust_mutex_held(void)
{
    OK(pthread_mutex_lock(&s->mutex));
    flag_set(&s->flag, 1);
    for (;;) {
        pause();
    }
}

static void init_robust(void)
{
    pthread_mutexattr_t a;
    OK(pthread_mutexattr_init(&a));
    OK(pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
    OK(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
    OK(pthread_mutex_init(&s->mutex, &a));
}

/* The child has locked it. */
static void kill_with_mutex(pid_t child)
{
    int status;
    flag_wait(&s->flag, 1);
    CHECK_EQ(pthread_mutex_trylock(&s->mutex), EBUSY);
    OK(kill(child, SIGKILL));
    CHECK_EQ(pthread_mutex_lock(&s->mutex), EOWNERDEAD);
    OK(pthread_mutex_consistent(&s->mutex));
    OK(pthread_mutex_unlock(&s->mutex));
    CHECK_EQ(waitpid(child, &status, 0), child);
}

/* Killed with it. */
CASE(robust_mutex_survives_a_killed_process)
{
    share();
    init_robust();
    kill_with_mutex(child_start(finds_a_robust_mutex_held));
    in_both(counts_with_mutex);
    CHECK_EQ(s->counter, 2 * ROUNDS);
}

static void *holds_in_thread(void *arg)
{
    finds_a_robust_mutex_held();
    return arg;
}

static void holds_in_threads(void)
{
    start(holds_in_thread, NULL);
    flag_wait(&s->flag, 1);
    counts_with_threads(); /* they wait */
}

static void *forks(void *child)
{
    *(pid_t *)child = child_start(holds_in_threads);
    return NULL;
}

/* The thread that forked has ended before, in the parent. */
CASE(robust_mutex_survives_a_killed_child_of_a_thread)
{
    pid_t child;
    share();
    init_robust();
    in_thread(forks, &child);
    kill_with_mutex(child);
}

static void does_not_own_it(void)
{
    CHECK_EQ(pthread_mutex_unlock(&s->mutex), EPERM);
    CHECK_EQ(pthread_mutex_trylock(&s->mutex), EBUSY);
    CHECK_EQ(pthread_mutex_consistent(&s->mutex), EINVAL);
}

CASE(robust_mutex_is_not_the_childs)
{
    share();
    init_robust();
    OK(pthread_mutex_lock(&s->mutex));
    in_child(does_not_own_it);
    OK(pthread_mutex_unlock(&s->mutex));
}

/* As programs of the Apache library make it. */
CASE(robust_mutex_may_inherit_priorities)
{
    pthread_mutexattr_t a;
    share();
    OK(pthread_mutexattr_init(&a));
    OK(pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
    OK(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
    OK(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT));
    OK(pthread_mutex_init(&s->mutex, &a));
    in_both(counts_with_mutex);
    CHECK_EQ(s->counter, 2 * ROUNDS);
    kill_with_mutex(child_start(finds_a_robust_mutex_held));
}

static void repairs_and_holds(void)
{
    CHECK_EQ(pthread_mutex_lock(&s->mutex), EOWNERDEAD);
    OK(pthread_mutex_consistent(&s->mutex));
    flag_set(&s->flag, 1);
    for (;;) {
        pause();
    }
}

/* The first to have it ends with it while the second one waits, which is killed then. */
CASE(robust_mutex_survives_one_death_after_another)
{
    share();
    init_robust();
    OK(pthread_mutex_lock(&s->mutex));
    in_child(does_not_own_it);
    OK(pthread_mutex_unlock(&s->mutex));
    pid_t first = child_start(finds_a_robust_mutex_held);
    flag_wait(&s->flag, 1);
    flag_set(&s->flag, 0);
    pid_t second = child_start(repairs_and_holds);
    int status;
    OK(kill(first, SIGKILL));
    CHECK_EQ(waitpid(first, &status, 0), first);
    kill_with_mutex(second);
}

/* The same object at another address: nothing in it may be an address. */
CASE(objects_may_lie_at_another_address_in_each_process)
{
    char path[] = "/tmp/pirn-conformance-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    OK(unlink(path));
    OK(ftruncate(fd, sizeof(*s)));
    s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(s != MAP_FAILED);
    init_mutex(PTHREAD_MUTEX_NORMAL);
    pid_t child = fork();
    if (child == 0) {
        struct shared *old = s;
        s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        CHECK(s != MAP_FAILED && s != old);
        OK(munmap(old, sizeof(*s)));
        counts_with_mutex();
        _exit(0);
    }
    counts_with_mutex();
    child_ends_well(child);
    CHECK_EQ(s->counter, 2 * ROUNDS);
}
