/* SPDX-License-Identifier: GPL-2.0-only
 *
 * What the scheduler knows of each thread and CPU, and who is whose producer. Included by
 * pirn.bpf.c alone.
 */
#ifndef KERNEL_THREAD_H
#define KERNEL_THREAD_H

enum { LEARNED = 8 };

struct learned {
    __u32 tid;
    __u32 weight; /* 0: free */
};

struct thread {
    __s32 chosen;    /* CPU that select_cpu chose by a rule, for enqueue; else -1 */
    __s32 idle_cpu;  /* idle CPU that select_cpu took for it, for enqueue; else -1 */
    __s32 placed_on; /* the DSQ in which it waits as a consumer; else -1 */
    __s32 ran_on;    /* CPU of its last run; -1: none yet */
    bool declared;   /* producers_of found declared ones */
    struct learned learned[LEARNED];
    struct kernel_producers inferred; /* those of `learned` that weigh enough, and 0 */
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct thread);
} threads SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, KERNEL_CONSUMERS);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, __u32);
    __type(value, struct kernel_producers);
} dependencies SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, KERNEL_COUNTERS_NUMBER);
    __type(key, __u32);
    __type(value, __u64);
} counters SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct kernel_end);
} end_of_scheduler SEC(".maps");

static __s32 this_cpu(void)
{
    return (__s32)bpf_get_smp_processor_id();
}

/* The mask satisfies the verifier; the command refuses machines with more CPUs. */
static struct cpu *cpu_of(__s32 cpu)
{
    return &cpus[(__u32)cpu & (KERNEL_CPUS - 1)];
}

static void count(enum kernel_counter which)
{
    __u32 key = which;
    __u64 *value = bpf_map_lookup_elem(&counters, &key);

    if (value)
        ++*value;
}

/* pirn_init_task has made it for every thread. NULL: another program is using storage on this CPU
 * at this moment; the thread is then no consumer for once. */
static struct thread *thread_of(struct task_struct *p)
{
    return bpf_task_storage_get(&threads, p, NULL, 0);
}

/* An index that the verifier sees to be small, whatever the compiler knows of it. */
static __u32 place(__s32 i)
{
    asm volatile("" : "+r"(i));
    return (__u32)i & (KERNEL_PRODUCERS - 1);
}

/* Whether one of the producers has not ended. */
static bool has_producer(const struct kernel_producers *producers)
{
    __s32 i;

    bpf_for(i, 0, KERNEL_PRODUCERS)
    {
        if (i >= (__s32)producers->count)
            break;
        if (producers->tid[place(i)] != 0)
            return true;
    }
    return false;
}

/* NULL: not a consumer. */
static struct kernel_producers *producers_of(struct task_struct *p, struct thread *t)
{
    __u32 tid = (__u32)p->pid;
    struct kernel_producers *declared = bpf_map_lookup_elem(&dependencies, &tid);

    t->declared = declared && has_producer(declared);
    if (t->declared)
        return declared;
    return settings.infer && t->inferred.count > 0 ? &t->inferred : NULL;
}

/* 0, the idle thread, is nobody's producer. */
static bool is_producer(const struct kernel_producers *producers, __u32 tid)
{
    __s32 i;

    bpf_for(i, 0, KERNEL_PRODUCERS)
    {
        if (i >= (__s32)producers->count)
            break;
        if (producers->tid[place(i)] == tid)
            return tid != 0;
    }
    return false;
}

#endif
