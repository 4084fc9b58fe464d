/* SPDX-License-Identifier: MIT */
/*
 * port_trace.h - the event trace.
 *
 * port_env.h has the clock, inline: port_trace_clock(), in ticks, the same on all CPUs, any
 * context, a few ns; port_trace_ns(), as port_now, but in the simulator no scheduling point.
 *
 * PORT_TRACE (port_env.h): true where there is a file for a trace. PORT_TRACE_SAVED: true where the
 * port has the trace in memory, and writes the file when the program ends.
 */
#ifndef PIRN_PORT_TRACE_H
#define PIRN_PORT_TRACE_H

#include "port.h"

#include <errno.h>

#if PORT_TRACE
/* Make the trace's file: `size` zero bytes in memory, whose later contents are in the file however
 * the process ends (PORT_TRACE_SAVED: what trace_part gives of them); there is room for all. In
 * `path` %p stands for the process id. 0 or -errno, as port_file_claim. port_trace_drop drops the
 * memory; the file stays. */
int port_trace_open(const char *path, size_t size, void **at);
void port_trace_drop(void *at, size_t size);
uint64_t port_trace_clock_hz(void); /* of port_trace_clock; 0: not known */
/* ns of CPU time that the process has used, all kernel threads together; 0: not known. */
uint64_t port_trace_used(void);
#else
ALWAYS_INLINE int port_trace_open(const char *path, size_t size, void **at)
{
    (void)path;
    (void)size;
    (void)at;
    return -ENOSYS;
}

ALWAYS_INLINE void port_trace_drop(void *at, size_t size)
{
    (void)at;
    (void)size;
}

ALWAYS_INLINE uint64_t port_trace_clock_hz(void)
{
    return 0;
}

ALWAYS_INLINE uint64_t port_trace_used(void)
{
    return 0;
}

#define port_trace_clock() port_now()
#define port_trace_ns() port_now()
#endif

#if PORT_TRACE_SAVED
/* Upcall: part `i` of the trace's file, and its bytes; NULL: there are no more. Of a ring that is
 * not full the file has little more than what was written. The call for part 0 ends the
 * recording, but for events that are under way. There is a trace. One caller, any context. */
const void *trace_part(unsigned i, size_t *size);
#endif

/* Upcalls: a tick has interrupted the running thread; its handler returns, or is about to call
 * rt_preempt. Any context. */
void rt_tick_begins(void);
void rt_tick_ends(bool preempts);

#endif
