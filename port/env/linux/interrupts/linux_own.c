/* SPDX-License-Identifier: MIT */
/*
 * linux_own.c (Linux) - signals and timers of the runtime's own: for ticks (linux_preempt.c),
 * samples (linux_prof.c), and workers that sleep in the kernel (linux_blocked.c).
 *
 * The C library gives real-time signals to any caller: SIGRTMIN or SIGRTMAX moves, so the program
 * uses none of ours. A program that makes the system call itself can take them nevertheless: Go's
 * runtime installs a handler for every signal when it starts. Ticks would end, and threads wait for
 * ever. So the monitor looks at the handlers from time to time and puts ours back. Such a program
 * does not need these signals, as nobody knows of them. What else it needs: linux_direct.c.
 *
 * An entry of `own` is written before `count` covers it, and never again. ORDER(own-signals)
 */
#include "linux.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000u /* of a second */

#define MAX_OWN 4u

static struct {
    struct sigaction action[MAX_OWN];
    int signal[MAX_OWN];
    unsigned count;
    uint32_t lock; /* writers: the start, and the profiler's */
} own;

int __libc_allocate_rtsig(int high) __attribute__((weak));

static void own_note(int signal, const struct sigaction *action)
{
    while (__atomic_exchange_n(&own.lock, 1, __ATOMIC_ACQUIRE) != 0) {
    }
    unsigned at = 0;
    while (at < own.count && own.signal[at] != signal) {
        at++;
    }
    if (at == own.count) {
        RT_ASSERT(at < MAX_OWN);
        own.action[at] = *action;
        own.signal[at] = signal;
        __atomic_store_n(&own.count, at + 1, __ATOMIC_RELEASE); /* ORDER(own-signals) */
    }
    __atomic_store_n(&own.lock, 0, __ATOMIC_RELEASE);
}

void own_signals_look(void)
{
    unsigned count = __atomic_load_n(&own.count, __ATOMIC_ACQUIRE); /* ORDER(own-signals) */
    RT_ASSERT(count <= MAX_OWN);
    for (unsigned i = 0; i < count; i++) {
        struct sigaction now;
        if (__sigaction(own.signal[i], NULL, &now) == 0 &&
            now.sa_sigaction != own.action[i].sa_sigaction) {
            __sigaction(own.signal[i], &own.action[i], NULL);
            port_signals_direct();
        }
    }
    direct_look();
}

/* QEMU's user mode accepts handlers for signals that it can't send. */
static bool signal_can_be_sent(int number)
{
    int timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = number};
    if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) != 0) {
        return errno != EINVAL;
    }
    syscall(SYS_timer_delete, timer);
    return true;
}

/* -1: none is left. */
static int signal_allocate(bool first)
{
    int number;
    do {
        number = __libc_allocate_rtsig != NULL ? __libc_allocate_rtsig(first) : -1;
    } while (number >= 0 && !signal_can_be_sent(number));
    return number;
}

int own_signal(int *signal, bool first, const struct sigaction *action, const char **why)
{
    RT_ASSERT(*signal >= 0 && *signal <= 64);
    int number = *signal != 0 ? *signal : signal_allocate(first);
    report_own_handler((const void *)(uintptr_t)action->sa_sigaction);
    if (number < 0) {
        *why = "no real-time signal is free";
        return -ENOTSUP;
    }
    struct sigaction old;
    if (__sigaction(number, action, &old) != 0) {
        *why = "the signal's handler is refused";
        return -ENOTSUP;
    }
    if ((old.sa_flags & (SA_SIGINFO | SA_ONSTACK)) == (SA_SIGINFO | SA_ONSTACK) && *signal == 0) {
        port_signals_direct(); /* it catches all that there are */
    }
    if (number > SIGSTKFLT) { /* which is not ours alone */
        own_note(number, action);
    }
    *signal = number;
    return 0;
}

/* Including those of the C library, which sigfillset leaves out. */
void own_signal_alone(struct sigaction *action)
{
    memset(&action->sa_mask, 0xff, sizeof(action->sa_mask));
}

void own_signal_unmask(int signal, uint64_t *set)
{
    RT_ASSERT(signal >= 0 && signal <= 64);
    if (signal != 0) {
        *set &= ~(UINT64_C(1) << (signal - 1));
    }
}

int own_timer(clockid_t clock, int signal)
{
    int timer;
    RT_ASSERT(signal >= 1 && signal <= 64);
    uint64_t set = UINT64_C(1) << (signal - 1);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = signal};
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    bool made = syscall(SYS_timer_create, clock, &event, &timer) == 0;
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, NULL, sizeof(set));
    return made ? timer : -1;
}

void own_timer_set(int timer, uint64_t first_ns, uint64_t interval_ns)
{
    RT_ASSERT(timer >= 0);
    struct itimerspec t = {.it_value = {(time_t)(first_ns / NS), (long)(first_ns % NS)},
                           .it_interval = {(time_t)(interval_ns / NS), (long)(interval_ns % NS)}};
    syscall(SYS_timer_settime, timer, 0, &t, NULL);
}
