/* SPDX-License-Identifier: MIT */
/*
 * carriers.c - each kernel thread keeps its own signal stack and signal mask, whichever threads are
 * preempted on it and continue elsewhere.
 *
 * Threads that compute are preempted, in a signal handler, while others make calls that block, so
 * that CPUs pass from one kernel thread to the next. A handler often returns on another kernel
 * thread than it began on, with the same CPU or another. Every thread repeatedly checks the kernel
 * thread that it runs on: no two may have the same signal stack, and none may change its stack or
 * its mask. Run with PIRN_PREEMPT=1; it ends after SECONDS of CPU time.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <pirn/pirn.h>

#include "../raw.h"
#include "common/options.h"

enum { COMPUTE = 6, CALL = 6, LOOKS = 2000, ROOM = 4096 };

static double seconds = 3;

struct carrier {
    long tid; /* 0: a free place */
    void *stack;
    uint64_t mask;
};

static struct carrier carriers[ROOM];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* a mutex of the system's threads */
static unsigned long looks, known;

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fail(const struct carrier *was, const struct carrier *is)
{
    fprintf(stderr,
            "FAILED kernel thread %ld has signal stack %p, mask %llx; "
            "kernel thread %ld had signal stack %p, mask %llx\n",
            is->tid, is->stack, (unsigned long long)is->mask, was->tid, was->stack,
            (unsigned long long)was->mask);
    abort();
}

/* Under the lock, which the caller holds in a call (pirn_call_begin): it is not switched. */
static void carrier_check(const struct carrier *is)
{
    looks++;
    for (int i = 0; i < ROOM; i++) {
        struct carrier *was = &carriers[i];
        if (was->tid == 0) {
            *was = *is;
            known++;
            return;
        }
        if ((was->tid == is->tid) != (was->stack == is->stack) ||
            (was->tid == is->tid && was->mask != is->mask)) {
            fail(was, is);
        }
        if (was->tid == is->tid) {
            return;
        }
    }
    fprintf(stderr, "FAILED more than %d kernel threads\n", ROOM);
    abort();
}

/* In a call the thread stays on its kernel thread. */
static void look(bool blocks)
{
    static const struct timespec moment = {0, 20000};
    struct carrier is;
    stack_t stack;
    pirn_call_t call;
    pirn_call_begin(&call, blocks);
    is.tid = syscall(SYS_gettid);
    if (blocks) {
        raw_call(SYS_nanosleep, (long)&moment, 0, 0, 0);
    }
    if (syscall(SYS_sigaltstack, NULL, &stack) != 0 ||
        syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &is.mask, sizeof(is.mask)) != 0) {
        abort();
    }
    is.stack = stack.ss_sp;
    pthread_mutex_lock(&lock);
    carrier_check(&is);
    pthread_mutex_unlock(&lock);
    pirn_call_end(&call);
}

static void *computes(void *unused)
{
    volatile uint64_t sum __attribute__((unused)) = 0;
    while (cpu_seconds() < seconds) {
        for (unsigned i = 0; i < 20000; i++) {
            sum += i;
        }
        look(false);
    }
    return unused;
}

static void *calls(void *unused)
{
    while (cpu_seconds() < seconds) {
        look(true);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pirn_thread_t t[COMPUTE + CALL];
    struct pirn_counters stats;
    const struct option_spec options[] = {option_seconds("seconds", &seconds, "of CPU time"), {0}};
    const struct option_page page = {.summary = "Kernel threads that execute CPUs change.",
                                     .options = options};
    options_parse(argc, argv, &page);
    for (int i = 0; i < COMPUTE + CALL; i++) {
        if (pirn_create(&t[i], NULL, i < COMPUTE ? computes : calls, NULL) != 0) {
            return 1;
        }
    }
    for (int i = 0; i < COMPUTE + CALL; i++) {
        pirn_join(t[i], NULL);
    }
    pirn_stats(&stats);
    printf("%lu looks at %lu kernel threads, %llu preemptions\n", looks, known,
           (unsigned long long)stats.preemptions);
    if (stats.preemptions == 0 || looks < LOOKS || known < 3) {
        fprintf(stderr, "FAILED nothing was tried\n");
        return 1;
    }
    return 0;
}
