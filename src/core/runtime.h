/* SPDX-License-Identifier: MIT */
/*
 * runtime.h - the state of the runtime: one record, `rt`, for all CPUs.
 *
 * Callers: every layer, to read options and limits, to go over the CPUs, to call the policy. The
 * state of one CPU is in cpu.h; idle_word and idle_map belong to wake.h.
 *
 * Invariants:
 *   1. Fields marked (C) are written before `started` is 2, by the thread that starts the runtime
 *      (options, init.c), and in the child of a fork. No other thread writes them.
 *   2. cpus[0 .. ncpu-1] are valid from `started` == 2 to the end of the process, or, in the
 *      simulator, of the run.
 *   3. `policy` is a copy of the chosen table. A thread without a CPU may read it only when it
 *      knows that the runtime has started.
 * Locks: none. (A) are atomic; their orders are `start`, `idle-wake` and `idle-claim`.
 */
#ifndef PIRN_CORE_RUNTIME_H
#define PIRN_CORE_RUNTIME_H

#include "../sched/policy.h"
#include "atomic.h"
#include "config.h"
#include "port_capacity.h"
#include "port_nodes.h"
#include "port_preempt.h"
#include "stack.h"
#include "thread.h"

struct cpu;

/* May CPUs differ in speed? */
#ifdef PIRN_WITHOUT_CAPACITIES
#define RT_CAPACITIES false
#else
#define RT_CAPACITIES PORT_CAPACITIES
#endif

/* May CPUs belong to several NUMA nodes? */
#ifdef PIRN_WITHOUT_NODES
#define RT_NODES false
#else
#define RT_NODES PORT_NODES
#endif

/* The option "deadlock". */
enum rt_deadlock { RT_DEADLOCK_REPORT, RT_DEADLOCK_ABORT, RT_DEADLOCK_OFF };

/* The option "tls". */
enum rt_tls { RT_TLS_AUTO, RT_TLS_OWN, RT_TLS_OWN_SYSCALL, RT_TLS_SHARED };

/* The table of the policy in use, what rt has of it, and whether its discipline has classes. */
#if RT_ONLY_SINGLE
#include "policy_only.h"
#define RT_POLICY rt_policy_only
#define RT_POLICY_CLASSES rt.policy.classes
struct rt_policy {
    const char *name;
    bool classes; /* its discipline has classes */
};
#else
#define RT_POLICY rt.policy
#define RT_POLICY_CLASSES (rt.policy.preempt != NULL)
#define rt_policy pirn_policy
#endif

struct rt {
    struct rt_policy policy; /* (C) copy of the chosen table */
    unsigned ncpu;           /* (C) */
    bool lines;              /* (C) threads wait for lines in the hardware: line.h */
    bool detour;             /* (C) yield through the scheduler context */
    bool preempt;            /* (C) a thread that runs for a tick is preempted */
    bool preempt_asked;      /* (C) by the option: must work */
    bool main_carries;       /* (C) the program's main kernel thread executes CPUs */
    uint64_t spin_ns;        /* (C) */
    uint64_t tick_ns;        /* (C) */
    uint64_t slice_ns;       /* (C) */
    uint32_t slice_ticks;    /* (C) ticks of a slice, at least 1 */
    size_t stack_size;       /* (C) */
    bool stack_fill;         /* (C) option stackfill */
    bool asymmetric;         /* (C) capacities differ */
    bool by_capacity;        /* (C) and the policy uses them */
    bool bind;               /* (C) option bind */
    size_t stack_min;        /* (C) with room for the signal frame of a preemption */
    int32_t more_searchers;  /* (C) a CPU that found a thread wakes another while so many search */
    uint64_t reservoir;      /* (C) */
    bool reservoir_grows;    /* (C) stack.c */
    uint32_t stack_cache_limit; /* (C) pairs a CPU keeps per class */
    uint64_t start_ns;          /* (C) */
    enum rt_tls tls;            /* (C) what the user asks for */
    enum rt_deadlock deadlock;  /* (C) */
    uint32_t quiet_s;           /* (C) option quiet; 0: off */
    int dump_signal;            /* (C) 0: none */
    uint32_t spares; /* (C) most carriers beside the CPUs' first; 0: calls keep the CPU */
    size_t tls_room; /* (C) bytes of a thread's TLS block; 0: there are none */

