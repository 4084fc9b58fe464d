/* SPDX-License-Identifier: MIT */
/*
 * shared.c - objects between processes. The program starts itself, or the program named by its
 * argument, as the other process, which runs the same test on the same memory.
 *
 *     shared [PEER]              PEER is this program, linked with other threads: then only objects
 *                                with the same layout in both are tested
 *     shared --peer NAME TEST    the other process
 */
#include <fcntl.h>
#include <semaphore.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "check.h"
#include "common/options.h"

#define THREADS 3 /* in each process */
#define ROUNDS 200

#ifdef ON_PIRN
static const bool on_pirn = true;
#else
static const bool on_pirn = false;
#endif

extern char **environ;

static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_RECURSIVE,
                            PTHREAD_MUTEX_ADAPTIVE_NP};
#define TYPES (sizeof(types) / sizeof(types[0]))

struct area {
    pthread_mutex_t mutex[TYPES];
    pthread_cond_t cond[2]; /* CLOCK_REALTIME, CLOCK_MONOTONIC */
    pthread_rwlock_t rwlock;
    pthread_barrier_t barrier;
    pthread_spinlock_t spin;
    sem_t ping, pong, units;
    long counter;
    int turn, step, serial, readers, writers;
};

static struct area *area;
static char area_name[64], sem_name[64];
static const char *peer_program;
static bool is_peer;

/* ---- the other process ---- */

static void area_open(bool new)
{
    int fd = shm_open(area_name, O_RDWR | (new ? O_CREAT | O_EXCL : 0), 0600);
    CHECK(fd >= 0);
    OK(ftruncate(fd, sizeof(*area)));
    area = mmap(NULL, sizeof(*area), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(area != MAP_FAILED);
    close(fd);
}

static void names_init(pid_t pid)
{
    snprintf(area_name, sizeof(area_name), "/pirn-test-%d", (int)pid);
    snprintf(sem_name, sizeof(sem_name), "/pirn-test-sem-%d", (int)pid);
}

static void objects_init(void)
{
    pthread_mutexattr_t m;
    pthread_condattr_t c;
    pthread_rwlockattr_t r;
    pthread_barrierattr_t b;
    int value;
    OK(pthread_mutexattr_init(&m));
    OK(pthread_mutexattr_setpshared(&m, PTHREAD_PROCESS_SHARED));
    OK(pthread_mutexattr_getpshared(&m, &value));
    CHECK_EQ(value, PTHREAD_PROCESS_SHARED);
    for (size_t i = 0; i < TYPES; i++) {
        OK(pthread_mutexattr_settype(&m, types[i]));
        OK(pthread_mutex_init(&area->mutex[i], &m));
    }
    OK(pthread_condattr_init(&c));
    OK(pthread_condattr_setpshared(&c, PTHREAD_PROCESS_SHARED));
    OK(pthread_condattr_getpshared(&c, &value));
    CHECK_EQ(value, PTHREAD_PROCESS_SHARED);
    OK(pthread_cond_init(&area->cond[0], &c));
    OK(pthread_condattr_setclock(&c, CLOCK_MONOTONIC));
    OK(pthread_condattr_getpshared(&c, &value));
    CHECK_EQ(value, PTHREAD_PROCESS_SHARED);
    OK(pthread_cond_init(&area->cond[1], &c));
    OK(pthread_rwlockattr_init(&r));
    OK(pthread_rwlockattr_setpshared(&r, PTHREAD_PROCESS_SHARED));
    OK(pthread_rwlockattr_getpshared(&r, &value));
    CHECK_EQ(value, PTHREAD_PROCESS_SHARED);
    OK(pthread_rwlock_init(&area->rwlock, &r));
    OK(pthread_barrierattr_init(&b));
    OK(pthread_barrierattr_setpshared(&b, PTHREAD_PROCESS_SHARED));
    OK(pthread_barrierattr_getpshared(&b, &value));
    CHECK_EQ(value, PTHREAD_PROCESS_SHARED);
    OK(pthread_barrier_init(&area->barrier, &b, 2 * THREADS));
    OK(pthread_spin_init(&area->spin, PTHREAD_PROCESS_SHARED));
    OK(sem_init(&area->ping, 1, 0));
    OK(sem_init(&area->pong, 1, 0));
    OK(sem_init(&area->units, 1, 2));
}

static void objects_destroy(void)
{
    for (size_t i = 0; i < TYPES; i++) {
        OK(pthread_mutex_destroy(&area->mutex[i]));
    }
    OK(pthread_cond_destroy(&area->cond[0]));
    OK(pthread_cond_destroy(&area->cond[1]));
    OK(pthread_rwlock_destroy(&area->rwlock));
    OK(pthread_barrier_destroy(&area->barrier));
    OK(pthread_spin_destroy(&area->spin));
    OK(sem_destroy(&area->ping));
    OK(sem_destroy(&area->pong));
    OK(sem_destroy(&area->units));
}

static void await_end(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        sched_yield();
        usleep(200);
    }
    OK(status);
}

