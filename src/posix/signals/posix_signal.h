/* SPDX-License-Identifier: MIT */
/*
 * posix_signal.h - signals of user threads (POSIX.1-2017, XSH 2.4). Shared by posix_signal_action.c
 * (actions, start), posix_signal.c (masks, taking), posix_signal_send.c (sending),
 * posix_signal_taker.c (choosing a thread), posix_signal_wait.c (sigwait, sigsuspend) and
 * posix_signal_old.c (the older interfaces).
 *
 * Before the runtime starts, and where the port cannot support it (port_signals_start), the kernel
 * does everything: `posix_signals_on` is false. It becomes true when a program that has a runtime
 * also has a handler or blocks a signal. From then on masks, pending signals and alternate stacks
 * of threads are kept here, in memory. The kernel keeps the actions, and signals not fetched yet.
 *
 * A signal for a thread is pending in its record. A signal for the process is pending in `process`
 * until a thread that does not block it takes it. The code that makes a signal pending tells a
 * thread (rt_thread_signal), by setting CANCEL_SIGNALLED in its word. The thread then takes
 * signals: it repeatedly looks for a signal that it does not block, runs the handler, and clears
 * the bit when none is left.
 *
 * Invariants, all under `signals.lock`:
 *   1. If a thread that runs outside the runtime has a signal pending that it does not block, its
 *      bit is set. Such a thread has been notified of each process signal that some thread does not
 *      block, or will be: `notified` is not empty, or the receiver will look
 *      (port_signals_wake).
 *   2. The bit is cleared when the thread has nothing to take, and only then.
 *   3. A thread on `notified` has not ended: ending takes it off. Its bit was set, and it may not
 *      have noticed, because it was ready and did not run, or ran where no handler may run. The
 *      receiver tells it again, at growing intervals, until the bit is clear. So no signal is lost,
 *      even if a single attempt misses.
 *   4. A thread that ends blocks everything from then on. Process signals of which it had been
 *      notified go to another thread.
 *   5. A thread that waits for signals (sigwait) is on `waiters`. A signal of its set goes to it
 *      first, and is then never pending.
 *   6. While a mask is lent (sigsuspend, ppoll, ...), the thread takes signals only where that call
 *      asks for them: posix_interrupted, posix_mask_back. Until then its bit stays set, so that no
 *      wait of the call begins. If a handler ran before the wait, unnoticed, the thread would wait
 *      for a signal that it has already had.
 *   7. CANCEL_TOLD is set, beside SIGNALLED, once the thread has been interrupted for its signals,
 *      wherever that was, and cleared when it looks for them under the lock. Meanwhile senders do
 *      not interrupt it again: it could not look sooner, and signals that come faster than they are
 *      handled would keep it from getting to that. If it has been interrupted where no handler may
 *      run, and does not look, the receiver interrupts it again, by 3.
 *
 * Lock: signals.lock (RANK_SIGNAL, before all others, because threads are made ready under it). No
 * handler runs under it, because none runs inside the runtime.
 */
#ifndef PIRN_POSIX_SIGNAL_H
#define PIRN_POSIX_SIGNAL_H

#include "../posix.h"
#include "port_calls.h"
#include "port_posix.h"
#include "wake.h"

#define SIGNALS 64
#define SIGNAL_BIT(signal) (UINT64_C(1) << ((signal)-1))
/* Never blocked: the first two by POSIX, the others because they are the C library's own. */
#define SIGNALS_UNBLOCKABLE                                                                        \
    (SIGNAL_BIT(SIGKILL) | SIGNAL_BIT(SIGSTOP) | SIGNAL_BIT(__SIGRTMIN) |                          \
     SIGNAL_BIT(__SIGRTMIN + 1))

struct posix_queued {
    struct posix_queued *next;
    siginfo_t info;
};

/* Pending signals in their order of arrival. A signal that is in the set but not in the list found
 * no memory, and its siginfo_t is lost. */
