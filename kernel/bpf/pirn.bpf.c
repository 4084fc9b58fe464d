/* SPDX-License-Identifier: GPL-2.0-only
 *
 * Task affinity for the threads of Linux: a scheduler for the kernel's class sched_ext. Loaded by
 * pirn-kernel (../tool). This folder alone is under the GPL, because the kernel gives the functions
 * it calls to such programs only.
 *
 * A consumer is a thread with producers: declared ones (map "dependencies"), else, if the scheduler
 * was loaded with infer=on, those that it learned (learn.h).
 *
 * Rule "new", from the thesis (STATUS.md, rows A), and what it became here:
 *
 *  1. Each CPU remembers the last thread that ran on it and was not the idle thread (saw_switch).
 *     The tracepoint sees threads of all classes, so a real-time thread that came between counts.
 *  2. A consumer that wakes goes to a CPU whose last thread is one of its producers: the waking CPU
 *     if it is among them, else an idle one, else the one with the shortest queue; of equal ones
 *     the one where the producer began to run last, because a CPU that has been idle since still
 *     has as its last thread a producer that has run elsewhere meanwhile (choose_new).
 *  3. It goes to the head of that CPU's queue. The kernel's own queue of a CPU (local DSQ) would
 *     serve, with SCX_ENQ_HEAD, but no other CPU can take a thread from there. So each CPU has a
 *     DSQ of ours, with the CPU's number, which the CPU empties first (pirn_dispatch).
 *  4. Push: the thesis checks after the enqueue whether a thread of equal or higher priority
 *     precedes the consumer. Here a thread that was inserted can no longer be moved, but enqueue
 *     runs under the lock of the chosen CPU, which select_cpu did not have. So the check is made
 *     there, just before the insertion (preceded): is the last thread still a producer, is the
 *     local DSQ empty, is no real-time thread runnable there? Else the consumer goes to another
 *     CPU of a producer, else by the standard rule. Threads of this class all count as equal: it
 *     has no priorities, only weights, which are not used.
 *  5. Pull: another CPU takes a placed consumer only after it has been idle for late_ns
 *     (take_late). An idle CPU does not look by itself: the tick of a CPU where consumers wait
 *     wakes one. If a real-time thread takes the CPU, any CPU may take them at once (released).
 *
 * Rule "old": the CPU that has executed one of the producers and has the fewest threads, at the
 * tail of its queue; neither push nor pull. Rule "none", and threads without a CPU by the rules
 * above: the kernel's default choice of an idle CPU, else one queue for all CPUs, first come, first
 * served. A thread for an idle CPU waits in that CPU's DSQ, too, not in the local one, where it
 * would be stuck if a real-time thread took the CPU before it (but under "old", where nobody takes
 * threads).
 *
 * Invariants:
 *  1. A runnable thread that enqueue has got is in exactly one DSQ (but for FAULT_STALL).
 *  2. thread->placed_on is the number of the DSQ in which the thread waits as a consumer, else -1.
 *  3. A thread waits for the shared queue at most PLACED_IN_A_ROW dispatches of each CPU: placed
 *     consumers do not starve others.
 *  4. User space writes the dependencies at any time: a list is only compared with, and its count
 *     is checked where it is used.
 *
 * A gap that the kernel (6.18) leaves: a real-time thread that becomes ready while pirn_dispatch
 * moves a thread into the local DSQ of an idle CPU runs first, and the kernel does not call
 * cpu_release then. The thread waits there until the real-time thread does.
 *
 * No locks of our own. Fields of struct cpu are written by their own CPU, or by the kernel's
 * callbacks for it, and read by others without order: an old value gives a worse CPU, nothing else.
 */
#include "scx.h"

#include "../ops.h"
#include "../shared.h"
#include "fault.h"

char LICENSE[] SEC("license") = "GPL";

enum { SHARED_QUEUE = KERNEL_CPUS, PLACED_IN_A_ROW = 32, NO_MEMORY = 12, NO_CPU = -2 };

const volatile struct kernel_settings settings SEC(".rodata.settings") = {0};

struct cpu {
    __u32 last;       /* thread that ran last and was not idle */
    __u32 streak;     /* placed consumers that ran one after another */
    __u64 idle_since; /* 0: not idle */
    __u64 last_since; /* when `last` began to run */
    bool idle;        /* at the last switch */
    bool released;    /* a thread of a higher class has the CPU: any other may take from its DSQ */
    char comm[KERNEL_COMM];
} __attribute__((aligned(64)));

static struct cpu cpus[KERNEL_CPUS];

#include "thread.h"

#include "events.h"

#include "learn.h"

#include "choose.h"

/* ---- wake-up ---- */

