/* SPDX-License-Identifier: MIT */
/*
 * small_stacks.c - threads on the smallest stacks of <limits.h>, provided by the program, on a
 * processor whose largest signal frame has nearly that size (AMX; played by getauxval below, which
 * the runtime calls). As with the C library they are accepted. The threads are preempted, run
 * handlers, and end by asynchronous cancellation; no memory beside the stacks changes.
 */
#include <dlfcn.h>
#include <limits.h>
#include <signal.h>
#include <sys/auxv.h>

#include "check.h"

enum { SMALL = 16384, FENCE = 4096, THREADS = 4, ROUNDS = 20, PATTERN = 0x5a, AMX_FRAME = 11008 };

static char memory[THREADS][FENCE + SMALL + FENCE] __attribute__((aligned(4096)));
static _Atomic int turn;
static _Atomic unsigned handled;

unsigned long getauxval(unsigned long type)
{
    unsigned long (*next)(unsigned long) =
        (unsigned long (*)(unsigned long))dlsym(RTLD_NEXT, "getauxval");
    return type == AT_MINSIGSTKSZ ? AMX_FRAME : next(type);
}

static void handler(int signal)
{
    (void)signal;
    handled++;
}

/* Waits by computing until it is its turn: ticks must let the others run. */
static void *takes_turns(void *arg)
{
    int self = (int)(size_t)arg;
    for (int i = 0; i < ROUNDS; i++) {
        while (turn % THREADS != self) {
        }
        turn++;
    }
    return NULL;
}

static void *computes(void *arg)
{
    OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
    turn = 1;
    for (;;) {
    }
    return arg;
}

static pthread_t begin(int i, void *(*fn)(void *))
{
    pthread_t t;
    pthread_attr_t attr;
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setstack(&attr, memory[i] + FENCE, SMALL));
    OK(pthread_create(&t, &attr, fn, (void *)(size_t)i));
    OK(pthread_attr_destroy(&attr));
    return t;
}

static void fences_stand(void)
{
    for (int i = 0; i < THREADS; i++) {
        for (int k = 0; k < FENCE; k++) {
            CHECK_EQ(memory[i][k], PATTERN);
            CHECK_EQ(memory[i][FENCE + SMALL + k], PATTERN);
        }
    }
}

static void ticks_let_others_run(void)
{
    pthread_t t[THREADS];
    turn = 0;
    for (int i = 0; i < THREADS; i++) {
        t[i] = begin(i, takes_turns);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    CHECK_EQ(turn, THREADS * ROUNDS);
}

static void signals_and_requests_arrive(void)
{
    struct sigaction action = {.sa_handler = handler};
    OK(sigaction(SIGUSR1, &action, NULL));
    turn = 0;
    pthread_t t = begin(0, computes);
    while (turn == 0) {
        sched_yield();
    }
    OK(pthread_kill(t, SIGUSR1));
    while (handled == 0) {
        sched_yield();
    }
    OK(pthread_cancel(t));
    CHECK(join(t) == PTHREAD_CANCELED);
}

static void sizes_are_accepted(void)
{
    pthread_attr_t attr;
    OK(pthread_attr_init(&attr));
    CHECK_EQ(sysconf(_SC_THREAD_STACK_MIN), SMALL);
    OK(pthread_attr_setstacksize(&attr, SMALL));
    OK(pthread_attr_setstacksize(&attr, SMALL + 1000));
    OK(pthread_attr_setstack(&attr, memory, SMALL));
    CHECK_EQ(pthread_attr_setstack(&attr, memory, SMALL - 1), EINVAL);
    OK(pthread_attr_destroy(&attr));
}

int main(void)
{
    memset(memory, PATTERN, sizeof(memory));
    RUN(sizes_are_accepted);
    RUN(ticks_let_others_run);
    RUN(signals_and_requests_arrive);
    fences_stand();
    return 0;
}
