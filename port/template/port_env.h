/* SPDX-License-Identifier: MIT */
/*
 * port_env.h (template) - the environment's inline half. A real port makes these static inline or
 * macros; here they are functions that nobody defines.
 */
#ifndef PIRN_PORT_ENV_H
#define PIRN_PORT_ENV_H

#include "compiler.h"

struct cpu;
struct thread;

/* What the environment keeps per CPU and per thread. */
struct port_cpu {
    int unused;
};
struct port_carrier {
    int unused;
};
struct port_thread {
    int unused;
};

struct cpu *port_cpu_self(void);

unsigned long port_irq_save(void);
void port_irq_disabled(void);
void port_irq_restore(unsigned long state);
void port_irq_entered(void);
void port_irq_window(unsigned long state);
#define PORT_EXPIRE_MOST 1u

#define PORT_TLS_ALWAYS false
#define PORT_CALLS_BLOCK true
#define PORT_FOREIGN true
#define PORT_IDENTITY false
#define port_is_helper() false
#define PORT_SIGNALS true
#define PORT_IDLE_STACK (64u << 10)
#define PORT_DEADLOCK "report"
void port_cpu_interrupt(struct cpu *cpu);
bool port_may_switch(void);

void port_thread_init(struct thread *t);
void port_thread_fini(struct thread *t);
void port_thread_switch(struct cpu *cpu, struct thread *from, struct thread *to);
void port_thread_inherit(struct thread *t);
void port_thread_cpus(struct thread *t, const void *set);
void *port_thread_handle(struct thread *t);

/* For sanitizers; `top` is the end of the new stack. Ports without them: empty macros. */
void port_san_create(struct thread *t, uintptr_t top);
void port_san_destroy(struct thread *t);
void port_san_switch(struct thread *from, struct thread *to, bool exits);
void port_san_switched(struct thread *t);

/* For the metered library of Linux. Other ports: empty macros, 0. */
uint64_t port_trace_clock(void);
uint64_t port_trace_ns(void);

void port_meter_idle(bool idle);
size_t port_meter_format(char *text, size_t size, bool json);

#endif