struct posix_pending {
    uint64_t set;
    struct posix_queued *first;
};

/* The record of a thread: thread->signals, made when first needed. */
struct posix_signals {
    struct posix_pending pending; /* (lock) */
    struct thread *thread;        /* (lock) */
    struct posix_signals *next;   /* (lock) on `notified`, or in the pool */
    bool notified;                /* (lock) on `notified` */
    bool restores;                /* own: sigmask holds for one call; the mask to restore: */
    uint64_t restore;
    bool asks;         /* own: that call takes signals now */
    stack_t alternate; /* own; ss_size 0: none */
    bool ran;          /* own: a handler has run since posix_signals_expect. Counts handlers that
                     * interrupted the call, not those that interrupted a call of a handler */
    bool ran_plain;    /* own: such a handler without SA_RESTART */
};

struct posix_waiter {
    struct posix_waiter *next; /* (lock) */
    struct thread *thread;
    uint64_t set;
    bool got; /* (lock) info is the signal */
    siginfo_t info;
    struct waitq queue; /* the thread waits here alone */
};

struct posix_signal_state {
    spinlock_t lock;
    struct posix_pending process;      /* (lock) */
    struct posix_signals *notified;    /* (lock) */
    bool notified_more;                /* (lock) `notified` has grown since the receiver looked */
    struct posix_waiter *waiters;      /* (lock) */
    struct posix_queued *queued_free;  /* (lock) */
    struct posix_signals *thread_free; /* (lock) */
    uint32_t queued;                   /* (lock) records in use */
    uint32_t turn;  /* (lock) rotates among several threads that may be notified */
    uint64_t known; /* (lock) signals whose actions are kept here */
    struct sigaction action[SIGNALS + 1];
};
extern struct posix_signal_state signals;

extern _Atomic(uint32_t) posix_signals_are_on;

ALWAYS_INLINE bool posix_signals_on(void)
{
    return at_load_rlx(&posix_signals_are_on) == 2;
}

/* Make posix_signals_on true if possible. May create kernel threads. */
bool posix_signals_begin(void);

/* The same; false also for a foreign kernel thread, whose signals the kernel keeps. */
bool posix_signals_mine(void);

/* In the child of a fork: start with the calling thread alone. */
void posix_signals_forked(void);

/* Called before a runtime starts: copies the actions that the C library and the kernel have. */
void posix_signals_learn(void);

/* The caller has started a runtime. */
void posix_signals_started(void);

ALWAYS_INLINE uint64_t posix_signal_set(const sigset_t *set)
{
    return *(const uint64_t *)(const void *)set & ~SIGNALS_UNBLOCKABLE;
}

bool posix_signal_valid(int signal);

ALWAYS_INLINE void signals_lock(unsigned long *irq)
{
    rt_enter_lock(irq, &signals.lock, RANK_SIGNAL);
}

ALWAYS_INLINE void signals_unlock(unsigned long irq)
{
    spin_unlock(&signals.lock, RANK_SIGNAL);
    rt_leave_woken(irq);
}

/* The same, but switches no thread: the caller may be on its carrier's signal stack, with all
 * signals blocked (linux_frame.c, 3). A more urgent thread gets the CPU at the next call or tick.
 */
ALWAYS_INLINE void signals_unlock_here(unsigned long irq)
{
    spin_unlock(&signals.lock, RANK_SIGNAL);
    rt_leave(irq);
}

/* The calling user thread, with or without a CPU. NULL: the receiver, or another kernel thread. */
ALWAYS_INLINE struct thread *signals_taker(void)
{
    struct cpu *cpu = port_cpu_self();
    return cpu != NULL ? cpu->current : port_left_self();
}

/* ---- posix_signal_action.c ---- */

const struct sigaction *signal_action_locked(int signal);
/* Give the kernel the action. 0, or -1 and errno. */
int signal_install_locked(int signal);

