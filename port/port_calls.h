/* SPDX-License-Identifier: MIT */
/*
 * port_calls.h - system calls that block a carrier, and spare carriers.
 *
 * PORT_CALLS_BLOCK (port_env.h): true where a system call can block the kernel thread that executes
 * a CPU. Another carrier then takes the CPU (core/carrier.h). Where it is false, a carrier keeps
 * its CPU for ever and none of these calls is made.
 */
#ifndef PIRN_PORT_CALLS_H
#define PIRN_PORT_CALLS_H

#include "port.h"

/* Upcall: the carrier on which t goes on without a CPU that it lost unannounced; NULL: there is
 * none. */
struct carrier *rt_carrier_left_by(const struct thread *t);

/* Upcall: interrupt all carriers. */
void rt_carriers_interrupt(void);

#if PORT_CALLS_BLOCK
/* The caller executes `cpu` again, which it executed until port_cpu_leave. */
void port_cpu_back(struct cpu *cpu);

/* The caller, a carrier that runs thread t, executes no CPU from now on: port_cpu_self() is NULL,
 * port_foreign_self() and port_left_self() are t. */
void port_cpu_leave(struct thread *t);

/* The thread that a carrier without a CPU runs; NULL on other kernel threads. */
struct thread *port_left_self(void);

/* Sleep until a permit arrives, and consume it; may return early. Post one, with release and
 * acquire; any context. */
void port_carrier_wait(struct carrier *k);
void port_carrier_wake(struct carrier *k);

/* Interrupt the system call of a thread without a CPU on carrier k: a handler there calls
 * rt_cancel_notice, exactly once for each call of this function. Interrupts are disabled. */
void port_carrier_interrupt(struct carrier *k);

/* The caller takes the interruption that its carrier has deferred. */
void port_interrupt_accept(void);

/* A kernel thread that is no carrier must call rt_carrier_add once. Any context. */
void port_carrier_ask(void);

/* rt_calls_scan must be called soon, and again soon while it returns true. Any context. */
void port_calls_watch(void);

/* A CPU that slept in a call is awake. Inside the runtime. */
void port_cpu_stirs(void);
#else
ALWAYS_INLINE void port_cpu_back(struct cpu *cpu)
{
    (void)cpu;
    rt_no_such_call();
}

ALWAYS_INLINE void port_cpu_leave(struct thread *t)
{
    (void)t;
    rt_no_such_call();
}

ALWAYS_INLINE struct thread *port_left_self(void)
{
    return NULL;
}

ALWAYS_INLINE void port_carrier_wait(struct carrier *k)
{
    (void)k;
    rt_no_such_call();
}

ALWAYS_INLINE void port_carrier_wake(struct carrier *k)
{
    (void)k;
    rt_no_such_call();
}

ALWAYS_INLINE void port_carrier_interrupt(struct carrier *k)
{
    (void)k;
    rt_no_such_call();
}

ALWAYS_INLINE void port_interrupt_accept(void) {}
ALWAYS_INLINE void port_carrier_ask(void) {}
ALWAYS_INLINE void port_calls_watch(void) {}
ALWAYS_INLINE void port_cpu_stirs(void) {}
#endif

/* Upcalls. */
int rt_carrier_add(void); /* one more spare carrier: 0 or -errno */
bool rt_calls_scan(void);
void rt_call_look(struct cpu *cpu); /* every some milliseconds */
bool rt_cpu_sleeps_in_call(const struct cpu *cpu);

/* How often have CPUs gone to sleep? Do they so often that wakers should pass full fences, because
 * heavy ones cost much (core/fences.h)? One caller at a time, which is no CPU. full: heavy fences
 * are not to be had any more. Any context. */
uint64_t rt_sleeps(void);
void rt_fences_choose(bool often);
void rt_fences_full(void);

/* The caller is a user thread that was found asleep in a system call that it did not announce: it
 * gives its CPU away, and the call goes on. False: it keeps the CPU. */
bool rt_call_unannounced(void);

/* May threads lose their CPU in calls that they did not announce? */
bool rt_takes_calls(void);

/* A user thread has run for a whole tick at a point where it must not be switched, as in the C
 * library. NOBODY: no other thread is ready. MADE: the caller has no CPU any more, and continues.
 * NO_CARRIER: there is no carrier for the CPU yet; call again soon. Conditions as for rt_preempt,
 * except that no switch happens. */
enum rt_room { RT_ROOM_NOBODY, RT_ROOM_MADE, RT_ROOM_NO_CARRIER };
enum rt_room rt_preempt_away(void);
void rt_preempt_away_soon(void); /* expected: make a carrier */

/* The caller is a user thread without a CPU, outside any announced call. rt_left_returns, called
 * outside the runtime, queues for a CPU. */
bool rt_left_may_return(void);
void rt_left_returns(void);
struct carrier *rt_thread_carrier(struct thread *t); /* of one that port_left_self has returned */

#endif
