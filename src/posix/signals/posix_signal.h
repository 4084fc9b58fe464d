/* SPDX-License-Identifier: MIT */
/*
 * posix_signal.h - signals of user threads (POSIX.1-2017, XSH 2.4): shared by posix_signal_action.c
 * (actions, beginning), posix_signal.c (masks, taking), posix_signal_send.c (sending, choosing a
 * thread), posix_signal_wait.c (sigwait, sigsuspend) and posix_signal_old.c (the older interfaces).
 *
 * Before the runtime starts, and where the port cannot do it (port_signals_start), everything is
 * the kernel's: `posix_signals_on` is false. It becomes true when a program that has a runtime has
 * also a handler or blocks a signal: then masks, pending signals and alternate stacks of threads
 * are here, in memory, and the kernel has only what has not been fetched yet and the actions.
 *
 * A signal for a thread is pending there; one for the process is pending in `process`, until a
 * thread that does not block it takes it. Whoever makes one pending tells a thread
 * (rt_thread_signal): CANCEL_SIGNALLED in its word. The thread takes: it looks for a signal that it
 * does not block, again and again, runs the handler, and clears the bit when there is none.
 *
 * Invariants, all under `signals.lock`:
 *   1. If a thread that runs outside the runtime has a signal pending that it does not block, its
 *      bit is set. A process signal that some thread does not block has been told to such a thread,
 *      or is on its way to one: `notified` is not empty, or the receiver will look
 *      (port_signals_wake).
 *   2. The bit is cleared when the thread has nothing to take, and only then.
 *   3. A thread on `notified` has not ended: ending takes it off. Its bit was set and it may not
 *      have noticed, because it was ready and did not run, or ran where no handler may run. The
 *      receiver tells it again, at growing intervals, until the bit is clear. So a signal is never
 *      lost, whatever single attempt misses.
 *   4. A thread that ends blocks everything from then on; process signals that had been told to it
 *      go to another one.
 *   5. Who waits for signals (sigwait) is on `waiters`; a signal of its set goes to it first, and
 *      is never pending then.
 *   6. While a mask is lent (sigsuspend, ppoll, ...), the thread takes signals only where that call
 *      asks for them: posix_interrupted, posix_mask_back. Until then its bit stays set, so that no
 *      wait of the call begins. A handler that ran before the wait, unnoticed, would leave the
 *      thread waiting for the signal that it has had.
 * Lock: signals.lock (RANK_SIGNAL, before all others: making threads ready happens under it). No
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
/* Never blocked: the first two by POSIX; the C library's own ones. */
#define SIGNALS_UNBLOCKABLE                                                                        \
    (SIGNAL_BIT(SIGKILL) | SIGNAL_BIT(SIGSTOP) | SIGNAL_BIT(__SIGRTMIN) |                          \
     SIGNAL_BIT(__SIGRTMIN + 1))

struct posix_queued {
    struct posix_queued *next;
    siginfo_t info;
};

/* In the order in which they came. One that is in the set but not in the list had no memory: its
 * siginfo_t is lost. */
struct posix_pending {
    uint64_t set;
    struct posix_queued *first;
};

/* Of a thread: thread->signals, made when first needed. */
struct posix_signals {
    struct posix_pending pending; /* (lock) */
    struct thread *thread;        /* (lock) */
    struct posix_signals *next;   /* (lock) on `notified`, or in the pool */
    bool notified;                /* (lock) on `notified` */
    bool restores;                /* own: sigmask is for a call; this is to come back: */
    uint64_t restore;
    bool asks;         /* own: that call takes signals now */
    stack_t alternate; /* own; ss_size 0: none */
    bool ran;       /* own: a handler has run since posix_signals_expect: one that has interrupted
                     * the call, not one that interrupted a call of a handler's */
    bool ran_plain; /* own: one without SA_RESTART */
};

struct posix_waiter {
    struct posix_waiter *next; /* (lock) */
    struct thread *thread;
    uint64_t set;
    bool got; /* (lock) info is the signal */
    siginfo_t info;
    struct waitq queue; /* it waits here alone */
};

struct posix_signal_state {
    spinlock_t lock;
    struct posix_pending process;      /* (lock) */
    struct posix_signals *notified;    /* (lock) */
    bool notified_more;                /* (lock) since the receiver has looked */
    struct posix_waiter *waiters;      /* (lock) */
    struct posix_queued *queued_free;  /* (lock) */
    struct posix_signals *thread_free; /* (lock) */
    uint32_t queued;                   /* (lock) how many records are in use */
    uint32_t turn;                     /* (lock) which thread is told next, of several */
    uint64_t known;                    /* (lock) whose action is here */
    struct sigaction action[SIGNALS + 1];
};
extern struct posix_signal_state signals;

