/* SPDX-License-Identifier: MIT */
/*
 * port_env.h (Linux) - a CPU is a worker: one kernel thread.
 *
 * port_cpu_self is one initial-exec TLS slot. errno lives in the worker's TLS: the switch exchanges
 * it. C++ exception state (what __cxa_get_globals returns) likewise, for threads that ask for it.
 * No signal handler enters the runtime in this version, so that keeping interrupts out is free.
 */
#ifndef PIRN_PORT_ENV_H
#define PIRN_PORT_ENV_H

#include "compiler.h"
#include "san.h"

struct port_cpu {
    uint32_t permit;  /* futex: 0 none, 1 permit, 2 the worker sleeps */
    int *errno_at;    /* of the worker */
    uint64_t *cxx_at; /* two words of __cxa_get_globals; NULL without libstdc++ */
    uint64_t tick_at; /* when the monitor calls rt_on_tick; UINT64_MAX = never */
    void *signal_stack;
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

ALWAYS_INLINE unsigned long port_irq_save(void)
{
    return 0;
}

ALWAYS_INLINE void port_irq_restore(unsigned long state)
{
    (void)state;
}

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
