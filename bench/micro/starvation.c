/* SPDX-License-Identifier: MIT */
/*
 * starvation.c - how long a thread waits for a CPU while other threads compute: all of them spend
 * their time in one function of the C library, in code of the program's own, or where a thread
 * cannot be switched (tests/starve/functions.c, places.c).
 *
 *     starvation-pirn --kind=sleeper --samples=50 --threads=4 snprintf
 *     -> function=snprintf kind=sleeper threads=4 late_us=12.3,... cpu_us=12.1,... calls=123456
 *        cpu_seconds=0.9 (all in one line; the last two are the whole program's)
 *
 * Two kinds of threads are measured. A sleeper sleeps for 5 to 20 ms until a point in time; it is
 * late by the time from that point until it runs. A ready thread waits for a semaphore; one of the
 * computing threads posts it after 5 to 20 ms, between two calls, and goes on computing. It is late
 * by the time from the post until it runs.
 *
 * cpu_us is the CPU time that the process uses in that time. A computing thread reads that clock
 * when it finds that the time has come, or posts. So it is what the process itself delays: time
 * that the kernel gives to other programs does not count. 0: no computing thread has seen the time
 * come. Of places.c, whose calls do not end, there is no such figure.
 *
 * The main thread is the one that is measured. It can be built with the library, and without.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/options.h"
#include "starve/functions.h"

enum { SLEEPER, READY };

enum { THREADS_MAX = 64, SAMPLES_MAX = 100000, NAMES_MAX = 100 };
enum { LEAST_US = 5000, MOST_US = 20000, START_US = 1000 };

static const char *const kinds[] = {"sleeper", "ready", NULL};

static const struct function *running;
static long kind = SLEEPER, samples = 50, nthreads = 4;
static bool list;
static atomic_bool stop;
static atomic_uint started;
static atomic_ulong calls;

/* When the measured thread is to run, or to be posted; UINT64_MAX: not known, or a computing thread
 * has seen the time come. That one writes `seen`, perhaps after the sleeper has run. So each sample
 * has its own, and due_at changes before `sample` does: as long as it has the value of a sample,
 * that one is the present one. */
static atomic_ullong due_at = UINT64_MAX;
static atomic_long sample;
static struct seen {
    uint64_t at, cpu;
    atomic_bool there;
} * seen;
static sem_t posted;

struct late {
    double us, cpu_us;
};

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

/* ---- the threads that compute ---- */

static void look(void)
{
    unsigned long long at = atomic_load(&due_at);
    if (at == UINT64_MAX || now_ns() < at) {
        return;
    }
    struct seen *s = &seen[sample];
    if (atomic_compare_exchange_strong(&due_at, &at, UINT64_MAX)) {
        s->cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        s->at = now_ns();
        s->there = true;
        if (kind == READY) {
            sem_post(&posted);
        }
    }
}

static void *computes(void *unused)
{
    unsigned long count = 0;
    started++;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        running->call();
        count++;
        look();
    }
    calls += count;
    return unused;
}

/* ---- the thread that is measured ---- */

static uint64_t wait_ns(void)
{
    static uint32_t x = 12345;
    x = x * 1664525u + 1013904223u;
    return (LEAST_US + (x >> 8) % (MOST_US - LEAST_US + 1)) * 1000ull;
}

