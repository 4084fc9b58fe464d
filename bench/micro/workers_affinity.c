/* SPDX-License-Identifier: MIT
 *
 * micro-nptl: `workers` is the number of CPUs that the process may use, so that one worker means
 * the same as elsewhere.
 */
#include "sys_pthread.h"

#include "pin.h"

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

static cpu_set_t usable; /* when the program started */

void sys_prepare(const char *row, unsigned workers)
{
    (void)row;
    usable = pin_usable();
    pin_to(usable, 0, (int)workers);
}

void sys_place(int index)
{
    pin_to(usable, index, 1);
}

int sys_cpu(void)
{
    return sched_getcpu();
}
