/* SPDX-License-Identifier: MIT */
/*
 * cpu.h - what each CPU has for itself, and the way into and out of the runtime.
 *
 * A CPU is what the port says it is: a kernel thread, a core, a simulated CPU. Its fields are
 * grouped by writer: (O) only the CPU itself, with interrupts disabled; (A) atomic, anyone.
 *
 * Callers: every entry of the runtime (rt_enter, rt_leave), and all code that runs between the two.
 * What CPUs share is in runtime.h; what one CPU does to another is in wake.h.
 *
 * Invariants:
 *   1. Between rt_enter and rt_leave interrupts are disabled: no signal, interrupt or simulated
 *      preemption enters the runtime on this CPU. Nothing else guards (O) fields.
 *   2. port_cpu_self() is NULL on a kernel thread without a CPU: a foreign one, or the carrier of a
 *      user thread in a call (carrier.h).
 *   3. A pointer to the own CPU is valid until the thread may switch (switch.h).
 *   4. `pending` is set by anyone and cleared by its CPU alone, before a pick. ORDER(pending)
 * Locks: none of its own; the timer heap has one.
 */
#ifndef PIRN_CORE_CPU_H
#define PIRN_CORE_CPU_H

#include "../sched/policy.h"
#include "../trace/trace.h"
#include "runtime.h"
#include "stack.h"
#include "thread.h"

/* What finish_switch does for the thread that stopped, on the next thread's stack. */
enum post_action {
    POST_NONE,  /* the idle thread stepped aside; or the policy has queued it, and locked nothing */
    POST_YIELD, /* make it ready again */
    POST_PREEMPT, /* the same: it did not want to stop */
    POST_UNLOCK,  /* it blocked, or the policy has queued it: release the queue's lock */
    POST_PARK,    /* it blocked with a deadline: open it for claims, release the wait queue */
    POST_EXIT,    /* it is gone: wake the joiner or free the memory */
    POST_RETURN,  /* it comes back from a call, without a CPU: make it ready. carrier.h */
};

/* Bits of cpu.pending, looked at before every pick. RESCHED: a more urgent thread may be ready, or
 * the slice of the running one has ended. */
enum { RT_PENDING_TICK = 1, RT_PENDING_POLL = 2, RT_PENDING_RESCHED = 4, RT_PENDING_STACKS = 8 };

struct cpu_stats {
#ifdef PIRN_WITHOUT_STATS
    uint32_t switches; /* the port tells by it whether a thread has run for a whole tick */
#else
    uint64_t threads, switches, steals, steal_attempts, migrations, kicks, idle_ns, stacks_new,
        stacks_recycled, sleeps, preemptions, ticks, handovers;
#endif
};

#ifdef PIRN_WITHOUT_STATS
#define CPU_COUNT_SWITCH(cpu) ((void)(cpu)->stats.switches++)
#define CPU_SWITCHES(cpu) ((cpu)->stats.switches)
#define IDLE_SINCE(cpu, ns) ((void)(ns))
#else
#define CPU_COUNT_SWITCH(cpu) STAT_INC(&(cpu)->stats.switches)
#define CPU_SWITCHES(cpu) STAT_GET(&(cpu)->stats.switches)
#define IDLE_SINCE(cpu, ns) STAT_SET(&(cpu)->idle_since, (ns))
#endif

/* The stack that was used most: mark.h. */
struct stack_most {
    size_t used, size;
    char name[RT_NAME_MAX];
};

struct cpu {
    /* (O) every switch */
    struct thread *current;
    uint32_t id;             /* (C) RT_NO_CPU: a carrier's limbo */
    uint32_t bypasses;       /* threads that ran, or were queued, ahead of all others */
    struct thread *idle;     /* scheduler context: that of the carrier */
    struct carrier *carrier; /* what executes this CPU now: carrier.h */
    void *own;               /* (P) the policy's data of this CPU */
    /* for the carrier that takes this CPU: the thread to begin with, or NULL */
    struct thread *given[PORT_CALLS_BLOCK ? 1 : 0];
    uint32_t calls; /* begun: the last ticket */
#ifndef PIRN_WITHOUT_STACKS
    struct stack_cache stacks[STACK_CLASSES];
#endif
    _Atomic(uint32_t) created, exited; /* (O) written, read by all: see life.c */
    struct port_cpu port;
    struct cpu_stats stats;
#ifndef PIRN_WITHOUT_STATS
    uint64_t idle_since; /* since when it has no thread; 0: it has. Not in stats.idle_ns yet */
#endif
#ifdef PORT_CPU_SHARED
    uint64_t search_from;  /* (O) before that time it does not search: run.c */
    uint64_t search_pause; /* (O) how long it did not the last time */
#endif
#ifdef PIRN_DEBUG
    uint32_t ranks_held;
#endif

#ifndef PIRN_WITHOUT_MARKS
    struct stack_most most; /* (O) of threads that ended here */
#endif

