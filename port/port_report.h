/* SPDX-License-Identifier: MIT */
/*
 * port_report.h - reports of deadlocks and of errors, and lists of threads.
 *
 * PORT_REPORT (port_env.h): true where the port can call for a report (sync/report.h).
 */
#ifndef PIRN_PORT_REPORT_H
#define PIRN_PORT_REPORT_H

#include "port.h"

#include <stdio.h>

#if PORT_REPORT
/* A kernel thread that is no carrier, or the calling CPU while it sleeps, must call rt_report_turn
 * soon, and then again at the times that it returns. Any context. */
void port_report_poke(void);

/* May other parts of the program than its user threads call the runtime: other kernel threads,
 * signal handlers? True if the port cannot tell. */
bool port_outsiders(void);

/* Call fn while no thread moves, and so that its failure harms nothing. */
void port_report_run(void (*fn)(void));

/* The call in the program's own code that leads to the wait of thread t; called by fn above. False:
 * not known. */
bool port_where(const struct thread *t, char *text, size_t size);

/* Write how to find the source lines of the places that port_where has named; at the end of fn
 * above. May write nothing. */
void port_say_places(void);

/* Write the active calls of thread t, which waits, a line each; called by fn above. May write
 * nothing. */
void port_say_calls(const struct thread *t);

/* Describe -errno `error` for the user. Where a resource is used up (-EAGAIN, -ENOMEM), also the
 * limits that may be the reason, and what the user can do on this platform. Ends with a NUL; size
 * is not 0. */
void port_error_text(int error, char *text, size_t size);
#else
ALWAYS_INLINE void port_report_poke(void) {}

ALWAYS_INLINE bool port_outsiders(void)
{
    return true;
}

ALWAYS_INLINE void port_report_run(void (*fn)(void))
{
    fn();
}

ALWAYS_INLINE bool port_where(const struct thread *t, char *text, size_t size)
{
    (void)t;
    (void)text;
    (void)size;
    return false;
}

ALWAYS_INLINE void port_say_places(void) {}

ALWAYS_INLINE void port_say_calls(const struct thread *t)
{
    (void)t;
}

ALWAYS_INLINE void port_error_text(int error, char *text, size_t size)
{
    snprintf(text, size, "error %d", -error);
}
#endif

/* Upcalls; the reports are those of sync/report.h. The texts of rt_describe_...:
 *   thread      number and name of t
 *   wait        what t, or a handler that has interrupted it, waits for, and which thread owns
 *               that; false: it waits for nothing
 *   index       number and name of the living thread with this index; empty: there is none
 *   full_stack  that t has used up its stack */
uint64_t rt_report_turn(uint64_t now); /* when to call it again */
void rt_dump(void);
void rt_describe_thread(const struct thread *t, char *text, size_t size);
bool rt_describe_wait(const struct thread *t, char *text, size_t size);
void rt_describe_index(uint32_t index, char *text, size_t size);
void rt_describe_full_stack(const struct thread *t, char *text, size_t size);

/* Bytes of t's stack, as many as it was to have. */
size_t rt_thread_stack_size(const struct thread *t);
struct thread *rt_thread_of_port(const struct port_thread *port);
const struct port_ctx *rt_thread_ctx(const struct thread *t);
bool rt_thread_waits(const struct thread *t);

/* If `address` lies within `guard` bytes below the stack of the CPU's running thread: true, and a
 * message. */
bool rt_describe_overflow(struct cpu *cpu, uintptr_t address, char *text, size_t size);

#endif
