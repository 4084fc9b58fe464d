/* SPDX-License-Identifier: MIT */
/*
 * profiled.c - an ordinary pthread program with instrumented functions, for check.py, which knows
 * the number of calls. The first argument chooses the part.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <pirn/pirn.h>

#define YIELD sched_yield
#include "common/options.h"
#include "functions.h"

PLAIN static void run_threads(void *(*fn)(void *), unsigned n)
{
    pthread_t *t = calloc(n, sizeof(*t));
    for (unsigned i = 0; i < n; i++) {
        char name[32];
        int error = pthread_create(&t[i], NULL, fn, NULL);
        if (error != 0) {
            fprintf(stderr, "pthread_create: %s\n", strerror(error));
            exit(1);
        }
        snprintf(name, sizeof(name), "worker%u", i);
        pthread_setname_np(t[i], name);
    }
    for (unsigned i = 0; i < n; i++) {
        pthread_join(t[i], NULL);
    }
    free(t);
}

SEPARATE static void calls(void)
{
    run_threads(work, THREADS);
}

SEPARATE static void many(void)
{
    for (int i = 0; i < TIMES; i++) {
        run_threads(work_once, MANY);
    }
}

SEPARATE static void recursion(void)
{
    printf("%d\n", fib(16));
}

/* A function that is left by longjmp every other time. */
static __thread jmp_buf env;
static volatile unsigned long sink;

SEPARATE static void jumps(int i)
{
    leaf();
    if (i % 2 != 0) {
        longjmp(env, 1);
    }
    sink++;
}

static void *jump_work(void *arg)
{
    for (volatile int i = 0; i < ROUNDS; i++) {
        if (setjmp(env) == 0) {
            jumps(i);
        }
        leaf();
    }
    return arg;
}

SEPARATE static void longjmps(void)
{
    run_threads(jump_work, THREADS);
}

/* Handlers that interrupt the profiler, and are instrumented themselves. */
SEPARATE static void handled(int signal_number)
{
    (void)signal_number;
    leaf();
}

static volatile int killer_done;

static void *signal_work(void *arg)
{
    unsigned long n = 0;
    while (!killer_done) {
        leaf();
        n++;
    }
    printf("%lu\n", n);
    return arg;
}

PLAIN static void *kill_work(void *target)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct timespec t = {0, 100000};
        pthread_kill(*(pthread_t *)target, SIGUSR1);
        nanosleep(&t, NULL);
    }
    killer_done = 1;
    return NULL;
}

SEPARATE static void handlers(void)
{
    pthread_t busy, killer;
    signal(SIGUSR1, handled);
    pthread_create(&busy, NULL, signal_work, NULL);
    pthread_create(&killer, NULL, kill_work, &busy);
    pthread_join(killer, NULL);
    pthread_join(busy, NULL);
}

/* Computes for about `ms` of CPU time. */
PLAIN static void compute(volatile unsigned *n, unsigned ms)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    unsigned long long end =
        (unsigned long long)t.tv_sec * 1000 + (unsigned long long)t.tv_nsec / 1000000 + ms;
    do {
        for (int i = 0; i < 20000; i++) {
            (*n)++;
        }
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    } while ((unsigned long long)t.tv_sec * 1000 + (unsigned long long)t.tv_nsec / 1000000 < end);
}

SEPARATE static void busy_much(void)
{
    volatile unsigned n = 0;
    compute(&n, 600);
}

SEPARATE static void busy_little(void)
{
    volatile unsigned n = 0;
    compute(&n, 200);
}

static void *busy_work(void *arg)
{
    busy_much();
    busy_little();
    return arg;
}

SEPARATE static void busy(void)
{
    run_threads(busy_work, 2);
}

/* A thread that computes, and is bound to each CPU in turn. */
static void *move_work(void *arg)
{
    cpu_set_t all;
    volatile unsigned n = 0;
    pthread_getaffinity_np(pthread_self(), sizeof(all), &all);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &all)) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            if (pthread_setaffinity_np(pthread_self(), sizeof(one), &one) == 0) {
                compute(&n, 300);
            }
        }
    }
    return arg;
}

SEPARATE static void moves(void)
{
    run_threads(move_work, 1);
}

SEPARATE static void pauses(void)
{
    for (int i = 0; i < 10; i++) {
        leaf();
    }
    printf("%d\n", pirn_prof(false));
    for (int i = 0; i < 1000; i++) {
        leaf();
    }
    printf("%d\n", pirn_prof(true));
    for (int i = 0; i < 5; i++) {
        leaf();
    }
}

SEPARATE static void writes(void)
{
    leaf();
    printf("%d\n", pirn_prof_write(getenv("SECOND")));
    printf("%d\n", pirn_prof_write("/nonexistent/file"));
    leaf();
}

SEPARATE static void forks(void)
{
    leaf();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        leaf();
        run_threads(work_once, 2);
        exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    leaf();
    if (status != 0) {
        exit(1);
    }
}

SEPARATE static void execs(void)
{
    leaf();
    execl("/proc/self/exe", "profiled", "recursion", (char *)NULL);
}

/* The main thread ends before the others. */
static void *late(void *arg)
{
    struct timespec t = {0, 20000000};
    nanosleep(&t, NULL);
    leaf();
    return arg;
}

SEPARATE static void leaves_first(void)
{
    pthread_t t;
    pthread_create(&t, NULL, late, NULL);
    pthread_exit(NULL);
}

static const struct {
    const char *name;
    void (*fn)(void);
} parts[] = {{"calls", calls},       {"many", many},         {"recursion", recursion},
             {"longjmps", longjmps}, {"handlers", handlers}, {"busy", busy},
             {"moves", moves},       {"pauses", pauses},     {"writes", writes},
             {"forks", forks},       {"execs", execs},       {"leaves_first", leaves_first}};

int main(int argc, char **argv)
{
    parts[OPTIONS_CASE(argc, argv, "Functions that are counted.", parts)].fn();
    return 0;
}
