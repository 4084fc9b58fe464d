/* SPDX-License-Identifier: MIT */
/*
 * functions.h - functions that profiled.c and native.c call a number of times that check.py knows.
 * YIELD() is theirs.
 */
#ifndef PIRN_TESTS_PROF_FUNCTIONS_H
#define PIRN_TESTS_PROF_FUNCTIONS_H

#define PLAIN __attribute__((no_instrument_function))
#define SEPARATE __attribute__((noinline))

enum { THREADS = 8, ROUNDS = 100, LEAVES = 10, TIMES = 50, MANY = 20 };

/* Shares nothing, because native.c runs under ThreadSanitizer. */
SEPARATE static void leaf(void)
{
    __asm__ volatile("");
}

SEPARATE static void middle(void)
{
    for (int i = 0; i < LEAVES; i++) {
        leaf();
    }
    YIELD();
}

SEPARATE static int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static void *work(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        middle();
    }
    return arg;
}

/* For many threads, more than have trees of their own. */
static void *work_once(void *arg)
{
    middle();
    return arg;
}

#endif
