/* SPDX-License-Identifier: MIT */
/*
 * port_env.h (Linux) - a CPU is a worker: one kernel thread.
 *
 * port_cpu_self is one initial-exec TLS slot. errno lives in the worker's TLS: the switch exchanges
 * it. C++ exception state (what __cxa_get_globals returns) likewise, for threads that ask for it.
 * Keeping interrupts out is a counter in TLS: see preempt.c.
 */
#ifndef PIRN_PORT_ENV_H
#define PIRN_PORT_ENV_H

#include "compiler.h"
#include "san.h"

struct port_cpu {
    uint32_t permit;      /* futex: 0 none, 1 permit, 2 the worker sleeps */
    int *errno_at;        /* of the worker */
    uint64_t *cxx_at;     /* two words of __cxa_get_globals; NULL without libstdc++ */
    uint64_t tick_at;     /* when the monitor calls rt_on_tick; UINT64_MAX = never */
    void *signal_stack;   /* for faults; SIGNAL_STACK bytes */
    int timer;            /* of ticks: the kernel's id, -1 = none */
    uint64_t seen;        /* switches at the last tick */
    uint64_t deferred_at; /* switches when a tick was deferred */
};

struct port_thread {
    int err;
    uint32_t permit; /* foreign threads: futex as above */
    uint64_t cxx[2];
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
 * handler does not enter the runtime while it is not 0. It is switched with everything else of the
 * block: whoever stops running has entered once, and whoever goes on leaves once. */
extern __thread uint32_t port_tls_inside
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
#define PREEMPT_DEFERRED 0x80000000u

#ifdef PORT_ARCH_TLS_INC
COLD void preempt_deferred(void);

ALWAYS_INLINE unsigned long port_irq_save(void)
{
    PORT_ARCH_TLS_INC(port_tls_inside);
    return 0;
}

ALWAYS_INLINE void port_irq_restore(unsigned long state)
{
    bool outside;
    (void)state;
    PORT_ARCH_TLS_DEC(outside, port_tls_inside);
    if (unlikely(!outside)) {
        preempt_deferred();
    }
}

#define port_irq_entered() PORT_ARCH_TLS_SET(port_tls_inside, 1)
#else
/* No preemption on this architecture, so that no signal handler enters the runtime. */
ALWAYS_INLINE unsigned long port_irq_save(void)
{
    return 0;
}

ALWAYS_INLINE void port_irq_restore(unsigned long state)
{
    (void)state;
}

#define port_irq_entered() ((void)0)
#endif

void port_cxx_switch(struct port_cpu *cpu, struct port_thread *from, struct port_thread *to);

#define port_thread_switch(cpu, from, to)                                                          \
    do {                                                                                           \
        (from)->port.err = *(cpu)->port.errno_at;                                                  \
        *(cpu)->port.errno_at = (to)->port.err;                                                    \
        if (unlikely(((from)->flags | (to)->flags) & THREAD_CXX)) {                                \
            port_cxx_switch(&(cpu)->port, &(from)->port, &(to)->port);                             \
        }                                                                                          \
    } while (0)

#define port_thread_init(t) ((void)(t))
#define port_thread_fini(t) ((void)(t))

#define port_san_create(t, top)                                                                    \
    do {                                                                                           \
        (t)->port.err = 0;                                                                         \
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