    struct timer_heap timers ALIGNED(RT_CACHELINE);

    /* (A) RT_PENDING_*, and beside it, on the same cache line, what is pending most often */
    _Atomic(uint32_t) pending ALIGNED(RT_CACHELINE);

    /* (A) ready threads sent by others, for policies whose queues only the owner touches */
    _Atomic(struct thread *) inbox;

    /* (A) ticket of the call that the running thread is in; 0: none */
    _Atomic(uint32_t) call;
    uint32_t call_seen; /* by rt_calls_scan, its only user */
} ALIGNED(RT_CACHELINE);

#define RT_NO_CPU UINT32_MAX

/* Inside the runtime interrupts are disabled: no signal, interrupt or simulated preemption enters it on
 * this CPU. Returns NULL on a foreign kernel thread. */
ALWAYS_INLINE struct cpu *rt_enter(unsigned long *irq)
{
    *irq = port_irq_save();
    return port_cpu_self();
}

/* The same for who is not inside already, and leaves by rt_leave(0). */
ALWAYS_INLINE struct cpu *rt_enter_first(void)
{
    port_irq_disabled();
    return port_cpu_self();
}

ALWAYS_INLINE void rt_leave(unsigned long irq)
{
    port_irq_restore(irq);
}

/* The calling thread: a user thread, or the stand-in of a foreign kernel thread. Starts the runtime
 * if need be. */
COLD struct thread *rt_self_slow(void);

ALWAYS_INLINE struct thread *rt_self(void)
{
    struct cpu *cpu = port_cpu_self();
    return likely(cpu != NULL) ? cpu->current : rt_self_slow();
}

/* Who the caller is, as an owner of mutexes and of values of keys: the same, but that it starts no
 * runtime. */
COLD struct thread *rt_identity_slow(void);

ALWAYS_INLINE struct thread *rt_identity(void)
{
    struct cpu *cpu = port_cpu_self();
    return likely(cpu != NULL) ? cpu->current : rt_identity_slow();
}

/* The same before the runtime has started; NULL: it has, or the caller is not known yet. */
COLD struct thread *rt_identity_early(void);

/* For who finds port_cpu_self() NULL: is it really a foreign kernel thread, or is there no runtime
 * yet? A user thread that has lost its CPU gets one. */
COLD bool rt_is_foreign(void);

/* Make a thread ready that was unlinked by the caller. `self` may be NULL. */
void rt_wake(struct cpu *self, struct thread *t, enum pirn_why why);

/* rt.idle_word: run.c. */
#define RT_SEARCHING 1u
#define RT_SLEEPING 0x10000u

ALWAYS_INLINE uint32_t rt_idle_searching(uint32_t word)
{
    return word & 0xffffu;
}

ALWAYS_INLINE uint32_t rt_idle_sleeping(uint32_t word)
{
    return word >> 16;
}

COLD void rt_kick_sleeper(struct cpu *self);
void rt_kick_named(struct cpu *self, struct pirn_kick kick);

SHARED_INLINE void rt_kick(struct cpu *self, struct pirn_kick kick);
SHARED_INLINE void rt_kick(struct cpu *self, struct pirn_kick kick)
{
    at_fence_light(); /* ORDER(idle-wake) */
    if (likely(kick.cpu == PIRN_KICK_ANY)) {
        uint32_t word = at_load_rlx(&rt.idle_word);
        if (unlikely(rt_idle_sleeping(word) != 0 && rt_idle_searching(word) == 0)) {
            rt_kick_sleeper(self);
        }
    } else {
        rt_kick_named(self, kick);
    }
}

/* rt_wake for a thread that is not foreign, and no hand-over. */
SHARED_INLINE void rt_ready(struct cpu *self, struct thread *t, enum pirn_why why);
SHARED_INLINE void rt_ready(struct cpu *self, struct thread *t, enum pirn_why why)
{
    thread_set_state(t, THREAD_READY);
    trace_wake(self, t, why);
    struct pirn_kick kick = rt.policy.enqueue(self, t, why);
    if (kick.cpu != PIRN_KICK_NONE) {
        rt_kick(self, kick);
    }
}

