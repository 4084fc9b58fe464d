/* SPDX-License-Identifier: MIT */
/*
 * posix_signal.c - signal masks and alternate stacks; taking signals, that is running their
 * handlers. See posix_signal.h.
 */
#include "posix_signal.h"
#include "mutant.h"
#include "port_posix.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

_Static_assert(sizeof(sigset_t) >= sizeof(uint64_t), "the kernel's set is the first word");

#define SET_BYTES sizeof(uint64_t)
#define ALTERNATE_MIN 2048u /* the kernel's MINSIGSTKSZ */

/* ---- masks ---- */

static uint64_t mask_next(uint64_t now, int how, uint64_t set)
{
    return (how == SIG_BLOCK     ? now | set
            : how == SIG_UNBLOCK ? now & ~set
                                 : set) &
           ~SIGNALS_UNBLOCKABLE;
}

/* The thread may take some signals now, and other threads must take some in its place. */
static void mask_changed_locked(struct thread *self, uint64_t before, uint64_t mask)
{
    struct posix_signals *s = self->signals;
    uint64_t pending = signals.process.set | (s != NULL ? s->pending.set : 0);
    if (pending & ~mask) {
        rt_cancel_set(self, CANCEL_SIGNALLED, 0);
    }
    if ((signals.process.set & mask & ~before) && !MUTANT(SIGNAL_BLOCKED)) {
        signals_retell_locked(signals.process.set & mask & ~before);
    }
}

void posix_mask_set(struct thread *self, uint64_t mask)
{
    unsigned long irq;
    signals_lock(&irq);
    uint64_t before = at_load_rlx(&self->sigmask);
    at_store_rlx(&self->sigmask, mask);
    mask_changed_locked(self, before, mask);
    signals_unlock(irq);
    posix_signals_take();
}

void posix_signals_opened(uint64_t mask)
{
    unsigned long irq;
    if (posix_signals_on()) {
        signals_lock(&irq);
        signals_retell_locked(signals.process.set & ~mask);
        signals_unlock(irq);
    }
}

static int mask_of_kernel(int how, const sigset_t *set, sigset_t *old)
{
    uint64_t word, before = 0;
    if (set != NULL) {
        word = posix_signal_set(set);
    }
    if (syscall(SYS_rt_sigprocmask, how, set != NULL ? &word : NULL, &before, SET_BYTES) != 0) {
        return errno;
    }
    if (old != NULL) {
        sigemptyset(old);
        *(uint64_t *)(void *)old = before;
    }
    return 0;
}

int pirn_pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    bool blocks = set != NULL && how != SIG_UNBLOCK && posix_signal_set(set) != 0;
    if (set != NULL && how != SIG_BLOCK && how != SIG_UNBLOCK && how != SIG_SETMASK) {
        return EINVAL;
    }
    if ((blocks && !posix_signals_begin()) || !posix_signals_mine()) {
        return mask_of_kernel(how, set, old);
    }
    struct thread *self = rt_self();
    uint64_t before = at_load_rlx(&self->sigmask), next = before;
    if (set != NULL) {
        next = mask_next(before, how, posix_signal_set(set));
    }
    if (old != NULL) {
        sigemptyset(old);
        *(uint64_t *)(void *)old = before;
    }
    if (next != before) {
        posix_mask_set(self, next);
    }
    return 0;
}

int pirn_posix_sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    int error = pirn_pthread_sigmask(how, set, old);
    return error == 0 ? 0 : posix_fail(error);
}

/* Signals under a lent mask wait until the call asks for them: posix_signal.h, 6. */
static bool is_held(const struct thread *self)
{
    const struct posix_signals *s = self->signals;
    return s != NULL && s->restores && !s->asks && !MUTANT(SIGNAL_EARLY);
}

/* Take signals now. s: the caller's record, or NULL. */
static void signals_ask(struct posix_signals *s)
{
    if (s != NULL) {
        s->asks = true;
    }
    posix_signals_take();
    if (s != NULL) {
        s->asks = false;
    }
}

static struct posix_signals *mine(struct thread *self)
{
    if (unlikely(self->signals == NULL)) {
        unsigned long irq;
        signals_lock(&irq);
        signals_of_locked(self);
        signals_unlock(irq);
    }
    return self->signals;
}

