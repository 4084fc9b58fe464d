/* SPDX-License-Identifier: MIT */
/*
 * call_sleep.h - a CPU that sleeps in a call of its thread's.
 *
 * A thread that makes a call that blocks (rt_call_begin) leaves its CPU. If that has nothing else
 * to run, it need not go to another carrier that would only sleep: it sleeps where it is, in the
 * thread's call. If the call ends first, the thread goes on with its CPU, and no other kernel
 * thread has been woken. If work comes first, the waker gives the CPU to a spare carrier.
 *
 * The CPU says that it sleeps as every other (wake.h), and cpu->call has the ticket of the call
 * with CALL_ASLEEP. The ticket is the CPU, as that of any call (carrier.h, 1): who makes it 0 owns
 * it. Three may try:
 *   - the thread, when the call has ended (call_sleep_end);
 *   - a waker that has claimed the CPU (call_sleep_kick): the CPU goes to the carrier that was
 *     reserved for this before the CPU fell asleep, so a waker never fails for want of one;
 *   - a thread whose own CPU was taken, and whose call has ended (call_sleep_adopt): it carries the
 *     CPU itself.
 * rt_calls_scan leaves such a CPU alone, because nothing waits for it.
 *
 * The argument:
 *   1. No wake-up is lost. Falling asleep: store the ticket with CALL_ENTERING | announce |
 *      sleeper's fence (fences.h) | work? then stay awake | leave the CPU | compare-and-swap
 *      CALL_ENTERING away. A waker that has claimed the CPU in between finds the ticket, because it
 *      was stored before the announcement (acquire by the claim), and sets CALL_KICKED: so that
 *      swap fails, and the CPU stays awake. One that comes later takes the CPU. One that finds no
 *      ticket finds a CPU that has woken up by itself, and posts its permit, as to any CPU.
 *      ORDER(call)
 *   2. The count of CPUs that search (rt.idle_word) is right whoever wakes the CPU: each
 *      announcement is ended by one claim. If a waker has claimed the CPU, that has counted it as
 *      searching, and the next owner must look for work, or say that it does not search any more
 *      (idle_found). If nobody has, the thread that takes the CPU ends the announcement itself, and
 *      the CPU was never counted as searching: so nobody has relied on it. ORDER(idle-claim)
 *   3. A waker that is late (its claim belongs to a sleep that is over) may take the CPU from a
 *      later call, or keep it awake. That call's announcement is not claimed then. So whoever takes
 *      the ticket claims what is left of the announcement (wake_on_spare, announcement_end).
 *   4. The policy has been asked for a thread (pick, search) before: for it the CPU runs nothing. A
 *      thread that takes the CPU has not been in a queue: it runs at once if policy.direct agrees.
 *      Otherwise it is queued from its carrier's limbo, as after any other call, and the carrier
 *      goes on with the CPU (carrier.kept), which counts as searching.
 *   5. The CPU's timers: the port still knows the next deadline of a CPU that runs a thread
 *      (timers_tell), and wakes the CPU as it wakes any (rt_on_tick).
 */
#ifndef PIRN_CORE_CALL_SLEEP_H
#define PIRN_CORE_CALL_SLEEP_H

#include "carrier.h"

/* In cpu->call, beside the number of the call. KICKED: as it falls asleep a waker wants it. */
#define CALL_ASLEEP 0x80000000u
#define CALL_ENTERING 0x40000000u
#define CALL_KICKED 0x20000000u
#define CALL_NUMBER 0x1fffffffu

#if PORT_CALLS_BLOCK
/* May a CPU that has nothing to run sleep in a call? Otherwise its carrier sleeps in the idle loop.
 */
bool call_may_sleep(void);

/* The policy has no thread for the caller's CPU, which falls asleep. Afterwards the caller has no
 * CPU, and makes the call with this number. `spare` is reserved. False: there is work after all,
 * and `spare` has the CPU. */
bool call_sleep_begin(struct cpu *cpu, struct thread *self, struct carrier *spare, uint32_t number);

/* That call is over: true if the caller has got its CPU back, and runs on it. False: it is to be
 * queued from limbo. */
bool call_sleep_end(struct cpu *cpu, struct thread *self, uint32_t ticket);

/* The caller, on its carrier, has no CPU: true if it has got one that slept in another thread's
 * call, and runs on it. False: it is to be queued from limbo. */
bool call_sleep_adopt(struct thread *self);

/* The caller has claimed the CPU. True: it slept in a call, and does not any more. */
bool call_sleep_kick(struct cpu *cpu);
#else
ALWAYS_INLINE bool call_may_sleep(void)
{
    return false;
}

ALWAYS_INLINE bool call_sleep_begin(struct cpu *cpu, struct thread *self, struct carrier *spare,
                                    uint32_t number)
{
    (void)cpu;
    (void)self;
    (void)spare;
    (void)number;
    return false;
}

ALWAYS_INLINE bool call_sleep_end(struct cpu *cpu, struct thread *self, uint32_t ticket)
{
    (void)cpu;
    (void)self;
    (void)ticket;
    return false;
}

ALWAYS_INLINE bool call_sleep_adopt(struct thread *self)
{
    (void)self;
    return false;
}

ALWAYS_INLINE bool call_sleep_kick(struct cpu *cpu)
{
    (void)cpu;
    return false;
}
#endif

ALWAYS_INLINE bool call_is_asleep(uint32_t ticket)
{
    return (ticket & CALL_ASLEEP) != 0;
}

#endif
