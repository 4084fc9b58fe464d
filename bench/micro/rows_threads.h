/* SPDX-License-Identifier: MIT
 *
 * For the files of rows (rows*.c): memory that has been touched, and groups of threads that run the
 * same function. It needs SYS_HEADER before it, and compiles as C and as C++.
 */
#ifndef BENCH_ROWS_THREADS_H
#define BENCH_ROWS_THREADS_H

#include "clock.h"

static inline void *new_array(uint64_t count, size_t size)
{
    void *array = calloc(count, size);

    sys_check(array != NULL, "calloc");
    memset(array, 0, count * size); /* touched: no page fault inside a measurement */
    return array;
}

static inline sys_thread *new_threads(uint64_t count)
{
    return (sys_thread *)new_array(count, sizeof(sys_thread));
}

/* Runs `count` threads of the same function and argument to their end. */
static inline uint64_t run_threads(uint64_t count, void *(*fn)(void *), void *arg)
{
    sys_thread *threads = new_threads(count);
    uint64_t start = clock_ns();

    for (uint64_t i = 0; i < count; i++)
        sys_create(&threads[i], fn, arg);
    for (uint64_t i = 0; i < count; i++)
        sys_join(&threads[i]);
    start = clock_ns() - start;
    free(threads);
    return start;
}

#endif
