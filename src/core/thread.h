/* SPDX-License-Identifier: MIT */
/*
 * thread.h - the thread descriptor and its life cycle.
 *
 * States (the five of the POSIX kernel papers):
 *
 *     NEW -> READY <-> RUNNING -> EXITED
 *              ^          |
 *              +- BLOCKED <
 *
 * Invariants:
 *   1. state changes only in thread_set_state, by the owner of the thread: its creator (NEW), the
 *      policy's lock (READY), the CPU that runs it (RUNNING), the waker that unlinked it (BLOCKED).
 *   2. A thread is enqueued, or becomes findable in a wait queue's unlocked state, only when its
 *      context is saved (finish_switch).
 *   3. EXITED is stored (release) as the last access to an exiting thread; after it the joiner owns
 *      the memory.
 *
 * Field guards: (C) constant after creation, (O) the CPU that runs it, (P) the policy, (W) the wait
 * queue's lock, (J) the join lock, (prio lock) see prio.h, (A) atomic.
 */
#ifndef PIRN_CORE_THREAD_H
#define PIRN_CORE_THREAD_H

#include <string.h>

#include "../prof/prof.h"
#include "atomic.h"
#include "config.h"
#include "list.h"
#include "personality.h"
#include "port.h"
#include "timer.h"
#include "waitq.h"

enum thread_state { THREAD_NEW, THREAD_READY, THREAD_RUNNING, THREAD_BLOCKED, THREAD_EXITED };

enum thread_flags {
    THREAD_IDLE = 1 << 0, /* a CPU's scheduler context */
    THREAD_MAIN = 1 << 1, /* runs on the program's own stack */
    /* a kernel thread that is not a worker; blocks in the kernel. 0: there are none here */
    THREAD_FOREIGN = PORT_FOREIGN ? 1 << 2 : 0,
    /* a user thread that has lost its CPU waits, on its kernel thread: waitq.c */
    THREAD_AWAY = PORT_CALLS_BLOCK ? 1 << 11 : 0,
    THREAD_STATIC = 1 << 3,          /* descriptor in the caller's storage */
    THREAD_OWN_STACK = 1 << 4,       /* stack given by the caller */
    THREAD_CXX = 1 << 5,             /* carries the C++ exception globals */
    THREAD_CREATE_DETACHED = 1 << 6, /* attribute only */
    THREAD_TLS = 1 << 7,             /* has a TLS block of its own; all threads or none */
    THREAD_FP = 1 << 8,              /* has floating-point control of its own */
    THREAD_CREATE_GUARD = 1 << 9,    /* attribute only: `guard` counts */
    THREAD_CREATE_NAMED = 1 << 10,   /* attribute only: it has its creator's name at first */
};

enum join_flags {
    JOIN_DETACHED = 1 << 0, /* nobody joins it */
    JOIN_WAITING = 1 << 1,  /* somebody waits in join */
    JOIN_DONE = 1 << 2,     /* is exiting; arg_ret is the return value */
};

/* thread->cancel: cancel.h. */
enum cancel_bits {
    CANCEL_REQUESTED = 1 << 0, /* by others; never taken back */
    CANCEL_DISABLED = 1 << 1,  /* requests wait */
    CANCEL_ASYNC = 1 << 2,     /* acts anywhere, not only at cancellation points */
    CANCEL_ENDING = 1 << 3,    /* it ends already: requests change nothing */
    CANCEL_CALL = 1 << 4,      /* in a system call that a request must interrupt */
    CANCEL_NOTIFIED = 1 << 5,  /* the interruption is on its way */
    CANCEL_SIGNALLED = 1 << 6, /* there may be signals for it: the layer above knows */
    CANCEL_TOLD = 1 << 7,      /* with SIGNALLED: it has been interrupted for them */
};

/* Why a thread waits; shown in dumps and traces. */
enum wait_reason {
    WAIT_NONE,
    WAIT_MUTEX,
    WAIT_COND,
    WAIT_SEM,
    WAIT_RDLOCK,
    WAIT_WRLOCK,
    WAIT_BARRIER,
    WAIT_ONCE,
    WAIT_JOIN,
    WAIT_SLEEP,
    WAIT_FE_FULL,
    WAIT_FE_EMPTY,
    WAIT_CALL,    /* in a call that may block the kernel thread: carrier.h */
    WAIT_IO,      /* for a file descriptor */
    WAIT_SIGNAL,  /* sigwait */
    WAIT_FUTEX,   /* for a word that the program has chosen: sync/futex.h */
    WAIT_FLAGS,   /* for event flags */
    WAIT_MESSAGE, /* for a message in a queue */
    WAIT_ROOM,    /* for room in a queue of messages */
    WAIT_TIMER,   /* the thread that runs timers: for the next one */
    WAIT_POLL,    /* the thread of a poller: until it looks next */
    WAIT_LABEL,   /* for something of a library's, which wait_object describes: label.h */
    WAIT_REASONS,
};

