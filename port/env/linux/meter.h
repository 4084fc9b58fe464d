/* SPDX-License-Identifier: MIT */
/*
 * meter.h (Linux) - how long CPUs are inside the runtime: of the metered library (pirn-metered,
 * PIRN_METERED) only. In the others all of it is empty, and leaves no instruction behind.
 *
 * An *event* is a stretch in which a CPU is inside the runtime with something to do. It begins when
 * the running thread enters, or a CPU without work finds some; it ends when the thread that runs
 * then leaves, or when there is nothing to run. A switch happens within an event. So creating a
 * thread is one event; so is a yield; and blocking, up to the first instruction of the next thread
 * outside.
 */
#ifndef PIRN_PORT_METER_H
#define PIRN_PORT_METER_H

#include "compiler.h"

#ifdef PIRN_METERED

#include <time.h>

/* Of a CPU, written by it; cycles of the time-stamp counter. */
struct meter {
    uint64_t since; /* the present event began; 0: there is none */
    uint64_t events, inside, longest, shortest;
};

/* The running thread is one level deeper in the runtime; is about to be one level less deep. The
 * outermost level counts. */
void meter_entered(void);
void meter_leaving(void);

/* The same, whatever the level. */
void meter_begin(void);
void meter_end(void);

/* The calling CPU has no work, or has some again. */
ALWAYS_INLINE void port_meter_idle(bool idle)
{
    (idle ? meter_end : meter_begin)();
}

/* Write the counts, as text or as a member of a JSON object; returns the number of bytes. */
size_t port_meter_format(char *text, size_t size, bool json);

/* The kernel looks at timers on CPU time at its own ticks only, some 250 times a second; here are
 * also ticks that are more frequent, on wall time. */
#define METER_TICK_CLOCK(ns) ((ns) < 1000000u ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID)

#else

struct meter {
};

ALWAYS_INLINE void meter_entered(void) {}
ALWAYS_INLINE void meter_leaving(void) {}
ALWAYS_INLINE void meter_begin(void) {}
ALWAYS_INLINE void meter_end(void) {}

ALWAYS_INLINE void port_meter_idle(bool idle)
{
    (void)idle;
}

ALWAYS_INLINE size_t port_meter_format(char *text, size_t size, bool json)
{
    (void)text;
    (void)size;
    (void)json;
    return 0;
}

#define METER_TICK_CLOCK(ns) CLOCK_THREAD_CPUTIME_ID

#endif

#endif
