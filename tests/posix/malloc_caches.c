/* SPDX-License-Identifier: MIT */
/*
 * malloc_caches.c - what the C library's malloc has cached for a thread goes back when the thread
 * ends, although the thread's storage is kept for the next one.
 */
#include "check.h"

#include <gnu/libc-version.h>
#include <malloc.h>
#include <string.h>

enum { THREADS = 400, SIZES = 64, EACH = 7, SKIPPED = 77 };
#define CACHED (EACH * (SIZES * (16 * SIZES + 16) / 2)) /* by each thread */

static pthread_barrier_t all;

static void *fills_its_cache(void *arg)
{
    static char *kept[THREADS][SIZES * EACH]; /* not on the stack, which is kept, too */
    char **piece = kept[(long)arg];
    for (int i = 0; i < SIZES * EACH; i++) {
        size_t size = 16u * (unsigned)(i % SIZES) + 8;
        piece[i] = malloc(size);
        CHECK(piece[i] != NULL);
        memset(piece[i], 1, size);
    }
    pthread_barrier_wait(&all);
    for (int i = 0; i < SIZES * EACH; i++) {
        free(piece[i]);
    }
    return NULL;
}

/* KiB of the process that are in memory. */
static long resident(void)
{
    long size = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%ld %ld", &size, &pages) == 2);
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

int main(void)
{
    static pthread_t t[THREADS];
    const char *version = gnu_get_libc_version();
    if (strcmp(version, "2.30") < 0 || strcmp(version, "2.41") > 0) {
        printf("skipped: the cache of malloc of glibc %s is not known\n", version);
        return SKIPPED;
    }
    long before = resident();
    OK(pthread_barrier_init(&all, NULL, THREADS));
    for (long i = 0; i < THREADS; i++) {
        t[i] = start(fills_its_cache, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    malloc_trim(0);
    long grown = resident() - before, cached = THREADS * (CACHED / 1024L);
    printf("grown by %ld KiB after caches of %ld KiB\n", grown, cached);
    CHECK(grown < cached / 2);
    OK(pthread_barrier_destroy(&all));
    return 0;
}
