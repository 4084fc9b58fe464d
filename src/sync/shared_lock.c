/* SPDX-License-Identifier: MIT */
/*
 * shared_lock.c - mutex and readers-writer lock between processes. See shared.h.
 *
 * Mutex: the classic one of three values (U. Drepper, "Futexes Are Tricky"). A waiter sets 2; so
 * does a thread that takes the mutex after waiting, because others may wait. An unlock that finds 2
 * wakes one waiter. The exchange is the last access to the memory: a wake-up by the address alone
 * is harmless if the memory is used for something else by then.
 *
 * Readers-writer lock: word has the number of readers, RW_WRITER, and RW_WAITING, which a thread
 * sets before it waits. The unlock after which nobody holds the lock clears RW_WAITING, counts an
 * event and wakes all waiters, which compete. Where writers are preferred, waiting writers are
 * counted, and readers wait while there is one. A writer that gives up may have been the last one,
 * so this is an event, too. A waiter reads the number of events, marks the word, looks once more,
 * and waits for the number to change. It cannot wait for the word to change, because the word may
 * have its old value again after an event.
 */
#include <errno.h>

#include "mutant.h"
#include "shared.h"

enum { SHM_FREE, SHM_HELD, SHM_CONTENDED };

int rt_shmutex_trylock(struct rt_shmutex *m)
{
    uint32_t free = SHM_FREE;
    return at_cas_acq(&m->word, &free, (uint32_t)SHM_HELD) ? 0 : -EBUSY; /* ORDER(mutex) */
}

int rt_shmutex_lock(struct rt_shmutex *m, const struct rt_shared_limit *limit)
{
    if (rt_shmutex_trylock(m) == 0) {
        return 0;
    }
    uint32_t before;
    while ((before = at_xchg_acq(&m->word, (uint32_t)SHM_CONTENDED)) !=
           SHM_FREE) { /* ORDER(mutex) */
        RT_ASSERT(before == SHM_HELD || before == SHM_CONTENDED);
        if (rt_shared_wait(&m->word, SHM_CONTENDED, limit) == -ETIMEDOUT) {
            return -ETIMEDOUT;
        }
    }
    return 0;
}

void rt_shmutex_unlock(struct rt_shmutex *m)
{
    uint32_t before = at_xchg_rel(&m->word, (uint32_t)SHM_FREE); /* ORDER(mutex) */
    RT_ASSERT(before <= SHM_CONTENDED);
    if (before == SHM_CONTENDED && !MUTANT(SHARED_DROP)) {
        rt_shared_wake(&m->word, 1);
    }
}

#define RW_WRITER 0x80000000u
#define RW_WAITING 0x40000000u
#define RW_READERS 0x3fffffffu

static bool admits_reader(struct rt_shrwlock *l, uint32_t word)
{
    return !(word & RW_WRITER) && !(l->prefer_writer && at_load_rlx(&l->writers) != 0);
}

int rt_shrwlock_tryrdlock(struct rt_shrwlock *l)
{
    uint32_t word = at_load_rlx(&l->word);
    while (admits_reader(l, word)) {
        if (at_cas_acq(&l->word, &word, word + 1)) { /* ORDER(rwlock) */
            return 0;
        }
    }
    return -EBUSY;
}

int rt_shrwlock_trywrlock(struct rt_shrwlock *l)
{
    uint32_t word = at_load_rlx(&l->word);
    while ((word & (RW_WRITER | RW_READERS)) == 0) {
        if (at_cas_acq(&l->word, &word, word | RW_WRITER)) { /* ORDER(rwlock) */
            return 0;
        }
    }
    return -EBUSY;
}

static void event(struct rt_shrwlock *l)
{
    at_add_acq_rel(&l->events, 1u); /* ORDER(rwlock) */
    if (!MUTANT(SHARED_DROP)) {
        rt_shared_wake(&l->events, RT_SHARED_ALL);
    }
}

static int wait_locked_out(struct rt_shrwlock *l, int (*try)(struct rt_shrwlock *l),
                           const struct rt_shared_limit *limit)
{
    while (try(l) != 0) {
        uint32_t events = at_load_acq(&l->events); /* ORDER(rwlock) */
        at_or_acq_rel(&l->word, RW_WAITING);       /* ORDER(rwlock) */
        if (try(l) == 0) {
            return 0; /* the mark costs an unlock a look */
        }
        if (rt_shared_wait(&l->events, events, limit) == -ETIMEDOUT) {
            return -ETIMEDOUT;
        }
    }
    return 0;
}

int rt_shrwlock_rdlock(struct rt_shrwlock *l, const struct rt_shared_limit *limit)
{
    return wait_locked_out(l, rt_shrwlock_tryrdlock, limit);
}

int rt_shrwlock_wrlock(struct rt_shrwlock *l, const struct rt_shared_limit *limit)
{
    if (!l->prefer_writer) {
        return wait_locked_out(l, rt_shrwlock_trywrlock, limit);
    }
    if (rt_shrwlock_trywrlock(l) == 0) {
        return 0;
    }
    at_add_acq_rel(&l->writers, 1u); /* ORDER(rwlock) */
    int error = wait_locked_out(l, rt_shrwlock_trywrlock, limit);
    uint32_t writers = at_sub_acq_rel(&l->writers, 1u); /* ORDER(rwlock) */
    RT_ASSERT(writers != 0);
    if (writers == 1 && error != 0) {
        event(l);
    }
    return error;
}

int rt_shrwlock_unlock(struct rt_shrwlock *l)
{
    uint32_t word = at_load_rlx(&l->word);
    for (;;) {
        uint32_t readers = word & RW_READERS;
        bool writer = word & RW_WRITER;
        RT_ASSERT(!writer || readers == 0);
        if (!writer && readers == 0) {
            return -EPERM;
        }
        uint32_t next = writer || readers == 1 ? 0 : word - 1;
        if (at_cas_rel(&l->word, &word, next)) { /* ORDER(rwlock) */
            if (next == 0 && (word & RW_WAITING)) {
                event(l);
            }
            return 0;
        }
    }
}
