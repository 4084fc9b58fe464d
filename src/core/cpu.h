/* SPDX-License-Identifier: MIT */
/*
 * cpu.h - the record of a CPU, and the way into and out of the runtime.
 *
 * The port defines what a CPU is: a kernel thread, a core, a simulated CPU. Its fields are grouped
 * by writer: (O) only the CPU itself, with interrupts disabled; (A) atomic, anyone.
 *
 * Callers: every entry of the runtime (rt_enter, rt_leave), and all code that runs between the two.
 * runtime.h has the state that CPUs share; wake.h has the actions of one CPU on another.
 *
 * Invariants:
 *   1. Between rt_enter and rt_leave interrupts are disabled: no signal, interrupt or simulated
 *      preemption enters the runtime on this CPU. Nothing else guards (O) fields.
 *   2. port_cpu_self() is NULL on a kernel thread without a CPU: a foreign one, or the carrier of a
 *      user thread in a call (carrier.h).
 *   3. A pointer to the caller's CPU is valid until the thread may switch (switch.h).
 *   4. `pending` is set by anyone and cleared by its CPU alone, before a pick. ORDER(pending)
 * Locks: none of its own; the timer heap has one.
 */
#ifndef PIRN_CORE_CPU_H
#define PIRN_CORE_CPU_H

#include "stack.h"
#include "thread.h"

/* The work that finish_switch does for the thread that stopped, on the next thread's stack. */
enum post_action {
    POST_NONE,  /* the idle thread stepped aside; or the policy has queued it, and locked nothing */
    POST_YIELD, /* make it ready again */
    POST_PREEMPT, /* the same: it did not want to stop */
    POST_OFFER,   /* the same, as if it had waited: io_offer.c */
    POST_UNLOCK,  /* it blocked, or the policy has queued it: release the queue's lock */
    POST_PARK,    /* it blocked with a deadline: open it for claims, release the wait queue */
    POST_LINE,    /* it waits in the hardware: line.h */
    POST_EXIT,    /* it is gone: wake the joiner or free the memory */
    POST_GIVE,    /* another CPU takes it over: capacity.h */
    POST_RETURN,  /* it comes back from a call, without a CPU: make it ready. carrier.h */
};

/* Bits of cpu.pending, looked at before every pick. RESCHED: a more urgent thread may be ready, or
 * the slice of the running one has ended. */
enum { RT_PENDING_TICK = 1, RT_PENDING_POLL = 2, RT_PENDING_RESCHED = 4, RT_PENDING_STACKS = 8 };

/* What becomes of a kick for a CPU that sleeps (wake.h, invariant 6): it is made at once; it is to
 * be held; one has been held. */
enum cpu_kick { KICK_AT_ONCE, KICK_HOLD, KICK_HELD };

/* The longest search, halved so often, is none any more: search.h. */
enum { RT_SEARCH_CUTS = 6 };

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
#define IDLE_SINCE(cpu, ns) ((void)(cpu), (void)(ns))
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
    uint32_t id;                /* (C) RT_NO_CPU: a carrier's limbo */
    _Atomic(uint32_t) bypasses; /* (O) threads that ran, or were queued, ahead of all others. Ticks
                                 * change it: rt_bypass_tick */
    struct thread *idle;        /* scheduler context: that of the carrier */
    struct carrier *carrier;    /* that executes this CPU now: carrier.h */
    void *own;                  /* (P) the policy's data of this CPU */
    /* for the carrier that takes this CPU: the thread to begin with, or NULL */
    struct thread *given[PORT_CALLS_BLOCK ? 1 : 0];
    uint32_t calls;                     /* begun: the last ticket */
    _Atomic(uint32_t) ticks;            /* (O) that came while it ran a thread */
    uint32_t stack_classes[PORT_NODES]; /* (C) STACK_CLASSES times its NUMA node: stack.h */
#ifndef PIRN_WITHOUT_STACKS
    struct stack_cache stacks[STACK_CLASSES];   /* (O) of pairs of its own node */
    struct stack_cache far[PORT_NODES ? 1 : 0]; /* (O) of other nodes, of any class, collected */
    uint32_t colour;                            /* (O) of the next one that it makes */
#endif
    uint8_t io_skips, io_lost;         /* (O) io_offer.c */
    _Atomic(uint32_t) created, exited; /* (O) written, read by all: see life.c */
    struct port_cpu port;
    struct cpu_stats stats;
#ifndef PIRN_WITHOUT_STATS
    uint64_t idle_since; /* idle since then, not yet in stats.idle_ns; 0: it runs a thread */
#endif
#ifdef PORT_CPU_SHARED
    uint64_t search_from;                      /* (O) no search before that time: search.h */
    uint64_t search_pause;                     /* (O) the length of the last pause */
    uint32_t search_cut;                       /* (O) how often the time of a search is halved */
    uint16_t search_waits[RT_SEARCH_CUTS + 1]; /* (O) recent waits, by length */
