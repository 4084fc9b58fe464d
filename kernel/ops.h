/* SPDX-License-Identifier: MIT
 *
 * struct sched_ext_ops as pirn.bpf.c fills it in and the command completes it before loading. The
 * loader matches its fields with the kernel's by name; fields that are not here are 0.
 */
#ifndef KERNEL_OPS_H
#define KERNEL_OPS_H

#include <linux/types.h>

#define OPS_KEEP_BUILTIN_IDLE 1ULL
#define OPS_SWITCH_PARTIAL 8ULL /* only threads of policy SCHED_EXT */

/* The kernel knows the types of arguments and results. */
typedef void (*ops_function)(void);

struct sched_ext_ops {
    ops_function select_cpu;
    ops_function enqueue;
    ops_function dispatch;
    ops_function tick;
    ops_function running;
    ops_function stopping;
    ops_function update_idle;
    ops_function cpu_release;
    ops_function init_task;
    ops_function init;
    ops_function exit;
    __u64 flags;
    __u32 timeout_ms;
    char name[128];
};

#endif
