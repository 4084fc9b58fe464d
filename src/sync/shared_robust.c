/* SPDX-License-Identifier: MIT */
/*
 * shared_robust.c - robust mutexes between processes. See shared.h.
 *
 * The protocol is that of Linux and of the C library (Linux:
 * Documentation/locking/robust-futexes). The word is the number of the kernel thread that has
 * taken the mutex, ROBUST_WAITERS if somebody may wait, or ROBUST_DIED without a number: the
 * owner has ended with the mutex. Each kernel thread has a list of the mutexes that it has taken.
 * When it ends, the kernel goes through the list: words with that number become ROBUST_DIED, and
 * one waiter each is woken.
 *
 * The owner here is a user thread, which moves between kernel threads. A kernel thread that runs
 * user threads ends with the process only, so the mutex stays on the list of the one that has taken
 * it. A user thread that ends before the process does what the kernel would (rt_robust_end).
 *
 * Invariants:
 *   1. A word with the number of one of our kernel threads is on that thread's list, or it is what
 *      that thread's list calls `pending`. So the kernel finds it, whenever the thread ends: also
 *      when all threads of the process end one after another, as the others go on for a moment.
 *      Therefore a thread writes only its own number into a word, and only after `pending`. To give
 *      a mutex up that another kernel thread has taken, it first makes it its own. (A kernel thread
 *      reads its own list in the end. So the order of its own writes in the program is enough.)
 *   2. The lists are changed under `robust.lock`, interrupts off, so that the caller stays on its
 *      kernel thread. What the kernel follows, the field `next` of a mutex, lies in memory that
 *      other processes may write; we only write it, and know the order by `newer` and `older`.
 *   3. A thread that waits has the mutex as `pending`, on the kernel thread that waits for it,
 *      until it has taken it: if a process ends after it was woken, and before that, the kernel
 *      wakes another waiter (rt_shared_wait_pending).
 *   4. A hold is on the list thread->held of its owner, which alone changes that list.
 *   5. `owner` says whether the data may be inconsistent (ROBUST_INCONSISTENT), or will be for ever
 *      (ROBUST_LOST): only the holder of the word reads and writes it, so relaxed accesses suffice.
 *
 * Not safe: while a process is being killed, one of its threads may give a mutex up when the kernel
 * is reading the list that has it. If another process takes the mutex at that moment, the kernel
 * follows that one's pointer, and stops. The C library has no such case, since there only the owner
 * changes its list. It needs a thread that executes for microseconds after the process was killed.
 */
#include <errno.h>

#include "lockrank.h"
#include "mutant.h"
#include "omutex.h"
#include "port_processes.h"
#include "runtime.h"
#include "shared.h"

#define ROBUST_WAITERS 0x80000000u
#define ROBUST_DIED 0x40000000u
#define ROBUST_TID 0x3fffffffu

/* Values of `owner`: the C library's. */
#define ROBUST_INCONSISTENT 0x7fffffffu
#define ROBUST_LOST 0x7ffffffeu

#define FIELD(field) ((_Atomic(uint32_t) *)&(field))

/* A mutex that a thread of this process holds. */
struct hold {
    struct rt_omutex held; /* in thread->held: `next`, and `kind` with MUTEX_SHARED */
    struct rt_shmutex *mutex;
    struct port_robust_list *list; /* that of the kernel thread that has taken it */
    uint32_t tid;                  /* the number of that one */
    struct hold *newer, *older;    /* (robust.lock) among all; unused ones: `older` */
};

#define BLOCK_HOLDS 32
struct block {
    struct block *next;
    struct hold holds[BLOCK_HOLDS];
};

static struct {
    spinlock_t lock;
    struct hold *newest;
    struct hold *unused;
    struct block *blocks; /* all; they stay */
} robust;

static struct hold *hold_of(struct rt_omutex *held)
{
    RT_ASSERT(held->kind & MUTEX_SHARED);
    return CONTAINER_OF(held, struct hold, held);
}

