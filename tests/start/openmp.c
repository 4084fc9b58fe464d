/* SPDX-License-Identifier: MIT */
/*
 * openmp.c - an OpenMP program with gcc's library, whose constructor comes before that of a
 * preloaded one. Loops, reductions, tasks, nested teams, variables of threads, with a team of
 * OMP_NUM_THREADS; the team's end, also at the program's. Prints "done".
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define N 20000
#define ROUNDS 2

static __thread long own;
static long mine;
#pragma omp threadprivate(mine)

static int wrong(const char *what, long value, long expected)
{
    if (value != expected) {
        printf("%s: %ld instead of %ld\n", what, value, expected);
    }
    return value != expected;
}

static long fib(int n)
{
    long a, b;
    if (n < 2) {
        return n;
    }
#pragma omp task shared(a)
    a = fib(n - 1);
#pragma omp task shared(b)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

static int loops(void)
{
    long sum = 0, members = 0, differ = 0;
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 100)
    for (long i = 0; i < N; i++) {
        sum += i;
    }
#pragma omp parallel reduction(+ : members)
    members++;
#pragma omp parallel reduction(+ : differ)
    {
        own = mine = omp_get_thread_num();
#pragma omp barrier
        for (int i = 0; i < 100; i++) {
            differ += own != omp_get_thread_num() || mine != own;
        }
#pragma omp critical
        differ += own != omp_get_thread_num();
    }
    return wrong("sum", sum, (long)N * (N - 1) / 2) +
           wrong("members", members, omp_get_max_threads()) +
           wrong("reads of variables of threads that differ", differ, 0);
}

static int tasks(void)
{
    long result = 0;
#pragma omp parallel
#pragma omp single
    result = fib(12);
    return wrong("fib(12)", result, 144);
}

static int nested(void)
{
    long members = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(3) reduction(+ : members)
    {
        long inner = 0;
#pragma omp parallel num_threads(2) reduction(+ : inner)
        inner++;
        members += inner;
    }
    return wrong("members of nested teams", members, 6);
}

/* The library ends its team's threads and joins them. */
static int paused(void)
{
    return wrong("omp_pause_resource_all", omp_pause_resource_all(omp_pause_hard), 0);
}

/* The team's threads wait for more work, or have ended. */
static void at_exit(void)
{
    if (paused() + loops() + paused() == 0) {
        puts("done");
    }
}

int main(void)
{
    int bad = 0;
    for (int i = 0; i < ROUNDS && bad == 0; i++) {
        bad = loops() + tasks() + nested() + paused();
    }
    if (bad == 0 && atexit(at_exit) == 0) {
        loops();
    }
    return bad != 0;
}
