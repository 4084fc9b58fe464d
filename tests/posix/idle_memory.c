/* SPDX-License-Identifier: MIT */
/*
 * idle_memory.c - stacks that the library has kept for new threads go back to the system when no
 * thread has run for a while.
 */
#include "check.h"

enum { THREADS = 400, USED = 200000 /* bytes of each stack */, PAUSE_US = 300000 };

static pthread_barrier_t all;

static void *uses_stack(void *arg)
{
    volatile char used[USED];
    for (int i = 0; i < USED; i += 1024) {
        used[i] = 1;
    }
    pthread_barrier_wait(&all);
    return used[0] == 1 ? arg : NULL;
}

/* Pages of the process that are in memory. */
static long resident(void)
{
    long size = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%ld %ld", &size, &pages) == 2);
    fclose(file);
    return pages;
}

int main(void)
{
    static pthread_t t[THREADS];
    OK(pthread_barrier_init(&all, NULL, THREADS));
    for (int i = 0; i < THREADS; i++) {
        t[i] = start(uses_stack, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    long kept = resident(), now;
    CHECK(kept > THREADS * (USED / 4096) / 2);
    /* Each pause must be longer than the library waits, or a thread has run lately. */
    for (useconds_t pause = PAUSE_US; (now = resident()) > kept / 4; pause *= 2) {
        usleep(pause);
    }
    printf("%ld pages, later %ld\n", kept, now);
    OK(pthread_barrier_destroy(&all));
    return 0;
}
