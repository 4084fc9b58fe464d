/* SPDX-License-Identifier: MIT */
/*
 * posix_signal_action.c - actions; the start of threads' own signals; the child of a fork. See
 * posix_signal.h.
 */
#include "posix_signal.h"

#include <errno.h>
#include <sys/syscall.h>

#include "../../core/id.h"
#include "../core/runtime.h"
#include "mutant.h"
#include "port_posix.h"

/* The C library's function, which this library's names hide. */
int __sigaction(int signal, const struct sigaction *action, struct sigaction *old);

struct posix_signal_state signals;
_Atomic(uint32_t) posix_signals_are_on; /* 0 no, 1 becoming so, 2 yes, 3 not possible here */

#define SET_BYTES sizeof(uint64_t)
/* Signals that a call of the thread raises, with a default action that ends the process. The action
 * is due only if the thread does not block the signal, which the kernel does not know. */
#define CAUGHT_BY_DEFAULT (SIGNAL_BIT(SIGPIPE) | SIGNAL_BIT(SIGXFSZ))

bool posix_signal_valid(int signal)
{
    return signal >= 1 && signal <= SIGNALS && (port_signals_own() & SIGNAL_BIT(signal)) == 0;
}

enum posix_default posix_signal_default(int signal)
{
    switch (signal) {
    case SIGCHLD:
    case SIGCONT:
    case SIGURG:
    case SIGWINCH:
        return DEFAULT_IGNORES;
    case SIGSTOP:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
        return DEFAULT_STOPS;
    default:
        return DEFAULT_ENDS;
    }
}

/* ---- actions ---- */

/* True if the runtime catches the signal (stack overflow) and the program does not. */
static bool fault_is_ours(int signal)
{
    return (signal == SIGSEGV || signal == SIGBUS) && signals.action[signal].sa_handler == SIG_DFL;
}

/* While the kernel keeps the actions it also changes them (SA_RESETHAND). */
const struct sigaction *signal_action_locked(int signal)
{
    struct sigaction *action = &signals.action[signal];
    bool known = (signals.known & SIGNAL_BIT(signal)) != 0;
    if (!known || (!posix_signals_on() && !fault_is_ours(signal))) {
        __sigaction(signal, NULL, action);
        signals.known |= SIGNAL_BIT(signal);
    }
    return action;
}

bool signal_has_handler_locked(int signal)
{
    return signal_is_caught(signal_action_locked(signal));
}

bool signal_is_ignored_locked(int signal)
{
    const struct sigaction *action = signal_action_locked(signal);
    return action->sa_handler == SIG_IGN ||
           (action->sa_handler == SIG_DFL && posix_signal_default(signal) == DEFAULT_IGNORES);
}

int signal_install_locked(int signal)
{
    const struct sigaction *action = &signals.action[signal];
    if (posix_signals_on() &&
        (signal_is_caught(action) ||
         (action->sa_handler == SIG_DFL && (SIGNAL_BIT(signal) & CAUGHT_BY_DEFAULT)))) {
        int error = port_signal_catch(signal, action->sa_flags);
        return error == 0 ? 0 : posix_fail(-error);
    }
    return __sigaction(signal, action, NULL);
}

static void drop_of(struct thread *t, void *set)
{
    struct posix_signals *s = t->signals;
    if (s != NULL) {
        pending_drop_locked(&s->pending, *(const uint64_t *)set);
    }
}

static int action_set_locked(int signal, const struct sigaction *action)
{
    struct sigaction before = *signal_action_locked(signal);
    signals.action[signal] = *action;
    if (signal_install_locked(signal) != 0) {
        signals.action[signal] = before;
        return -1;
    }
    if (posix_signals_on() && signal_is_ignored_locked(signal)) {
        uint64_t set = SIGNAL_BIT(signal);
        pending_drop_locked(&signals.process, set);
        id_for_each_locked(drop_of, &set);
    }
    return 0;
}

/* A handler on a signal stack for a signal that is this library's. SIGRTMAX excludes it, so only a
 * program that catches all signals asks for that; told EINVAL, it makes the system call itself. */
static bool sets_past_us(int signal, const struct sigaction *action)
{
    return signal >= 1 && signal <= SIGNALS && !posix_signal_valid(signal) &&
           signal_is_caught(action) && (action->sa_flags & SA_ONSTACK) != 0;
}

int pirn_posix_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
    unsigned long irq;
    int result = 0;
    if (action != NULL && sets_past_us(signal, action)) {
        port_signals_direct();
    }
    if (!posix_signal_valid(signal) ||
        (action != NULL && (signal == SIGKILL || signal == SIGSTOP))) {
        return posix_fail(EINVAL);
    }
    if (action != NULL && signal_is_caught(action)) {
        posix_signals_begin();
    }
    struct sigaction next, before;
    if (action != NULL) {
        next = *action; /* may be unreadable, so not under the lock */
    }
    signals_lock(&irq);
    before = *signal_action_locked(signal);
    if (action != NULL) {
        result = action_set_locked(signal, &next);
    }
    signals_unlock(irq);
    if (result == 0 && old != NULL) {
        *old = before;
    }
    return result;
}

/* ---- start ---- */

static void actions_learn(void)
{
    unsigned long irq;
    signals_lock(&irq);
    for (int i = 1; i <= SIGNALS; i++) {
        if (((signals.known | CAUGHT_BY_DEFAULT) & SIGNAL_BIT(i)) != 0) {
            signal_action_locked(i);
        }
    }
    signals_unlock(irq);
}

