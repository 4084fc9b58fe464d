/* SPDX-License-Identifier: MIT */
/*
 * flags.h - event flags: a word of 32 bits. Threads wait until any or all of some bits are set;
 * threads and interrupt handlers set them.
 *
 *     #include <pirn/flags.h>
 *
 *     enum { RECEIVED = 1 << 0, SENT = 1 << 1 };
 *     static pirn_flags_t events = PIRN_FLAGS_INIT;
 *
 *     pirn_flags_set(&events, RECEIVED);                                     a handler
 *     pirn_flags_wait(&events, RECEIVED | SENT, PIRN_FLAGS_CLEAR, &got);     a thread
 *
 * The conventions are those of pirn.h. (After ThreadX tx_event_flags, CMSIS-RTOS2 osEventFlags and
 * Zephyr k_event.)
 */
#ifndef PIRN_FLAGS_H
#define PIRN_FLAGS_H

#include <pirn/pirn.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pirn_flags {
    uint32_t opaque[4];
    pirn_waitq_t queue;
} pirn_flags_t;
#define PIRN_FLAGS_INIT                                                                            \
    {                                                                                              \
        {0},                                                                                       \
        {                                                                                          \
            {0}, 0                                                                                 \
        }                                                                                          \
    }

/* How a thread waits: any bit is enough (0), or ALL are needed; and with CLEAR the bits that it
 * waited for are cleared when it gets them. */
#define PIRN_FLAGS_ANY 0u
#define PIRN_FLAGS_ALL 1u
#define PIRN_FLAGS_CLEAR 2u

/* Clear all bits, as in a zeroed object. No other thread may use it meanwhile. */
void pirn_flags_init(pirn_flags_t *flags);

/*
 * Set bits. Every waiter whose bits are there now is woken, in the order of the queue: priority,
 * then first come, first served. Each gets the same word, also if one of them clears bits for which
 * another one waits; what they clear is cleared when all have been found. Returns the word before
 * the call. The time grows with the number of waiters.
 *
 * pirn_flags_clear: clear bits; returns the word before the call. pirn_flags_get: the word; another
 * thread may change it at once.
 *
 * Context of the three: threads, also between pirn_call_begin and pirn_call_end; interrupt handlers
 * on boards. No cancellation point.
 */
uint32_t pirn_flags_set(pirn_flags_t *flags, uint32_t bits);
uint32_t pirn_flags_clear(pirn_flags_t *flags, uint32_t bits);
uint32_t pirn_flags_get(pirn_flags_t *flags);

/*
 * Wait for bits of the word, as `how` says: PIRN_FLAGS_ANY or PIRN_FLAGS_ALL, and perhaps
 * PIRN_FLAGS_CLEAR. pirn_flags_wait waits until they are there; trywait returns -EAGAIN at once;
 * wait_until waits until `deadline`, ns of pirn_now(). `got`, if it is not NULL, gets the word as
 * it was when the wait ended, before bits were cleared; it is not changed if the call fails.
 *
 * 0 or
 *   -EINVAL     `bits` is 0, or `how` has other bits
 *   -EAGAIN     trywait: the bits are not there
 *   -ETIMEDOUT  wait_until: the deadline has passed
 * Context: threads; pirn_flags_trywait also interrupt handlers on boards. No cancellation point.
 */
int pirn_flags_wait(pirn_flags_t *flags, uint32_t bits, unsigned how, uint32_t *got);
int pirn_flags_trywait(pirn_flags_t *flags, uint32_t bits, unsigned how, uint32_t *got);
int pirn_flags_wait_until(pirn_flags_t *flags, uint32_t bits, unsigned how, uint32_t *got,
                          uint64_t deadline);

#ifdef __cplusplus
}
#endif

#endif