    /* (A) low half: CPUs that search for work, high half: CPUs asleep */
    _Atomic(uint32_t) idle_word ALIGNED(RT_CACHELINE);
    _Atomic(uint32_t) idle_map[(RT_MAX_CPUS + 31) / 32]; /* (A) bit set: asleep and unclaimed */

    _Atomic(uint32_t) started ALIGNED(RT_CACHELINE); /* (A) 0 no, 1 starting, 2 yes */
    /* (A) Who starts it, until the personality knows, too; NULL: nobody, or not PORT_IDENTITY. */
    _Atomic(struct thread *) starter;
    _Atomic(uint32_t) main_gone; /* (A) main thread has called pirn_exit */
    struct cpu *cpus[RT_MAX_CPUS];
    uint16_t capacity[RT_CAPACITIES ? RT_MAX_CPUS : 0]; /* (C) of each CPU: capacity.h */
    uint8_t node[RT_NODES ? RT_MAX_CPUS : 0];           /* (C) of each CPU: nodes.h */
    uint16_t nodes_given; /* (C) CPUs whose node the option has given */
    uint16_t *near;       /* (C) nodes.h; NULL: all CPUs are alike */
    struct thread main_thread;
    /* (A) threads of pollers that wait until a CPU has nothing to run; a hint: sync/pollers.c */
    _Atomic(uint32_t) pollers_eager;
    _Atomic(uint32_t) wakers_fence;   /* (A) fences.h */
    _Atomic(uint32_t) sleepers_light; /* (A) */
};

HIDDEN extern struct rt rt;

/* rt.ncpu, once the runtime has started. */
#define RT_NCPU (RT_MAX_CPUS == 1 ? 1u : rt.ncpu)

/* If rt.preempt is false, why. */
HIDDEN extern const char *rt_why_no_preempt;

/* The least size of a stack that the caller gives: it also holds the block of thread-local storage
 * and the descriptor. */
ALWAYS_INLINE size_t rt_stack_min_given(void)
{
    size_t bare = PORT_SMALL_STACKS ? RT_STACK_MIN : rt.stack_min;
    size_t least = bare - RT_STACK_MIN / 2 + rt.tls_room;
    least = (least + RT_STACK_UNIT - 1) & ~(size_t)(RT_STACK_UNIT - 1);
    return least > bare ? least : bare;
}

/* The capacity of a CPU, 1 to 1024. */
ALWAYS_INLINE unsigned rt_capacity(unsigned cpu)
{
    return RT_CAPACITIES ? rt.capacity[cpu] : PORT_CAPACITY_MAX;
}

/* Start the runtime: the caller becomes the main thread on CPU 0. While another thread does that,
 * wait for it, or return at once if kernel threads may call meanwhile (rt_personality.early). 0, or
 * -EAGAIN: the caller itself starts it, or there is no room for it (port_start_possible). */
int rt_start(void);

/* There is no runtime, and no start is under way. */
ALWAYS_INLINE bool rt_is_unstarted(void)
{
    return at_load_acq(&rt.started) == 0; /* ORDER(start) */
}

/* For a caller that needs the runtime while it starts: wait until it has started. 0, or -EAGAIN:
 * the caller is the thread that starts it, or a kernel thread that helps to, or the start was given
 * up. */
int rt_start_awaited(const struct thread *self);

/* Does the policy, in its discipline, schedule by class and priority? */
ALWAYS_INLINE bool rt_has_classes(void)
{
    return RT_CLASSES && RT_POLICY_CLASSES;
}

/* Has the policy, in its discipline, this operation of classes? */
#define POLICY_HAS(op) (RT_POLICY.op != NULL && (!RT_ONLY_SINGLE || rt_has_classes()))

/* Are threads bound to CPUs, so that no other CPU can take a ready thread? */
ALWAYS_INLINE bool rt_is_pinned(void)
{
    return RT_POLICY.pinned;
}

/* Must a CPU itself give away the threads that are ready there? */
ALWAYS_INLINE bool rt_has_private_queues(void)
{
    return RT_POLICY.private_queues;
}

/* For messages; NULL before the options have been read. */
ALWAYS_INLINE const char *rt_policy_name(void)
{
    return rt.policy.name;
}

#endif
