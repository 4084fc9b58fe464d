/* SPDX-License-Identifier: MIT */
/*
 * port_misses.h - how often the running thread misses the cache that all CPUs share.
 *
 * PORT_MISSES (port_env.h): true where the port may be able to count that.
 *
 * Callers: core/misses.c only, for policies that schedule by what threads miss.
 */
#ifndef PIRN_PORT_MISSES_H
#define PIRN_PORT_MISSES_H

#include "port.h"

struct port_misses {
    uint64_t misses; /* of the shared cache */
    uint64_t
        work; /* progress of the program: instructions, or another count that grows with them */
};

#if PORT_MISSES
/* NULL: this machine counts. Else why it does not, a sentence's end without a full stop; static.
 * Called while the runtime starts, before port_misses_take. */
const char *port_misses_refusal(void);

/* Bytes that one miss brings. */
uint32_t port_misses_line(void);

/* What was counted since the last call by the kernel thread (or core) that executes `self`, the
 * caller's CPU; zeroes for the first call, or if it cannot count any more. Inside the runtime. */
struct port_misses port_misses_take(struct cpu *self);
#else
ALWAYS_INLINE const char *port_misses_refusal(void)
{
    return "this platform has no counter of cache misses";
}
ALWAYS_INLINE uint32_t port_misses_line(void)
{
    return 64;
}
ALWAYS_INLINE struct port_misses port_misses_take(struct cpu *self)
{
    (void)self;
    return (struct port_misses){0};
}
#endif

#endif
