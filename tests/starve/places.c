/* SPDX-License-Identifier: MIT */
/*
 * places.c - code in which a computing thread must not be switched, however long it takes: while it
 * has a file locked, on a stack of the program's own making, in a signal handler on an alternate
 * stack.
 */
#include "functions.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

enum { STACK = 64 << 10 };

atomic_uint functions_phase;
atomic_bool functions_over;

static void compute(void)
{
    unsigned phase = atomic_load(&functions_phase);
    while (atomic_load_explicit(&functions_phase, memory_order_relaxed) == phase &&
           !atomic_load_explicit(&functions_over, memory_order_relaxed)) {
    }
}

static void with_file_locked(void)
{
    FILE *f = fopen("/dev/null", "w");
    if (f != NULL) {
        flockfile(f);
        compute();
        funlockfile(f);
        fclose(f);
    }
}

static void on_other_stack(void)
{
    ucontext_t here, there;
    char *stack = malloc(STACK);
    if (stack != NULL && getcontext(&there) == 0) {
        there.uc_stack.ss_sp = stack;
        there.uc_stack.ss_size = STACK;
        there.uc_link = &here;
        makecontext(&there, compute, 0);
        swapcontext(&here, &there);
    }
    free(stack);
}

static void on_signal(int signal)
{
    (void)signal;
    compute();
}

static void in_handler(void)
{
    stack_t stack = {.ss_sp = malloc(STACK), .ss_size = STACK}, none = {.ss_flags = SS_DISABLE};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_NODEFER};
    if (stack.ss_sp != NULL && sigaltstack(&stack, NULL) == 0) {
        sigaction(SIGUSR1, &action, NULL);
        pthread_kill(pthread_self(), SIGUSR1);
        sigaltstack(&none, NULL);
    }
    free(stack.ss_sp);
}

const struct function places[] = {
    {"locked-file", with_file_locked}, {"other-stack", on_other_stack}, {"handler", in_handler}};
const unsigned nplaces = sizeof(places) / sizeof(places[0]);