/* Run the test in both processes. */
static void with_peer(const char *name, void (*test)(void))
{
    pid_t pid;
    char *argv[] = {"shared", "--peer", area_name, (char *)name, NULL};
    area_open(true);
    objects_init();
    OK(posix_spawn(&pid, peer_program, NULL, NULL, argv, environ));
    test();
    await_end(pid);
    objects_destroy();
    OK(munmap(area, sizeof(*area)));
    OK(shm_unlink(area_name));
}

/* Wait until the processes have called this `n` times in all, without using the objects. */
static void meet(int n)
{
    __atomic_add_fetch(&area->step, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&area->step, __ATOMIC_SEQ_CST) < n) {
        sched_yield();
        usleep(100);
    }
}

static void with_threads(void *(*fn)(void *))
{
    pthread_t t[THREADS];
    for (long i = 0; i < THREADS; i++) {
        t[i] = start(fn, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
}

/* ---- mutexes, spin locks ---- */

static pthread_mutex_t *counting;

static void *counts(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        OK(counting != NULL ? pthread_mutex_lock(counting) : pthread_spin_lock(&area->spin));
        long seen = area->counter;
        if (i % 16 == 0) {
            sched_yield();
        }
        area->counter = seen + 1;
        OK(counting != NULL ? pthread_mutex_unlock(counting) : pthread_spin_unlock(&area->spin));
    }
    return arg;
}

static void mutexes_exclude(void)
{
    for (size_t i = 0; i < TYPES; i++) {
        counting = &area->mutex[i];
        with_threads(counts);
        meet(2 * ((int)i + 1));
    }
    CHECK_EQ(area->counter, TYPES * 2 * THREADS * ROUNDS);
}

static void spin_locks_exclude(void)
{
    counting = NULL;
    with_threads(counts);
    meet(2);
    CHECK_EQ(area->counter, 2 * THREADS * ROUNDS);
}

static void *unlocks(void *m)
{
    return (void *)(long)pthread_mutex_unlock(m);
}

static void times_out(pthread_mutex_t *m)
{
    struct timespec at = after_ms(CLOCK_REALTIME, 5);
    CHECK_EQ(pthread_mutex_timedlock(m, &at), ETIMEDOUT);
    CHECK(has_passed(CLOCK_REALTIME, &at));
    at = after_ms(CLOCK_MONOTONIC, 5);
    CHECK_EQ(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &at), ETIMEDOUT);
    CHECK(has_passed(CLOCK_MONOTONIC, &at));
    at = (struct timespec){.tv_sec = -1};
    CHECK_EQ(pthread_mutex_timedlock(m, &at), ETIMEDOUT);
    at = (struct timespec){.tv_nsec = NS_PER_S};
    CHECK_EQ(pthread_mutex_timedlock(m, &at), EINVAL);
}

/* One process holds a mutex of each type, the other cannot get it. */
static void mutexes_have_owners(void)
{
    for (size_t i = 0; i < TYPES; i++) {
        pthread_mutex_t *m = &area->mutex[i];
        bool owned = types[i] == PTHREAD_MUTEX_ERRORCHECK || types[i] == PTHREAD_MUTEX_RECURSIVE;
        if (!is_peer) {
            OK(pthread_mutex_lock(m));
            if (types[i] == PTHREAD_MUTEX_ERRORCHECK) {
                CHECK_EQ(pthread_mutex_lock(m), EDEADLK);
                CHECK_EQ(pthread_mutex_trylock(m), EBUSY);
            }
            if (types[i] == PTHREAD_MUTEX_RECURSIVE) {
                OK(pthread_mutex_lock(m));
                OK(pthread_mutex_trylock(m));
                OK(pthread_mutex_unlock(m));
                OK(pthread_mutex_unlock(m));
            }
            if (owned) {
                CHECK_EQ((long)join(start(unlocks, m)), EPERM);
            }
        }
        meet(4 * (int)i + 2);
        if (is_peer) {
            CHECK_EQ(pthread_mutex_trylock(m), EBUSY);
            times_out(m);
            if (owned) {
                CHECK_EQ(pthread_mutex_unlock(m), EPERM);
            }
        }
        meet(4 * (int)i + 4);
        if (!is_peer) {
            OK(pthread_mutex_unlock(m));
        }
        /* here the other one may still have to wait */
        OK(pthread_mutex_lock(m));
        OK(pthread_mutex_unlock(m));
    }
}

