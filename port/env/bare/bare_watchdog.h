/* SPDX-License-Identifier: MIT */
/*
 * bare_watchdog.h (bare) - what bare_core.c tells the watchdog. On the CPU itself, interrupts
 * disabled.
 */
#ifndef PIRN_ENV_BARE_WATCHDOG_H
#define PIRN_ENV_BARE_WATCHDOG_H

#include "port.h"

/* The period in microseconds; 0: there is none. */
extern uint32_t watchdog_us;

/* A period begins for the CPU: set port->watch_at. It is over. The CPU goes to sleep. */
void watchdog_begin(struct port_cpu *port);
void watchdog_look(struct cpu *cpu, struct port_cpu *port);
void watchdog_sleeps(struct cpu *cpu, struct port_cpu *port);

/* Do ticks end threads' turns? bare_core.c */
bool core_preempts(void);

#endif
