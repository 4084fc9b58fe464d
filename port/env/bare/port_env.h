/* SPDX-License-Identifier: MIT */
/*
 * port_env.h (bare) - no operating system: a CPU is a core, and interrupts are the hardware's.
 *
 * Each core has a struct bare_core, to which a register of the core points (arch_core). It holds
 * the struct cpu of the CPU that the core executes. Outside of the runtime a thread may be
 * preempted at any instruction, also in this library, and go on on another core. So what belongs to
 * a core is used with interrupts disabled only; outside, a thread finds itself by its thread-local
 * storage.
 *
 * Beside its registers a thread has a block of thread-local storage of its own, which costs a
 * register move (bare_tls.c), and, with THREAD_FP, floating-point control. An interrupted thread's
 * registers are on its own stack.
 */
#ifndef PIRN_PORT_ENV_H
#define PIRN_PORT_ENV_H

#include "arch_bare.h"
#include "board_map.h"
#include "check.h"
#include "compiler.h"
#include "section.h"
#include "sizes.h"

struct port_carrier {
    uint32_t core;     /* its number; 0 until it has one */
    struct port_fp fp; /* as the core began */
};

struct port_cpu {
    uint32_t permit;   /* 1: somebody has kicked. ORDER(permit) */
    uint32_t lock;     /* of timer_at */
    uint32_t hart;     /* of the core that executes it */
    uint64_t timer_at; /* ns: rt_on_tick; UINT64_MAX: never */
    /* own */
    uint64_t slice_at;   /* ns: the next tick of the running thread; UINT64_MAX: none */
    uint64_t wake_at;    /* ns: an interrupt that only wakes, or comes again; UINT64_MAX: none */
    uint64_t sample_at;  /* ns: the next sample; UINT64_MAX: none */
    bool sampled;        /* one is due, where the interrupt was */
    uint64_t report_at;  /* ns: it looks for a deadlock, if it sleeps; UINT64_MAX: others do */
    uint64_t watch_at;   /* ns: a look for the watchdog; UINT64_MAX: none */
    uint64_t watch_seen; /* switches at the last one */
    uint64_t seen;       /* switches at the last tick */
    uint64_t over_at;    /* switches when a turn was over; UINT64_MAX: none is */
    struct port_fp fp;   /* of the threads without THREAD_FP, while one with it runs */
};

struct port_thread {
    uintptr_t tls; /* thread pointer */
    uintptr_t low; /* lowest address of the stack, where the canary is */
#ifdef ARCH_GUARD_MOVES
    uintptr_t guard; /* of the bytes below it, as the hardware wants it */
#endif
    struct port_fp fp;
};

ALWAYS_INLINE struct cpu *port_cpu_self(void)
{
    RT_ASSERT(arch_core()->cpu == NULL || arch_irq_is_off()); /* outside: port_cpu_near */
    return arch_core()->cpu;
}

#define PORT_PREEMPTS_LIBRARY
ALWAYS_INLINE struct cpu *port_cpu_near(void)
{
    return arch_core()->cpu;
}

/* The running thread, which may be interrupted meanwhile. NULL: the core runs none yet. */
#define BARE_THREAD(tp) (*(struct thread *volatile *)((tp) + (uintptr_t)ARCH_TLS_THREAD))
ALWAYS_INLINE struct thread *port_thread_self(void)
{
    return BARE_THREAD(port_arch_tp());
}

/* The caller is a handler (port_may_switch() is false) and does what it must not: a message. */
#define PORT_HANDLERS
#ifdef PIRN_WITHOUT_MESSAGES
NORETURN void port_panic(void);
#define port_handler_refuse(what) port_panic()
#else
NORETURN COLD void port_handler_refuse(const char *what);
#endif

/* The last word of a stack, which nobody uses. It and the stack pointer are checked whenever a
 * thread stops running, and by interrupts. A frame that skips the word and the zone below it
 * (bare_stack.c), and has returned by then, is not found. */
#define BARE_CANARY 0x5ca1ab1eu
NORETURN void bare_switch_refused(const struct port_thread *from);

/* Need not be looked at where a guard has found it. */
#if defined(ARCH_GUARD_MOVES) && ARCH_GUARD_LEAST <= 64
#define BARE_CANARY_WRONG(low) 0u
#else
#define BARE_CANARY_WRONG(low) (*(const volatile uint32_t *)(low) ^ BARE_CANARY)
#endif

/* The stack pointer of the caller is below the running stack; interrupts are disabled. */
ALWAYS_INLINE bool bare_stack_is_over(void)
{
    return arch_sp() < arch_core()->stack_low;
}

/* For calls that are not too frequent. */
NORETURN COLD void bare_overran(void);
#define port_stack_check()                                                                         \
    do {                                                                                           \
        if (unlikely(bare_stack_is_over())) {                                                      \
            bare_overran();                                                                        \
        }                                                                                          \
    } while (0)

/* Libraries with assertions look at every entry. */
#ifdef PIRN_DEBUG
#define BARE_STACK_ENTRY()                                                                         \
    do {                                                                                           \
        if (bare_stack_is_over() || BARE_CANARY_WRONG(arch_core()->stack_low) != 0) {              \
            bare_overran();                                                                        \
        }                                                                                          \
    } while (0)
#else
#define BARE_STACK_ENTRY() ((void)0)
#endif

/* 0: interrupts were enabled. */
ALWAYS_INLINE unsigned long port_irq_save(void)
{
    unsigned long state = arch_irq_save();
    if (state == 0) {
        section_off();
        BARE_STACK_ENTRY();
    }
    return state;
}

ALWAYS_INLINE void port_irq_disabled(void)
{
    (void)port_irq_save();
}