void posix_mask_lend(uint64_t mask)
{
    struct thread *self = rt_self();
    struct posix_signals *s = mine(self);
    if (s != NULL) {
        unsigned long irq;
        signals_lock(&irq);
        s->restore = at_load_rlx(&self->sigmask);
        s->restores = true;
        s->asks = s->ran = s->ran_plain = false;
        at_store_rlx(&self->sigmask, mask & ~SIGNALS_UNBLOCKABLE);
        mask_changed_locked(self, s->restore, mask & ~SIGNALS_UNBLOCKABLE);
        signals_unlock(irq);
    }
}

void posix_mask_back(void)
{
    struct thread *self = rt_self();
    struct posix_signals *s = self->signals;
    signals_ask(s); /* signals that arrived under the lent mask */
    if (s != NULL && s->restores) {
        s->restores = false;
        posix_mask_set(self, s->restore);
    }
}

void posix_mask_end(void)
{
    if (posix_mask_is_lent(rt_self())) {
        posix_mask_back();
    }
}

/* ---- alternate stacks ---- */

static bool on_stack(const stack_t *stack, uintptr_t at)
{
    return at - (uintptr_t)stack->ss_sp < stack->ss_size;
}

static stack_t stack_now(const struct posix_signals *s, uintptr_t here)
{
    if (s == NULL || s->alternate.ss_size == 0) {
        return (stack_t){.ss_flags = SS_DISABLE};
    }
    stack_t now = s->alternate;
    now.ss_flags |= on_stack(&now, here) ? SS_ONSTACK : 0;
    return now;
}

int pirn_posix_sigaltstack(const stack_t *stack, stack_t *old)
{
    const int autodisarm = (int)0x80000000;
    if ((stack != NULL && !(stack->ss_flags & SS_DISABLE) && !posix_signals_begin()) ||
        !posix_signals_mine()) {
        return (int)syscall(SYS_sigaltstack, stack, old);
    }
    struct posix_signals *s = mine(rt_self());
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (s == NULL) {
        return posix_fail(ENOMEM);
    }
    stack_t before = stack_now(s, here);
    if (stack != NULL) {
        if (before.ss_flags & SS_ONSTACK) {
            return posix_fail(EPERM);
        }
        if (stack->ss_flags & ~(SS_DISABLE | SS_ONSTACK | autodisarm)) {
            return posix_fail(EINVAL);
        }
        if (stack->ss_flags & SS_DISABLE) {
            s->alternate = (stack_t){0};
        } else if (stack->ss_size < ALTERNATE_MIN) {
            return posix_fail(ENOMEM);
        } else {
            s->alternate = *stack;
            s->alternate.ss_flags &= autodisarm;
        }
    }
    if (old != NULL) {
        *old = before;
    }
    return 0;
}

/* ---- taking ---- */

struct taken {
    siginfo_t info;
    struct sigaction action;
    uint64_t before; /* the mask to restore afterwards */
};

static bool take_locked(struct thread *self, struct taken *taken)
{
    struct posix_signals *s = self->signals;
    uint64_t mask = at_load_rlx(&self->sigmask);
    rt_cancel_set(self, 0, CANCEL_TOLD);
    if (!(s != NULL && pending_take_locked(&s->pending, ~mask, &taken->info)) &&
        (MUTANT(SIGNAL_CLEARS) || !pending_take_locked(&signals.process, ~mask, &taken->info))) {
        rt_cancel_set(self, 0, CANCEL_SIGNALLED);
        return false;
    }
    return true;
}

/* The action begins: apply its mask and SA_RESETHAND. */
static void begin_locked(struct thread *self, struct taken *taken)
{
    struct posix_signals *s = signals_of_locked(self);
    int signal = taken->info.si_signo;
    uint64_t mask = at_load_rlx(&self->sigmask);
    taken->action = *signal_action_locked(signal);
    taken->before = s != NULL && s->restores ? s->restore : mask;
    if (!signal_is_caught(&taken->action)) {
        return;
    }
    if (s != NULL) {
        s->restores = false;
        s->ran = true;
        s->ran_plain |= !(taken->action.sa_flags & SA_RESTART);
    }
    if (taken->action.sa_flags & (int)SA_RESETHAND) {
        signals.action[signal].sa_handler = SIG_DFL;
        signals.action[signal].sa_flags &= ~SA_SIGINFO;
        signal_install_locked(signal);
    }
    mask |= posix_signal_set(&taken->action.sa_mask);
    mask |= taken->action.sa_flags & (int)SA_NODEFER ? 0 : SIGNAL_BIT(signal);
    at_store_rlx(&self->sigmask, mask & ~SIGNALS_UNBLOCKABLE);
    if (signals.process.set & mask) {
        signals_retell_locked(signals.process.set & mask);
    }
}

