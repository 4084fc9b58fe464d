/* SPDX-License-Identifier: MIT */
/*
 * port_env.h (Linux) - a CPU is a worker: one kernel thread.
 *
 * port_cpu_self is one initial-exec TLS slot. State of a thread beside its registers:
 *   THREAD_TLS  a TLS block of its own: the switch writes the worker into the block's slot, then
 *               the thread pointer. All threads of the process have one, the workers' idle threads
 *               too (theirs is the worker's), or none has. See linux_tls.c.
 *   without     errno lives in the worker's TLS: the switch exchanges it; with THREAD_CXX also the
 *               C++ exception state (what __cxa_get_globals returns).
 *   THREAD_FP   floating-point control words: stored, compared, loaded if they differ. Threads
 *               without share those of the worker.
 *   a set of CPUs of its own, if it has one: linux_affinity.c.
 * Keeping interrupts disabled is a counter in TLS: see linux_preempt.c.
 */
#ifndef PIRN_PORT_ENV_H
#define PIRN_PORT_ENV_H

#include <pthread.h>
#include <time.h>

#include "check.h"
#include "compiler.h"
#include "meter.h"
#include "san.h"

struct port_cpus;

/* How the CPU time of a kernel thread is shared out: linux_times.c. Nanoseconds; (A), written by
 * it. */
struct times {
    uint32_t seq;              /* odd while it changes */
    struct port_thread *timed; /* whose the present span is; NULL: nothing is counted yet */
    uint64_t span_at;          /* when it began: port_now() */
    uint64_t kernel_at;        /* what the kernel had counted when it was last asked */
    uint64_t short_ns;         /* charged since then */
};

/* A kernel thread that executes CPUs (core/carrier.h). */
struct port_carrier {
    uint32_t permit;      /* futex: 0 none, 1 permit, 2 it sleeps */
    int tid;              /* the kernel's */
    uint32_t cancel_sent; /* CANCEL_SIGNAL is on its way. ORDER(sent) */
    uint32_t tick_sent;   /* and so is a tick of the monitor's. ORDER(sent) */
    uint32_t probe_sent;  /* and a probe: linux_blocked.c. ORDER(sent) */
    uint32_t no_probes;   /* it gets no probes: it is about to become another program */
    int timer;            /* of ticks: the kernel's id, -1 = none */
    int prof_timer;       /* of samples: the kernel's id + 1, 0 = none */
    int *errno_at;
    uint64_t *cxx_at;                /* two words of __cxa_get_globals; NULL without libstdc++ */
    void *signal_stack;              /* ours; NULL: the program's */
    struct port_fp fp;               /* as the kernel thread began */
    struct port_robust_list *robust; /* linux_shared.c; NULL: not asked for yet, or there is none */
    const struct port_cpus *cpus;    /* where it may run; linux_affinity.c */
    struct port_cpu *took;           /* (lock of linux_affinity.c) the CPU that it took last */
    struct times times;
    int misses_tid, misses_fd; /* counters of cache misses, of that kernel thread; -1: none */
    uint64_t missed, worked;   /* what they had counted when they were last read */
};

/* In every port_cpu.cpus while all switches have to do more (linux_affinity.c): they count the CPU
 * time of threads (linux_times.c), look at masks (linux_direct.c), carry the rights of protection
 * keys (linux_pkeys.c). */
#define TIMES_BIT ((uintptr_t)1)
#define DIRECT_BIT ((uintptr_t)2)
#define PKEYS_BIT ((uintptr_t)4)

struct port_cpu {
    const struct port_cpus *cpus; /* (A) where the carrier may run, and marks: linux_affinity.c */
    struct port_carrier *carrier;
    struct port_carrier *taker; /* (lock of linux_affinity.c) that took it last */
    uint32_t permit;            /* as above */
    int timer;                  /* of the carrier */
    int *errno_at;              /* of the carrier */
    uint64_t *cxx_at;           /* of the carrier */
    uint64_t tick_at;           /* when the monitor calls rt_on_tick; UINT64_MAX = never */
    int tid;                    /* of the carrier */
    int look_tid;               /* as blocked_look saw it last */
    uint64_t look_switches, look_used;
    uint64_t probe_switches; /* at the last probe; own */
    long probe_slept;        /* how often the kernel thread had slept then */
    uint64_t sent_switches;  /* (A) as the monitor saw it last, since the last tick that counted */
    uint64_t long_switches;  /* (A) as the monitor has seen it for a whole tick by the clock */
    uint64_t still_from;     /* when that tick began; the monitor's own */
    uint32_t look_ticks;     /* whole_ticks then; the monitor's own */
    uint32_t whole_ticks;    /* (A) of the timer */
    uint64_t seen;           /* switches at the last tick */
    uint64_t deferred_at;    /* switches when a tick was deferred */
    bool deferred_sent;      /* the monitor had sent it */
    struct meter meter;      /* of the metered library */
    struct port_fp fp;       /* of the threads without THREAD_FP, while one with it runs */
};