/* Scheduling class, and weight in class OTHER: one word, attr; written under the prio lock, read by
 * anyone. 0 is class OTHER with the default weight. */
enum sched_class { SCHED_CLASS_OTHER, SCHED_CLASS_FIFO, SCHED_CLASS_RR };
#define SCHED_CLASS_MASK 3u
#define SCHED_TO_TAIL 4u /* while requeue is called: to the tail of the level in any case */
#define SCHED_WEIGHT_SHIFT 8
#define SCHED_WEIGHT_MAX 100u
#define SCHED_WEIGHT_DEFAULT 10u

/* State of a thread in a ready queue with classes: sched/classq.h. (P) where not said. */
struct thread_sched {
    _Atomic(uint32_t) attr; /* (A) see above */
    uint16_t ticks_left;    /* (O) of the slice */
    uint8_t place;          /* where it is linked; 0 = nowhere */
    bool no_vtime;          /* it takes the time of each queue that it enters */
#ifdef PIRN_WITHOUT_WEIGHTS
    uint8_t level; /* by which it was put there: sched/classq_turns.c */
#else
    struct classq *queue; /* not even: whose time vtime is */
    uint64_t vtime;       /* virtual time; shmac: how often it was chosen */
    uint64_t lag;         /* ahead of the queue's time when it was chosen */
    uint64_t charge;      /* (O) used since then */
    union {
        uint64_t rank;  /* in a queue: place there, smaller first */
        uint64_t since; /* (O) running: when it was chosen, if others were ranked; port_now */
    };
    int64_t seq;          /* place among equals: heap */
    struct thread *child; /* heap */
#endif
};

struct thread {
    /* touched by every switch */
    struct port_ctx ctx;     /* (O) while running, else saved */
    struct cpu *cpu;         /* (O) where it runs or ran last */
    _Atomic(uint32_t) state; /* (A) see invariant 1 */
    uint32_t flags;          /* (C) enum thread_flags */
    union {                  /* (P) */
        struct list rq;      /* link in a ready queue */
        uint64_t policy[RT_POLICY_ROOM / 8];
    };
    struct port_thread port; /* (O) */

    /* looked at by every switch where there are classes: the first words, beside `port` */
    _Atomic(uint32_t) base_priority; /* (A) written under the prio lock */
    _Atomic(uint32_t) priority;      /* (A) effective; written under the prio lock: prio.h */
    struct thread_sched sched;

    /* blocking, joining */
    struct list wait_link ALIGNED(RT_CACHELINE); /* (W) */
    struct waitq *wait_queue;                    /* (W) */
    _Atomic(uint32_t) park;                      /* (A) enum park_state */
    uint8_t wait_reason;                         /* (O) */
    uint8_t wait_kind;  /* (W) what its waiter wants of a rwlock, Full/Empty word, flags, queue */
    uint8_t claimable;  /* (W) not 0: end the wait by claim; PARK_REMOVABLE, too */
    uint8_t join_flags; /* (J) */
    struct waitq join;  /* (J) its lock is the join lock */
    void *(*start)(void *); /* (C) */
    void *arg_ret;          /* argument; return value once DONE */

    /* creating, ending: one cache line */
    void *stack_top; /* (C) above it lie TLS block and descriptor */
#if PORT_SIGNALS
    _Atomic(uint64_t) sigmask; /* (A) of the layer above: signals that it blocks; inherited */
    void *signals;             /* of the layer above */
#endif
    void *local;              /* (O) the POSIX layer's data, e.g. keys */
    struct rt_omutex *held;   /* (O) held mutexes with an owner: sync/omutex.c */
    struct id_slot *id_slot;  /* (C) see id.h */
    uint32_t index;           /* (C) slot in the id table */
    uint32_t generation;      /* (O) of the slot */
    _Atomic(uint32_t) cancel; /* (A) enum cancel_bits */
    uint16_t wait_priority;   /* (W) place in the wait queue */
    uint8_t stack_class;      /* (C) see stack.h */

