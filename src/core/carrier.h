/* SPDX-License-Identifier: MIT */
/*
 * carrier.h - carriers, which execute CPUs, and calls that block them.
 *
 * A CPU (queue, timers, stack cache) is executed by a carrier: a kernel thread, a simulated one.
 * On boards a core is both. A user thread that may block its carrier in the kernel says so:
 *
 *     rt_call_begin(&call, blocks);  the carrier has no CPU from here on
 *     a system call
 *     rt_call_end(&call);            the thread has a CPU again, perhaps another one
 *
 * In between port_cpu_self() is NULL: for the runtime neither the caller nor its signal handlers
 * are user threads, and the CPU is on offer. A taker gives it to a spare carrier, which goes on
 * with the other threads. If nobody takes it, the thread takes its CPU back, at the cost of two
 * atomic operations. Otherwise the thread goes to the ready queue, and its carrier to the spares.
 *
 * A thread can also lose its CPU in the middle of its own code: when it waits in the kernel
 * without an announcement (rt_call_unannounced), and when its turn is over but it cannot be
 * switched (rt_preempt_away). It continues on its kernel thread, and gets a CPU again at its next
 * entry of the runtime (rt_self), or when the port finds it at a point where it can be switched
 * (rt_call_return).
 *
 * The argument, by owner of the CPU's (O) fields:
 *   1. cpu->call is 0 or the ticket of a call. The CPU's thread stores the ticket, with release,
 *      when it has stopped using the CPU. One compare-and-swap, with acquire, makes it 0: that of
 *      the thread (which owns the CPU again) or that of a taker (which owns it then). Exactly one
 *      succeeds, because tickets differ from call to call. ORDER(call)
 *   2. A taker reserves a spare carrier before it tries, and gives it the CPU: k->cpu is stored
 *      with release, the carrier reads it with acquire. ORDER(carrier) From then on the carrier
 *      owns the CPU, with its own idle thread as the scheduler context.
 *   3. A thread that finds its CPU taken runs on a carrier that nobody else uses: k->cpu is NULL.
 *      It switches to the carrier's idle thread on `limbo`, a CPU record without queue that belongs
 *      to the carrier, so the switch is like any other. POST_RETURN makes it ready when its context
 *      is saved, like a thread that is woken from outside.
 *   4. An idle thread's context stays on its own carrier: it is resumed on the carrier where it
 *      stopped, by that carrier's CPU or from limbo, and by nobody else.
 *   5. A ready thread does not wait for long for a CPU whose thread is in a call. The port watches
 *      such CPUs: it calls rt_calls_scan again and again. That costs CPU time, and most calls are
 *      short. So it stops when no thread waits, and the last scan sets RT_CALLS in rt.idle_word.
 *      Two sides look at this flag, clear it if it is set, and make the port watch again: a thread
 *      whose call begins while others wait for its CPU, and a waker that finds no CPU to wake
 *      (wake.h).
 *        thread: publish the ticket | waker's fence | RT_CALLS? else make the port watch; work?
 *                then clear it, and make the port watch
 *        waker:  publish the thread | waker's fence | no CPU to wake, and RT_CALLS? then clear it |
 *                full fence | make the port watch
 *        port:   stop watching | sleeper's fence | work for a CPU with a ticket? then watch on,
 *                else set RT_CALLS | sleeper's fence | look again; work? then clear it and watch
 *                on
 *      A thread that sees RT_CALLS set is before whoever clears it, so the next scan sees its
 *      ticket by the first of these fences. ORDER(call-watch) A waker that sees RT_CALLS clear,
 *      before the port sets it, has published its thread before the second one: the port sees it,
 *      or the thread does that publishes its ticket later. ORDER(idle-wake)
 *   6. A call that two calls of rt_call_look find under way loses its CPU, even if no thread waits:
 *      a later waker then finds a CPU that sleeps.
 */