struct tls_leftover;

struct port_thread {
    const struct port_cpus *cpus; /* (A) where it may run; NULL: as the process */
    uintptr_t tls;                /* thread pointer, with THREAD_TLS */
    struct port_fp fp;
    int err;
    uint32_t pkeys;  /* rights of protection keys: linux_pkeys.c */
    uint32_t permit; /* foreign threads: futex as above */
    int tid;         /* foreign threads: the kernel's number */
    uint64_t cxx[2];
    struct tls_leftover *leftover; /* of a block that is ours: glibc_block.c */
    uint64_t used;                 /* (A) CPU time in ns, as far as it was counted: linux_times.c */
    struct port_carrier *timed_on; /* (A) whose present span is this thread's */
    struct san_thread san;
};

extern __thread struct cpu *port_tls_self
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

ALWAYS_INLINE struct cpu *port_cpu_self(void)
{
    struct cpu *cpu;
    PORT_ARCH_TLS_LOAD(cpu, port_tls_self);
    return cpu;
}

/* How deep the thread is inside the runtime; PREEMPT_DEFERRED: a tick came meanwhile. A signal
 * handler does not enter the runtime while it is not 0. It is switched with the rest of the block:
 * a thread that stops running has entered once, and a thread that continues leaves once. */
extern __thread uint32_t port_tls_inside
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
#define PREEMPT_DEFERRED 0x80000000u

#ifdef PORT_ARCH_TLS_INC
#define PORT_KNOWS_INSIDE true
/* Rare, but not COLD: gcc would put the end of each function that leaves the runtime beside it. */
void preempt_deferred(void);

ALWAYS_INLINE unsigned long port_irq_save(void)
{
    PORT_ARCH_TLS_INC(port_tls_inside);
    meter_entered();
    return 0;
}

/* A store: an increment would wait for the decrement of the thread that left last. */
ALWAYS_INLINE void port_irq_disabled(void)
{
    PORT_ARCH_TLS_SET(port_tls_inside, 1);
    meter_entered();
}

ALWAYS_INLINE void port_irq_restore(unsigned long state)
{
    bool outside;
    (void)state;
    RT_ASSERT((port_tls_inside & ~PREEMPT_DEFERRED) != 0); /* as often as it was saved */
    meter_leaving();
    PORT_ARCH_TLS_DEC(outside, port_tls_inside);
    if (unlikely(!outside)) {
        preempt_deferred();
    }
}

#define port_irq_entered() PORT_ARCH_TLS_SET(port_tls_inside, 1)
#define PORT_IRQ_OFF() ((port_tls_inside & ~PREEMPT_DEFERRED) != 0)
#else
/* No preemption on this architecture, so that no signal handler enters the runtime. */
ALWAYS_INLINE unsigned long port_irq_save(void)
{
    return 0;
}

ALWAYS_INLINE void port_irq_disabled(void) {}

ALWAYS_INLINE void port_irq_restore(unsigned long state)
{
    (void)state;
}

#define port_irq_entered() ((void)0)
#define PORT_KNOWS_INSIDE false /* whether a signal handler has interrupted the runtime */
#endif

/* Only ticks are deferred inside the runtime, and they can wait. */
#define port_irq_window(irq) ((void)(irq))
#define PORT_EXPIRE_MOST UINT32_MAX

/* Set by handlers of our own that find the thread without a CPU, in a call: EINTR may be theirs. */
extern __thread bool port_disturbed
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The stand-in of a foreign kernel thread; with TLS blocks, the thread of every block. */
extern __thread struct thread *port_tls_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Files that the thread has locked (flockfile): it is not preempted meanwhile. Only with TLS
 * blocks.
 */
extern __thread uint32_t port_tls_files
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

HIDDEN extern bool port_tls_own;            /* (C) threads have blocks of their own */
HIDDEN extern bool port_tls_by_instruction; /* (C) */

/* The CPU's set is not the thread's, or has a mark. */
COLD void port_cpus_switch(struct cpu *cpu, struct thread *from, struct thread *to);

