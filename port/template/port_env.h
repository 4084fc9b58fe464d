/* SPDX-License-Identifier: MIT */
/*
 * port_env.h (template) - the inline half of the shortest port that boots: one CPU, which is the
 * program's main kernel thread; no interrupts, no thread state beside the registers, no capability.
 * The constant of a capability (PORT_PREEMPT, ...) is false unless it is defined here.
 */
#ifndef PIRN_PORT_ENV_H
#define PIRN_PORT_ENV_H

#include "compiler.h"

struct port_cpu {
    uint64_t tick_at; /* ns: rt_on_tick; UINT64_MAX: never */
    bool permit;
};
struct port_carrier {
    int unused;
};
struct port_thread {
    int unused;
};

HIDDEN extern struct cpu *port_template_cpu; /* NULL before the runtime has started */

#define port_cpu_self() port_template_cpu
#define port_irq_save() 0ul
#define port_irq_disabled() ((void)0)
#define port_irq_restore(state) ((void)(state))
#define port_irq_entered() ((void)0)
#define port_thread_switch(cpu, from, to) ((void)(cpu), (void)(from), (void)(to))
#define port_thread_inherit(t) ((void)(t))

#define PORT_IDLE_STACK (64u << 10)
#define PORT_DEADLOCK_ABORTS true

#endif