static void count_placed(const struct thread *t, __s32 cpu)
{
    if (settings.rule == RULE_OLD)
        count(COUNT_ELSEWHERE);
    else
        count(cpu == this_cpu() ? COUNT_HERE : COUNT_ELSEWHERE);
    if (!t->declared)
        count(COUNT_INFERRED);
}

static enum kernel_event_kind placed_event(__s32 cpu)
{
    if (settings.rule == RULE_OLD)
        return EVENT_WAKE_OLD;
    return cpu == this_cpu() ? EVENT_WAKE_HERE : EVENT_WAKE_ELSEWHERE;
}

/* The CPU for a consumer by its rule; below 0: none, or not a consumer. */
static __s32 choose_for_consumer(struct task_struct *p, struct thread *t)
{
    struct kernel_producers *producers = producers_of(p, t);

    if (!producers)
        return -1;
    if (settings.rule == RULE_OLD || has_fault(&settings, FAULT_STALE))
        return choose_old(p, producers);
    return choose_new(p, t, producers, -1);
}

/* Runs on the waking CPU, before any lock of the chosen one is taken. */
SEC("struct_ops/pirn_select_cpu")
__s32 BPF_PROG(pirn_select_cpu, struct task_struct *p, __s32 prev, __u64 flags)
{
    struct thread *t = thread_of(p);
    bool idle = false;
    __s32 cpu = -1;

    if (t && (flags & WAKE_TTWU) && settings.rule != RULE_NONE) {
        learn_from_waker(p, t);
        cpu = choose_for_consumer(p, t);
        t->chosen = cpu;
    }
    if (cpu >= 0) {
        scx_bpf_test_and_clear_cpu_idle(cpu); /* so that nobody else is sent there as well */
        return cpu;
    }
    cpu = scx_bpf_select_cpu_dfl(p, prev, flags, &idle);
    if (t)
        t->idle_cpu = idle ? cpu : -1;
    return cpu;
}

/* An idle CPU that may take what waits elsewhere, or -1. */
static __s32 find_idle(__u64 least_ns)
{
    __u64 now = bpf_ktime_get_ns();
    __s32 cpu;

    bpf_for(cpu, 0, settings.cpus)
    {
        __u64 since = cpu_of(cpu)->idle_since;

        if (since && now - since >= least_ns)
            return cpu;
    }
    return -1;
}

static void wake_idle(__u64 least_ns)
{
    __s32 idle = find_idle(least_ns);

    if (idle >= 0)
        scx_bpf_kick_cpu(idle, KICK_IDLE);
}

/* Wakes a CPU that has been idle for so long, if threads wait in this one's DSQ. */
static void offer(__s32 cpu, __u64 least_ns)
{
    if (settings.rule != RULE_OLD && scx_bpf_dsq_nr_queued((__u64)cpu) > 0)
        wake_idle(least_ns);
}

static void enqueue_shared(struct task_struct *p, __u64 flags)
{
    __s32 idle;

    if (p->nr_cpus_allowed == 1) {
        scx_bpf_dsq_insert(p, DSQ_LOCAL, settings.slice_ns, flags);
        return;
    }
    scx_bpf_dsq_insert(p, SHARED_QUEUE, settings.slice_ns, flags);
    idle = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
    if (idle >= 0)
        scx_bpf_kick_cpu(idle, KICK_IDLE);
}

/* Into a CPU's own DSQ. The thread arrives there when enqueue has returned, still under the lock of
 * the chosen CPU: if a real-time thread has taken that CPU, its switch was before this and set
 * `released`; if it comes later, its switch finds the thread (saw_switch). */
static void enqueue_own(struct task_struct *p, __s32 cpu, __u64 flags)
{
    scx_bpf_dsq_insert(p, (__u64)cpu, settings.slice_ns, flags);
    if (cpu_of(cpu)->released && settings.rule != RULE_OLD)
        wake_idle(0);
}

static void enqueue_placed(struct task_struct *p, struct thread *t, __s32 cpu, __u64 flags)
{
    bool head = settings.rule == RULE_NEW && !has_fault(&settings, FAULT_TAIL);

    t->placed_on = cpu;
    count_placed(t, cpu);
    enqueue_own(p, cpu, head ? flags | ENQ_HEAD : flags);
}

/* The consumer would not run next on the CPU that select_cpu chose. */
static void push(struct task_struct *p, struct thread *t, struct kernel_producers *producers,
                 __u64 flags)
{
    __s32 cpu = choose_new(p, t, producers, t->chosen);

    count(COUNT_PUSHED);
    if (cpu < 0) {
        count(COUNT_STANDARD);
        emit_last(EVENT_PUSH_SHARED, p, t->chosen);
        t->placed_on = -1;
        enqueue_shared(p, flags);
        return;
    }
    emit_last(EVENT_PUSH, p, cpu);
    enqueue_placed(p, t, cpu, flags);
    scx_bpf_kick_cpu(cpu, KICK_IDLE);
}

