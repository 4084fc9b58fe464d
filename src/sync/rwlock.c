/* SPDX-License-Identifier: MIT */
/*
 * rwlock.c - readers-writer lock with hand-over.
 *
 * word: number of readers in the low 30 bits; RW_WRITER: a writer holds it; RW_WAITING: somebody is
 * queued. Invariants:
 *   1. RW_WAITING is set and cleared under the queue lock only, and is set while anyone is queued.
 *   2. Fast paths: a reader enters if there is no writer, and, where writers are preferred, if
 *      nobody waits; it leaves without the lock only while RW_WAITING is clear or other readers
 *      remain. A writer enters a word of 0.
 *   3. The last holder to leave a word with RW_WAITING hands over under the queue lock: to the
 *      first waiter if it is a writer; else to every queued reader (or, where writers are
 *      preferred, to the readers before the first writer). These own the lock when they wake.
 * Lock: queue.lock (RANK_WAITQ).
 */
#include <errno.h>

#include "cancel.h"
#include "mutant.h"
#include "sync.h"
#include "wake.h"

#define RW_WRITER 0x80000000u
#define RW_WAITING 0x40000000u
#define RW_READERS 0x3fffffffu

enum { KIND_READER, KIND_WRITER };

void rt_rwlock_init(struct rt_rwlock *l)
{
    *l = (struct rt_rwlock){0};
    at_init(&l->word, 0u);
    at_init(&l->queue.lock.word, 0u);
}

ALWAYS_INLINE bool rw_admits_reader(const struct rt_rwlock *l, uint32_t word)
{
    return !(word & RW_WRITER) && !(l->prefer_writer && (word & RW_WAITING));
}

int rt_rwlock_tryrdlock(struct rt_rwlock *l)
{
    uint32_t word = at_load_rlx(&l->word);
    while (rw_admits_reader(l, word)) {
        if (at_cas_acq(&l->word, &word, word + 1)) { /* ORDER(rwlock) */
            return 0;
        }
    }
    return -EBUSY;
}

int rt_rwlock_trywrlock(struct rt_rwlock *l)
{
    uint32_t word = 0;
    return at_cas_acq(&l->word, &word, RW_WRITER) ? 0 : -EBUSY; /* ORDER(rwlock) */
}

/* Under the queue lock: enter (true) or set RW_WAITING (false). */
static bool rw_enter_or_mark_locked(struct rt_rwlock *l, bool writer)
{
    uint32_t word = at_load_rlx(&l->word);
    RT_ASSERT(state_is_held(&l->queue.lock, RANK_WAITQ));
    for (;;) {
        bool enter = writer
                         ? (word & (RW_WRITER | RW_READERS)) == 0 && waitq_empty_locked(&l->queue)
                         : rw_admits_reader(l, word);
        uint32_t next = !enter ? word | RW_WAITING : writer ? word | RW_WRITER : word + 1;
        if (at_cas_acq(&l->word, &word, next)) { /* ORDER(rwlock) */
            return enter;
        }
    }
}

/* Unlink the readers that may enter now. */
static uint32_t rw_pop_readers_locked(struct rt_rwlock *l, struct list *woken)
{
    uint32_t n = 0;
    struct thread *t;
    RT_ASSERT(state_is_held(&l->queue.lock, RANK_WAITQ));
    while ((t = waitq_peek_locked(&l->queue)) != NULL) {
        if (l->prefer_writer && t->wait_kind != KIND_READER) {
            break;
        }
        t = waitq_pop_kind_locked(&l->queue, KIND_READER);
        if (t == NULL) {
            break;
        }
        list_push_back(woken, &t->wait_link);
        n++;
        if (MUTANT(RWLOCK_READERS)) {
            break;
        }
    }
    return n;
}

ALWAYS_INLINE uint32_t rw_waiting_bit_locked(const struct rt_rwlock *l)
{
    return waitq_empty_locked(&l->queue) ? 0 : RW_WAITING;
}

/* The caller owns the word as a writer: give it to the next owner or owners. */
static void rw_hand_over_locked(struct rt_rwlock *l, struct list *woken)
{
    uint32_t word = 0;
    RT_ASSERT(at_peek(&l->word) == (RW_WRITER | RW_WAITING));
    struct thread *t = waitq_pop_locked(&l->queue);
    if (t != NULL) {
        bool writer = t->wait_kind == KIND_WRITER;
        list_push_back(woken, &t->wait_link);
        word = writer ? RW_WRITER : 1;
        if (!writer && !MUTANT(RWLOCK_READERS)) {
            word += rw_pop_readers_locked(l, woken);
        }
    }
    at_store_rel(&l->word, word | rw_waiting_bit_locked(l)); /* ORDER(rwlock) */
}

