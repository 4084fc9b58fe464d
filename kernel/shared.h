/* SPDX-License-Identifier: MIT
 *
 * What the scheduler in the kernel (bpf/), the command (tool/) and the preloaded library (preload/)
 * share: the layout of maps, and where they are pinned. Included by BPF code, so no header of the C
 * library.
 */
#ifndef KERNEL_SHARED_H
#define KERNEL_SHARED_H

#include <linux/types.h>

enum {
    KERNEL_PRODUCERS = 16,   /* of one consumer */
    KERNEL_CONSUMERS = 1024, /* in the whole system */
    KERNEL_CPUS = 256,       /* a power of two */
    KERNEL_COMM = 16,        /* a thread's name, with its 0 */
};

#define KERNEL_NAME "pirn" /* of the scheduler, in /sys/kernel/sched_ext/root/ops */
#define KERNEL_BPFFS "/sys/fs/bpf"
#define KERNEL_PINS KERNEL_BPFFS "/pirn" /* the folder of all pins */
#define KERNEL_DEPENDENCIES KERNEL_PINS "/dependencies"
#define KERNEL_COUNTERS KERNEL_PINS "/counters"
#define KERNEL_EVENTS KERNEL_PINS "/events"
#define KERNEL_CONTROL KERNEL_PINS "/control"
#define KERNEL_END KERNEL_PINS "/end"

/* Map "dependencies": thread number of a consumer -> its producers. Numbers are those of the first
 * PID namespace. Programs write whole lists, under a lock (table/maps.h). The scheduler, which may
 * not wait for that, only replaces a producer that ends by 0: 0 is no thread. */
struct kernel_producers {
    __u32 count; /* of places, those with 0 included */
    __u32 tid[KERNEL_PRODUCERS];
};

/* The scheduler's change of a list. Several CPUs may do this to one list at the same time, each for
 * another thread: none of them moves what another one looks for. */
static inline void kernel_forget(struct kernel_producers *producers, __u32 tid)
{
    for (__u32 i = 0; i < KERNEL_PRODUCERS; i++)
        __sync_val_compare_and_swap(&producers->tid[i], tid, 0);
}

enum kernel_rule { RULE_NONE, RULE_OLD, RULE_NEW };

/* For tests (KERNEL_FAULTS): lose consumers; have another scheduler's name. The rest are mistakes
 * of the rules: a consumer goes to the tail; to a CPU that has run a producer, though not last; is
 * not pushed; (old) goes to the first CPU of its producers. */
enum kernel_fault {
    FAULT_NO,
    FAULT_STALL,
    FAULT_RENAME,
    FAULT_TAIL,
    FAULT_STALE,
    FAULT_STAY,
    FAULT_FIRST
};

/* Constants of a loaded scheduler (section .rodata.settings). */
struct kernel_settings {
    __u32 rule;  /* enum kernel_rule */
    __u32 infer; /* 1: learn producers of consumers that have none declared */
    __u32 fault; /* enum kernel_fault; only in pirn-kernel-faulty */
    __s32 cpus;
    __u64 late_ns;  /* a CPU that has been idle longer may take a placed consumer */
    __u64 slice_ns; /* a thread's slice */
};

/* Map "counters": one entry of each number for every CPU. */
#define KERNEL_COUNTER_TABLE(X)                                                                    \
    X(HERE, "here", "placed on the waking CPU")                                                    \
    X(ELSEWHERE, "elsewhere", "placed on another CPU of a producer")                               \
    X(PUSHED, "pushed", "pushed to another CPU than first chosen")                                 \
    X(STANDARD, "standard", "consumers placed by the standard rule")                               \
    X(LATE, "late", "taken by a CPU that had been idle for long")                                  \
    X(RESCUED, "rescued", "taken because a real-time thread had come")                             \
    X(NEXT, "next", "ran directly after a producer")                                               \
    X(MIGRATIONS, "migrations", "threads that ran on another CPU than before")                     \
    X(INFERRED, "inferred", "of those placed, by producers that were learned")                     \
    X(DROPPED, "dropped", "events that did not fit into the buffer")

enum kernel_counter {
#define X(name, word, text) COUNT_##name,
    KERNEL_COUNTER_TABLE(X)
#undef X
        KERNEL_COUNTERS_NUMBER
};

/* Map "control": what can change while the scheduler is loaded. */
enum kernel_events { EVENTS_NONE, EVENTS_CONSUMERS, EVENTS_ALL };
struct kernel_control {
    __u32 events; /* enum kernel_events */
};

/* Map "events": a ring buffer. In a text @ stands for a thread and # for a CPU. */
#define KERNEL_EVENT_TABLE(X)                                                                      \
    X(WAKE_HERE, "wakes by @: placed on the waking CPU #, where a producer runs")                  \
    X(WAKE_ELSEWHERE, "wakes by @: placed on CPU #, where a producer ran last")                    \
    X(WAKE_OLD, "wakes by @: placed on CPU #, which has run a producer")                           \
    X(WAKE_IDLE, "wakes by @: standard rule, idle CPU #")                                          \
    X(WAKE_SHARED, "wakes by @: standard rule, queue of all CPUs")                                 \
    X(PUSH, "would not run next: pushed to CPU #, where @ ran last")                               \
    X(PUSH_SHARED, "would not run next: standard rule, queue of all CPUs")                         \
    X(RUN, "runs on CPU # after @")                                                                \
    X(TAKEN, "runs on CPU # after @: taken from another CPU's queue")                              \
    X(STOP, "stops on CPU #: @")

enum kernel_event_kind {
#define X(name, text) EVENT_##name,
    KERNEL_EVENT_TABLE(X)
#undef X
        KERNEL_EVENT_KINDS
};

struct kernel_event {
    __u64 time_ns; /* CLOCK_MONOTONIC */
    __u32 cpu;     /* where it happened */
    __u32 kind;    /* enum kernel_event_kind */
    __u32 tid;
    __u32 other;  /* the thread that the text names */
    __u32 target; /* the CPU that the text names */
    __u32 spare;
    char comm[KERNEL_COMM];
    char other_comm[KERNEL_COMM];
};

/* Map "end": why the scheduler was unloaded; kind 0 while it runs. */
struct kernel_end {
    __s64 code;
    __u32 kind;
    __u32 spare;
    char reason[64];
    char message[192];
};

#endif
