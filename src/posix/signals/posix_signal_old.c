/* SPDX-License-Identifier: MIT */
/*
 * posix_signal_old.c - the older interfaces to actions and masks, built on the newer ones: signal
 * (BSD's and System V's), sigset and its relatives, siginterrupt, sigpause.
 */
#include <errno.h>

#include "../linux/posix_io.h"
#include "posix_signal.h"

/* Signals for which siginterrupt was called with a true flag. */
static _Atomic(uint64_t) interrupts;

static sigset_t set_of(int signal)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    return set;
}

static posix_handler *install(int signal, posix_handler *handler, int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;
    sigemptyset(&action.sa_mask);
    if (handler == SIG_ERR) {
        posix_fail(EINVAL);
        return SIG_ERR;
    }
    return pirn_posix_sigaction(signal, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

posix_handler *posix_signal_bsd(int signal, posix_handler *handler)
{
    bool ends = posix_signal_valid(signal) && (at_load_rlx(&interrupts) & SIGNAL_BIT(signal)) != 0;
    return install(signal, handler, ends ? 0 : SA_RESTART);
}

posix_handler *posix_signal_sysv(int signal, posix_handler *handler)
{
    return install(signal, handler, (int)SA_RESETHAND | (int)SA_NODEFER);
}

int pirn_posix_siginterrupt(int signal, int ends)
{
    struct sigaction action;
    if (pirn_posix_sigaction(signal, NULL, &action) != 0) {
        return -1;
    }
    if (ends) {
        at_or_acq_rel(&interrupts, SIGNAL_BIT(signal));
        action.sa_flags &= ~SA_RESTART;
    } else {
        at_and_acq_rel(&interrupts, ~SIGNAL_BIT(signal));
        action.sa_flags |= SA_RESTART;
    }
    return pirn_posix_sigaction(signal, &action, NULL);
}

static int change(int how, int signal)
{
    if (!posix_signal_valid(signal)) {
        return posix_fail(EINVAL);
    }
    sigset_t set = set_of(signal);
    return pirn_posix_sigprocmask(how, &set, NULL);
}

int pirn_posix_sighold(int signal)
{
    return change(SIG_BLOCK, signal);
}

int pirn_posix_sigrelse(int signal)
{
    return change(SIG_UNBLOCK, signal);
}

int pirn_posix_sigignore(int signal)
{
    return install(signal, SIG_IGN, 0) == SIG_ERR ? -1 : 0;
}

#ifndef SIG_HOLD
#define SIG_HOLD ((posix_handler *)2)
#endif

posix_handler *posix_sigset(int signal, posix_handler *handler)
{
    sigset_t set, before;
    if (!posix_signal_valid(signal)) {
        posix_fail(EINVAL);
        return SIG_ERR;
    }
    set = set_of(signal);
    if (handler == SIG_HOLD) {
        struct sigaction now;
        pirn_posix_sigprocmask(SIG_BLOCK, &set, &before);
        pirn_posix_sigaction(signal, NULL, &now);
        return sigismember(&before, signal) ? SIG_HOLD : now.sa_handler;
    }
    posix_handler *old = install(signal, handler, 0);
    if (old == SIG_ERR) {
        return SIG_ERR;
    }
    pirn_posix_sigprocmask(SIG_UNBLOCK, &set, &before);
    return sigismember(&before, signal) ? SIG_HOLD : old;
}

/* Waits until a handler has run, with the caller's mask without the signal (System V), or with this
 * mask (BSD). */
int posix_sigpause(int word, bool is_mask)
{
    sigset_t set;
    if (is_mask) {
        sigemptyset(&set);
        *(uint64_t *)(void *)&set = (uint32_t)word;
    } else {
        pirn_posix_sigprocmask(SIG_BLOCK, NULL, &set);
        if (sigdelset(&set, word) != 0) {
            return -1;
        }
    }
    return pirn_posix_sigsuspend(&set);
}

static int old_mask(int how, int word)
{
    sigset_t set, before;
    sigemptyset(&set);
    *(uint64_t *)(void *)&set = (uint32_t)word;
    pirn_posix_sigprocmask(how, &set, &before);
    return (int)*(const uint64_t *)(const void *)&before;
}

int posix_sigblock(int word)
{
    return old_mask(SIG_BLOCK, word);
}

int posix_sigsetmask(int word)
{
    return old_mask(SIG_SETMASK, word);
}