    /* cold */
    struct timer timer;
    struct port_stack stack;     /* (C) low == NULL: not ours */
    struct prio_wait *prio_wait; /* (prio lock) */
    struct prio_wait *boosters;  /* (prio lock) contended objects that it owns */
    uint16_t ceiling;            /* (prio lock) */
#ifndef PIRN_WITHOUT_WAITS
    uint8_t stop_why; /* of its latest stop: prof/waits.c */
#endif
#ifdef PIRN_DEBUG
    bool on_cpu; /* (O) its context is not saved: see switch.h */
#endif
#ifndef PIRN_WITHOUT_WAITS
    uint32_t stop_node; /* where it was found; 0: it has to be looked for */
#endif
    union {
        const void *wait_object; /* (O) */
        struct carrier *carrier; /* (O) that runs it in a call, or without a CPU after one */
    };
    uint64_t wait_value; /* (W) what a waiter brings or gets: Full/Empty word, flags, queue */
    char name[RT_NAME_MAX];
    struct prof_thread prof; /* (O) and what interrupts it */
#ifndef PIRN_WITHOUT_WAITS
    uint64_t stop_at, stop_woken; /* its latest stop: prof/waits.c */
#endif
};

/* A life begins: no signals yet; and the mask that it has from its creator, or by attribute. */
#if PORT_SIGNALS
ALWAYS_INLINE void thread_signals_begin(struct thread *t)
{
    t->signals = NULL;
}

ALWAYS_INLINE void thread_mask_inherit(struct thread *t, const uint64_t *asked,
                                       const struct thread *creator)
{
    /* The rest of it is new, too: ORDER(new-mask) */
    at_store_rel(&t->sigmask, asked != NULL ? *asked : at_load_rlx(&creator->sigmask));
}

ALWAYS_INLINE void thread_mask_set(struct thread *t, uint64_t mask)
{
    at_init(&t->sigmask, mask);
}
#else
ALWAYS_INLINE void thread_signals_begin(struct thread *t)
{
    (void)t;
}

ALWAYS_INLINE void thread_mask_inherit(struct thread *t, const uint64_t *asked,
                                       const struct thread *creator)
{
    (void)t;
    (void)asked;
    (void)creator;
}

ALWAYS_INLINE void thread_mask_set(struct thread *t, uint64_t mask)
{
    (void)t;
    (void)mask;
}
#endif

ALWAYS_INLINE enum sched_class sched_class_of(const struct thread *t)
{
    return (enum sched_class)(at_load_rlx(&t->sched.attr) & SCHED_CLASS_MASK);
}

ALWAYS_INLINE unsigned sched_weight_of(const struct thread *t)
{
    unsigned weight = at_load_rlx(&t->sched.attr) >> SCHED_WEIGHT_SHIFT;
    return weight != 0 ? weight : SCHED_WEIGHT_DEFAULT;
}

/* Class, priority and weight. */
struct sched_params {
    enum sched_class class;
    unsigned priority; /* 1 to 99; 0 in class OTHER */
    unsigned weight;   /* 1 to SCHED_WEIGHT_MAX; 0 = the default */
};

ALWAYS_INLINE uint32_t sched_attr_of(const struct sched_params *params)
{
    unsigned weight = params->weight != SCHED_WEIGHT_DEFAULT ? params->weight : 0;
    return (uint32_t)params->class | weight << SCHED_WEIGHT_SHIFT;
}

#define THREAD_UNBOUND UINT32_MAX /* thread_attr.bind: to no CPU */

/* Attributes of a new thread; zero = default. */
struct thread_attr {
    size_t stack_size;
    size_t guard;  /* with THREAD_CREATE_GUARD: bytes below a stack that is not the caller's */
    void *stack;   /* the caller's stack of stack_size bytes */
    void *storage; /* the caller's descriptor */
    const char *name;
    const void *cpus;    /* CPUs that it may use, in the port's form; NULL: those of its creator */
    void **handle;       /* if not NULL, gets the thread's handle (port.h) before it runs */
    uint32_t flags;      /* THREAD_CREATE_*, THREAD_CXX, THREAD_FP */
    uint32_t bind;       /* by a policy that can: 1 and a CPU; 0: as its creator; THREAD_UNBOUND */
    bool explicit_sched; /* `sched` counts; else the creator's */
    const uint64_t *sigmask; /* NULL: the creator's */
    struct sched_params sched;
};

