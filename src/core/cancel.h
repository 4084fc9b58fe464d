/* SPDX-License-Identifier: MIT */
/*
 * cancel.h - requests that a thread end (POSIX.1-2017, XSH 2.9.5), and signals for it (2.4). The
 * POSIX layer ends the thread, or runs the handlers. The core makes the thread notice: it ends its
 * wait or its system call, or interrupts it.
 *
 * The state is one word, thread->cancel; docs/internals/interruption.md lists its bits. Its own
 * thread sets and clears DISABLED, ASYNC, CALL and TOLD, sets ENDING, sets SIGNALLED for signals
 * that it sends itself or unblocks, and clears SIGNALLED and NOTIFIED; others set REQUESTED, once,
 * or SIGNALLED, and NOTIFIED with either, and clear TOLD with SIGNALLED. Each change is a
 * read-modify-write, so each side knows what the other did before. There are two exceptions, which
 * are stores: ENDING of a thread that returns (5), and that of the only thread in the child of a
 * fork. A request is due if REQUESTED is set and neither DISABLED nor ENDING is. The argument, by
 * the state of the thread when REQUESTED is set:
 *   1. It runs. It will look at its next cancellation point, before anything else.
 *   2. It is about to wait at a cancellation point, and has looked. It looks again when its wait
 *      can be ended from outside:
 *
 *          thread                              canceller
 *          park = PARKING                      set REQUESTED
 *          light fence                         heavy fence
 *          is a request due?                   is park PARKING or PARKED?
 *          then end the wait itself            then end the wait
 *
 *      By the fence pair one of the two sees the other. ORDER(cancel) Both may: the wait is ended
 *      by one compare-and-swap, which competes with those of a waker and of the timer. If the waker
 *      wins, the thread has what it waited for, and acts at its next cancellation point: no signal,
 *      unit or mutex is lost with it.
 *   3. It waits elsewhere (for a mutex, or with cancellation disabled). Its park does not have
 *      PARK_REMOVABLE, so nothing happens. A late canceller may find the thread in another wait. If
 *      that is a cancellation point, the request is due there. A program's wait for a lock with the
 *      asynchronous type is as 2.
 *   4. It is in a call of the kernel: CALL. Then NOTIFIED is set together with REQUESTED, and the
 *      carrier gets a signal. If the signal comes before the system call or during it, the call is
 *      not made, or ends, and reports that. If the call has a result already, the result counts.
 *      The port decides by the interrupted instruction. The thread does not leave the call before
 *      the signal has come (rt_cancel_call_end), so no other call on that kernel thread gets it.
 *   5. It ends: ENDING is stored, perhaps over a request, which then changes nothing.
 *   6. It has not run yet: as 1.
 *
 * Signals take the same path (SIGNALLED, rt_thread_signal). They also end waits that are no
 * cancellation points, with -EINTR (PARK_INTERRUPTIBLE): the object's function runs the handlers
 * (rt_signals_act) and waits again, or returns -EINTR if POSIX allows it. A thread that is ready
 * but not running is not notified. The sender tries again until the signal has been taken
 * (signals/posix_signal.h), so nothing depends on a single attempt. TOLD says that an interruption
 * has come: the layer above need not interrupt the thread for further signals.
 *
 * The canceller holds the thread's join lock from before it sets REQUESTED until it is done. The
 * thread may act at once, but cannot end before the lock is free, so its memory remains valid.
 */
#ifndef PIRN_CORE_CANCEL_H
#define PIRN_CORE_CANCEL_H

#include "cpu.h"

ALWAYS_INLINE bool cancel_is_due(uint32_t word)
{
    return unlikely((word & (CANCEL_REQUESTED | CANCEL_DISABLED | CANCEL_ENDING)) ==
                    CANCEL_REQUESTED);
}

/* The caller's own. */
ALWAYS_INLINE bool cancel_is_enabled(const struct thread *self)
{
    return (at_load_rlx(&self->cancel) & (CANCEL_DISABLED | CANCEL_ENDING)) == 0;
}

/* Has the caller set the asynchronous type? Then a request ends its waits for locks, too: the
 * functions of sync.h whose names end in _async. */
ALWAYS_INLINE bool cancel_is_async(const struct thread *self)
{
    return RT_CANCEL && unlikely(at_load_rlx(&self->cancel) & CANCEL_ASYNC);
}

/* Request that t, which has not been joined, nor detached and ended, end. t is no foreign thread.
 */
void rt_thread_cancel(struct thread *t);

/* Change the caller's word. Returns the word before. */
uint32_t rt_cancel_set(struct thread *self, uint32_t set, uint32_t clear);

/* There are signals for t: make it notice soon, TOLD or not. t exists until the call returns, and
 * is no foreign thread. Any context in which the runtime may be entered. */
void rt_thread_signal(struct thread *t);

/* Around a system call that a request or a signal may interrupt; a user thread calls them between
 * rt_call_begin and rt_call_end. If begin returns false, a request or signal is due: make neither
 * the call nor rt_cancel_call_end. */
bool rt_cancel_call_begin(struct thread *self);
void rt_cancel_call_end(struct thread *self);

#endif