static void unused_locked(struct block *block)
{
    for (unsigned i = 0; i < BLOCK_HOLDS; i++) {
        block->holds[i].older = robust.unused;
        robust.unused = &block->holds[i];
    }
}

void rt_robust_forked(struct thread *survivor)
{
    at_init(&robust.lock.word, 0u);
    robust.newest = robust.unused = NULL;
    for (struct block *block = robust.blocks; block != NULL; block = block->next) {
        unused_locked(block);
    }
    struct rt_omutex **at = survivor != NULL ? &survivor->held : NULL;
    while (at != NULL && *at != NULL) {
        if ((*at)->kind & MUTEX_SHARED) {
            *at = (*at)->next;
        } else {
            at = &(*at)->next;
        }
    }
}

void rt_robust_reset(void)
{
    at_init(&robust.lock.word, 0u);
    robust.newest = robust.unused = NULL;
    while (robust.blocks != NULL) {
        struct block *block = robust.blocks;
        robust.blocks = block->next;
        port_table_free(block, sizeof(*block));
    }
}

/* NULL: there is no memory. */
static struct hold *hold_new(void)
{
    unsigned long irq;
    rt_enter_lock(&irq, &robust.lock, RANK_ROBUST);
    if (robust.unused == NULL) {
        rt_leave_unlock(irq, &robust.lock, RANK_ROBUST);
        struct block *block = port_table_alloc(sizeof(*block));
        if (block == NULL) {
            return NULL;
        }
        rt_enter_lock(&irq, &robust.lock, RANK_ROBUST);
        block->next = robust.blocks;
        robust.blocks = block;
        unused_locked(block);
    }
    struct hold *h = robust.unused;
    robust.unused = h->older;
    rt_leave_unlock(irq, &robust.lock, RANK_ROBUST);
    return h;
}

static void hold_free_locked(struct hold *h)
{
    h->older = robust.unused;
    robust.unused = h;
}

static void hold_free(struct hold *h)
{
    unsigned long irq;
    rt_enter_lock(&irq, &robust.lock, RANK_ROBUST);
    hold_free_locked(h);
    rt_leave_unlock(irq, &robust.lock, RANK_ROBUST);
}

/* ---- the lists that the kernel reads ---- */

/* In this place of the program: the kernel thread may end at any instruction. */
static void kernel_sees(_Atomic(void *) *at, void *value)
{
    __asm__ volatile("" ::: "memory");
    at_store_rlx(at, value);
    __asm__ volatile("" ::: "memory");
}

/* What a pointer to the mutex in a list of the kernel's is; NULL: the end of the list. */
static void *entry_of(struct port_robust_list *list, struct hold *h)
{
    return h != NULL ? (void *)&h->mutex->next : (void *)list;
}

static void list_add_locked(struct hold *h)
{
    kernel_sees(&h->mutex->next, at_load_rlx(&h->list->first));
    kernel_sees(&h->list->first, entry_of(h->list, h));
    h->newer = NULL;
    h->older = robust.newest;
    if (h->older != NULL) {
        h->older->newer = h;
    }
    robust.newest = h;
}

static void list_remove_locked(struct hold *h)
{
    struct hold *newer = h->newer, *older = h->older;
    while (newer != NULL && newer->list != h->list) {
        newer = newer->newer;
    }
    while (older != NULL && older->list != h->list) {
        older = older->older;
    }
    kernel_sees(newer != NULL ? &newer->mutex->next : &h->list->first, entry_of(h->list, older));
    *(h->newer != NULL ? &h->newer->older : &robust.newest) = h->older;
    if (h->older != NULL) {
        h->older->newer = h->newer;
    }
}

/* ---- lock ---- */

static struct hold *mine(struct rt_shmutex *m)
{
    struct rt_omutex *held = rt_identity()->held;
    while (held != NULL && !((held->kind & MUTEX_SHARED) && hold_of(held)->mutex == m)) {
        held = held->next;
    }
    return held != NULL ? hold_of(held) : NULL;
}