/* ---- semaphores ---- */

static void *plays(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        OK(sem_wait(is_peer ? &area->ping : &area->pong));
        OK(sem_post(is_peer ? &area->pong : &area->ping));
    }
    return arg;
}

static void *uses_units(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        OK(sem_wait(&area->units));
        CHECK(__atomic_add_fetch(&area->turn, 1, __ATOMIC_SEQ_CST) <= 2);
        if (i % 16 == 0) {
            sched_yield();
        }
        __atomic_sub_fetch(&area->turn, 1, __ATOMIC_SEQ_CST);
        OK(sem_post(&area->units));
    }
    return arg;
}

static void semaphores_pass_units(void)
{
    int value;
    if (!is_peer) {
        for (int i = 0; i < THREADS; i++) {
            OK(sem_post(&area->ping));
        }
    }
    with_threads(plays);
    with_threads(uses_units);
    meet(2);
    OK(sem_getvalue(&area->ping, &value));
    CHECK_EQ(value, THREADS);
    OK(sem_getvalue(&area->units, &value));
    CHECK_EQ(value, 2);
    FAILS(sem_trywait(&area->pong), EAGAIN);
    struct timespec at = after_ms(CLOCK_REALTIME, 5);
    FAILS(sem_timedwait(&area->pong, &at), ETIMEDOUT);
    CHECK(has_passed(CLOCK_REALTIME, &at));
    at = after_ms(CLOCK_MONOTONIC, 5);
    FAILS(sem_clockwait(&area->pong, CLOCK_MONOTONIC, &at), ETIMEDOUT);
    CHECK(has_passed(CLOCK_MONOTONIC, &at));
    at.tv_nsec = -1;
    FAILS(sem_timedwait(&area->pong, &at), EINVAL);
}

static void named_semaphores_are_shared(void)
{
    sem_t *s = SEM_FAILED;
    int value;
    if (!is_peer) {
        s = sem_open(sem_name, O_CREAT | O_EXCL, 0600, 3);
        CHECK(s != SEM_FAILED);
    }
    meet(2);
    if (is_peer) {
        s = sem_open(sem_name, 0);
        CHECK(s != SEM_FAILED);
        OK(sem_getvalue(s, &value));
        CHECK_EQ(value, 3);
        for (int i = 0; i < 3; i++) {
            OK(sem_wait(s));
        }
    }
    meet(4);
    for (int i = 0; i < ROUNDS; i++) {
        OK(is_peer ? sem_post(s) : sem_wait(s));
    }
    meet(6);
    OK(sem_close(s));
    if (!is_peer) {
        OK(sem_unlink(sem_name));
    }
}

/* ---- barriers ---- */

static void *arrives(void *arg)
{
    for (int round = 1; round <= 50; round++) {
        __atomic_add_fetch(&area->turn, 1, __ATOMIC_SEQ_CST);
        int result = pthread_barrier_wait(&area->barrier);
        CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
        if (result != 0) {
            __atomic_add_fetch(&area->serial, 1, __ATOMIC_SEQ_CST);
        }
        CHECK(__atomic_load_n(&area->turn, __ATOMIC_SEQ_CST) >= round * 2 * THREADS);
    }
    return arg;
}

static void barriers_wait_for_all(void)
{
    with_threads(arrives);
    meet(2);
    CHECK_EQ(area->serial, 50);
}

/* ---- objects with a layout of Pirn's own ---- */

static void *reads_and_writes(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 4 == 0) {
            OK(pthread_rwlock_wrlock(&area->rwlock));
            CHECK_EQ(__atomic_add_fetch(&area->writers, 1, __ATOMIC_SEQ_CST), 1);
            CHECK_EQ(__atomic_load_n(&area->readers, __ATOMIC_SEQ_CST), 0);
            area->counter++;
            __atomic_sub_fetch(&area->writers, 1, __ATOMIC_SEQ_CST);
        } else {
            OK(pthread_rwlock_rdlock(&area->rwlock));
            __atomic_add_fetch(&area->readers, 1, __ATOMIC_SEQ_CST);
            CHECK_EQ(__atomic_load_n(&area->writers, __ATOMIC_SEQ_CST), 0);
            sched_yield();
            __atomic_sub_fetch(&area->readers, 1, __ATOMIC_SEQ_CST);
        }
        OK(pthread_rwlock_unlock(&area->rwlock));
    }
    return arg;
}