/* Of one that does not live yet. Inline, because most threads have their creator's. */
SHARED_INLINE void thread_set_name(struct thread *t, const char *name);
SHARED_INLINE void thread_set_name(struct thread *t, const char *name)
{
    size_t n = strnlen(name, RT_NAME_MAX - 1);
    memcpy(t->name, name, n);
    memset(t->name + n, 0, RT_NAME_MAX - n);
}

const char *thread_state_name(uint32_t state);
const char *thread_wait_name(uint32_t reason); /* in traces and profiles */
void thread_bad_transition(const struct thread *t, uint32_t to);

#ifdef PIRN_DEBUG
bool thread_may_change(uint32_t from, uint32_t to);
#endif

ALWAYS_INLINE void thread_set_state(struct thread *t, enum thread_state to)
{
#ifdef PIRN_DEBUG
    if (!thread_may_change(at_load_rlx(&t->state), to)) {
        thread_bad_transition(t, to);
    }
#endif
    at_store_rlx(&t->state, (uint32_t)to);
}

/* 0, -EAGAIN (no memory for the thread), -EINVAL (stack too small). Owner: the caller gets the only
 * reference. */
int rt_thread_create(struct thread **out, const struct thread_attr *attr, void *(*start)(void *),
                     void *arg);

/* The same for attributes in which nothing but `flags` (without a guard) and `handle` is set. */
int rt_thread_create_plain(struct thread **out, uint32_t flags, void **handle,
                           void *(*start)(void *), void *arg);

/* Wait for t to exit, release it. 0, -EINVAL (detached, or joined by another), -EDEADLK (a cycle of
 * joins), -ETIMEDOUT. `deadline` in ns of port_now, UINT64_MAX for none. */
int rt_thread_join(struct thread *t, void **ret, uint64_t deadline);

/* The same as cancellation points: -ECANCELED, or -EINTR for a signal, and t is as it was. */
int rt_thread_join_point(struct thread *t, void **ret);
int rt_thread_join_point_until(struct thread *t, void **ret, uint64_t deadline);

/* 0 or -EBUSY (still running). */
int rt_thread_tryjoin(struct thread *t, void **ret);

/* 0 or -EINVAL (already detached or being joined). */
int rt_thread_detach(struct thread *t);

/* 0, or -ENOTSUP: the discipline does not know classes, and this is not class OTHER with the
 * default weight; or the build has no weights. */
int rt_sched_valid(const struct sched_params *params);

/* The parameters that were set, without priorities that t inherits for the moment. */
struct sched_params rt_thread_sched(const struct thread *t);

/* Change it. tail: if t is ready it goes to the tail of its level in any case (else to the head
 * where its priority falls), and if it is the caller and a real-time thread, it yields. The caller
 * may be preempted. */
void rt_thread_set_sched(struct thread *t, const struct sched_params *params, bool tail);

NORETURN void rt_thread_exit(void *ret);

/* The first function on a new stack: thread_exit.c. */
HIDDEN port_ctx_entry_t thread_entry NORETURN;

/* Set by the layer above (personality.h): tools of the program's keep data of threads. */
#ifdef PIRN_BARE
#define rt_tooled false
#else
HIDDEN extern bool rt_tooled;
#endif

/* Set by the layer that has signals: the program uses them, and waiting threads must notice. */
#if PORT_SIGNALS
HIDDEN extern bool rt_signals;
#else
#define rt_signals false
#endif

/* The caller, outside the runtime, takes the signals that are for it (cancel.h). */
ALWAYS_INLINE void rt_signals_act(void)
{
    rt_personality.signals_act();
}

/* In the child of a fork, until a runtime starts there: the thread that becomes its main one. */
extern struct thread *rt_survivor;

/* True if another thread ran meanwhile. */
bool rt_yield(void);

/* rt_yield calls this: the policy's own code for it, if it has any (yield.h). */
HIDDEN extern bool (*rt_yield_way)(void);
void rt_yield_use(bool (*way)(void)); /* NULL: any policy's */

/* Make an otherwise empty descriptor valid (idle, main and foreign threads). */
void thread_init_bare(struct thread *t, uint32_t flags, const char *name);
void rt_thread_rename(struct thread *t, const char *name); /* one that lives */
void thread_fini_bare(struct thread *t);

#endif
