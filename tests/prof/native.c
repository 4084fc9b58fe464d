/* SPDX-License-Identifier: MIT */
/*
 * native.c - the parts calls, many and recursion of profiled.c, with threads of the native API, so
 * that they also run under ThreadSanitizer.
 */
#include <stdio.h>
#include <string.h>

#include <pirn/pirn.h>

#define YIELD pirn_yield
#include "common/options.h"
#include "functions.h"

PLAIN static bool run_threads(void *(*fn)(void *), unsigned n)
{
    pirn_thread_t t[MANY];
    bool good = true;
    for (unsigned i = 0; i < n; i++) {
        char name[32];
        pirn_attr_t attr = {.name = name};
        snprintf(name, sizeof(name), "worker%u", i);
        good &= pirn_create(&t[i], &attr, fn, NULL) == 0;
    }
    for (unsigned i = 0; i < n; i++) {
        good &= pirn_join(t[i], NULL) == 0;
    }
    return good;
}

SEPARATE static bool calls(void)
{
    return run_threads(work, THREADS);
}

SEPARATE static bool many(void)
{
    bool good = true;
    for (int i = 0; i < TIMES; i++) {
        good &= run_threads(work_once, MANY);
    }
    return good;
}

SEPARATE static bool recursion(void)
{
    return fib(16) == 987;
}

static const struct {
    const char *name;
    bool (*run)(void);
} parts[] = {{"calls", calls}, {"many", many}, {"recursion", recursion}};

int main(int argc, char **argv)
{
    return !parts[OPTIONS_CASE(argc, argv, "Functions that are counted.", parts)].run();
}