static void rwlocks_exclude(void)
{
    with_threads(reads_and_writes);
    meet(2);
    CHECK_EQ(area->counter, 2 * THREADS * ROUNDS / 4);
    if (!is_peer) {
        OK(pthread_rwlock_wrlock(&area->rwlock));
        CHECK_EQ(pthread_rwlock_wrlock(&area->rwlock), EDEADLK);
        CHECK_EQ(pthread_rwlock_rdlock(&area->rwlock), EDEADLK);
    }
    meet(4);
    if (is_peer) {
        struct timespec at = after_ms(CLOCK_REALTIME, 5);
        CHECK_EQ(pthread_rwlock_trywrlock(&area->rwlock), EBUSY);
        CHECK_EQ(pthread_rwlock_tryrdlock(&area->rwlock), EBUSY);
        CHECK_EQ(pthread_rwlock_timedrdlock(&area->rwlock, &at), ETIMEDOUT);
        CHECK(has_passed(CLOCK_REALTIME, &at));
        at = after_ms(CLOCK_MONOTONIC, 5);
        CHECK_EQ(pthread_rwlock_clockwrlock(&area->rwlock, CLOCK_MONOTONIC, &at), ETIMEDOUT);
        CHECK(has_passed(CLOCK_MONOTONIC, &at));
    }
    meet(6);
    if (!is_peer) {
        OK(pthread_rwlock_unlock(&area->rwlock));
    }
    OK(pthread_rwlock_rdlock(&area->rwlock));
    OK(pthread_rwlock_unlock(&area->rwlock));
}

static void *takes_turns(void *arg)
{
    pthread_mutex_t *m = &area->mutex[TYPES - 1 - (size_t)area->serial];
    int me = 2 * (int)(long)arg + is_peer;
    for (int i = 0; i < 30; i++) {
        OK(pthread_mutex_lock(m));
        while (area->turn % (2 * THREADS) != me) {
            OK(pthread_cond_wait(&area->cond[0], m));
        }
        area->turn++;
        OK(pthread_cond_broadcast(&area->cond[0]));
        OK(pthread_mutex_unlock(m));
    }
    return NULL;
}

static void *takes_items(void *arg)
{
    OK(pthread_mutex_lock(&area->mutex[0]));
    while (area->counter == 0) {
        OK(pthread_cond_wait(&area->cond[1], &area->mutex[0]));
    }
    area->counter--;
    OK(pthread_mutex_unlock(&area->mutex[0]));
    return arg;
}

static void conditions_wake(void)
{
    for (int type = 0; type < (int)TYPES; type++) {
        with_threads(takes_turns);
        meet(4 * type + 2);
        if (!is_peer) {
            CHECK_EQ(area->turn, 2 * THREADS * 30 * (type + 1));
            area->serial = type + 1;
        }
        meet(4 * type + 4);
    }
    if (is_peer) {
        with_threads(takes_items);
    } else {
        for (int i = 0; i < THREADS; i++) {
            OK(pthread_mutex_lock(&area->mutex[0]));
            area->counter++;
            OK(pthread_mutex_unlock(&area->mutex[0]));
            OK(pthread_cond_signal(&area->cond[1]));
        }
    }
    meet(4 * TYPES + 2);
    static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC};
    pthread_mutex_t mine = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    for (int i = 0; i < 2; i++) {
        struct timespec at = after_ms(clocks[i], 5);
        CHECK_EQ(pthread_cond_timedwait(&area->cond[i], &mine, &at), EPERM);
        OK(pthread_mutex_lock(&mine));
        CHECK_EQ(pthread_cond_timedwait(&area->cond[i], &mine, &at), ETIMEDOUT);
        CHECK(has_passed(clocks[i], &at));
        CHECK_EQ(pthread_cond_timedwait(&area->cond[i], &mine, &at), ETIMEDOUT);
        at = after_ms(clocks[!i], 5);
        CHECK_EQ(pthread_cond_clockwait(&area->cond[i], &mine, clocks[!i], &at), ETIMEDOUT);
        CHECK(has_passed(clocks[!i], &at));
        at.tv_nsec = NS_PER_S;
        CHECK_EQ(pthread_cond_timedwait(&area->cond[i], &mine, &at), EINVAL);
        OK(pthread_mutex_unlock(&mine));
    }
}