/* A waiter gave up: readers that waited only because of it may enter. If it was the last one,
 * nobody waits. While a reader holds the lock and RW_WAITING is set, no writer gets in and the last
 * reader cannot leave without the queue lock; so adding readers needs no loop. */
static void rw_gave_up(struct rt_rwlock *l, unsigned long irq)
{
    struct list woken;
    list_init(&woken);
    state_lock(&l->queue.lock, RANK_WAITQ);
    uint32_t word = at_load_rlx(&l->word);
    if ((word & RW_WAITING) && !(word & RW_WRITER)) {
        RT_ASSERT((word & RW_READERS) != 0);
        uint32_t readers = rw_pop_readers_locked(l, &woken);
        at_add_acq_rel(&l->word, readers); /* ORDER(rwlock) */
    }
    if (waitq_empty_locked(&l->queue)) {
        uint32_t was = at_and_acq_rel(&l->word, ~RW_WAITING); /* ORDER(rwlock) */
        RT_ASSERT((was & RW_WRITER) == 0 || (was & RW_READERS) == 0);
    }
    state_unlock(&l->queue.lock, RANK_WAITQ);
    rt_wake_list(port_cpu_self(), &woken, PIRN_WHY_HANDOFF, irq);
}

static int rw_wait(struct rt_rwlock *l, bool writer, uint64_t deadline)
{
    unsigned long irq;
    int result = 0;
    RT_ASSERT(rt_may_wait(writer ? WAIT_WRLOCK : WAIT_RDLOCK, l) && lockrank_none_held());
    const struct thread *self = rt_self();
    rt_enter(&irq);
    state_lock(&l->queue.lock, RANK_WAITQ);
    if (rw_enter_or_mark_locked(l, writer)) {
        state_unlock(&l->queue.lock, RANK_WAITQ);
    } else {
        struct waitq_options options = {.deadline = deadline,
                                        .object = l,
                                        .reason = writer ? WAIT_WRLOCK : WAIT_RDLOCK,
                                        .kind = writer ? KIND_WRITER : KIND_READER,
                                        .removable = cancel_is_async(self),
                                        .interruptible = rt_signals,
                                        .rank = RANK_WAITQ};
        result = waitq_block_locked(&l->queue, &options);
        RT_ASSERT(result != -ETIMEDOUT || deadline != UINT64_MAX);
        if (result != 0) {
            rw_gave_up(l, irq);
        }
    }
    rt_leave(irq);
    return result;
}

static int rw_lock_slow(struct rt_rwlock *l, bool writer, uint64_t deadline)
{
    int result;
    while ((result = rw_wait(l, writer, deadline)) == -EINTR) {
        rt_signals_act();
    }
    return result;
}

int rt_rwlock_rdlock_until(struct rt_rwlock *l, uint64_t deadline)
{
    return rt_rwlock_tryrdlock(l) == 0 ? 0 : rw_lock_slow(l, false, deadline);
}

int rt_rwlock_wrlock_until(struct rt_rwlock *l, uint64_t deadline)
{
    return rt_rwlock_trywrlock(l) == 0 ? 0 : rw_lock_slow(l, true, deadline);
}

/* The last holder leaves and RW_WAITING was set. False: look at the word again. */
static bool rw_unlock_slow(struct rt_rwlock *l, uint32_t word)
{
    struct list woken;
    unsigned long irq;
    list_init(&woken);
    struct cpu *cpu = rt_enter(&irq);
    state_lock(&l->queue.lock, RANK_WAITQ);
    /* Take it as a writer, so that no reader enters while it is handed over. */
    bool owned = at_cas_acq_rel(&l->word, &word, RW_WRITER | RW_WAITING); /* ORDER(rwlock) */
    if (owned) {
        rw_hand_over_locked(l, &woken);
    }
    state_unlock(&l->queue.lock, RANK_WAITQ);
    rt_wake_list(cpu, &woken, PIRN_WHY_HANDOFF, irq);
    rt_leave_woken(irq);
    return owned;
}

int rt_rwlock_unlock(struct rt_rwlock *l)
{
    uint32_t word = at_load_rlx(&l->word);
    for (;;) {
        uint32_t readers = word & RW_READERS;
        bool writer = word & RW_WRITER;
        RT_ASSERT(!writer || readers == 0);
        if (!writer && readers == 0) {
            return -EPERM;
        }
        if ((word & RW_WAITING) && (writer || readers == 1)) {
            if (rw_unlock_slow(l, word)) {
                return 0;
            }
            word = at_load_rlx(&l->word);
        } else if (at_cas_rel(&l->word, &word, writer ? 0 : word - 1)) { /* ORDER(rwlock) */
            return 0;
        }
    }
}