/* Leaves the runtime's own signals out: the program may have set actions for them before the
 * runtime took them. */
static void install_all(void)
{
    unsigned long irq;
    signals_lock(&irq);
    signals.known &= ~port_signals_own();
    for (int i = 1; i <= SIGNALS; i++) {
        if (((signals.known | CAUGHT_BY_DEFAULT) & SIGNAL_BIT(i)) != 0) {
            signal_action_locked(i);
            if (!fault_is_ours(i)) {
                signal_install_locked(i);
            }
        }
    }
    signals_unlock(irq);
}

/* The thread that starts the receiver, which allocates memory. The program's allocator may call a
 * function that comes here again on the same thread. The answer is then: not yet. */
static _Atomic(struct thread *) beginner;

bool posix_signals_begin(void)
{
    uint32_t state = 0;
    struct thread *self = rt_identity();
    if (at_load_rlx(&posix_signals_are_on) >= 2 || at_load_acq(&rt.started) != 2) {
        return posix_signals_on(); /* ORDER(start) */
    }
    if (at_cas_acq(&posix_signals_are_on, &state, 1u)) { /* ORDER(signals-on) */
        at_store_rlx(&beginner, self);
        actions_learn();
        bool works = port_signals_start(&posix_signal_upcalls) == 0;
        rt_signals = works;
        at_store_rel(&posix_signals_are_on, works ? 2u : 3u); /* ORDER(signals-on) */
        if (works) {
            install_all();
        }
        at_store_rlx(&beginner, (struct thread *)NULL);
    }
    for (unsigned round = 0; at_load_acq(&posix_signals_are_on) < 2; round++) {
        if (at_load_rlx(&beginner) == self) {
            return false;
        }
        port_relax(round); /* ORDER(signals-on) */
    }
    return posix_signals_on();
}

bool posix_signals_mine(void)
{
    return posix_signals_on() && !posix_is_foreign();
}

/* Until now the main thread's mask and alternate stack were those of its kernel thread. Inside the
 * runtime: in a system call that sleeps for long the thread would lose its CPU, and go on on
 * another kernel thread. Returns the mask. */
static uint64_t state_take(stack_t *alternate)
{
    unsigned long irq;
    uint64_t mask = 0;
    struct cpu *cpu = rt_enter(&irq);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, SET_BYTES);
    if (cpu != NULL) { /* a user thread */
        at_store_rlx(&cpu->current->sigmask, mask & ~SIGNALS_UNBLOCKABLE);
        if (!port_signal_stack(alternate)) {
            alternate->ss_flags = SS_DISABLE;
        }
    }
    rt_leave(irq);
    return mask;
}

static void alternate_keep(const stack_t *stack)
{
    unsigned long irq;
    struct thread *self = rt_self();
    signals_lock(&irq);
    struct posix_signals *s = signals_of_locked(self);
    if (s != NULL) {
        s->alternate = *stack;
    }
    signals_unlock(irq);
}

/* The program's main thread keeps the mask, handlers and alternate stack that it has set. */
void posix_signals_started(void)
{
    stack_t alternate = {.ss_flags = SS_DISABLE};
    uint64_t mask = state_take(&alternate);
    bool handlers = false, brings = !(alternate.ss_flags & SS_DISABLE);
    for (int i = 1; i <= SIGNALS; i++) {
        handlers |= (signals.known & SIGNAL_BIT(i)) != 0 && signal_is_caught(&signals.action[i]);
    }
    if ((handlers || mask != 0 || brings) && posix_signals_begin() && brings) {
        alternate_keep(&alternate);
    }
}

/* The runtime catches these two signals, so it reads the program's actions first. */
void posix_signals_learn(void)
{
    signal_action_locked(SIGSEGV);
    signal_action_locked(SIGBUS);
}

/* A thread other than the survivor takes no signals any more; its descriptor remains. */
static void bury(struct thread *t, void *survivor)
{
    if (t != survivor) {
        at_store_rlx(&t->sigmask, ~UINT64_C(0));
        t->signals = NULL;
    }
}

void posix_signals_forked(void)
{
    bool were_on = posix_signals_on();
    at_init(&signals.lock.word, MUTANT(FORK_LOCKED) ? at_load_rlx(&signals.lock.word) : 0u);
    at_init(&posix_signals_are_on, 0u);
    at_init(&beginner, (struct thread *)NULL);
    rt_signals = false;
    signals.process = (struct posix_pending){0};
    signals.notified = NULL;
    signals.waiters = NULL;
    if (!were_on || rt_survivor == NULL) {
        return;
    }
    id_for_each(bury, rt_survivor);
    for (int i = 1; i <= SIGNALS; i++) {
        if ((signals.known & SIGNAL_BIT(i)) != 0 && !fault_is_ours(i)) {
            __sigaction(i, &signals.action[i], NULL);
        }
    }
    uint64_t mask = at_load_rlx(&rt_survivor->sigmask);
    struct posix_signals *s = rt_survivor->signals;
    at_store_rlx(&rt_survivor->cancel,
                 at_load_rlx(&rt_survivor->cancel) & ~(uint32_t)(CANCEL_SIGNALLED | CANCEL_TOLD));
    if (s != NULL) {
        s->pending = MUTANT(FORK_PENDING) ? s->pending : (struct posix_pending){0};
        s->notified = false;
        if (s->alternate.ss_size != 0) {
            syscall(SYS_sigaltstack, &s->alternate, NULL);
        }
    }
    port_signal_mask(&mask);
}
