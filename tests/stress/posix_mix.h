/* SPDX-License-Identifier: MIT */
/*
 * posix_mix.h - the interface between the files of the stress of the POSIX layer.
 *
 * posix_mix.c runs actors, posix_watch.c checks that they make progress, posix_ops.c chooses their
 * operations. The operations: posix_ops_locks.c, posix_ops_waits.c, posix_ops_threads.c,
 * posix_ops_signals.c, posix_ops_own.c (objects of one thread), posix_ops_groups.c (threads that
 * work together).
 *
 * Only names of POSIX and glibc are used here: the same sources are linked with libpirn-pthread and
 * with the C library's own threads, with which every invariant must hold, too.
 */
#ifndef PIRN_TESTS_STRESS_POSIX_MIX_H
#define PIRN_TESTS_STRESS_POSIX_MIX_H

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "random.h"

#define ADD(p, n) __atomic_add_fetch((p), (n), __ATOMIC_SEQ_CST)
#define GET(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)
#define SET(p, v) __atomic_store_n((p), (v), __ATOMIC_SEQ_CST)

#define CHECK_EQ(expr, want)                                                                       \
    do {                                                                                           \
        long check_got = (long)(expr);                                                             \
        if (check_got != (long)(want)) {                                                           \
            mix_fail(__FILE__, __LINE__, #expr, check_got, (long)(want));                          \
        }                                                                                          \
    } while (0)
#define CHECK(expr) CHECK_EQ(!!(expr), 1)
#define OK(expr) CHECK_EQ(expr, 0)

/* Groups of operations that --features switches on and off. */
enum feature {
    F_MUTEX,
    F_RWLOCK,
    F_COND,
    F_SEM,
    F_BARRIER,
    F_RELAY,
    F_ONCE,
    F_KEY,
    F_TLS,
    F_PIPE,
    F_SCHED,
    F_AFFINITY,
    F_SIGNAL,
    F_ALTSTACK,
    F_CANCEL,
    F_ASYNC,
    F_ROBUST,
    F_NEST,
    F_FORK,
    F_SYSCALL,
    F_LIBC,
    F_COMPUTE,
    FEATURES
};

/* The watch's view of a thread, in memory that it shares with the test. */
struct progress {
    const char *who;
    unsigned number;
    const char *doing; /* (A) NULL: no progress is expected */
    uint32_t steps;    /* (A) */
};

struct actor {
    struct progress *progress;
    unsigned number;
    unsigned lives; /* number of threads that were this actor (manager) */
    uint64_t random;
    pthread_mutex_t lock;
    pthread_t thread; /* (lock) */
    bool alive;       /* (lock) signals may be sent to it */
    /* Signals to the thread; sent grows under the lock. */
    unsigned queued_sent, queued_got, killed_sent, killed_got; /* (A) */
};

/* ---- posix_mix.c ---- */

extern bool mix_stop; /* (A) time is over */
extern const bool mix_on_pirn;

void mix_fail(const char *file, int line, const char *what, long got, long want)
    __attribute__((noreturn));

/* The thread's actor; NULL in other threads. */
extern __thread struct actor *mix_self;

/* Any of the actors. */
struct actor *mix_peer(struct actor *a);

static inline uint32_t mix_random(struct actor *a, uint32_t n)
{
    return stress_random(&a->random, n);
}

/* Records the actor's activity, and its progress. */
static inline void mix_doing(struct actor *a, const char *doing)
{
    SET(&a->progress->doing, doing);
    ADD(&a->progress->steps, 1u);
}

/* Yield, sleep or compute for a moment, or nothing. */
void mix_pause(struct actor *a);

struct timespec mix_time_after(clockid_t clock, long ns);

/* A time that is mostly soon, sometimes past. */
struct timespec mix_deadline(struct actor *a, clockid_t clock);

/* ---- posix_watch.c ---- */

/* Called before there are threads: the watch is a process of its own, which hangs of the test
 * cannot stop. With `hold`, a test that hangs is left to a debugger. */
void watch_start(bool hold);
void watch_end(void);
struct progress *watch_add(const char *who, unsigned number);

/* ---- posix_ops.c ---- */

/* NAME,...: only these; -NAME,...: all except these. Ends the program if one is unknown. */
void features_parse(const char *list);
bool feature_on(enum feature f);

void ops_init(uint64_t seed, unsigned actors);
void ops_one(struct actor *a);
uint64_t ops_done(void);

/* Time is over: end waits without a time limit. Called until all actors have ended. */
void ops_release(void);

/* All actors have ended: check the balances. */
void ops_verify(void);

/* For waits that only another actor can end: false if too many wait, so that one is left. */
bool endless_begin(void);
void endless_end(void);

/* ---- the operations ---- */

void locks_init(void);
void op_mutex(struct actor *a);
void op_rwlock(struct actor *a);
void op_robust(struct actor *a);
void locks_verify(void);

void waits_init(void);
void op_cond(struct actor *a);
void op_sem(struct actor *a);
void op_pipe(struct actor *a);
void op_syscall(struct actor *a);
void waits_release(void);
void waits_verify(void);

/* From a signal handler. */
void sem_post_token(void);

void threads_init(void);
void op_cancel(struct actor *a);
void op_nest(struct actor *a);
void op_fork(struct actor *a);
void threads_verify(void);

/* A thread with random attributes, and with all signals blocked. */
pthread_t child_start(struct actor *a, bool detached, void *(*fn)(void *), void *arg);

/* Join in one of the possible ways. */
void *child_join(struct actor *a, pthread_t child);

void own_init(void);
void op_once(struct actor *a);
void op_key(struct actor *a);
void op_tls(struct actor *a);
void op_sched(struct actor *a);
void op_affinity(struct actor *a);
void op_libc(struct actor *a);
void op_compute(struct actor *a);
void own_thread_start(void);
void own_verify(void);

/* Called by any thread: sets values whose destructors are counted. */
void keys_touch(unsigned key);

void signals_init(uint64_t seed);
void op_signal(struct actor *a);
void op_altstack(struct actor *a);
void signals_thread_start(struct actor *a);
void signals_thread_end(struct actor *a);
void signals_verify(void);

/* The signal that the relay sends: no handler, blocked everywhere. */
int signals_relay(void);

void groups_start(uint64_t seed);
void groups_join(void);

#endif