const char *port_switch_refused(struct cpu *cpu);
void port_cxx_switch(struct cpu *cpu, struct thread *from, struct thread *to);

/* Protection keys (linux_pkeys.c): the program has some; what a new thread gets of the caller. */
HIDDEN extern bool port_pkeys_carried;
uint32_t port_pkeys_inherited(void);

/* One of the two has THREAD_FP: from, or to. */
void port_fp_switch_one(struct cpu *cpu, struct thread *from, struct thread *to, bool is_from);

/* The slot first: a signal handler that comes after the thread pointer is written must find the
 * worker. */
ALWAYS_INLINE void port_tls_switch(struct cpu *cpu, const struct port_thread *to)
{
    uintptr_t slot;
    PORT_ARCH_TLS_OFFSET(slot, port_tls_self);
    uintptr_t tp = to->tls;
    RT_ASSERT(tp != 0); /* all threads have a block, or none */
    *(struct cpu **)(tp + slot) = cpu;
    port_arch_tp_set(tp, port_tls_by_instruction);
}

ALWAYS_INLINE void port_fp_switch(struct port_fp *from, const struct port_fp *to)
{
    port_arch_fp_save(from);
    port_arch_fp_load(to, from);
}

#define port_errno_switch(cpu, from, to)                                                           \
    do {                                                                                           \
        int *at_ = (cpu)->port.errno_at;                                                           \
        (from)->port.err = *at_;                                                                   \
        *at_ = (to)->port.err;                                                                     \
    } while (0)

#define port_thread_switch(cpu, from, to)                                                          \
    do {                                                                                           \
        __asm__ volatile("" : : : "memory"); /* cpu->current is written. ORDER(affinity) */        \
        if (unlikely(__atomic_load_n(&(cpu)->port.cpus, __ATOMIC_RELAXED) !=                       \
                     __atomic_load_n(&(to)->port.cpus, __ATOMIC_RELAXED))) {                       \
            port_cpus_switch((cpu), (from), (to));                                                 \
        }                                                                                          \
        if (likely(!(((from)->flags | (to)->flags) & (THREAD_TLS | THREAD_FP | THREAD_CXX)))) {    \
            port_errno_switch((cpu), (from), (to));                                                \
        } else {                                                                                   \
            __asm__ volatile("" : : : "memory"); /* no register holds the flags up to here */      \
            if (likely(port_tls_own)) {                                                            \
                port_tls_switch((cpu), &(to)->port);                                               \
            } else {                                                                               \
                port_errno_switch((cpu), (from), (to));                                            \
                if (((from)->flags | (to)->flags) & THREAD_CXX) {                                  \
                    port_cxx_switch((cpu), (from), (to));                                          \
                }                                                                                  \
            }                                                                                      \
            /* Last: the control words are read while the thread pointer is being written. */      \
            if (likely((from)->flags & (to)->flags & THREAD_FP)) {                                 \
                port_fp_switch(&(from)->port.fp, &(to)->port.fp);                                  \
            } else if (((from)->flags | (to)->flags) & THREAD_FP) {                                \
                port_fp_switch_one((cpu), (from), (to), ((from)->flags & THREAD_FP) != 0);         \
            }                                                                                      \
        }                                                                                          \
    } while (0)

/* A new thread starts with its creator's control words, CPUs, and rights of protection keys. */
#define port_thread_inherit(t)                                                                     \
    do {                                                                                           \
        struct cpu *here_ = port_cpu_self();                                                       \
        port_arch_fp_save(&(t)->port.fp);                                                          \
        (t)->port.cpus = here_ != NULL ? here_->current->port.cpus : NULL;                         \
        (t)->port.pkeys = unlikely(port_pkeys_carried) ? port_pkeys_inherited() : 0;               \
    } while (0)
#define port_thread_cpus(t, set) port_cpus_begin(&(t)->port, (set))

#define port_thread_of_handle(handle)                                                              \
    (port_tls_own && (handle) != NULL ? port_tls_thread_of(handle) : port_shared_thread_of(handle))
#define port_thread_handle(t) (port_tls_own ? port_tls_handle(&(t)->port) : port_shared_handle(t))

