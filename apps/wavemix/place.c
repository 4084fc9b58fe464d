/* SPDX-License-Identifier: MIT
 *
 * Workers, CPUs and pins (see place.h).
 */
#include "place.h"

#include "check.h"
#include "waves.h"

#include <sched.h>
#include <string.h>

enum { CPUS_PINNED = 4 }; /* the largest number in the graph's table */

const char *const pin_names[] = {"none", "waves", "all", NULL};

/* Of Pirn's native interface, <pirn/pirn.h>. */
int pirn_cpu_self(void) __attribute__((weak));

bool place_is_worker(void)
{
    return pirn_cpu_self != NULL;
}

int place_here(void)
{
    return place_is_worker() ? pirn_cpu_self() : sched_getcpu();
}

const char *place_kind(void)
{
    return place_is_worker() ? "worker" : "cpu";
}

/* The k-th CPU, from 1, that the process may use. */
static int usable_cpu(const cpu_set_t *usable, size_t k)
{
    int cpu = -1;

    while (k > 0 && ++cpu < CPU_SETSIZE)
        k -= CPU_ISSET((size_t)cpu, usable) != 0;
    return cpu;
}

void place_require(enum pin pin)
{
    cpu_set_t usable;

    if (pin == PIN_NONE)
        return;
    check_rc(pthread_getaffinity_np(pthread_self(), sizeof usable, &usable),
             "pthread_getaffinity_np");
    if (CPU_COUNT(&usable) < CPUS_PINNED)
        app_die("--pin=%s: needs %d CPUs; this process may use %d", pin_names[pin], CPUS_PINNED,
                CPU_COUNT(&usable));
}

static void pin_to(pthread_t thread, const char *name, int cpu)
{
    cpu_set_t set;
    int rc;

    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    rc = pthread_setaffinity_np(thread, sizeof set, &set);
    if (rc != 0)
        app_die("--pin: cannot pin %s to CPU %d: %s", name, cpu, strerror(rc));
}

void place_pin(const pthread_t *threads, enum pin pin)
{
    size_t count = pin == PIN_ALL ? NODE_COUNT : pin == PIN_WAVES ? WAVE_COUNT : 0;
    cpu_set_t usable;

    if (count == 0)
        return;
    check_rc(pthread_getaffinity_np(pthread_self(), sizeof usable, &usable),
             "pthread_getaffinity_np");
    for (size_t i = 0; i < count; i++)
        pin_to(threads[i], wave_nodes[i].name, usable_cpu(&usable, wave_nodes[i].cpu));
}
