/* SPDX-License-Identifier: GPL-2.0-only
 *
 * The kernel's types and functions that pirn.bpf.c uses (Documentation/scheduler/sched-ext.rst and
 * the kernel's BTF have them all). Only the fields that are used are declared: the loader replaces
 * their offsets by those of the running kernel, so one object fits all kernels that have the
 * fields. Names of functions are those since Linux 6.13.
 */
#ifndef KERNEL_SCX_H
#define KERNEL_SCX_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* Complete types: the loader compares kinds of types in the functions' prototypes. */
struct cpumask {
};

struct task_struct {
    int pid;
    int prio;
    int nr_cpus_allowed;
    unsigned int flags;
    const struct cpumask *cpus_ptr;
    char comm[16];
};

struct rt_rq {
    unsigned int rt_nr_running;
};

struct rq {
    struct rt_rq rt;
};

enum scx_exit_kind { SCX_EXIT_KIND_NONE };

struct scx_exit_info {
    enum scx_exit_kind kind;
    long long exit_code;
    const char *reason;
    char *msg;
};

struct scx_init_task_args {
    bool fork;
};
struct scx_cpu_release_args {
    int reason;
};

#pragma clang attribute pop

enum { KTHREAD = 0x00200000, LEAST_RT_FREE_PRIO = 100 };

/* Flags and numbers that differ between kernels: the loader replaces them, too. */
enum scx_dsq_id_flags {
    SCX_DSQ_LOCAL = 0x8000000000000002ULL,
    SCX_DSQ_LOCAL_ON = 0xc000000000000000ULL,
};
enum scx_enq_flags {
    SCX_ENQ_WAKEUP = 1,
    SCX_ENQ_HEAD = 1 << 4,
    SCX_ENQ_CPU_SELECTED = 1 << 10,
};
enum scx_wake_flags { SCX_WAKE_TTWU = 8 };
enum scx_kick_flags { SCX_KICK_IDLE = 1 };

#define DSQ_LOCAL bpf_core_enum_value(enum scx_dsq_id_flags, SCX_DSQ_LOCAL)
#define DSQ_LOCAL_ON bpf_core_enum_value(enum scx_dsq_id_flags, SCX_DSQ_LOCAL_ON)
#define ENQ_WAKEUP bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_WAKEUP)
#define ENQ_HEAD bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_HEAD)
#define ENQ_CPU_SELECTED bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_CPU_SELECTED)
#define WAKE_TTWU bpf_core_enum_value(enum scx_wake_flags, SCX_WAKE_TTWU)
#define KICK_IDLE bpf_core_enum_value(enum scx_kick_flags, SCX_KICK_IDLE)

extern const struct rq runqueues __ksym;

void scx_bpf_dsq_insert(struct task_struct *p, __u64 queue, __u64 slice, __u64 flags) __ksym;
bool scx_bpf_dsq_move_to_local(__u64 queue) __ksym;
__s32 scx_bpf_dsq_nr_queued(__u64 queue) __ksym;
__s32 scx_bpf_create_dsq(__u64 queue, __s32 node) __ksym;
__s32 scx_bpf_select_cpu_dfl(struct task_struct *p, __s32 prev, __u64 flags, bool *idle) __ksym;
__s32 scx_bpf_pick_idle_cpu(const struct cpumask *allowed, __u64 flags) __ksym;
bool scx_bpf_test_and_clear_cpu_idle(__s32 cpu) __ksym;
__s32 scx_bpf_task_cpu(const struct task_struct *p) __ksym;
void scx_bpf_kick_cpu(__s32 cpu, __u64 flags) __ksym;
__u32 scx_bpf_reenqueue_local(void) __ksym;
bool bpf_cpumask_test_cpu(__u32 cpu, const struct cpumask *mask) __ksym;
struct task_struct *bpf_task_from_pid(__s32 pid) __ksym;
void bpf_task_release(struct task_struct *p) __ksym;

#endif