extern _Atomic(uint32_t) posix_signals_are_on;

ALWAYS_INLINE bool posix_signals_on(void)
{
    return at_load_rlx(&posix_signals_are_on) == 2;
}

/* Become so if it is possible. May create kernel threads. */
bool posix_signals_begin(void);

/* The same for a thread whose own signals are kept here: not a foreign kernel thread. */
bool posix_signals_mine(void);

/* In the child of a fork. */
void posix_signals_forked(void);

/* Before a runtime starts: what the C library and the kernel have. */
void posix_signals_learn(void);

/* A runtime has been started by the caller. */
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

/* The calling user thread, with a CPU or without; NULL: the receiver, or another kernel thread. */
ALWAYS_INLINE struct thread *signals_taker(void)
{
    struct cpu *cpu = port_cpu_self();
    return cpu != NULL ? cpu->current : port_left_self();
}

/* ---- posix_signal_action.c ---- */

const struct sigaction *signal_action_locked(int signal);
/* Give the kernel the action. 0 or -1 and errno. */
int signal_install_locked(int signal);

ALWAYS_INLINE bool signal_is_caught(const struct sigaction *action)
{
    return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

extern const struct port_signal_upcalls posix_signal_upcalls; /* posix_signal.c */

/* What a signal does, if it has no handler. */
enum posix_default { DEFAULT_ENDS, DEFAULT_STOPS, DEFAULT_IGNORES };
enum posix_default posix_signal_default(int signal);
bool signal_is_ignored_locked(int signal);
bool signal_has_handler_locked(int signal);

/* t's record; NULL without memory. */
struct posix_signals *signals_of_locked(struct thread *t);

/* Make pending. False: no memory, or too many are. */
bool pending_put_locked(struct posix_pending *p, const siginfo_t *info);
/* Take the first of the set with the lowest number. */
bool pending_take_locked(struct posix_pending *p, uint64_t set, siginfo_t *info);
void pending_drop_locked(struct posix_pending *p, uint64_t set);

/* t is to take its signals. */
void signals_tell_locked(struct thread *t);
/* Process signals of the set are for somebody who does not block them. */
void signals_retell_locked(uint64_t set);

/* Send to t. 0, EAGAIN. *ends: its default action is due, now. */
int signals_send_locked(struct thread *t, const siginfo_t *info, bool *ends);

/* One has come from the kernel: for t, or, NULL, for the process. */
void posix_signal_arrived(const siginfo_t *info, struct thread *t);

/* Fetch what the kernel has for the process, and pass it on. */
void posix_signals_fetch(void);

/* The receiver's work: the same, and telling again. When to come again, ns of port_now. */
uint64_t posix_signals_pump(void);

/* The thread ends: it takes nothing any more. rt_personality.signals_end. */
void posix_signals_end(struct thread *self);

/* The mask of the caller, a user thread, and taking what it lets through. */
void posix_mask_set(struct thread *self, uint64_t mask);

/* A thread has been created with this mask, which need not be its creator's. */
void posix_signals_opened(uint64_t mask);

/* For the time of a call (sigsuspend, ppoll, ...). end: nothing has run under it. */
void posix_mask_lend(uint64_t mask);
void posix_mask_back(void);
void posix_mask_end(void); /* the caller is cancelled: the same, if a mask is lent */
ALWAYS_INLINE bool posix_mask_is_lent(const struct thread *self)
{
    return self->signals != NULL && ((const struct posix_signals *)self->signals)->restores;
}

/* The caller takes what is pending for it. */
void posix_signals_take(void);

/* Around a wait or a call that signals may interrupt: what has run since then? */
enum posix_ran { RAN_NOTHING, RAN_RESTART, RAN_PLAIN };
void posix_signals_expect(void);
enum posix_ran posix_signals_ran(void);

/* posix_signal_old.c: what the older names do. SIG_ERR and errno, or -1 and errno. */
typedef void posix_handler(int signal);
posix_handler *posix_signal_bsd(int signal, posix_handler *handler);
posix_handler *posix_signal_sysv(int signal, posix_handler *handler);
posix_handler *posix_sigset(int signal, posix_handler *handler);
int posix_sigpause(int word, bool is_mask);
int posix_sigblock(int word);
int posix_sigsetmask(int word);

/* After -EINTR: take. True: the function is to fail with EINTR, else to go on: no handler has run,
 * or only such with SA_RESTART, if the function is one that minds that. */
bool posix_interrupted(bool restarts);

#endif
