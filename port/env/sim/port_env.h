/* SPDX-License-Identifier: MIT */
/*
 * port_env.h (simulator) - N virtual CPUs as coroutines on one kernel thread. See sim.h.
 */
#ifndef PIRN_PORT_ENV_H
#define PIRN_PORT_ENV_H

#include "compiler.h"

struct port_cpu {
    bool permit;
};

struct port_carrier {
    unsigned context;
};

struct port_thread {
    struct sim_tls *tls; /* its block: sim_port.c */
    int error;           /* errno, under the POSIX layer */
    bool deferred;       /* the same: it was interrupted inside the runtime */
    int tid;             /* of a foreign kernel thread: none */
};

struct cpu *sim_cpu_self(void);
unsigned long sim_irq_save(void);
void sim_irq_disabled(void);
bool sim_irq_is_off(void);
void sim_irq_restore(unsigned long state);
void sim_irq_window(unsigned long state);
void sim_tls_switch(struct thread *from, struct thread *to);

#define port_cpu_self() sim_cpu_self()
#define port_irq_save() sim_irq_save()
#define port_irq_disabled() sim_irq_disabled()
#define port_irq_restore(state) sim_irq_restore(state)
#define port_irq_entered() ((void)0)
#define PORT_IRQ_OFF() (sim_irq_is_off())
#define port_irq_window(irq) sim_irq_window(irq)
#define PORT_EXPIRE_MOST 2u
const char *port_switch_refused(struct cpu *cpu);
#define port_thread_switch(cpu, from, to) sim_tls_switch((from), (to))
#define port_thread_inherit(t) ((void)(t))
#define port_thread_handle(t) ((void *)(t))

/* port_posix.h, for the POSIX layer: posix/sim_kernel.h. A handle is the thread. */
bool *sim_disturbed(void);
#define port_disturbed (*sim_disturbed())
#define port_tls_own false
#define port_tls_handle_self() ((void *)rt_identity())
#define port_tls_handle_early() port_tls_handle_self()
#define port_thread_of_handle(handle) ((struct thread *)(handle))
#define port_tls_tid() 0

/* A CPU is interrupted by its own ticks only; handlers can be left. */
#define PORT_TLS_ALWAYS false
#define PORT_CALLS_BLOCK true
#define PORT_CPU_SHARED
#define PORT_FOREIGN true
#define PORT_IDENTITY false
#define PORT_SIGNALS true
#define PORT_KNOWS_INSIDE true
#define PORT_PREEMPT true
#define PORT_SMALL_STACKS true
#define PORT_TLS true
#define PORT_PROCESSES true
#define PORT_IO true
#define PORT_IO_CLOSE true
#define PORT_CPU_SETS false
#define PORT_READY true
#define PORT_CAPACITIES true
#define PORT_NODES true
#define PORT_MISSES true
#define PORT_OPTIONS true
#define PORT_FILES true
#define PORT_TRACE true
#define PORT_TRACE_SAVED true
#define PORT_PROF true
#define PORT_REPORT true
#define PORT_TOOLS true
#define PORT_IDLE_STACK (64u << 10)
#define PORT_DEADLOCK_ABORTS false
#define port_cpu_interrupt(cpu) ((void)(cpu))
#define port_may_switch() true

#define port_san_create(t, top) ((void)(t), (void)(top))
#define port_san_destroy(t) ((void)(t))
#define port_san_switch(from, to, exit) ((void)(from), (void)(to), (void)(exit))
#define port_san_switched(t) ((void)(t))

/* core/search.h, in nanoseconds. */
struct sim_search {
    uint32_t offer_after, offer_taken, pause_least, pause_soon, pause_most;
    uint32_t look_width, cpus_a_searcher; /* port.h */
};
extern const struct sim_search *sim_search;
#define PORT_LOOK_WIDTH sim_search->look_width
#define PORT_CPUS_A_SEARCHER sim_search->cpus_a_searcher

/* core/spinlock.c. */
struct sim_bias {
    bool kept;
    uint32_t back;
};
extern struct sim_bias sim_bias;

uint64_t sim_clock(void);
#define port_trace_clock() sim_clock()
#define port_trace_ns() sim_clock()

#define port_meter_idle(idle) ((void)(idle))
#define port_meter_format(text, size, json) ((void)(text), (void)(size), (void)(json), (size_t)0)

#endif
