/* SPDX-License-Identifier: MIT
 *
 * micro-nptl: `workers` is the number of CPUs that the process may use, so that one worker means
 * the same as elsewhere.
 */
#include "sys_pthread.h"

#include <unistd.h>

const char *const sys_name = "nptl";
const int sys_fib_n = 14; /* 609 spawns; 20 would need 10,945 kernel threads at once */

const char *sys_lacks(const char *row, unsigned workers)
{
    if (strcmp(row, "pinned_awake") == 0)
        return "a kernel thread that waits sleeps";
    if (workers > (unsigned)sysconf(_SC_NPROCESSORS_ONLN))
        return "fewer CPUs than workers";
    return NULL;
}

void sys_prepare(const char *row, unsigned workers)
{
    cpu_set_t usable, set;
    int left = (int)workers;

    (void)row;
    CPU_ZERO(&set);
    sys_check(sched_getaffinity(0, sizeof usable, &usable) == 0, "sched_getaffinity");
    for (int cpu = 0; cpu < CPU_SETSIZE && left > 0; cpu++) {
        if (CPU_ISSET(cpu, &usable)) {
            CPU_SET(cpu, &set);
            left--;
        }
    }
    sys_check(sched_setaffinity(0, sizeof set, &set) == 0, "sched_setaffinity");
}

void sys_place(int index)
{
    cpu_set_t usable, one;
    int skip;

    sys_check(sched_getaffinity(0, sizeof usable, &usable) == 0, "sched_getaffinity");
    skip = index % CPU_COUNT(&usable);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &usable) && skip-- == 0)
            CPU_SET(cpu, &one);
    sys_check(sched_setaffinity(0, sizeof one, &one) == 0, "sched_setaffinity");
}