ALWAYS_INLINE void port_irq_restore(unsigned long state)
{
    if (state == 0) {
        section_on();
    }
    arch_irq_restore(state);
}
#define port_irq_entered() ((void)0)

#define PORT_IRQ_OFF() (arch_irq_is_off())

/* The handlers run here, but the section goes on before a thread that they wake (bare_core.c). */
ALWAYS_INLINE void port_irq_window(unsigned long state)
{
    if (state == 0) {
        arch_core()->depth++;
        section_on();
        arch_irq_window();
        section_off();
        arch_core()->depth--;
    }
}
/* The others by an interrupt each so many. */
#define PORT_EXPIRE_MOST 8u

#define PORT_TLS_ALWAYS true
#define PORT_CALLS_BLOCK false
#define PORT_FOREIGN false
#define PORT_IDENTITY false
#define PORT_SIGNALS false
#define PORT_KNOWS_INSIDE true
#define PORT_PREEMPT true
#define PORT_SMALL_STACKS false
#define PORT_TLS true
#define PORT_PROCESSES false
#define PORT_IO true
#define PORT_IO_CLOSE false
#define PORT_CPU_SETS false
#ifdef BOARD_SCHEDULER
#define PORT_READY true
#define PORT_READY_INLINE
#include "arch_ready.h"
#endif
#ifdef BOARD_CAPACITIES
#define PORT_CAPACITIES true
#endif
#define PORT_OPTIONS true
#define PORT_FILES true
#define PORT_TRACE true
#define PORT_TRACE_SAVED true
#define PORT_PROF true
#define PORT_REPORT true
#define PORT_TOOLS true
#define PORT_IDLE_STACK BARE_CORE_STACK
#define PORT_QUIET_S 10
#define PORT_DUMPS_HERE true
#define PORT_DUMP_ASKED true
#define PORT_DEADLOCK_ABORTS true /* nothing will ever happen */

#ifdef ARCH_GUARD_MOVES
/* Of `size` bytes below `low`; 0 is a place where nothing is. Of threads' stacks it is in
 * port_stack.arena. */
ALWAYS_INLINE uintptr_t bare_guard_below(uintptr_t low, size_t size)
{
    return ARCH_GUARD_LEAST <= 64 || size >= ARCH_GUARD_LEAST ? arch_guard_of(low - size, size) : 0;
}
#define BARE_GUARD_CREATE(t) ((t)->port.guard = (uintptr_t)(t)->stack.arena)
#define BARE_GUARD_SWITCH(to) arch_guard_set((to)->guard)
#else
#define BARE_GUARD_CREATE(t) ((void)0)
#define BARE_GUARD_SWITCH(to) ((void)0)
#endif

ALWAYS_INLINE void port_fp_switch(struct port_fp *from, const struct port_fp *to)
{
    port_arch_fp_save(from);
    port_arch_fp_load(to, from);
}

/* A handler is not left. Whatever waits comes through here. */
ALWAYS_INLINE void port_stack_switch(const struct port_thread *from, const struct port_thread *to)
{
    bool below = arch_sp() < from->low;
    struct bare_core *core = arch_core();
    uint32_t wrong = BARE_CANARY_WRONG(from->low) | core->depth;
    RT_ASSERT(arch_irq_is_off());
    RT_ASSERT(core->stack_low == from->low && to->low != 0);
    if (unlikely(below || wrong != 0)) {
        bare_switch_refused(from);
    }
    core->stack_low = to->low;
    BARE_GUARD_SWITCH(to);
}

#define port_thread_switch(cpu, from, to)                                                          \
    do {                                                                                           \
        port_stack_switch(&(from)->port, &(to)->port);                                             \
        if (unlikely(((from)->flags | (to)->flags) & THREAD_FP)) {                                 \
            port_fp_switch((from)->flags &THREAD_FP ? &(from)->port.fp : &(cpu)->port.fp,          \
                           (to)->flags &THREAD_FP ? &(to)->port.fp : &(cpu)->port.fp);             \
        }                                                                                          \
        port_arch_tp_set((to)->port.tls, true);                                                    \
    } while (0)

#define port_switch_refused(cpu) ((cpu) == port_cpu_self() ? NULL : "another core executes it")
#define port_thread_inherit(t) port_arch_fp_save(&(t)->port.fp)
#define port_thread_handle(t) ((void *)(t))

/* Have the core that executes the CPU see what is pending for it. */
void port_cpu_interrupt(struct cpu *cpu);
/* The caller is no interrupt handler, which must not be left. A handler stays on its core, so it
 * never reads 0. A thread may read the depth of a core that it has just left: it looks again. */
COLD bool bare_is_thread(void);
ALWAYS_INLINE bool port_may_switch(void)
{
    return likely(arch_core()->depth == 0) || bare_is_thread();
}

/* A thread begins a life on this stack: not for sanitizers here, which do not know boards. */
#define port_san_create(t, top)                                                                    \
    do {                                                                                           \
        (void)(top);                                                                               \
        (t)->port.low = (uintptr_t)(t)->stack.low;                                                 \
        *(volatile uint32_t *)(t)->port.low = BARE_CANARY;                                         \
        BARE_GUARD_CREATE(t);                                                                      \
    } while (0)
#define port_san_destroy(t) ((void)(t))
#define port_san_switch(from, to, exit) ((void)(from), (void)(to), (void)(exit))
#define port_san_switched(t) ((void)(t))

uint64_t port_now(void);
uint64_t board_clock(void);
#define port_trace_clock() board_clock()
#define port_trace_ns() port_now()

#define port_meter_idle(idle) ((void)(idle))
#define port_meter_format(text, size, json) ((void)(text), (void)(size), (void)(json), (size_t)0)

#endif