bool rt_robust_is_mine(struct rt_shmutex *m)
{
    return at_load_rlx(FIELD(m->users)) == rt_identity()->index + 1 && mine(m) != NULL;
}

/* Try to take the word, which was `*seen`: it has no owner. True, or false with the new word. */
static bool take(struct rt_shmutex *m, struct hold *h, uint32_t *seen, uint32_t waiters)
{
    unsigned long irq;
    struct thread *self = rt_identity();
    RT_ASSERT((*seen & ROBUST_TID) == 0);
    rt_enter_lock(&irq, &robust.lock, RANK_ROBUST);
    h->list = port_robust_list(&h->tid);
    h->mutex = m;
    if (!MUTANT(ROBUST_BARE)) {
        kernel_sees(&h->list->pending, &m->next);
    }
    uint32_t word = h->tid | waiters | (*seen & ROBUST_WAITERS);
    bool taken = at_cas_acq(&m->word, seen, word); /* ORDER(mutex) */
    if (taken) {
        list_add_locked(h);
    }
    kernel_sees(&h->list->pending, NULL);
    rt_leave_unlock(irq, &robust.lock, RANK_ROBUST);
    if (taken) {
        h->held.kind = OM_ROBUST | MUTEX_SHARED;
        h->held.next = self->held;
        self->held = &h->held;
        at_store_rlx(FIELD(m->users), self->index + 1);
    }
    return taken;
}

/* What the taken mutex is like. */
static int taken(struct rt_shmutex *m, struct hold *h, bool died)
{
    if (at_load_rlx(FIELD(m->owner)) == ROBUST_LOST) {
        rt_robust_unlock(m);
        return -ENOTRECOVERABLE;
    }
    at_store_rlx(FIELD(m->owner), died ? ROBUST_INCONSISTENT : h->tid);
    return died ? -EOWNERDEAD : 0;
}

/* Wait until the word is not `seen` any more, which has an owner. 0: look again; or -ETIMEDOUT. */
static int wait_owned(struct rt_shmutex *m, uint32_t seen, const struct rt_shared_limit *limit)
{
    if (!(seen & ROBUST_WAITERS)) {
        if (!at_cas_acq(&m->word, &seen, seen | ROBUST_WAITERS)) { /* ORDER(mutex) */
            return 0;
        }
        seen |= ROBUST_WAITERS;
    }
    return rt_shared_wait_pending(&m->word, seen, limit, &m->next);
}

static int lock_with(struct rt_shmutex *m, struct hold *h, const struct rt_shared_limit *limit,
                     bool try)
{
    uint32_t waiters = 0;
    uint32_t seen = at_load_rlx(&m->word);
    for (;;) {
        if ((seen & ROBUST_TID) == 0) {
            if (take(m, h, &seen, waiters)) {
                return taken(m, h, seen & ROBUST_DIED);
            }
            continue;
        }
        int error = try ? -EBUSY : wait_owned(m, seen, limit);
        if (error != 0) {
            hold_free(h);
            return error;
        }
        waiters = ROBUST_WAITERS; /* others may still wait */
        seen = at_load_rlx(&m->word);
    }
}

static int lock(struct rt_shmutex *m, const struct rt_shared_limit *limit, bool try)
{
    RT_ASSERT(rt_is_outside() && lockrank_none_held());
    if (!rt_robust_possible()) {
        return -ENOTSUP; /* a process that can has made it */
    }
    struct hold *h = hold_new();
    return h != NULL ? lock_with(m, h, limit, try) : -EAGAIN;
}

int rt_robust_lock(struct rt_shmutex *m, const struct rt_shared_limit *limit)
{
    return lock(m, limit, false);
}

