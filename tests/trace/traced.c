/* SPDX-License-Identifier: MIT */
/*
 * traced.c - a program whose first argument chooses an action and how often it is done; check.py
 * checks the resulting trace.
 */
#include <errno.h>
#include <pirn/pirn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/options.h"

#define THREADS 10
#define YIELDS 20

static pirn_mutex_t mutex;
static pirn_sem_t go;

static void must(bool true_, const char *what)
{
    if (!true_) {
        fprintf(stderr, "traced: %s\n", what);
        exit(1);
    }
}

static void *worker(void *arg)
{
    int number = (int)(intptr_t)arg;
    pirn_mark("begin", number);
    for (int i = 0; i < YIELDS; i++) {
        pirn_yield();
    }
    pirn_mutex_lock(&mutex);
    pirn_yield();
    pirn_mutex_unlock(&mutex);
    pirn_sem_wait(&go);
    return NULL;
}

static void threads(int n)
{
    pirn_thread_t t[THREADS];
    for (int i = 0; i < n; i++) {
        pirn_attr_t attr = {0};
        char name[24];
        snprintf(name, sizeof(name), "worker-%d", i);
        attr.name = name;
        must(pirn_create(&t[i], &attr, worker, (void *)(intptr_t)i) == 0, "create");
    }
    for (int i = 0; i < n; i++) {
        pirn_sem_post(&go);
    }
    for (int i = 0; i < n; i++) {
        must(pirn_join(t[i], NULL) == 0, "join");
    }
}

static void on_signal(int number)
{
    pirn_mark("signal", number);
}

static void *foreign(void *arg)
{
    pirn_mark("foreign", (intptr_t)arg);
    pirn_sem_post(&go);
    return NULL;
}

static int marks(void)
{
    pthread_t t;
    pirn_mark("before there is a runtime", 1);
    pirn_self();
    pirn_mark("", INT64_MIN);
    pirn_mark("a name that is longer than 32 bytes", INT64_MAX);
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    must(pthread_create(&t, NULL, foreign, (void *)7) == 0, "pthread_create");
    pirn_sem_wait(&go);
    pthread_join(t, NULL);
    must(pirn_trace(true) == 0, "go on with what is on");
    must(pirn_trace(false) == 0, "pause");
    must(pirn_trace(false) == 0, "pause again");
    pirn_mark("paused", 1);
    must(pirn_trace(true) == 0, "resume");
    pirn_set_name(pirn_self(), "renamed");
    pirn_mark("last", 2);
    return 0;
}

static int off(void)
{
    pirn_mark("nowhere", 1);
    must(pirn_trace(true) == -ENOENT, "a trace that nobody asked for");
    must(pirn_trace(false) == -ENOENT, "a trace that nobody asked for");
    threads(THREADS);
    return 0;
}

static int forks(void)
{
    threads(2);
    pid_t pid = fork();
    if (pid == 0) {
        pirn_mark("child", 1);
        threads(2);
        exit(0);
    }
    int status;
    must(waitpid(pid, &status, 0) == pid && status == 0, "the child");
    pirn_mark("parent", (int64_t)pid);
    threads(2);
    return 0;
}

#define PREEMPTIONS 10

/* On a busy machine it may take any time. */
static void *spins(void *arg)
{
    struct pirn_counters counters = {0};
    while (counters.preemptions < PREEMPTIONS) {
        for (volatile int i = 0; i < 1000000; i++) {
        }
        pirn_stats(&counters);
    }
    return arg;
}

static int ticks(void)
{
    pirn_thread_t t[2];
    for (int i = 0; i < 2; i++) {
        must(pirn_create(&t[i], NULL, spins, NULL) == 0, "create");
    }
    for (int i = 0; i < 2; i++) {
        pirn_join(t[i], NULL);
    }
    return 0;
}

#define CALLS 4

static int ends[2];

static void *reads(void *arg)
{
    pirn_call_t call;
    char byte = 0;
    pirn_call_begin(&call, false);
    must(read(ends[0], &byte, 1) == 1, "read");
    pirn_call_end(&call);
    return arg;
}

/* On one CPU it runs when every reader before it has lost the CPU to a spare carrier. */
static void *writes(void *arg)
{
    for (int i = 0; i < CALLS; i++) {
        must(write(ends[1], "", 1) == 1, "write");
    }
    return arg;
}

static int calls(void)
{
    pirn_thread_t t[CALLS + 1];
    must(pipe(ends) == 0, "pipe");
    for (int i = 0; i <= CALLS; i++) {
        must(pirn_create(&t[i], NULL, i < CALLS ? reads : writes, NULL) == 0, "create");
    }
    for (int i = 0; i <= CALLS; i++) {
        must(pirn_join(t[i], NULL) == 0, "join");
    }
    return 0;
}

static int many(void)
{
    for (int i = 0; i < 300; i++) {
        threads(THREADS);
    }
    pirn_mark("last", 1);
    return 0;
}

static int once(void)
{
    threads(THREADS);
    return 0;
}

static int crash(void)
{
    threads(THREADS);
    abort();
}

static int wait_for_input(void)
{
    threads(THREADS);
    puts("ready");
    fflush(stdout);
    return getchar() == EOF;
}

static const struct {
    const char *name;
    int (*run)(void);
} cases[] = {{"threads", once}, {"marks", marks}, {"off", off},
             {"fork", forks},   {"calls", calls}, {"ticks", ticks},
             {"many", many},    {"crash", crash}, {"wait", wait_for_input}};

int main(int argc, char **argv)
{
    const struct option_page page = {.summary = "Threads whose events are looked at.",
                                     .operand = "[CASE]"};
    const char *name = options_parse(argc, argv, &page)[0];
    return cases[name != NULL ? OPERAND_CHOICE("CASE", name, cases) : 0].run();
}
