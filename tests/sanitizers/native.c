/* SPDX-License-Identifier: MIT */
/*
 * native.c - the native API in a build with a sanitizer, which learns of stacks and switches: to
 * the sanitizer threads are fibers of their workers. A correct program, and planted mistakes, each
 * in a function of its name.
 */
#include <pirn/pirn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"

#define THREADS 50
#define ROUNDS 100
#define TOGETHER_NS UINT64_C(20000000000)

static pirn_mutex_t mutex = PIRN_MUTEX_INIT;
static int under_mutex;
static int shared, arrived, written;
static void *volatile keep[2];

static void must(int condition, const char *text)
{
    if (!condition) {
        fprintf(stderr, "not so: %s\n", text);
        abort();
    }
}

static void *counts(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        char *p = malloc(64);
        memset(p, i, 64);
        pirn_mutex_lock(&mutex);
        under_mutex++;
        pirn_mutex_unlock(&mutex);
        pirn_yield();
        free(p);
    }
    return unused;
}

static void *heap_overflow(void *unused)
{
    volatile char *p = malloc(10);
    keep[0] = (void *)p;
    pirn_yield();
    p[11] = 1;
    return unused;
}

static void *use_after_free(void *unused)
{
    volatile char *p = malloc(10);
    keep[0] = (void *)p;
    free((void *)p);
    pirn_yield();
    p[5] = 1;
    return unused;
}

static void *stack_overflow(void *unused)
{
    volatile char buffer[16];
    volatile int at = 17;
    keep[0] = (void *)buffer;
    pirn_yield();
    buffer[at] = 1;
    return unused;
}

static void *leaks(void *unused)
{
    keep[0] = malloc(4321);
    keep[0] = NULL;
    return unused;
}

static void await(const int *flag, int value)
{
    uint64_t limit = pirn_now() + TOGETHER_NS;
    while (__atomic_load_n(flag, __ATOMIC_RELAXED) != value) {
        must(pirn_now() < limit, "both run at the same time");
    }
}

/*
 * Both run at once, so on two workers: on one they count as ordered. One writes after the other,
 * because ThreadSanitizer misses accesses at the very same time; the waits order nothing.
 */
static void *race(void *unused)
{
    int turn = __atomic_fetch_add(&arrived, 1, __ATOMIC_RELAXED);
    await(&arrived, 2);
    await(&written, turn);
    shared++;
    __atomic_store_n(&written, turn + 1, __ATOMIC_RELAXED);
    return unused;
}

static void run(int n, void *(*fn)(void *))
{
    pirn_thread_t t[THREADS];
    for (int i = 0; i < n; i++) {
        must(pirn_create(&t[i], NULL, fn, NULL) == 0, "a thread is created");
    }
    for (int i = 0; i < n; i++) {
        must(pirn_join(t[i], NULL) == 0, "it is joined");
    }
}

static const struct {
    const char *name;
    void *(*fn)(void *);
    int threads;
} cases[] = {
    {"good", counts, THREADS},
    {"heap_overflow", heap_overflow, 1},
    {"use_after_free", use_after_free, 1},
    {"stack_overflow", stack_overflow, 1},
    {"leaks", leaks, 20},
    {"race", race, 2},
};

int main(int argc, char **argv)
{
    size_t i = OPTIONS_CASE(argc, argv, "Planted mistakes, under the native API.", cases);
    run(cases[i].threads, cases[i].fn);
    must(under_mutex == (i == 0 ? THREADS * ROUNDS : 0), "none was lost");
    puts("done");
    return 0;
}
