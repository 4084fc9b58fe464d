/* SPDX-License-Identifier: MIT */
/*
 * starve.c - threads that spend all of their time in one function of the C library, or elsewhere
 * where they cannot be switched, let others run. It measures how late a sleeping thread continues.
 *
 * --test: each function and place in turn, or the named ones. CPU time counts, not the clock: the
 * time that all computing threads use between the moment when the sleeper may run and the moment
 * when it does. A tick is CPU time of a worker, too, so a loaded machine makes this test slow, and
 * nothing else. The limit is the CPU time of all kernel threads in two ticks each: one for a CPU
 * that goes to the sleeper at once, one for a CPU where another thread had its turn first. The best
 * of a few sleeps counts, because the kernel may stop the very thread that is measured.
 *
 * --crowd: that many other processes compute on the process's only processor, so that its clock of
 * CPU time, which ticks come from, is slow. The sleeper may not wait for a tick of it: the limit is
 * three quarters of one. The slower that clock is, the less CPU time is used until the sleeper
 * runs.
 *
 * Without --test it prints how late sleeps are, for docs. It can be built without the library, too.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/options.h"
#include "functions.h"

enum { THREADS = 4, SLEEP_US = 20000, SLEEPS_PRINTED = 20, SLEEPS_TESTED = 5, CROWD_MAX = 20 };

static _Atomic(const struct function *) now_running;
static atomic_ulong calls[THREADS];
static long crowd;

static uint64_t clock_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void go(const struct function *to)
{
    now_running = to;
    functions_phase++;
}

static void *computes(void *arg)
{
    atomic_ulong *count = arg;
    while (!atomic_load_explicit(&functions_over, memory_order_relaxed)) {
        atomic_load_explicit(&now_running, memory_order_relaxed)->call();
        atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
    }
    return NULL;
}

/* Two measures: how much longer than its time a sleep lasts, and the CPU time of the process in a
 * sleep. */
struct late {
    uint64_t worst_ns, best_cpu_ns, worst_cpu_ns, sum_ns;
};

static struct late sleeps(unsigned count)
{
    struct late late = {0, UINT64_MAX, 0, 0};
    for (unsigned i = 0; i < count; i++) {
        uint64_t at = clock_of(CLOCK_MONOTONIC), cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID);
        usleep(SLEEP_US);
        uint64_t ns = clock_of(CLOCK_MONOTONIC) - at - SLEEP_US * 1000u;
        cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        late.worst_ns = ns > late.worst_ns ? ns : late.worst_ns;
        late.best_cpu_ns = cpu < late.best_cpu_ns ? cpu : late.best_cpu_ns;
        late.worst_cpu_ns = cpu > late.worst_cpu_ns ? cpu : late.worst_cpu_ns;
        late.sum_ns += ns;
    }
    return late;
}

/* No names: all. */
static bool is_named(char **names, const char *name)
{
    bool any = *names != NULL;
    for (; *names != NULL; names++) {
        if (strcmp(*names, name) == 0) {
            return true;
        }
    }
    return !any;
}

static unsigned long variable(const char *name, unsigned long otherwise)
{
    const char *value = getenv(name);
    return value != NULL ? strtoul(value, NULL, 10) : otherwise;
}

/* The CPU time allowed in a sleep: of all processors while it lasts, and then until the sleeper
 * runs. */
static uint64_t cpu_limit(void)
{
    uint64_t processors = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t tick = variable("PIRN_TICK", 4000) * 1000u;
    if (crowd != 0) {
        return SLEEP_US * 1000u + tick * 3 / 4;
    }
    uint64_t workers = variable("PIRN_CPUS", processors);
    uint64_t kernel_threads = workers + THREADS;
    return SLEEP_US * 1000u * processors + kernel_threads * (3 * tick + 2000000u) * 2;
}

static bool measure(const struct function *function, bool test)
{
    unsigned count = test ? SLEEPS_TESTED : SLEEPS_PRINTED;
    go(function);
    struct late late = sleeps(count);
    bool ok = !test || late.best_cpu_ns <= cpu_limit();
    printf("%-12s worst %8.2f ms, mean %8.2f ms, computed in a sleep %.2f to %.2f ms%s\n",
           function->name, (double)late.worst_ns / 1e6, (double)late.sum_ns / 1e6 / count,
           (double)late.best_cpu_ns / 1e6, (double)late.worst_cpu_ns / 1e6, ok ? "" : "  TOO MUCH");
    fflush(stdout);
    return ok;
}

static unsigned measure_all(const struct function *list, unsigned n, char **names, bool test)
{
    unsigned failed = 0;
    for (unsigned i = 0; i < n; i++) {
        if (is_named(names, list[i].name)) {
            failed += !measure(&list[i], test);
        }
    }
    return failed;
}

/* ---- other processes ---- */

static pid_t crowd_pids[CROWD_MAX];

static bool processor_alone(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) != 0) {
        return false;
    }
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &set)) {
            CPU_ZERO(&set);
            CPU_SET(cpu, &set);
            return sched_setaffinity(0, sizeof(set), &set) == 0;
        }
    }
    return false;
}

/* Until it is killed, or this process has ended. */
static void crowd_computes(pid_t parent)
{
    while (getppid() == parent) {
        for (volatile unsigned i = 0; i < 1000000; i++) {
        }
    }
    _exit(0);
}

static void crowd_begin(void)
{
    pid_t parent = getpid();
    if (crowd != 0 && !processor_alone()) {
        perror("starve: sched_setaffinity");
        exit(2);
    }
    for (long i = 0; i < crowd; i++) {
        crowd_pids[i] = fork();
        if (crowd_pids[i] == 0) {
            crowd_computes(parent);
        }
        if (crowd_pids[i] < 0) {
            perror("starve: fork");
            exit(2);
        }
    }
}

static void crowd_end(void)
{
    for (long i = 0; i < crowd; i++) {
        kill(crowd_pids[i], SIGKILL);
        waitpid(crowd_pids[i], NULL, 0);
    }
}

/* ---- the command line ---- */

enum { NAMES_MAX = 200 };

static void names_check(char **names)
{
    const char *all[NAMES_MAX];
    size_t n = 0;
    for (unsigned i = 0; i < nfunctions && n < NAMES_MAX; i++) {
        all[n++] = functions[i].name;
    }
    for (unsigned i = 0; i < nplaces && n < NAMES_MAX; i++) {
        all[n++] = places[i].name;
    }
    for (; *names != NULL; names++) {
        operand_choice("NAME", *names, all, n, sizeof(all[0]));
    }
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];
    bool test = false;
    unsigned failed = 0;
    const struct option_spec options[] = {
        option_flag("test", &test, "fail if a sleep ends late"),
        option_number("crowd", &crowd, 0, CROWD_MAX, "other processes on the only processor"),
        {0}};
    const struct option_page page = {
        .summary = "How late sleeps end while other threads are in functions of the C library.",
        .operand = "[NAME...]",
        .options = options};
    char **names = options_parse(argc, argv, &page);
    names_check(names);
    crowd_begin();
    functions_begin();
    now_running = &functions[0];
    for (unsigned i = 0; i < THREADS; i++) {
        if (pthread_create(&thread[i], NULL, computes, &calls[i]) != 0) {
            return 2;
        }
    }
    failed += measure_all(functions, nfunctions, names, test);
    failed += measure_all(places, nplaces, names, test);
    functions_over = true;
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
    crowd_end();
    functions_end();
    if (test) {
        printf("limit %.2f ms\n", (double)cpu_limit() / 1e6);
    }
    return failed != 0;
}
