/* SPDX-License-Identifier: MIT
 *
 * Threads in large numbers, and their cost (see crowd.h).
 */
#include "crowd.h"

#include "check.h"

#include <string.h>

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

struct cost cost_since(struct cost before)
{
    struct cost now = cost_now();

    return (struct cost){
        .wall = now.wall - before.wall,
        .cpu = now.cpu - before.cpu,
        .system = now.system - before.system,
    };
}
