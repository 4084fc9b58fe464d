/* SPDX-License-Identifier: MIT
 *
 * Threads in large numbers, and their cost (see crowd.h).
 */
#include "crowd.h"

#include "check.h"
#include "clock.h"

#include <string.h>
#include <sys/resource.h>
#include <time.h>

static pthread_attr_t attr;
static pthread_once_t attr_once = PTHREAD_ONCE_INIT;

static void attr_make(void)
{
    small_stack_attr(&attr);
}

void crowd_start(pthread_t *thread, void *(*entry)(void *), void *arg, long index, long count)
{
    int rc;

    check_rc(pthread_once(&attr_once, attr_make), "pthread_once");
    rc = pthread_create(thread, &attr, entry, arg);
    if (rc != 0)
        app_die("pthread_create, thread %ld of %ld: %s", index + 1, count, strerror(rc));
}

struct cost cost_now(void)
{
    struct timespec cpu;
    struct rusage used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    getrusage(RUSAGE_SELF, &used);
    return (struct cost){
        .wall = clock_seconds(),
        .cpu = (double)cpu.tv_sec + 1e-9 * (double)cpu.tv_nsec,
        .system = (double)used.ru_stime.tv_sec + 1e-6 * (double)used.ru_stime.tv_usec,
    };
}

struct cost cost_since(struct cost before)
{
    struct cost now = cost_now();

    return (struct cost){
        .wall = now.wall - before.wall,
        .cpu = now.cpu - before.cpu,
        .system = now.system - before.system,
    };
}
