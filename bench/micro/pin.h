/* SPDX-License-Identifier: MIT */
/* pin.h - binds kernel threads to CPUs. It bypasses libc, because Pirn replaces
 * sched_setaffinity. */
#ifndef BENCH_PIN_H
#define BENCH_PIN_H

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The CPUs that the calling kernel thread may use. */
static inline cpu_set_t pin_usable(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    if (syscall(SYS_sched_getaffinity, 0, sizeof set, &set) < 0) {
        perror("sched_getaffinity");
        exit(1);
    }
    return set;
}

/* Binds the calling kernel thread to `count` of these CPUs, beginning with number `first`, and
 * continuing with 0 after the last. */
static inline void pin_to(cpu_set_t usable, int first, int count)
{
    cpu_set_t set;
    int number = CPU_COUNT(&usable), at = 0;

    CPU_ZERO(&set);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &usable) && (at++ - first % number + number) % number < count)
            CPU_SET(cpu, &set);
    }
    if (syscall(SYS_sched_setaffinity, 0, sizeof set, &set) < 0) {
        perror("sched_setaffinity");
        exit(1);
    }
}

#endif
