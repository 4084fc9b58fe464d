/* SPDX-License-Identifier: MIT */
/*
 * linux_kept.c (Linux) - what the kernel says (siginfo_t) of signals that come where they cannot be
 * passed on at once: in a thread inside the runtime, until it leaves; at a carrier without a
 * thread, until the receiver fetches them. Called by linux_signals.c. There is no allocation and no
 * lock, because the caller may have interrupted either.
 *
 * Invariants:
 *   1. A record belongs to the thread whose list it is on, from the moment when it is claimed until
 *      it is taken. A thread that ends puts nothing on its list (linux_signals.c), so no record is
 *      left behind in storage that is freed.
 *   2. A list is changed by its thread, and by handlers on the kernel thread that executes it then:
 *      they put records in front, by a compare-and-swap. The thread takes the last one, inside the
 *      runtime, where no handler takes any.
 *   3. Of the signals for the receiver there is one place for each number. Its state says who may
 *      use it. The set of pending ones is linux_signals.c's; without a place, or a record, a signal
 *      arrives without what the kernel said.
 */
#include "linux.h"

#include <string.h>

#define RECORDS 64u
#define STANDARD 32 /* signals below are pending once, and only they are kept */
#define BIT(signal) (UINT64_C(1) << ((signal)-1))

static struct kept {
    uint32_t used;
    uint32_t next; /* its index and 1; 0: none */
    siginfo_t info;
} records[RECORDS];

static __thread uint32_t first __attribute__((tls_model("initial-exec")));
static __thread uint64_t bare __attribute__((tls_model("initial-exec"))); /* without a record */

static struct kept *claim(void)
{
    for (unsigned i = 0; i < RECORDS; i++) {
        if (__atomic_load_n(&records[i].used, __ATOMIC_RELAXED) == 0 &&
            __atomic_exchange_n(&records[i].used, 1, __ATOMIC_ACQUIRE) == 0) { /* ORDER(kept) */
            return &records[i];
        }
    }
    return NULL;
}

void kept_put(const siginfo_t *info)
{
    RT_ASSERT(port_irq_is_off());
    struct kept *k = claim();
    if (k == NULL) {
        __atomic_fetch_or(&bare, BIT(info->si_signo), __ATOMIC_RELAXED);
        return;
    }
    k->info = *info;
    uint32_t before = __atomic_load_n(&first, __ATOMIC_RELAXED);
    do {
        k->next = before;
    } while (!__atomic_compare_exchange_n(&first, &before, (uint32_t)(k - records) + 1, false,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

static bool bare_take(siginfo_t *info)
{
    uint64_t set = __atomic_load_n(&bare, __ATOMIC_RELAXED);
    if (set == 0) {
        return false;
    }
    memset(info, 0, sizeof(*info));
    info->si_signo = __builtin_ctzll(set) + 1;
    info->si_code = SI_KERNEL;
    __atomic_fetch_and(&bare, ~BIT(info->si_signo), __ATOMIC_RELAXED);
    return true;
}

bool kept_take(siginfo_t *info)
{
    uint32_t at = __atomic_load_n(&first, __ATOMIC_RELAXED), last = at;
    RT_ASSERT(port_irq_is_off());
    if (at == 0) {
        return bare_take(info);
    }
    for (uint32_t next; (next = records[last - 1].next) != 0; last = next) {
        at = last;
    }
    if (last == at) { /* it is the first as well, unless a handler has put one in front */
        uint32_t head = last;
        if (!__atomic_compare_exchange_n(&first, &head, 0, false, __ATOMIC_RELAXED,
                                         __ATOMIC_RELAXED)) {
            return kept_take(info);
        }
    } else {
        records[at - 1].next = 0;
    }
    *info = records[last - 1].info;
    __atomic_store_n(&records[last - 1].used, 0, __ATOMIC_RELEASE); /* ORDER(kept) */
    return true;
}

bool kept_any(void)
{
    return (__atomic_load_n(&first, __ATOMIC_RELAXED) | __atomic_load_n(&bare, __ATOMIC_RELAXED)) !=
           0;
}

enum { FREE, IN_USE, FULL };
static struct {
    uint32_t state;
    siginfo_t info;
} places[STANDARD];

void kept_for_receiver(const siginfo_t *info)
{
    int i = info->si_signo;
    uint32_t state = FREE;
    if (i < STANDARD && __atomic_compare_exchange_n(&places[i].state, &state, IN_USE, false,
                                                    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        places[i].info = *info;
        __atomic_store_n(&places[i].state, FULL, __ATOMIC_RELEASE); /* ORDER(kept) */
    }
}

void kept_of_receiver(int signal, siginfo_t *info)
{
    uint32_t state = FULL;
    if (signal < STANDARD && __atomic_compare_exchange_n(&places[signal].state, &state, IN_USE,
                                                         false, __ATOMIC_ACQUIRE, /* ORDER(kept) */
                                                         __ATOMIC_RELAXED)) {
        *info = places[signal].info;
        __atomic_store_n(&places[signal].state, FREE, __ATOMIC_RELEASE);
        return;
    }
    memset(info, 0, sizeof(*info));
    info->si_signo = signal;
    info->si_code = SI_KERNEL;
}

void kept_forked(void)
{
    memset(records, 0, sizeof(records));
    memset(places, 0, sizeof(places));
    first = 0;
    bare = 0;
}
