/* SPDX-License-Identifier: MIT */
/*
 * memory.c [THREADS] - creates THREADS threads, which use their state and end. They leave no memory
 * behind, neither where a block is used again nor where it is made and released.
 */
#include "../posix/check.h"
#include "common/options.h"

#include <sys/prctl.h>
#include <sys/random.h>

#define AT_ONCE 20
#define SLACK_BYTES (4L << 20) /* heaps of the C library grow in steps */

static long resident(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    CHECK(f != NULL && fscanf(f, "%*d %ld", &pages) == 1);
    fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

static pthread_key_t key;
static FILE *null;
static __thread char *kept;

/* Leaves its last block in malloc's cache, a message in strerror's and dlerror's buffers, a state
 * of getrandom (glibc 2.41). Blocks of few sizes, because the caches of malloc, which stay with the
 * runtime's blocks of thread-local storage, fill up with some of each. */
static void *lives(void *arg)
{
    char byte;
    CHECK_EQ(getrandom(&byte, 1, 0), 1);
    kept = malloc(100 * (1 + (size_t)arg % 4));
    CHECK(kept != NULL);
    free(malloc(24));
    OK(pthread_setspecific(key, kept));
    fprintf(null, "%s\n", strerror(500 + (int)((long)arg % 100)));
    errno = (int)(long)arg;
    sched_yield();
    CHECK_EQ(errno, (int)(long)arg);
    return NULL;
}

static void many(long count, size_t stack)
{
    pthread_attr_t attr;
    OK(pthread_attr_init(&attr));
    for (long i = 0; i < count; i += AT_ONCE) {
        pthread_t t[AT_ONCE];
        if (stack != 0) { /* sizes that are not kept in reserve */
            OK(pthread_attr_setstacksize(&attr, stack + (size_t)(i / AT_ONCE % 32) * 4096));
        }
        for (long k = 0; k < AT_ONCE; k++) {
            OK(pthread_create(&t[k], &attr, lives, (void *)(i + k)));
        }
        for (int k = 0; k < AT_ONCE; k++) {
            join(t[k]);
        }
    }
    OK(pthread_attr_destroy(&attr));
}

static void leaves_nothing(const char *what, long count, size_t stack)
{
    many(count / 10 + 2000, stack);
    long before = resident();
    many(count, stack);
    long grown = resident() - before;
    printf("   %ld threads, %s: %ld bytes more resident\n", count, what, grown);
    fflush(stdout);
    CHECK(grown < SLACK_BYTES);
}

int main(int argc, char **argv)
{
    const struct option_page page = {.summary = "Threads leave no memory behind.",
                                     .operand = "[COUNT]"};
    const char *number = options_parse(argc, argv, &page)[0];
    long count = number != NULL ? operand_number("COUNT", number, 1, 100000000) : 20000;
    /* Large pages in malloc's arenas would look like a leak. */
    OK(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
    OK(pthread_key_create(&key, free));
    null = fopen("/dev/null", "we");
    CHECK(null != NULL);
    leaves_nothing("of one size", count, 0);
    leaves_nothing("of many sizes", count / 10, 128 << 10);
    printf("ok memory\n");
    return 0;
}
