/* SPDX-License-Identifier: MIT */
/*
 * trace.h - the event trace: hooks for the core and the policies, and their no-op twins
 * (PIRN_WITHOUT_TRACE). events.def has the events, format.h the file.
 *
 * While the trace is off a hook costs two instructions, a comparison and a jump that is not taken.
 * A hook reads the event's data behind that jump. Callers pass only values that they have at hand:
 * an argument that must be computed, or port_cpu_self(), would always cost something.
 *
 * Writers. A CPU inside the runtime (interrupts are disabled) is the only writer of its THREAD
 * ring: plain stores. All other code (handlers of signals and interrupts, the program's marks,
 * kernel threads without a CPU) reserves a slot in an ANY ring by an atomic addition, whatever it
 * has interrupted. So no hook waits, and none can be interrupted where that matters.
 */
#ifndef PIRN_TRACE_TRACE_H
#define PIRN_TRACE_TRACE_H

#include "compiler.h"
#include "config.h"

struct cpu;
struct thread;

#ifndef PIRN_WITHOUT_TRACE

/* The listeners of hooks, as bits: the trace's file; the profile of waits (prof/waits.c). A bit is
 * set while its listener writes. */
enum trace_listener { TRACE_TO_FILE = 1, TRACE_TO_WAITS = 2 };
HIDDEN extern uint32_t trace_on; /* a word: not every architecture exchanges bytes */

/* Read without order and without a scheduling point: a hook that is late by a moment harms nobody.
 */
ALWAYS_INLINE unsigned trace_listeners(void)
{
#ifdef PIRN_TSAN
    return __atomic_load_n(&trace_on, __ATOMIC_RELAXED);
#elif __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return *(const uint8_t *)&trace_on; /* x86 compares a byte with a constant in one instruction,
                                         * which makes a switch a nanosecond faster */
#else
    return trace_on;
#endif
}

ALWAYS_INLINE bool trace_is_on(void)
{
    return (trace_listeners() & TRACE_TO_FILE) != 0;
}

void trace_listen(enum trace_listener who, bool on);

/* rt_start knows the CPUs, and none runs yet: where the option asks for a trace, make its file. On
 * failure a message, and the program ends with status 2. */
void trace_start(void);

/* The program ends: complete the file. */
void trace_end(void);

/* In the child of a fork the file belongs to the parent. Also called at the end of a simulator
 * run. */
void trace_forked(void);
void trace_forget(void);

/* For pirn_trace, inside the runtime or in any context; cpu may be NULL. 0, or -ENOENT: the option
 * names no file. */
int trace_set_on(const struct cpu *cpu, bool on);
void trace_paused_on(const struct cpu *cpu, bool paused);

/* The options trace, tracesize, tracefull. */
struct trace_options {
    char path[RT_PATH_MAX]; /* "": no trace */
    uint64_t size;          /* bytes for each CPU */
    bool keeps_oldest;
};
HIDDEN extern struct trace_options trace_options;

#else

#define trace_is_on() false
#define trace_listeners() 0

ALWAYS_INLINE void trace_start(void) {}
ALWAYS_INLINE void trace_end(void) {}
ALWAYS_INLINE void trace_forked(void) {}
ALWAYS_INLINE int trace_set_on(const struct cpu *cpu, bool on)
{
    (void)cpu;
    (void)on;
    return -2; /* -ENOENT */
}

#endif

#define TRACE_HOOK(name, params, args)                                                             \
    COLD void trace_##name##_on params;                                                            \
    ALWAYS_INLINE void trace_##name params                                                         \
    {                                                                                              \
        if (unlikely(trace_is_on())) {                                                             \
            trace_##name##_on args;                                                                \
        }                                                                                          \
    }

/* The same for both: core/observe.c. */
#define OBSERVED_HOOK(name, params, args)                                                          \
    COLD void trace_##name##_on params;                                                            \
    COLD void rt_observe_##name params;                                                            \
    ALWAYS_INLINE void trace_##name params                                                         \
    {                                                                                              \
        if (unlikely(trace_listeners() != 0)) {                                                    \
            rt_observe_##name args;                                                                \
        }                                                                                          \
    }

/* By a CPU inside the runtime. cpu may be NULL, or a carrier's limbo: a kernel thread without one.
 */
OBSERVED_HOOK(switch, (const struct cpu *cpu, struct thread *prev, unsigned post),
              (cpu, prev, post))
TRACE_HOOK(spawn, (const struct cpu *cpu, const struct thread *t), (cpu, t))
TRACE_HOOK(begin, (const struct cpu *cpu), (cpu))
TRACE_HOOK(exit, (const struct cpu *cpu), (cpu))
TRACE_HOOK(block, (const struct cpu *cpu, const struct thread *t), (cpu, t))
OBSERVED_HOOK(wake, (const struct cpu *cpu, struct thread *t, unsigned why), (cpu, t, why))
TRACE_HOOK(join, (const struct cpu *cpu, const struct thread *t), (cpu, t))
TRACE_HOOK(contend, (const struct cpu *cpu, unsigned reason, const void *object),
           (cpu, reason, object))
TRACE_HOOK(preempt, (const struct cpu *cpu), (cpu))
TRACE_HOOK(migrate, (const struct cpu *cpu, const struct thread *prev, const struct thread *t),
           (cpu, prev, t))
OBSERVED_HOOK(call, (const struct cpu *cpu, struct thread *t, bool taken), (cpu, t, taken))
OBSERVED_HOOK(called, (const struct cpu *cpu, struct thread *t), (cpu, t))
TRACE_HOOK(name, (const struct cpu *cpu, const struct thread *t), (cpu, t))
/* A thread begins to wait on its kernel thread, or is back; it is woken. For the profile alone. */
OBSERVED_HOOK(park, (struct thread * t, bool in), (t, in))
OBSERVED_HOOK(unpark, (const struct cpu *cpu, struct thread *t), (cpu, t))
TRACE_HOOK(steal,
           (const struct cpu *cpu, unsigned victim, unsigned amount, const struct thread *first),
           (cpu, victim, amount, first))
TRACE_HOOK(place, (const struct cpu *cpu, unsigned on, const struct thread *t), (cpu, on, t))
TRACE_HOOK(request, (const struct cpu *cpu, unsigned asked), (cpu, asked))
TRACE_HOOK(answer, (const struct cpu *cpu, unsigned asking, unsigned amount), (cpu, asking, amount))
TRACE_HOOK(idle, (const struct cpu *cpu, bool in), (cpu, in))
TRACE_HOOK(sleep, (const struct cpu *cpu, bool in), (cpu, in))
TRACE_HOOK(kick, (const struct cpu *cpu, unsigned id), (cpu, id))
TRACE_HOOK(carry, (const struct cpu *cpu), (cpu))

/* In any context. */
TRACE_HOOK(tick, (const struct cpu *cpu, bool in, bool preempts), (cpu, in, preempts))
TRACE_HOOK(mark, (const struct cpu *cpu, const char *name, int64_t value), (cpu, name, value))
/* what: enum pirn_record */
TRACE_HOOK(record,
           (const struct cpu *cpu, unsigned what, unsigned small, int64_t value, const char *text),
           (cpu, what, small, value, text))

#endif
