/* SPDX-License-Identifier: MIT
 *
 * micro-pirn and micro-pirn-pthread: Pirn reads the number of workers and the policy from the
 * environment when it starts, at the first call. The caller's own settings of policy and spinning
 * take precedence.
 */
#include SYS_HEADER

#include "pin.h"

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

static cpu_set_t usable; /* when the program started */

void sys_prepare(const char *row, unsigned workers)
{
    char text[16];

    usable = pin_usable();
    snprintf(text, sizeof text, "%u", workers);
    setenv("PIRN_CPUS", text, 1);
    if (strncmp(row, "pinned_", 7) == 0) {
        setenv("PIRN_SCHED", "dist", 0);
        setenv("PIRN_SPIN", strcmp(row, "pinned_awake") == 0 ? "1000000" : "0", 0);
    }
}

/* Workers are kernel threads. The call bypasses libc, in which a thread of Pirn has an id of its
 * own. */
int sys_cpu(void)
{
    return (int)syscall(SYS_gettid);
}

/* The policy assigns threads to workers. This binds the caller's worker to a CPU: the first worker
 * that calls to the first CPU, and so on. */
void sys_place(int index)
{
    static int seen[64];
    int self = sys_cpu(), at = 0, none = 0;

    (void)index;
    while (seen[at] != self && !__atomic_compare_exchange_n(&seen[at], &none, self, 0,
                                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        none = 0;
        at++;
    }
    pin_to(usable, at, 1);
}
