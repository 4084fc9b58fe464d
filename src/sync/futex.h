/* SPDX-License-Identifier: MIT */
/*
 * futex.h - waiting for a word in memory to change, as Linux's futexes do, but without the kernel.
 * For words that have no room for a wait queue: waiters share a few queues, chosen by address.
 *
 * Callers: once.c; the POSIX layer's syscall(SYS_futex, ...) (posix_futex.c).
 */
#ifndef PIRN_SYNC_FUTEX_H
#define PIRN_SYNC_FUTEX_H

#include "cpu.h"

struct futex_wait {
    uint32_t value;
    uint64_t deadline; /* ns of port_now; UINT64_MAX: none */
    uint8_t reason;    /* enum wait_reason */
};

/* Wait until rt_futex_wake for the word, unless it does not hold the value (any more). Any thread,
 * outside the runtime; no cancellation point. 0, or
 *   -EAGAIN     the word holds another value
 *   -ETIMEDOUT  the deadline has passed
 *   -EINTR      with rt_signals: there are signals for the caller, which must take them */
int rt_futex_wait(_Atomic(uint32_t) *word, const struct futex_wait *wait);

/* Wake the first n waiters of the word, by priority, then in their order. Returns how many there
 * were. Does not read the word, which may be gone. Any thread; signal handlers, too. */
unsigned rt_futex_wake(const _Atomic(uint32_t) *word, unsigned n);

/* Forget all waiters: in the child of a fork, between runs of the simulator. */
void rt_futex_reset(void);

#endif