int rt_robust_trylock(struct rt_shmutex *m)
{
    uint32_t word = at_load_rlx(&m->word);
    return (word & ROBUST_TID) != 0 ? -EBUSY : lock(m, NULL, true);
}

bool rt_robust_possible(void)
{
    uint32_t tid;
    unsigned long irq = port_irq_save();
    bool possible = port_robust_list(&tid) != NULL;
    port_irq_restore(irq);
    return possible;
}

/* ---- unlock ---- */

/* Make the word's number ours. False: the kernel has been there, because that thread has ended. */
static bool take_over(struct rt_shmutex *m, uint32_t from, uint32_t to)
{
    uint32_t word = at_load_rlx(&m->word);
    while ((word & ROBUST_TID) == from) {
        if (from == to ||
            at_cas_acq_rel(&m->word, &word, (word & ROBUST_WAITERS) | to)) { /* ORDER(mutex) */
            return true;
        }
    }
    return false;
}

/* left: 0 or ROBUST_DIED. Under robust.lock. */
static void give_locked(struct hold *h, uint32_t left, unsigned wakes)
{
    uint32_t tid;
    struct rt_shmutex *m = h->mutex;
    struct port_robust_list *list = port_robust_list(&tid);
    RT_ASSERT(list != NULL && rt_is_inside());
    kernel_sees(&list->pending, &m->next);
    tid = MUTANT(ROBUST_STRANGER) ? h->tid : tid;
    bool ours = take_over(m, h->tid, tid);
    list_remove_locked(h);
    uint32_t word = at_load_rlx(&m->word);
    while (ours && (word & ROBUST_TID) == tid) {
        uint32_t next = left != 0 ? left | (word & ROBUST_WAITERS) : 0;
        if (at_cas_rel(&m->word, &word, next)) { /* ORDER(mutex) */
            if ((word & ROBUST_WAITERS) && !MUTANT(SHARED_DROP)) {
                port_shared_wake(&m->word, wakes);
            }
            break;
        }
    }
    kernel_sees(&list->pending, NULL);
    hold_free_locked(h);
}

/* The caller holds the mutex; interrupts are off, and at most a lock of rank RANK_COND is held. */
void rt_robust_unlock_irqoff(struct rt_shmutex *m)
{
    struct hold *h = mine(m);
    struct rt_omutex **at = &rt_identity()->held;
    while (*at != &h->held) {
        at = &(*at)->next;
    }
    *at = h->held.next;
    uint32_t owner = at_load_rlx(FIELD(m->owner));
    bool lost = owner == ROBUST_INCONSISTENT || owner == ROBUST_LOST;
    at_store_rlx(FIELD(m->owner), lost ? ROBUST_LOST : 0u);
    at_store_rlx(FIELD(m->users), 0u);
    spin_lock(&robust.lock, RANK_ROBUST);
    give_locked(h, 0, lost ? RT_SHARED_ALL : 1);
    spin_unlock(&robust.lock, RANK_ROBUST);
}

void rt_robust_unlock(struct rt_shmutex *m)
{
    unsigned long irq = port_irq_save();
    rt_robust_unlock_irqoff(m);
    rt_leave(irq);
}

void rt_robust_end(struct rt_omutex *held)
{
    RT_ASSERT(rt_is_inside());
    spin_lock(&robust.lock, RANK_ROBUST);
    give_locked(hold_of(held), ROBUST_DIED, 1);
    spin_unlock(&robust.lock, RANK_ROBUST);
}

int rt_robust_consistent(struct rt_shmutex *m)
{
    struct hold *h = rt_robust_is_mine(m) ? mine(m) : NULL;
    if (h == NULL || at_load_rlx(FIELD(m->owner)) != ROBUST_INCONSISTENT) {
        return -EINVAL;
    }
    at_store_rlx(FIELD(m->owner), h->tid);
    return 0;
}

bool rt_robust_is_free(struct rt_shmutex *m)
{
    return (at_load_rlx(&m->word) & ROBUST_TID) == 0;
}
