/* SPDX-License-Identifier: GPL-2.0-only
 *
 * Events for user space, when asked for (map "control"). Included by pirn.bpf.c alone.
 */
#ifndef KERNEL_EVENTS_H
#define KERNEL_EVENTS_H

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 20);
} events SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct kernel_control);
} control SEC(".maps");

static bool wants_events(enum kernel_events least)
{
    __u32 zero = 0;
    struct kernel_control *c = bpf_map_lookup_elem(&control, &zero);

    return c && c->events >= least;
}

static bool wants_all_events(void)
{
    return wants_events(EVENTS_ALL);
}

/* A new event, to be submitted; NULL if none is wanted or the buffer is full. */
static struct kernel_event *begin_event(enum kernel_event_kind kind, struct task_struct *p,
                                        __s32 target)
{
    struct kernel_event *e;

    if (!wants_events(EVENTS_CONSUMERS))
        return NULL;
    e = bpf_ringbuf_reserve(&events, sizeof *e, 0);
    if (!e) {
        count(COUNT_DROPPED);
        return NULL;
    }
    e->time_ns = bpf_ktime_get_ns();
    e->cpu = (__u32)this_cpu();
    e->kind = kind;
    e->tid = (__u32)p->pid;
    e->target = (__u32)target;
    e->spare = 0;
    bpf_probe_read_kernel_str(e->comm, sizeof e->comm, p->comm);
    return e;
}

/* p was woken by the current thread. */
static void emit_wake(enum kernel_event_kind kind, struct task_struct *p, __s32 cpu)
{
    struct kernel_event *e = begin_event(kind, p, cpu);
    struct task_struct *waker;

    if (!e)
        return;
    waker = bpf_get_current_task_btf();
    e->other = (__u32)waker->pid;
    bpf_probe_read_kernel_str(e->other_comm, sizeof e->other_comm, waker->comm);
    bpf_ringbuf_submit(e, 0);
}

/* The text names the last thread of `cpu`. */
static void emit_last(enum kernel_event_kind kind, struct task_struct *p, __s32 cpu)
{
    struct kernel_event *e = begin_event(kind, p, cpu);

    if (!e)
        return;
    e->other = cpu_of(cpu)->last;
    bpf_probe_read_kernel_str(e->other_comm, sizeof e->other_comm, cpu_of(cpu)->comm);
    bpf_ringbuf_submit(e, 0);
}

static void emit_stop(struct task_struct *p, bool runnable)
{
    struct kernel_event *e = begin_event(EVENT_STOP, p, this_cpu());

    if (!e)
        return;
    e->other = 0;
    bpf_probe_read_kernel_str(e->other_comm, sizeof e->other_comm, runnable ? "ready" : "waits");
    bpf_ringbuf_submit(e, 0);
}

#endif