ALWAYS_INLINE bool signal_is_caught(const struct sigaction *action)
{
    return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

extern const struct port_signal_upcalls posix_signal_upcalls; /* posix_signal.c */

/* The default action of a signal. */
enum posix_default { DEFAULT_ENDS, DEFAULT_STOPS, DEFAULT_IGNORES };
enum posix_default posix_signal_default(int signal);
bool signal_is_ignored_locked(int signal);
bool signal_has_handler_locked(int signal);

/* t's record; NULL: out of memory. */
struct posix_signals *signals_of_locked(struct thread *t);

/* Make a signal pending. False: out of memory, or too many are pending. */
bool pending_put_locked(struct posix_pending *p, const siginfo_t *info);
/* Take the oldest signal with the lowest number in the set. */
bool pending_take_locked(struct posix_pending *p, uint64_t set, siginfo_t *info);
void pending_drop_locked(struct posix_pending *p, uint64_t set);

/* Tell t to take its signals. */
void signals_tell_locked(struct thread *t);
/* Find threads that do not block these process signals, and tell them. */
void signals_retell_locked(uint64_t set);

/* Send to t. 0 or EAGAIN. *ends: the signal's default action must end the process now. */
int signals_send_locked(struct thread *t, const siginfo_t *info, bool *ends);

/* A signal has come from the kernel: for t, or for the process (t is NULL). */
void posix_signal_arrived(const siginfo_t *info, struct thread *t);

/* The same for all threads. */
void posix_signal_everyone(int signal);

/* Fetch the signals that the kernel holds for the process, and pass them on. */
void posix_signals_fetch(void);

/* The receiver's work: fetch signals, and tell threads again. Returns the time of the next round,
 * ns of port_now. */
uint64_t posix_signals_pump(void);

/* The thread ends and takes no more signals. rt_personality.signals_end. */
void posix_signals_end(struct thread *self);

/* Set the mask of the caller, a user thread, and take the signals that it lets through. */
void posix_mask_set(struct thread *self, uint64_t mask);

/* A thread has been created with this mask, which may differ from its creator's. */
void posix_signals_opened(uint64_t mask);

/* Lend a mask for the time of a call (sigsuspend, ppoll, ...). end: no handler has run under it. */
void posix_mask_lend(uint64_t mask);
void posix_mask_back(void);
void posix_mask_end(void); /* the caller is cancelled: the same, if a mask is lent */
ALWAYS_INLINE bool posix_mask_is_lent(const struct thread *self)
{
    return self->signals != NULL && ((const struct posix_signals *)self->signals)->restores;
}

/* The caller takes the signals that are pending for it. */
void posix_signals_take(void);

/* Handlers that have run since posix_signals_expect, which precedes a wait or a call that signals
 * may interrupt. */
enum posix_ran { RAN_NOTHING, RAN_RESTART, RAN_PLAIN };
void posix_signals_expect(void);
enum posix_ran posix_signals_ran(void);

/* ---- posix_signal_taker.c ---- */

/* May t take this process signal? False for a thread that ends or is not created yet. */
bool signal_may_take(const struct thread *t, uint64_t bit);

/* The thread to tell of it, or NULL if all block it; the one to tell if that has not taken it. */
struct thread *signal_taker_locked(uint64_t bit);
struct thread *signal_next_taker_locked(uint64_t bit);

/* posix_signal_old.c: the functions behind the older names. On an error SIG_ERR or -1, and
 * errno. */
typedef void posix_handler(int signal);
posix_handler *posix_signal_bsd(int signal, posix_handler *handler);
posix_handler *posix_signal_sysv(int signal, posix_handler *handler);
posix_handler *posix_sigset(int signal, posix_handler *handler);
int posix_sigpause(int word, bool is_mask);
int posix_sigblock(int word);
int posix_sigsetmask(int word);

/* After -EINTR: take signals. True: the function must fail with EINTR. False: it continues, because
 * no handler has run, or only handlers with SA_RESTART and the function obeys that (restarts). */
bool posix_interrupted(bool restarts);

#endif