typedef void (*handler_fn)(int signal, void *info, void *context);

static void call_handler(struct thread *self, struct taken *taken, void *context)
{
    struct posix_signals *s = self->signals;
    handler_fn fn = (handler_fn)(void (*)(void))taken->action.sa_sigaction;
    int signal = taken->info.si_signo;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if ((taken->action.sa_flags & SA_ONSTACK) && s != NULL && s->alternate.ss_size != 0 &&
        !on_stack(&s->alternate, here)) {
        stack_t used = s->alternate;
        if (used.ss_flags != 0) { /* SS_AUTODISARM */
            s->alternate = (stack_t){0};
        }
        port_call_on(signal, &taken->info, context, fn, (char *)used.ss_sp + used.ss_size);
        if (used.ss_flags != 0) {
            s->alternate = used;
        }
        return;
    }
    fn(signal, &taken->info, context);
}

/* A handler's own calls also record which handlers have run (posix_signals_expect). So the record
 * for the interrupted call is restored afterwards. A handler that leaves by siglongjmp returns to
 * no call. */
static void call_keeping_ran(struct thread *self, struct taken *taken, void *context)
{
    const struct posix_signals *before = self->signals;
    bool ran = before != NULL && before->ran, plain = before != NULL && before->ran_plain;
    uint32_t rights = port_pkeys_enter();
    call_handler(self, taken, context);
    port_pkeys_leave(rights);
    struct posix_signals *s = self->signals;
    if (s != NULL) {
        s->ran = ran;
        s->ran_plain = plain;
    }
}

/* The context shows the handler the mask to which it returns, and the handler may change it
 * there. */
static void run_taken(struct thread *self, struct taken *taken, ucontext_t *context)
{
    if (!signal_is_caught(&taken->action)) {
        if (taken->action.sa_handler == SIG_DFL &&
            posix_signal_default(taken->info.si_signo) != DEFAULT_IGNORES) {
            port_signal_default(taken->info.si_signo);
        }
        return;
    }
    memcpy(&context->uc_sigmask, &taken->before, SET_BYTES);
    call_keeping_ran(self, taken, context);
    uint64_t after;
    unsigned long irq;
    memcpy(&after, &context->uc_sigmask, SET_BYTES);
    after &= ~SIGNALS_UNBLOCKABLE;
    signals_lock(&irq);
    uint64_t inside = at_load_rlx(&self->sigmask);
    at_store_rlx(&self->sigmask, after);
    mask_changed_locked(self, inside, after);
    signals_unlock(irq);
}

static bool take(void *context)
{
    struct thread *self = signals_taker();
    struct taken taken;
    bool fails = false;
    while (!is_held(self)) {
        unsigned long irq;
        signals_lock(&irq);
        bool there = take_locked(self, &taken);
        if (there) {
            begin_locked(self, &taken);
        }
        signals_unlock(irq);
        if (!there) {
            return fails;
        }
        fails |= signal_is_caught(&taken.action) && !(taken.action.sa_flags & SA_RESTART);
        run_taken(self, &taken, context);
        rt_cancel_set(self, CANCEL_TOLD, 0); /* it looks next */
    }
    return fails;
}

void posix_signals_take(void)
{
    struct thread *self = rt_self();
    while ((at_load_rlx(&self->cancel) & CANCEL_SIGNALLED) && !is_held(self) &&
           port_signals_accept()) {
    }
}

/* On a foreign kernel thread signals are as the kernel has them, except that nothing is blocked
 * while our handler runs. */