/* A condition variable of this process alone, with a mutex between processes. */
static pthread_cond_t private = PTHREAD_COND_INITIALIZER;

static void *private_turns(void *arg)
{
    pthread_mutex_t *m = &area->mutex[2];
    int me = (int)(long)arg;
    int times = on_pirn ? 2 : 1; /* waiting in the C library releases it once only */
    for (int i = 0; i < 30; i++) {
        for (int k = 0; k < times; k++) {
            OK(pthread_mutex_lock(m));
        }
        while (area->turn % THREADS != me) {
            OK(pthread_cond_wait(&private, m));
        }
        area->turn++;
        OK(pthread_cond_broadcast(&private));
        for (int k = 0; k < times; k++) {
            OK(pthread_mutex_unlock(m));
        }
    }
    return NULL;
}

static void private_condition_goes_with_shared_mutex(void)
{
    if (is_peer) {
        return;
    }
    with_threads(private_turns);
    CHECK_EQ(area->turn, 30 * THREADS);
    struct timespec at = after_ms(CLOCK_REALTIME, 5);
    CHECK_EQ(pthread_cond_timedwait(&private, &area->mutex[2], &at), EPERM);
}

/* ---- all ---- */

struct test {
    const char *name;
    void (*run)(void);
    bool same_library;
};
static const struct test tests[] = {
    {"mutexes_exclude", mutexes_exclude, false},
    {"mutexes_have_owners", mutexes_have_owners, false},
    {"spin_locks_exclude", spin_locks_exclude, false},
    {"semaphores_pass_units", semaphores_pass_units, false},
    {"named_semaphores_are_shared", named_semaphores_are_shared, false},
    {"barriers_wait_for_all", barriers_wait_for_all, false},
    {"rwlocks_exclude", rwlocks_exclude, true},
    {"conditions_wake", conditions_wake, true},
    {"private_condition_goes_with_shared_mutex", private_condition_goes_with_shared_mutex, true},
};
#define TESTS (sizeof(tests) / sizeof(tests[0]))

/* This attribute cannot be combined with a mutex between processes; the C library has such
 * mutexes. */
static void test_what_is_not_there_is_refused(void)
{
    pthread_mutexattr_t a;
    pthread_mutex_t m;
    if (!on_pirn) {
        return;
    }
    OK(pthread_mutexattr_init(&a));
    OK(pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
    OK(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_PROTECT));
    CHECK_EQ(pthread_mutex_init(&m, &a), ENOTSUP);
    OK(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
    CHECK_EQ(pthread_mutex_init(&m, &a), ENOTSUP);
    OK(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_STALLED));
    OK(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_NONE));
    OK(pthread_mutex_init(&m, &a));
    OK(pthread_mutex_destroy(&m));
    OK(pthread_mutexattr_destroy(&a));
}

/* area: the name of the shared memory, which ends with the other process's id. */
static int peer_main(const char *area, const char *test)
{
    const char *dash = strrchr(area, '-');
    is_peer = true;
    names_init((pid_t)operand_number("AREA", dash != NULL ? dash + 1 : area, 1, INT_MAX));
    area_open(false);
    tests[OPERAND_CHOICE("TEST", test, tests)].run();
    return 0;
}

int main(int argc, char **argv)
{
    const char *area = NULL;
    const struct option_spec options[] = {
        option_text("peer", "AREA", &area, "be the other one, in test PROGRAM"), {0}};
    const struct option_page page = {.summary = "Objects that PROGRAM and this process share.",
                                     .operand = "[PROGRAM]",
                                     .options = options};
    const char *operand = options_parse(argc, argv, &page)[0];
    if (area != NULL) {
        return peer_main(area, operand != NULL ? operand : "");
    }
    bool same_library = operand == NULL;
    peer_program = same_library ? "/proc/self/exe" : operand;
    names_init(getpid());
    for (size_t i = 0; i < TESTS; i++) {
        if (same_library || !tests[i].same_library) {
            with_peer(tests[i].name, tests[i].run);
            printf("ok %s\n", tests[i].name);
        }
    }
    RUN(test_what_is_not_there_is_refused);
    return 0;
}
