/* SPDX-License-Identifier: MIT */
/*
 * cancel.h - requests that a thread end (POSIX.1-2017, XSH 2.9.5), and signals for it (2.4). The
 * POSIX layer ends it, or runs the handlers; the core sees to it that a thread notices: that its
 * wait ends, or its call of the kernel, or that it is interrupted.
 *
 * All is in one word, thread->cancel; docs/internals/interruption.md lists its bits. Its own thread
 * sets and clears DISABLED, ASYNC and CALL, sets ENDING, sets SIGNALLED for signals that it sends
 * itself or unblocks, and clears SIGNALLED and NOTIFIED; others set REQUESTED, once, or SIGNALLED,
 * and NOTIFIED with either. Each change is a read-modify-write, so that each side knows what the
 * other did before; except two stores: ENDING of a thread that returns (5), and that of the only
 * thread in the child of a fork. A request is due if it is REQUESTED and neither DISABLED nor
 * ENDING. The argument, by what the thread is doing when REQUESTED is set:
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
 *      PARK_REMOVABLE, so nothing happens. A canceller that is late may find it in another wait
 *      than the one that it was in; but if that is a cancellation point, the request is due there.
 *   4. It is in a call of the kernel: CALL. Then NOTIFIED is set together with REQUESTED, and the
 *      carrier gets a signal. If that comes before the system call, or while it waits, the call
 *      does not happen, or ends, and says so; if the call has a result already, that counts. The
 *      port decides it by the interrupted instruction. The thread does not leave the call before
 *      the signal has come (rt_cancel_call_end): no other call on that kernel thread gets it.
 *   5. It ends: ENDING is stored, perhaps over a request, which then changes nothing.
 *   6. It has not run yet: as 1.
 *
 * Signals go the same way (SIGNALLED, rt_thread_signal), except that waits that are no cancellation
 * points end, too, with -EINTR (PARK_INTERRUPTIBLE): the object's function has the handlers run
 * (rt_signals_act) and waits again, or returns -EINTR if it is one that POSIX lets return it. A
 * thread that is ready but does not run is told nothing: the sender tries again until the signal
 * has been taken (signals/posix_signal.h), so that nothing depends on a single attempt.
 *
 * The canceller holds the thread's join lock from before it sets REQUESTED until it is done: the
 * thread, which may act at once, cannot end before that (it takes that lock to end), and its memory
 * is there.
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

/* Request that t, which has not been joined, nor detached and ended, end. t is no foreign thread.
 */
void rt_thread_cancel(struct thread *t);

/* Change the caller's word. Returns the word before. */
uint32_t rt_cancel_set(struct thread *self, uint32_t set, uint32_t clear);

/* There are signals for t, which is there until the call returns, and no foreign thread: it is to
 * notice soon. Any context in which the runtime may be entered. */
void rt_thread_signal(struct thread *t);

/* Around a system call that a request or a signal is to interrupt; between rt_call_begin and
 * rt_call_end, of a user thread. begin: false: one is due: do not make the call, nor end. */
bool rt_cancel_call_begin(struct thread *self);
void rt_cancel_call_end(struct thread *self);

#endif
