/* SPDX-License-Identifier: MIT */
/*
 * posix_signal_taker.c - choosing the thread that takes a process signal: the one that is told
 * first, and the one that is told when that has not taken it for a while. See posix_signal.h.
 *
 * The choice is a hint, no ownership: any thread that does not block the signal and looks may take
 * it first. All under `signals.lock`.
 */
#include "posix_signal.h"

#include "../../core/id.h"
#include "../core/runtime.h"
#include "mutant.h"
#include "port_foreign.h"

struct search {
    uint64_t bit;
    uint32_t skip;               /* the number of threads to skip first */
    const struct thread *except; /* or NULL */
    bool deaf;                   /* include threads that do not hear it now */
};

/* Excludes a thread that is being created: its mask and other fields that a sender changes may be
 * left from the descriptor's last use. */
bool signal_may_take(const struct thread *t, uint64_t bit)
{
    uint32_t state = at_load_rlx(&t->state);
    return !(t->flags & (THREAD_IDLE | THREAD_FOREIGN)) && state != THREAD_EXITED &&
           (state != THREAD_NEW || MUTANT(SIGNAL_NEW)) &&
           !(at_load_acq(&t->sigmask) & bit); /* ORDER(new-mask) */
}

/* False in a wait that signals do not end: one that began before threads had signals of their own,
 * or whose object does not know them. A hint. */
static bool hears(const struct thread *t)
{
    return at_load_rlx(&t->state) != THREAD_BLOCKED ||
           (at_load_rlx(&t->park) & PARK_INTERRUPTIBLE) != 0;
}

static bool search_looks(struct thread *t, void *arg)
{
    struct search *s = arg;
    return t != s->except && signal_may_take(t, s->bit) && (s->deaf || hears(t)) && s->skip-- == 0;
}

/* A thread that may take a signal cannot end while the caller holds signals.lock:
 * posix_signals_end. */
static struct thread *search(uint64_t bit, const struct thread *except, bool deaf, uint32_t skip)
{
    struct search s = {.bit = bit, .except = except, .deaf = deaf, .skip = skip};
    return id_find_locked(search_looks, &s);
}

/* The thread to tell, NULL if all block the signal. As in Linux it is the main thread, if that does
 * not block the signal, else another. The caller comes last: kill() must deliver the signal before
 * it returns only if no other thread takes it (POSIX), and a main thread in pause() must not miss a
 * signal that a worker sends to the process. Threads that would take it only after their wait come
 * after all that hear it now. */
struct thread *signal_taker_locked(uint64_t bit)
{
    struct thread *caller = signals_taker(), *found;
    if (rt_main_is_carrier() && signal_may_take(&rt.main_thread, bit) && hears(&rt.main_thread)) {
        return &rt.main_thread;
    }
    found = search(bit, caller, false, 0);
    if (found == NULL && caller != NULL && signal_may_take(caller, bit)) {
        found = caller;
    }
    return found != NULL ? found : search(bit, caller, true, 0);
}

/* A call that was not made so that signals end it: it began before threads had signals of their
 * own, or is system() or posix_spawn(). A hint. */
static NO_TSAN bool is_in_deaf_call(const struct thread *t)
{
    return t->wait_reason == WAIT_CALL && !(at_load_rlx(&t->cancel) & CANCEL_CALL);
}

/* Linux leaves a signal with the main thread however long that takes to come to it, and programs
 * count on the thread: it may leave the handler by siglongjmp. So a main thread that waits for a
 * CPU, or is where no handler may run, keeps the signal. Not one that waits where signals end
 * nothing: perhaps for what another thread's handler would do. */
static bool main_keeps(uint64_t bit)
{
    const struct thread *t = &rt.main_thread;
    return rt_main_is_carrier() && signal_may_take(t, bit) && hears(t) && !is_in_deaf_call(t);
}

/* The thread that was notified has not taken it: the main thread, or the next one, in turn. */
struct thread *signal_next_taker_locked(uint64_t bit)
{
    if (main_keeps(bit)) {
        return &rt.main_thread;
    }
    struct thread *found = search(bit, NULL, true, ++signals.turn);
    if (found == NULL) {
        signals.turn = 0;
        found = search(bit, NULL, true, 0);
    }
    return found;
}