static void enqueue_standard(struct task_struct *p, struct thread *t, __s32 idle_cpu, bool consumer,
                             __u64 flags)
{
    if (consumer && (flags & ENQ_WAKEUP)) {
        count(COUNT_STANDARD);
        emit_wake(idle_cpu >= 0 ? EVENT_WAKE_IDLE : EVENT_WAKE_SHARED, p, idle_cpu);
    }
    t->placed_on = -1;
    if (idle_cpu < 0)
        enqueue_shared(p, flags);
    else if (settings.rule == RULE_OLD)
        scx_bpf_dsq_insert(p, DSQ_LOCAL, settings.slice_ns, flags);
    else
        enqueue_own(p, idle_cpu, flags);
}

/* Runs under the lock of the thread's CPU. What select_cpu chose holds for the enqueue after it
 * only, because a thread can come back into a queue without it; and only if the kernel took it,
 * which it does not if that CPU is about to go offline. */
SEC("struct_ops/pirn_enqueue")
void BPF_PROG(pirn_enqueue, struct task_struct *p, __u64 flags)
{
    struct thread *t = thread_of(p);
    struct kernel_producers *producers = t ? producers_of(p, t) : NULL;
    __s32 cpu = flags & ENQ_CPU_SELECTED ? scx_bpf_task_cpu(p) : NO_CPU;

    if (producers && has_fault(&settings, FAULT_STALL))
        return;
    if (!t) {
        enqueue_shared(p, flags);
    } else if (!producers || t->chosen != cpu) {
        enqueue_standard(p, t, t->idle_cpu == cpu ? cpu : -1, producers, flags);
    } else {
        emit_wake(placed_event(t->chosen), p, t->chosen);
        if (settings.rule == RULE_NEW && preceded(t->chosen, producers))
            push(p, t, producers, flags);
        else
            enqueue_placed(p, t, t->chosen, flags);
    }
    if (t) {
        t->chosen = -1;
        t->idle_cpu = -1;
    }
}

/* ---- dispatch ---- */

/* Takes a thread from another CPU's DSQ. True: it is in this CPU's local DSQ. */
static bool take_late(__s32 cpu)
{
    struct cpu *own = cpu_of(cpu);
    __u64 now = bpf_ktime_get_ns();
    bool late = own->idle_since && now - own->idle_since >= settings.late_ns;
    __s32 other;

    bpf_for(other, 0, settings.cpus)
    {
        if (other == cpu || scx_bpf_dsq_nr_queued((__u64)other) <= 0)
            continue;
        if ((late || cpu_of(other)->released) && scx_bpf_dsq_move_to_local((__u64)other))
            return true;
    }
    return false;
}

SEC("struct_ops/pirn_dispatch")
void BPF_PROG(pirn_dispatch, __s32 cpu, struct task_struct *prev)
{
    struct cpu *own = cpu_of(cpu);

    if (rt_waits(cpu))
        return; /* the thread would be stuck in the local DSQ; saw_switch will offer it */
    if (own->streak < PLACED_IN_A_ROW && scx_bpf_dsq_move_to_local((__u64)cpu)) {
        own->streak++;
        return;
    }
    own->streak = 0;
    if (scx_bpf_dsq_move_to_local(SHARED_QUEUE))
        return;
    if (scx_bpf_dsq_move_to_local((__u64)cpu))
        return;
    if (settings.rule != RULE_OLD)
        take_late(cpu);
}

/* Of a CPU that runs a thread of this class. A push may have met a real-time thread, without the
 * lock of that CPU. */
SEC("struct_ops/pirn_tick")
void BPF_PROG(pirn_tick, struct task_struct *p)
{
    __s32 cpu;

    offer(this_cpu(), settings.late_ns);
    bpf_for(cpu, 0, settings.cpus)
    {
        if (cpu_of(cpu)->released)
            offer(cpu, 0);
    }
}

/* A thread of a higher class takes the CPU from one of this class (saw_switch sees also those that
 * take it from the idle thread). */
SEC("struct_ops/pirn_cpu_release")
void BPF_PROG(pirn_cpu_release, __s32 cpu, struct scx_cpu_release_args *args)
{
    scx_bpf_reenqueue_local();
}

SEC("struct_ops/pirn_update_idle")
void BPF_PROG(pirn_update_idle, __s32 cpu, bool idle)
{
    cpu_of(cpu)->idle_since = idle ? bpf_ktime_get_ns() : 0;
}

/* ---- what ran ---- */

static void count_arrival(struct thread *t, __s32 cpu)
{
    if (t->placed_on < 0 || t->placed_on == cpu)
        return;
    count(cpu_of(t->placed_on)->released ? COUNT_RESCUED : COUNT_LATE);
}

