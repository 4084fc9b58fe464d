/* SPDX-License-Identifier: MIT
 *
 * micro-pirn and micro-pirn-pthread: Pirn takes the number of workers and the organization from
 * the environment when it starts, which is at the first call. What the caller's environment says
 * of organization and spinning wins.
 */
#include SYS_HEADER

#ifndef SYS_PIRN_NAME
#error "SYS_PIRN_NAME: what to print as the system's name"
#endif

const char *const sys_name = SYS_PIRN_NAME;
const int sys_fib_n = 20; /* 10,945 spawns */

const char *sys_lacks(const char *row, unsigned workers)
{
    (void)row;
    (void)workers;
    return NULL;
}

void sys_prepare(const char *row, unsigned workers)
{
    char text[16];

    snprintf(text, sizeof text, "%u", workers);
    setenv("PIRN_CPUS", text, 1);
    if (strncmp(row, "pinned_", 7) == 0) {
        setenv("PIRN_SCHED", "dist", 0);
        setenv("PIRN_SPIN", strcmp(row, "pinned_awake") == 0 ? "1000000" : "0", 0);
    }
}

/* The organization places threads. */
void sys_place(int index)
{
    (void)index;
}