static void until(uint64_t at)
{
    struct timespec when = {.tv_sec = (time_t)(at / 1000000000u),
                            .tv_nsec = (long)(at % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == EINTR) {
    }
}

static struct late late_once(const struct seen *s)
{
    uint64_t at = now_ns() + wait_ns();
    atomic_store(&due_at, at);
    if (kind == SLEEPER) {
        until(at);
    } else {
        while (sem_wait(&posted) != 0) {
        }
        at = s->at;
    }
    bool there = s->there;
    uint64_t now = now_ns(), cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    atomic_store(&due_at, UINT64_MAX);
    return (struct late){.us = (double)(now - at) / 1000,
                         .cpu_us = there ? (double)(cpu - s->cpu) / 1000 : 0};
}

static void late_print(const struct late *late)
{
    printf("function=%s kind=%s threads=%ld late_us=", running->name, kinds[kind], nthreads);
    for (long i = 0; i < samples; i++) {
        printf("%s%.1f", i == 0 ? "" : ",", late[i].us);
    }
    printf(" cpu_us=");
    for (long i = 0; i < samples; i++) {
        printf("%s%.1f", i == 0 ? "" : ",", late[i].cpu_us);
    }
}

static void measure(void)
{
    struct late *late = calloc((size_t)samples, sizeof(*late));
    if (late == NULL) {
        options_refuse("--samples=%ld: no memory for them", samples);
    }
    while (started < (unsigned)nthreads) {
        nanosleep(&(struct timespec){.tv_nsec = START_US * 1000l}, NULL);
    }
    for (long i = 0; i < samples; i++) {
        sample = i;
        late[i] = late_once(&seen[i]);
    }
    stop = true;
    functions_phase++;
    late_print(late);
    free(late);
}

/* ---- the command line ---- */

static size_t all_functions(const struct function **all)
{
    size_t n = 0;
    for (unsigned i = 0; i < nfunctions; i++) {
        all[n++] = &functions[i];
    }
    for (unsigned i = 0; i < nplaces; i++) {
        all[n++] = &places[i];
    }
    return n;
}

/* A call of a place lasts until the end, so nothing is posted from there. */
static bool is_place(const struct function *function)
{
    return function >= places && function < places + nplaces;
}

static void list_print(const struct function *const *all, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        printf("%s%s\n", all[i]->name, is_place(all[i]) ? " sleeper" : " sleeper ready");
    }
}

static void choose(const char *name)
{
    const struct function *all[NAMES_MAX];
    struct {
        const char *name;
    } names[NAMES_MAX];
    size_t n = all_functions(all);
    for (size_t i = 0; i < n; i++) {
        names[i].name = all[i]->name;
    }
    if (list) {
        list_print(all, n);
        exit(0);
    }
    if (name == NULL) {
        options_refuse("which FUNCTION? --list prints them");
    }
    running = all[operand_choice("FUNCTION", name, names, n, sizeof(names[0]))];
    if (kind == READY && (is_place(running) || nthreads == 0)) {
        options_refuse("--kind=ready: %s (valid: --kind=sleeper)",
                       nthreads == 0 ? "with --threads=0 nothing posts"
                                     : "a call of this FUNCTION lasts until the end");
    }
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS_MAX];
    const struct option_spec options[] = {
        option_choice("kind", &kind, kinds,
                      "the thread that is measured: one that sleeps, or one that is posted"),
        option_number("samples", &samples, 1, SAMPLES_MAX, "how often it sleeps or waits"),
        option_number("threads", &nthreads, 0, THREADS_MAX, "threads that compute"),
        option_flag("list", &list, "print each FUNCTION and the kinds that it has"),
        {0}};
    const struct option_page page = {
        .summary = "How long a thread waits for a CPU while others call a function in a loop.",
        .operand = "[FUNCTION]",
        .options = options};
    choose(options_parse(argc, argv, &page)[0]);
    functions_begin();
    seen = calloc((size_t)samples, sizeof(*seen));
    if (seen == NULL) {
        options_refuse("--samples=%ld: no memory for them", samples);
    }
    sem_init(&posted, 0, 0);
    for (long i = 0; i < nthreads; i++) {
        if (pthread_create(&thread[i], NULL, computes, NULL) != 0) {
            options_refuse("--threads=%ld: the system allows only %ld", nthreads, i);
        }
    }
    measure();
    for (long i = 0; i < nthreads; i++) {
        pthread_join(thread[i], NULL);
    }
    free(seen);
    printf(" calls=%lu cpu_seconds=%.6f\n", calls,
           (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9);
    functions_end();
    return 0;
}
