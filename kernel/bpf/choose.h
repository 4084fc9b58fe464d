/* SPDX-License-Identifier: GPL-2.0-only
 *
 * Which CPU a consumer goes to. Included by pirn.bpf.c alone.
 */
#ifndef KERNEL_CHOOSE_H
#define KERNEL_CHOOSE_H

static bool allowed(const struct task_struct *p, __s32 cpu)
{
    return bpf_cpumask_test_cpu((__u32)cpu, p->cpus_ptr);
}

static __u32 waiting(__s32 cpu)
{
    __s32 own = scx_bpf_dsq_nr_queued((__u64)cpu);
    __s32 local = scx_bpf_dsq_nr_queued(DSQ_LOCAL_ON | (__u64)cpu);

    return (__u32)((own > 0 ? own : 0) + (local > 0 ? local : 0));
}

/* Whether a consumer must not go to a CPU although a producer ran there last. Producers that were
 * learned may be mutual, or one may wake many threads at once: such a CPU takes one at a time. */
static bool refuses(const struct thread *t, __s32 cpu)
{
    return !t->declared && scx_bpf_dsq_nr_queued((__u64)cpu) > 0;
}

/* Rule "new": a CPU whose last thread is a producer, but for `avoided`; -1: none. */
static __s32 choose_new(struct task_struct *p, struct thread *t, struct kernel_producers *producers,
                        __s32 avoided)
{
    __u32 least = ~0U;
    __u64 latest = 0;
    __s32 best = -1;
    __s32 here = this_cpu();
    __s32 cpu;

    bpf_for(cpu, 0, settings.cpus)
    {
        const struct cpu *c = cpu_of(cpu);
        __u32 cost;

        if (cpu == avoided || !is_producer(producers, c->last) || !allowed(p, cpu) ||
            refuses(t, cpu))
            continue;
        cost = cpu == here ? 0 : c->idle ? 1 : 2 + waiting(cpu);
        if (cost < least || (cost == least && c->last_since > latest)) {
            least = cost;
            latest = c->last_since;
            best = cpu;
        }
    }
    return best;
}

/* The CPU on which a thread ran last; -1: none, or no such thread. */
static __s32 ran_on(__u32 tid)
{
    struct task_struct *p = bpf_task_from_pid((__s32)tid);
    struct thread *t;
    __s32 cpu = -1;

    if (!p)
        return -1;
    t = bpf_task_storage_get(&threads, p, NULL, 0);
    if (t)
        cpu = t->ran_on;
    bpf_task_release(p);
    return cpu;
}

/* Rule "old": of the CPUs that have executed a producer the one with the fewest threads. */
static __s32 choose_old(struct task_struct *p, struct kernel_producers *producers)
{
    __u32 least = ~0U;
    __s32 best = -1;
    __s32 i;

    bpf_for(i, 0, KERNEL_PRODUCERS)
    {
        __u32 threads_there;
        __s32 cpu;

        if (i >= (__s32)producers->count)
            break;
        cpu = ran_on(producers->tid[place(i)]);
        if (cpu < 0 || !allowed(p, cpu))
            continue;
        threads_there = waiting(cpu) + !cpu_of(cpu)->idle;
        if (best >= 0 && has_fault(&settings, FAULT_FIRST))
            continue;
        if (threads_there < least) {
            least = threads_there;
            best = cpu;
        }
    }
    return best;
}

/* Threads of the real-time classes that are ready on a CPU, but for the one that runs. */
static bool rt_waits(__s32 cpu)
{
    const struct rq *rq = bpf_per_cpu_ptr(&runqueues, (__u32)cpu);
    __u32 running = cpu_of(cpu)->released;

    return rq && rq->rt.rt_nr_running > running;
}

/* Whether a consumer at the head of this CPU's queue would not run next. */
static bool preceded(__s32 cpu, const struct kernel_producers *producers)
{
    if (has_fault(&settings, FAULT_STAY))
        return false;
    return !is_producer(producers, cpu_of(cpu)->last) ||
           scx_bpf_dsq_nr_queued(DSQ_LOCAL_ON | (__u64)cpu) > 0 || rt_waits(cpu);
}

#endif