/* The kernel calls this before saw_switch: the CPU's last thread is the one before p. */
SEC("struct_ops/pirn_running")
void BPF_PROG(pirn_running, struct task_struct *p)
{
    struct thread *t = thread_of(p);
    struct kernel_producers *producers;
    __s32 cpu = this_cpu();
    bool taken;

    if (!t)
        return;
    if (p->flags & KTHREAD) {
        if (wants_all_events())
            emit_last(EVENT_RUN, p, cpu);
        return;
    }
    if (t->ran_on >= 0 && t->ran_on != cpu)
        count(COUNT_MIGRATIONS);
    count_arrival(t, cpu);
    producers = producers_of(p, t);
    if (producers && is_producer(producers, cpu_of(cpu)->last))
        count(COUNT_NEXT);
    taken = t->placed_on >= 0 && t->placed_on != cpu;
    if (producers || wants_all_events())
        emit_last(taken ? EVENT_TAKEN : EVENT_RUN, p, cpu);
    t->placed_on = -1;
}

SEC("struct_ops/pirn_stopping")
void BPF_PROG(pirn_stopping, struct task_struct *p, bool runnable)
{
    if (!(p->flags & KTHREAD) && wants_all_events())
        emit_stop(p, runnable);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(saw_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
    struct cpu *own = cpu_of(this_cpu());
    struct thread *t;

    own->idle = next->pid == 0;
    own->released = !own->idle && next->prio < LEAST_RT_FREE_PRIO;
    if (own->idle)
        return 0;
    own->last = (__u32)next->pid;
    own->last_since = bpf_ktime_get_ns();
    bpf_probe_read_kernel_str(own->comm, sizeof own->comm, next->comm);
    t = thread_of(next);
    if (t)
        t->ran_on = this_cpu();
    if (own->released)
        offer(this_cpu(), 0);
    return 0;
}

/* ---- dependencies of threads that end ---- */

static long forget_producer(void *map, const void *key, void *value, void *context)
{
    kernel_forget(value, *(__u32 *)context);
    return 0;
}

static void forget(__u32 tid)
{
    bpf_map_delete_elem(&dependencies, &tid);
    bpf_for_each_map_elem(&dependencies, forget_producer, &tid, 0);
}

/* The thread still has its number, and says already that it ends (PF_EXITING): a program that
 * writes a list which this does not see looks for that afterwards (table/deps.c). */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(saw_exit, struct task_struct *p)
{
    forget((__u32)p->pid);
    return 0;
}

/* ---- begin and end ---- */

SEC("struct_ops.s/pirn_init")
__s32 BPF_PROG(pirn_init)
{
    __s32 cpu, error;

    bpf_for(cpu, 0, settings.cpus)
    {
        error = scx_bpf_create_dsq((__u64)cpu, -1);
        if (error)
            return error;
    }
    return scx_bpf_create_dsq(SHARED_QUEUE, -1);
}

/* For every thread when the scheduler is loaded, and for new ones. What the table has of a new
 * thread's number was of another one. */
SEC("struct_ops.s/pirn_init_task")
__s32 BPF_PROG(pirn_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
    struct thread first = {.chosen = -1, .idle_cpu = -1, .placed_on = -1, .ran_on = -1};

    if (args->fork)
        forget((__u32)p->pid);
    if (!bpf_task_storage_get(&threads, p, &first, BPF_LOCAL_STORAGE_GET_F_CREATE))
        return -NO_MEMORY;
    return 0;
}

SEC("struct_ops/pirn_exit")
void BPF_PROG(pirn_exit, struct scx_exit_info *info)
{
    __u32 zero = 0;
    struct kernel_end *end = bpf_map_lookup_elem(&end_of_scheduler, &zero);

    if (!end)
        return;
    end->code = info->exit_code;
    bpf_probe_read_kernel_str(end->reason, sizeof end->reason, info->reason);
    bpf_probe_read_kernel_str(end->message, sizeof end->message, info->msg);
    end->kind = (__u32)info->kind;
}

/* The command sets flags and timeout_ms before it loads this. */
SEC(".struct_ops.link")
struct sched_ext_ops pirn_ops = {
    .select_cpu = (ops_function)pirn_select_cpu,
    .enqueue = (ops_function)pirn_enqueue,
    .dispatch = (ops_function)pirn_dispatch,
    .tick = (ops_function)pirn_tick,
    .running = (ops_function)pirn_running,
    .stopping = (ops_function)pirn_stopping,
    .update_idle = (ops_function)pirn_update_idle,
    .cpu_release = (ops_function)pirn_cpu_release,
    .init_task = (ops_function)pirn_init_task,
    .init = (ops_function)pirn_init,
    .exit = (ops_function)pirn_exit,
    .flags = OPS_KEEP_BUILTIN_IDLE,
    .name = KERNEL_NAME,
};
