/* SPDX-License-Identifier: MIT */
/*
 * posix_signal_wait.c - waiting for signals, and reading the pending ones. A thread that waits for
 * a signal is on `waiters` with a wait queue of its own: no kernel thread is held up. See
 * posix_signal.h.
 */
#include <sys/signalfd.h>

#include "../linux/posix_io.h"
#include "mutant.h"
#include "port_posix.h"
#include "posix_signal.h"

#define SET_BYTES sizeof(uint64_t)

static uint64_t pending_locked(const struct thread *self)
{
    const struct posix_signals *s = self->signals;
    return signals.process.set | (s != NULL ? s->pending.set : 0);
}

int pirn_posix_sigpending(sigset_t *set)
{
    unsigned long irq;
    uint64_t pending;
    if (!posix_signals_mine()) {
        pending = port_signals_of_kernel();
    } else {
        struct thread *self = rt_self();
        posix_signals_fetch();
        signals_lock(&irq);
        pending = pending_locked(self) | port_signals_of_kernel();
        signals_unlock(irq);
        pending &= at_load_rlx(&self->sigmask);
    }
    sigemptyset(set);
    *(uint64_t *)(void *)set = pending;
    return 0;
}

static void waiter_remove_locked(struct posix_waiter *w)
{
    struct posix_waiter **at = &signals.waiters;
    while (*at != w) {
        at = &(*at)->next;
    }
    *at = w->next;
}

/* Take a pending signal, or join the list of waiters. */
static bool waiter_begin(struct posix_waiter *w, bool waits)
{
    struct posix_signals *s;
    unsigned long irq;
    posix_signals_fetch();
    signals_lock(&irq);
    s = w->thread->signals;
    w->got = (s != NULL && pending_take_locked(&s->pending, w->set, &w->info)) ||
             pending_take_locked(&signals.process, w->set, &w->info);
    bool listed = !w->got && waits;
    if (MUTANT(SIGNAL_UNLISTED)) {
        signals_unlock(irq);
        signals_lock(&irq);
    }
    if (listed) {
        w->next = signals.waiters;
        signals.waiters = w;
    }
    signals_unlock(irq);
    return listed;
}

/* 0, -ETIMEDOUT, -ECANCELED, -EINTR. When the lock is free, the sender no longer uses the
 * record. */
static int waiter_wait(struct posix_waiter *w, uint64_t deadline)
{
    unsigned long irq;
    int error = 0;
    struct waitq_options options = {.deadline = deadline,
                                    .object = w,
                                    .reason = WAIT_SIGNAL,
                                    .removable = true,
                                    .interruptible = true,
                                    .rank = RANK_WAITQ};
    rt_self(); /* a handler may have lost the CPU since the caller checked */
    rt_enter(&irq);
    state_lock(&w->queue.lock, RANK_WAITQ);
    if (w->got) {
        state_unlock(&w->queue.lock, RANK_WAITQ);
    } else {
        error = waitq_block_locked(&w->queue, &options);
    }
    rt_leave(irq);
    signals_lock(&irq);
    waiter_remove_locked(w);
    signals_unlock(irq);
    return w->got ? 0 : error;
}

static int kernel_wait(const sigset_t *set, siginfo_t *info, const struct timespec *limit)
{
    bool waits = limit == NULL || limit->tv_sec != 0 || limit->tv_nsec != 0;
    return (int)IO_CALL_LIMITED(waits, 3, NULL, SYS_rt_sigtimedwait, set, info, limit, SET_BYTES);
}

static int wait_until(uint64_t set, siginfo_t *info, uint64_t deadline, bool waits)
{
    posix_signals_expect();
    for (;;) {
        struct posix_waiter w = {.thread = rt_self(), .set = set};
        at_init(&w.queue.lock.word, 0u);
        int error = waiter_begin(&w, waits) ? waiter_wait(&w, deadline) : -ETIMEDOUT;
        if (w.got) {
            *info = w.info;
            return w.info.si_signo;
        }
        if (error != -EINTR) {
            return posix_fail(error == -ETIMEDOUT ? EAGAIN : -error);
        }
        if (posix_interrupted(false)) {
            return posix_fail(EINTR);
        }
    }
}

int pirn_posix_sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *limit)
{
    siginfo_t unused = {0}, *to = info != NULL ? info : &unused;
    bool waits = limit == NULL || limit->tv_sec != 0 || limit->tv_nsec != 0;
    int got;
    if (limit != NULL && (limit->tv_sec < 0 || limit->tv_nsec < 0 || limit->tv_nsec > 999999999)) {
        return posix_fail(EINVAL);
    }
    posix_signals_begin();
    if (posix_signals_mine() && !io_is_plain()) {
        got = wait_until(posix_signal_set(set), to, io_deadline(limit), waits);
    } else {
        got = kernel_wait(set, to, limit);
    }
    if (got > 0 && to->si_code == SI_TKILL) {
        to->si_code = SI_USER; /* as the C library does, for raise and pthread_kill */
    }
    return got;
}

int pirn_posix_sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    return pirn_posix_sigtimedwait(set, info, NULL);
}

/* Continues after a handler. */
int pirn_posix_sigwait(const sigset_t *set, int *signal)
{
    int got;
    do {
        got = pirn_posix_sigtimedwait(set, NULL, NULL);
    } while (got < 0 && io_errno() == EINTR);
    if (got < 0) {
        int error = io_errno();
        if (error == ECANCELED) {
            posix_point();
        }
        return error;
    }
    *signal = got;
    return 0;
}

/* Waits until a handler has run. Returns -1; errno is EINTR or ECANCELED. */
static int wait_for_handler(void)
{
    struct rt_sem nobody;
    int error;
    rt_sem_init(&nobody, 0);
    do {
        error = rt_sem_wait_point(&nobody, UINT64_MAX);
    } while (error == -EINTR && !posix_interrupted(false));
    return posix_fail(-error);
}

int pirn_posix_pause(void)
{
    if (!posix_signals_begin() || io_is_plain()) {
        return (int)IO_CALL(IO_BLOCKS, SYS_ppoll, NULL, 0, NULL, NULL, SET_BYTES);
    }
    posix_signals_expect();
    return wait_for_handler();
}

int pirn_posix_sigsuspend(const sigset_t *mask)
{
    if (!posix_signals_begin() || io_is_plain()) {
        return (int)IO_CALL(IO_BLOCKS, SYS_rt_sigsuspend, mask, SET_BYTES);
    }
    posix_signals_expect();
    posix_mask_lend(posix_signal_set(mask));
    wait_for_handler();
    int error = io_errno();
    posix_mask_back();
    return posix_fail(error);
}

/* Signals that the program reads from the kernel are no longer fetched for threads. The interface
 * is for programs that block these signals in all threads. */
int pirn_posix_signalfd(int fd, const sigset_t *set, int flags)
{
    uint64_t word = posix_signal_set(set);
    posix_signals_begin();
    port_signals_leave_to_kernel(word);
    return (int)syscall(SYS_signalfd4, fd, &word, SET_BYTES, flags);
}