/* A more urgent thread may be ready for CPU `id`: have it look. It does so when it picks, or in
 * rt_resched. Any context. */
void rt_preempt_cpu(struct cpu *self, unsigned id);

/* `ticks` have passed while the caller's CPU ran its current thread; inside the runtime. At the end
 * of a slice RT_PENDING_RESCHED is set. */
void rt_charge(struct cpu *cpu, unsigned ticks);

/* RT_PENDING_RESCHED is set: if somebody should run in place of the caller, he does (true). Inside
 * the runtime, without locks; afterwards the caller may be on another CPU. */
COLD bool rt_resched(void);

/* In, and one lock taken. */
ALWAYS_INLINE void rt_enter_lock(unsigned long *irq, spinlock_t *lock, enum lockrank rank)
{
    *irq = port_irq_save();
    spin_lock(lock, rank);
}

ALWAYS_INLINE void rt_leave_unlock(unsigned long irq, spinlock_t *lock, enum lockrank rank)
{
    spin_unlock(lock, rank);
    rt_leave(irq);
}

/* The way out for who may have made a thread ready. */
ALWAYS_INLINE void rt_leave_woken(unsigned long irq)
{
    struct cpu *cpu = port_cpu_self();
    if (RT_CLASSES && likely(cpu != NULL) &&
        unlikely(at_load_rlx(&cpu->pending) & RT_PENDING_RESCHED)) {
        rt_resched();
    }
    rt_leave(irq);
}

/* Post pending bits to a CPU and see to it that it looks at them. */
void rt_post(struct cpu *cpu, uint32_t bits);

/* Does every CPU sleep? Followed or preceded by a heavy fence: run.c. */
bool rt_all_asleep(void);

/* The scheduling loop, on a carrier's own stack; never returns. */
NORETURN void rt_cpu_main(struct cpu *cpu);

/* For policies: does CPU `id` sleep (a hint), and wake it if it does. */
ALWAYS_INLINE bool rt_cpu_sleeps(unsigned id)
{
    return (at_load_rlx(&rt.idle_map[id / 32]) & 1u << (id % 32)) != 0;
}
void rt_kick_cpu(struct cpu *self, unsigned id);

/* For policies: what PIRN_KICK_ANY does, for threads that became ready other than by enqueue. */
void rt_kick_any(struct cpu *self);

/* Does the caller's CPU have something to do besides its current thread: a ready thread that it may
 * pick, or a request (pending)? A moment later the answer may be another. */
ALWAYS_INLINE bool rt_has_work(struct cpu *cpu)
{
    return at_load_rlx(&cpu->pending) != 0 || rt.policy.has_work(cpu);
}

/* What policy.poll is for. */
COLD void rt_poll(struct cpu *cpu);

/* Before every pick, if pending is set. */
COLD void rt_service(struct cpu *cpu);

ALWAYS_INLINE struct thread *rt_pick(struct cpu *cpu)
{
    if (unlikely(at_is_set_rlx(&cpu->pending))) {
        rt_service(cpu);
    }
    return rt.policy.pick(cpu);
}

/* May a thread be put ahead of the ready queue (a hand-over)? Not at every RT_BYPASS_LIMIT-th time:
 * threads that hand over to each other for ever pass through the queue now and then, so that nobody
 * in it starves. */
ALWAYS_INLINE bool rt_may_bypass(struct cpu *cpu)
{
    return ++cpu->bypasses % RT_BYPASS_LIMIT != 0;
}

/* And instead of a pick (a joiner, the target of a join)? Not either when there is something that
 * rt_pick would look at. */
ALWAYS_INLINE bool rt_may_bypass_pick(struct cpu *cpu)
{
    return !at_is_set_rlx(&cpu->pending) && rt_may_bypass(cpu);
}

/* Send t to cpu->inbox and post RT_PENDING_POLL; any context. */
void inbox_push(struct cpu *cpu, struct thread *t);

/* Everything that was sent, oldest first, through rq.next; NULL if nothing. Owner. */
struct thread *inbox_take_owner(struct cpu *cpu);

ALWAYS_INLINE bool inbox_empty(struct cpu *cpu)
{
    return at_load_acq(&cpu->inbox) == NULL; /* ORDER(inbox) */
}

#endif