#endif
#ifdef PIRN_DEBUG
    uint32_t ranks_held;
#endif

#ifndef PIRN_WITHOUT_MARKS
    struct stack_most most; /* (O) of threads that ended here */
#endif

    struct timer_heap timers ALIGNED(RT_CACHELINE);

    /* (A) RT_PENDING_*; the most frequent pending work is on the same cache line */
    _Atomic(uint32_t) pending ALIGNED(RT_CACHELINE);

    /* (A) ready threads sent by others, for policies whose queues only the owner touches */
    _Atomic(struct thread *) inbox;

    /* (A) ticket of the call that the running thread is in, and CALL_ bits; 0: none */
    _Atomic(uint32_t) call;

    _Atomic(uint32_t) asker; /* (A) who asks for the running thread: capacity.h */

    uint8_t kick; /* (O) enum cpu_kick */

    bool slept[PORT_CALLS_BLOCK ? 1 : 0]; /* in a call, until its carrier takes it: call_sleep.h */
    struct carrier *spare[PORT_CALLS_BLOCK ? 1 : 0]; /* reserved while it sleeps in a call */
} ALIGNED(RT_CACHELINE);

#define RT_NO_CPU UINT32_MAX

/* Into the runtime, where interrupts are disabled (invariant 1). Returns NULL on a kernel thread
 * without a CPU (invariant 2). */
ALWAYS_INLINE struct cpu *rt_enter(unsigned long *irq)
{
    *irq = port_irq_save();
    return port_cpu_self();
}

/* The same for a caller that is not inside already, and leaves by rt_leave(0). */
ALWAYS_INLINE struct cpu *rt_enter_first(void)
{
    port_irq_disabled();
    return port_cpu_self();
}

ALWAYS_INLINE void rt_leave(unsigned long irq)
{
    port_irq_restore(irq);
}

/* For assertions: the caller is inside the runtime, or outside, as far as the port can tell. */
ALWAYS_INLINE bool rt_is_inside(void)
{
    return port_irq_is_off();
}

/* A handler that waits is the program's mistake: it gets another message, which says for what. */
#ifdef PORT_HANDLERS
NORETURN COLD void rt_handler_waits(enum wait_reason reason, const void *object);
#endif

ALWAYS_INLINE bool rt_may_wait(enum wait_reason reason, const void *object)
{
#ifdef PORT_HANDLERS
    if (!port_may_switch()) {
        rt_handler_waits(reason, object);
    }
#else
    (void)reason;
    (void)object;
#endif
    return port_irq_is_on();
}

ALWAYS_INLINE bool rt_is_outside(void)
{
    return rt_may_wait(WAIT_NONE, NULL);
}

/* The calling thread, if it has a CPU, else *has is false, and the result NULL. The caller may be
 * outside. */
ALWAYS_INLINE struct thread *rt_current(bool *has)
{
#ifdef PORT_PREEMPTS_LIBRARY
    struct thread *t = port_thread_self();
    *has = t != NULL;
    return t;
#else
    struct cpu *cpu = port_cpu_self();
    *has = cpu != NULL;
    return likely(cpu != NULL) ? cpu->current : NULL;
#endif
}

ALWAYS_INLINE struct thread *rt_current_or(struct thread *(*slow)(void))
{
#ifdef PORT_PREEMPTS_LIBRARY
    struct thread *t = port_thread_self();
    return likely(t != NULL) ? t : slow();
#else
    struct cpu *cpu = port_cpu_self();
    return likely(cpu != NULL) ? cpu->current : slow();
#endif
}

/* The calling thread: a user thread, or the stand-in of a foreign kernel thread. Starts the runtime
 * if need be. */
COLD struct thread *rt_self_slow(void);

ALWAYS_INLINE struct thread *rt_self(void)
{
    return rt_current_or(rt_self_slow);
}

/* The caller's identity as an owner of mutexes and of values of keys. As rt_self, but it starts no
 * runtime. */
COLD struct thread *rt_identity_slow(void);

ALWAYS_INLINE struct thread *rt_identity(void)
{
    return rt_current_or(rt_identity_slow);
}

/* The same before the runtime has started; NULL: it has, or the caller is not known yet. */
COLD struct thread *rt_identity_early(void);

/* For a caller whose port_cpu_self() is NULL: is it a foreign kernel thread, or is there no runtime
 * yet? A user thread that has lost its CPU gets one. */
COLD bool rt_is_foreign(void);

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

/* The scheduling loop, on a carrier's own stack; never returns. */
NORETURN void rt_cpu_main(struct cpu *cpu);

#endif