/* A CPU is interrupted by its own ticks only; handlers can be left. */
#define PORT_TLS_ALWAYS false
#define PORT_CALLS_BLOCK true
#define PORT_CPU_SHARED
#define PORT_FOREIGN true
#define PORT_IDENTITY true
#define PORT_SIGNALS true
#define PORT_PREEMPT true
#define PORT_SMALL_STACKS true
#define PORT_TLS true
#define PORT_PROCESSES true
#define PORT_TRIMS true
void port_memory_kept(void);
#define PORT_IO true
#define PORT_IO_CLOSE true
#define PORT_CPU_SETS true
#define PORT_CAPACITIES true
#define PORT_NODES true
#define PORT_CACHE true
#define PORT_QUOTA true
#define PORT_MISSES true
#if !defined(PIRN_TSAN) && !defined(PIRN_ASAN)
#define PORT_STDIO true
#endif
#define PORT_OPTIONS true
#define PORT_FILES true
#define PORT_TRACE true
#define PORT_PROF true
#define PORT_PROF_FRAMES true
#define PORT_REPORT true
#define PORT_TOOLS true
#define PORT_IDLE_STACK (64u << 10)
#define PORT_DEADLOCK_ABORTS false
#define port_cpu_interrupt(cpu) ((void)(cpu))
#define port_may_switch() true

/* From the C library's descriptor of a thread to its thread pointer. 0: not looked up yet. */
#if PORT_ARCH_TLS_VARIANT == 2
#define port_tls_handle_offset ((uintptr_t)0)
#define port_tls_handle_early() port_tls_handle_self()
#else
HIDDEN extern uintptr_t port_tls_handle_offset; /* (C) */
void *port_tls_handle_early(void);
#endif

/* The id that the C library has for the calling thread. Only if port_tls_own. */
int port_tls_tid(void);

/* The clock of the event trace: the processor's counter, where that will do. */
HIDDEN extern bool port_trace_counter; /* (C) */

uint64_t port_now(void);

#ifdef PORT_ARCH_COUNTER
ALWAYS_INLINE uint64_t port_trace_clock(void)
{
    return likely(port_trace_counter) ? PORT_ARCH_COUNTER() : port_now();
}
#else
ALWAYS_INLINE uint64_t port_trace_clock(void)
{
    return port_now();
}
#endif

#define port_trace_ns() port_now()

/* The C library's pthread_t of the thread, and back: NULL for a kernel thread that has not called
 * us yet. Only if port_tls_own. */
ALWAYS_INLINE void *port_tls_handle(const struct port_thread *t)
{
    return (void *)(t->tls - port_tls_handle_offset);
}

ALWAYS_INLINE void *port_tls_handle_self(void)
{
    return (void *)(port_arch_tp() - port_tls_handle_offset);
}

/* Where threads share TLS handles are the addresses of their descriptors. Not those that may be
 * asked for before that is decided: the main thread's is what the C library takes for it, in any
 * case; and kernel threads that call while the runtime starts know themselves by theirs. */
HIDDEN extern struct thread *port_main_thread; /* (C) NULL: it was not asked for */
HIDDEN extern void *port_main_handle;          /* (C) */

ALWAYS_INLINE struct thread *port_shared_thread_of(const void *handle)
{
    if (handle != NULL && handle == port_main_handle) {
        return port_main_thread;
    }
    return handle == port_tls_handle_self() ? port_tls_thread : (struct thread *)(uintptr_t)handle;
}

ALWAYS_INLINE void *port_shared_handle(struct thread *t)
{
    return t == port_main_thread ? port_main_handle : t;
}

ALWAYS_INLINE struct thread *port_tls_thread_of(const void *handle)
{
    uintptr_t slot;
    PORT_ARCH_TLS_OFFSET(slot, port_tls_thread);
    return *(struct thread **)((uintptr_t)handle + port_tls_handle_offset + slot);
}

#define port_san_create(t, top)                                                                    \
    do {                                                                                           \
        (t)->port.err = 0;                                                                         \
        (t)->port.cpus = NULL;                                                                     \
        (t)->port.pkeys = 0;                                                                       \
        __atomic_store_n(&(t)->port.used, (uint64_t)0, __ATOMIC_RELAXED);                          \
        (t)->port.cxx[0] = (t)->port.cxx[1] = 0;                                                   \
        san_create(&(t)->port.san, (t)->stack.low, (uintptr_t)(top) - (uintptr_t)(t)->stack.low);  \
    } while (0)
#define port_san_destroy(t) san_destroy(&(t)->port.san)
#define port_san_switch(from, to, exits) san_switch(&(from)->port.san, &(to)->port.san, (exits))
#if defined(PIRN_ASAN)
#define port_san_switched(t) san_switched(&(t)->port.san)
#else
#define port_san_switched(t) ((void)0)
#endif

#endif
