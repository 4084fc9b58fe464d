/* SPDX-License-Identifier: MIT */
/*
 * port_tools.h - tools that must know about stacks and switches: sanitizers, Valgrind, the meter.
 *
 * PORT_TOOLS (port_env.h): true where there are such tools. port_env.h then has, inline or as
 * macros:
 *
 *   port_san_create(t, top), port_san_destroy(t)    a thread begins a life on a stack that ends at
 *                                                   top
 *   port_san_switch(from, to, exits)                before a switch
 *   port_san_switched(t)                            after it
 *   port_switch_refused(cpu)                        for debug builds: why the caller, which is
 *                                                   about to stop running on this CPU, must not do
 *                                                   so here, as the CPU or the stack is not its
 *                                                   own; NULL: it may
 *   port_meter_idle(idle)                           the metered library: a CPU has no work, or some
 *   port_meter_format(text, size, json)             its counters, as text; returns the length
 */
#ifndef PIRN_PORT_TOOLS_H
#define PIRN_PORT_TOOLS_H

#include "port.h"

#if PORT_TOOLS
/* Threads begin, or end, to run on a stack of the program. port_stack_alloc and port_stack_free do
 * that for their stacks. */
void port_stack_begin(struct port_stack *stack);
void port_stack_end(struct port_stack *stack);
#else
ALWAYS_INLINE void port_stack_begin(struct port_stack *stack)
{
    (void)stack;
}

ALWAYS_INLINE void port_stack_end(struct port_stack *stack)
{
    (void)stack;
}

#define port_san_create(t, top) ((void)(t), (void)(top))
#define port_san_destroy(t) ((void)(t))
#define port_san_switch(from, to, exits) ((void)(from), (void)(to), (void)(exits))
#define port_san_switched(t) ((void)(t))
#define port_switch_refused(cpu) ((void)(cpu), (const char *)NULL)
#define port_meter_idle(idle) ((void)(idle))
#define port_meter_format(text, size, json) ((void)(text), (void)(size), (void)(json), (size_t)0)
#endif

#endif
