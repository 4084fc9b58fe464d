/* SPDX-License-Identifier: MIT */
/*
 * posix_suite.h - the part that the suites of the POSIX layer share. They run in the simulator, on
 * the kernel of port/env/sim/posix. They call the layer's functions by their internal names
 * (pirn_pthread_..., pirn_posix_...); errno is the simulated thread's.
 */
#ifndef PIRN_POSIX_SUITE_H
#define PIRN_POSIX_SUITE_H

#include "../../../src/posix/linux/posix_io.h"
#include "../../../src/posix/posix.h"
#include "../../../src/posix/signals/posix_signal.h"

#include "sim.h"
#include "sim_posix.h"
#include "suite.h"

int *sim_errno(void);

extern const struct suite suite_signals, suite_calls, suite_process;

/* The layer's functions that return -1 and set errno: 0 or the error. */
static inline int error_of(long result)
{
    return result < 0 ? *sim_errno() : 0;
}

#define OK(call) CHECK((call) == 0)

static inline pthread_t begin_thread(void *(*fn)(void *), void *arg)
{
    pthread_t t;
    OK(pirn_pthread_create(&t, NULL, fn, arg));
    return t;
}

static inline void *end_thread(pthread_t t)
{
    void *result;
    OK(pirn_pthread_join(t, &result));
    return result;
}

/* A handler with a mask of its own and flags. */
static inline void handle(int signal, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_flags = flags};
    action.sa_handler = handler;
    OK(pirn_posix_sigaction(signal, &action, NULL));
}

static inline void mask_with(int how, int signal)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    OK(pirn_pthread_sigmask(how, &set, NULL));
}

static inline bool mask_has(int signal)
{
    sigset_t set;
    OK(pirn_pthread_sigmask(SIG_BLOCK, NULL, &set));
    return sigismember(&set, signal) != 0;
}

/* Waits until a handler or another thread has reached `least`. Handlers run meanwhile. */
static inline void wait_for(int *word, int least)
{
    while (TEST_GET(word) < least) {
        struct timespec moment = {0, 1 + (long)test_random(200)};
        sim_pause();
        pirn_posix_nanosleep(&moment, NULL); /* signals end it, unlike pirn_sleep */
    }
}

/* Random actions of threads, during each of which a signal may come. A cancellation request may end
 * it. */
static inline void do_something(void)
{
    static const struct timespec moment = {0, 150};
    switch (test_random(6)) {
    case 0:
        pirn_sleep(test_random(200));
        break;
    case 1:
        pirn_posix_nanosleep(&moment, NULL);
        break;
    case 2:
        sim_libc_call(test_random(300));
        break;
    case 3:
        pirn_posix_sched_yield();
        break;
    default:
        for (unsigned i = test_random(6); i > 0; i--) {
            sim_pause();
        }
        break;
    }
}

#endif