static void run_foreign(struct taken *taken, void *context)
{
    uint64_t mask =
        posix_signal_set(&taken->action.sa_mask) |
        (taken->action.sa_flags & (int)SA_NODEFER ? 0 : SIGNAL_BIT(taken->info.si_signo));
    if (!signal_is_caught(&taken->action)) {
        if (taken->action.sa_handler == SIG_DFL) {
            port_signal_default(taken->info.si_signo);
        }
        return;
    }
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &mask, NULL, SET_BYTES);
    ((handler_fn)(void (*)(void))taken->action.sa_sigaction)(taken->info.si_signo, &taken->info,
                                                             context);
}

/* A fault ignores the mask: the kernel would end the process if the signal were blocked. */
static void run_caused(int signal, void *info, void *context)
{
    struct thread *self = signals_taker();
    struct taken taken = {.info = *(const siginfo_t *)info};
    if (self == NULL || (self->flags & THREAD_IDLE)) {
        taken.action = signals.action[signal];
        run_foreign(&taken, context);
        return;
    }
    unsigned long irq;
    signals_lock(&irq);
    begin_locked(self, &taken);
    signals_unlock(irq);
    if (!signal_is_caught(&taken.action) ||
        (taken.before & SIGNAL_BIT(signal) && signal != SIGABRT)) {
        port_signal_default(signal);
        return;
    }
    run_taken(self, &taken, context);
}

/* The alternate stack, from its end, or from below what is in use there. */
static void *stack_for(uintptr_t sp)
{
    const struct posix_signals *s = signals_taker()->signals;
    if (s == NULL || s->alternate.ss_size == 0) {
        return NULL;
    }
    return on_stack(&s->alternate, sp) ? (void *)(sp - 128) /* below the red zone */
                                       : (char *)s->alternate.ss_sp + s->alternate.ss_size;
}

static bool takes_on_stack(void)
{
    struct thread *self = signals_taker();
    const struct posix_signals *s = self->signals;
    unsigned long irq;
    bool there = false, plain = false;
    signals_lock(&irq);
    uint64_t set = signals.process.set | (s != NULL ? s->pending.set : 0);
    for (set &= ~at_load_rlx(&self->sigmask); set != 0; set &= set - 1) {
        const struct sigaction *action = signal_action_locked(__builtin_ctzll(set) + 1);
        bool flag = (action->sa_flags & SA_ONSTACK) != 0;
        there |= signal_is_caught(action) && flag;
        plain |= signal_is_caught(action) && !flag;
    }
    signals_unlock_here(irq);
    return there || !plain;
}

/* Without the lock: it may be held. Signals that are pending may be due now: the thread looks for
 * them when it can. A process signal that it was told of and blocks now is told to another one, as
 * the bit is cleared. */
static void mask_by_program(struct thread *self, uint64_t mask)
{
    at_store_rlx(&self->sigmask, mask & ~SIGNALS_UNBLOCKABLE);
    rt_cancel_set(self, CANCEL_SIGNALLED, 0);
}

static void arrived(const void *info, bool thread)
{
    posix_signal_arrived(info, thread ? signals_taker() : NULL);
}

const struct port_signal_upcalls posix_signal_upcalls = {.run = run_caused,
                                                         .stack = stack_for,
                                                         .on_stack = takes_on_stack,
                                                         .mask = mask_by_program,
                                                         .everyone = posix_signal_everyone,
                                                         .arrived = arrived,
                                                         .take = take,
                                                         .pump = posix_signals_pump};

/* ---- record of handlers that have run ---- */

void posix_signals_expect(void)
{
    struct posix_signals *s = rt_signals ? rt_self()->signals : NULL;
    if (s != NULL) {
        s->ran = s->ran_plain = false;
    }
}

enum posix_ran posix_signals_ran(void)
{
    const struct posix_signals *s = rt_signals ? rt_self()->signals : NULL;
    return s == NULL || !s->ran ? RAN_NOTHING : s->ran_plain ? RAN_PLAIN : RAN_RESTART;
}

bool posix_interrupted(bool restarts)
{
    signals_ask(rt_signals ? rt_self()->signals : NULL);
    enum posix_ran ran = posix_signals_ran();
    posix_signals_expect();
    return ran == RAN_PLAIN || (ran == RAN_RESTART && !restarts);
}