#ifndef PIRN_CORE_CARRIER_H
#define PIRN_CORE_CARRIER_H

#include "cpu.h"
#include "port_calls.h"

struct carrier {
    struct thread idle;            /* its scheduler context */
    _Atomic(struct cpu *) cpu;     /* (A) given to it; NULL: a spare, or with a thread in limbo */
    struct carrier *next_spare;    /* (spares lock) */
    struct carrier *next_made;     /* (C) all of them */
    _Atomic(struct thread *) left; /* (A) runs here without a CPU, which it lost unannounced */
    struct port_carrier port;
    struct cpu
        *kept[PORT_CALLS_BLOCK ? 1 : 0]; /* (O) it goes on with it after limbo: call_sleep.c */
    struct cpu limbo[PORT_CALLS_BLOCK ? 1 : 0];
};

struct rt_call {
    struct cpu *cpu; /* NULL: the caller had none */
    uint32_t ticket; /* 0: given away at once */
};

/* Not nested. In between only signal handlers enter the runtime. `blocks`: the call is known to
 * block (else a watcher finds out): another carrier goes on with the CPU, unless it has nothing to
 * run, and sleeps in the call (call_sleep.h). Foreign threads may call it. */
void rt_call_begin(struct rt_call *call, bool blocks);
void rt_call_end(struct rt_call *call);

/* A hint for the calling user thread, which is going to wait: would its CPU sleep in a call that
 * blocks? False, too, if many threads wait so already: each has a carrier. */
bool rt_call_sleeps(void);

/* The calling user thread, which is outside the runtime and continues there, gives its CPU away.
 * False: there is no spare yet. Called from a signal handler of the port, which may run on the
 * carrier's signal stack. The handler keeps interrupts disabled, so leaving the runtime switches no
 * thread there. */
bool rt_call_unannounced(void);

/* The calling user thread, which is outside the runtime and continues there, has run for a whole
 * tick at a point where it cannot be switched. If rt_preempt would run another thread now, the
 * caller loses its CPU, and that thread runs there. From a signal handler of the port. (port.h:
 * enum rt_room.) */
enum rt_room rt_preempt_away(void);

/* The caller, which rt_self found without a CPU, is a user thread: give it one. */
COLD void rt_call_return(struct thread *self);

/* Take the CPUs that have work, and whose call has lasted since the last scan. True: look again
 * soon. One caller at a time, which is no CPU. */
bool rt_calls_scan(void);

/* Now and then: take the CPU if its call has lasted since the last look. The same caller. */
void rt_call_look(struct cpu *cpu);

/* Interrupt the carrier on which t runs without a CPU that it lost unannounced. False: there is
 * none. */
bool carrier_interrupt_left(struct thread *t);

/* Make a carrier and its kernel thread, which calls rt_carrier_main: to carry `cpu`, or, NULL, as a
 * spare. 0 or -errno. */
int carrier_make(struct carrier **out, struct cpu *cpu);

/* A zeroed record becomes CPU `id`; RT_NO_CPU: a carrier's limbo. */
void cpu_init(struct cpu *cpu, unsigned id);

/* k executes cpu from now on. */
void carrier_carry(struct carrier *k, struct cpu *cpu);

/* For call_sleep.c. */
#if PORT_CALLS_BLOCK
#define CARRIER_STEP

/* The caller owns the CPU: k, which waits as a spare and is nobody else's, executes it. */
void carrier_give(struct carrier *k, struct cpu *cpu);

/* A carrier that was taken from the spares, and is not needed. */
void spare_put(struct carrier *k);
#else
#define CARRIER_STEP static
#endif

/* Wait as a spare until there is a CPU to carry. */
struct cpu *carrier_wait(struct carrier *k);

/* In the child of a fork: there are no carriers. Their memory stays. */
void carrier_forked(void);

/* Free all; the kernel threads are gone. For the simulator. */
void carrier_reset(void);

#endif
