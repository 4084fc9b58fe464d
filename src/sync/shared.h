/* SPDX-License-Identifier: MIT */
/*
 * shared.h - objects that lie in memory of several processes. They know no wait queue: an address
 * in one process means nothing in another. They are words on which the environment waits (futexes).
 *
 * rt_shmutex, rt_shsem and rt_shbarrier have the layout and the protocol of the platform's C
 * library, so that a process of ours shares them with processes that use its threads
 * (src/posix/glibc/posix_layout.c). rt_shcond and rt_shrwlock have not: all processes must use this
 * library.
 *
 * Objects that a dying process holds stay held, but for robust mutexes (shared_robust.c); objects
 * for which it waits count it as a waiter for ever.
 */
#ifndef PIRN_SYNC_SHARED_H
#define PIRN_SYNC_SHARED_H

#include "port_processes.h"
#include "sync.h"

/* When to stop waiting; NULL for never. */
struct rt_shared_limit {
    uint64_t deadline; /* ns of port_now, or of the system's clock */
    bool realtime;
};

/* Wait until rt_shared_wake for the word, unless it does not hold `value` (any more). The CPU runs
 * other threads meanwhile. 0 or -ETIMEDOUT; may return early with 0. */
int rt_shared_wait(_Atomic(uint32_t) *word, uint32_t value, const struct rt_shared_limit *limit);
/* The same as a cancellation point: -ECANCELED, too. */
int rt_shared_wait_point(_Atomic(uint32_t) *word, uint32_t value,
                         const struct rt_shared_limit *limit);
/* rt_shared_wait for a robust mutex: until the caller has taken it, `pending` is what the list of
 * the kernel thread that waits calls so. */
int rt_shared_wait_pending(_Atomic(uint32_t) *word, uint32_t value,
                           const struct rt_shared_limit *limit, void *pending);
/* And -EINTR: there is a signal for the caller, which must take it; where there is no runtime, the
 * kernel has run its handler. */
int rt_shared_wait_interruptible(_Atomic(uint32_t) *word, uint32_t value,
                                 const struct rt_shared_limit *limit);

ALWAYS_INLINE void rt_shared_wake(_Atomic(uint32_t) *word, unsigned n)
{
    port_shared_wake(word, n);
}

#define RT_SHARED_ALL UINT32_MAX

/* Forget all helpers: in a child of fork, and between runs of the simulator. */
void rt_shared_reset(void);

struct rt_shmutex {
    _Atomic(uint32_t) word; /* (A) MUTEX_FREE ... as 0, 1, 2 (somebody waits) */
    uint32_t count;         /* POSIX layer: recursion */
    uint32_t owner, users;  /* POSIX layer */
    uint32_t kind;          /* (C) mutex_kind.h */
    uint32_t spare;
    void *previous;       /* the C library's */
    _Atomic(void *) next; /* robust: in the list of a kernel thread */
};
_Static_assert(!PORT_PROCESSES ||
                   offsetof(struct rt_shmutex, kind) == offsetof(struct rt_mutex, kind),
               "kind");

struct rt_shsem {
    _Atomic(uint64_t) word; /* (A) value; number of waiters above bit 32 */
    uint32_t shared;        /* POSIX layer */
};

struct rt_shbarrier {
    _Atomic(uint32_t) in;    /* (A) arrivals since the last reset */
    _Atomic(uint32_t) round; /* (A) arrivals up to here may go */
    uint32_t count;          /* (C) */
    uint32_t shared;         /* POSIX layer */
    _Atomic(uint32_t) out;   /* (A) departures since the last reset */
};

struct rt_shcond {
    _Atomic(uint32_t) seq;     /* (A) signals and broadcasts */
    _Atomic(uint32_t) waiters; /* (A) in the call; the highest bit: it is being destroyed */
    uint32_t spare[7];
    uint32_t flags; /* POSIX layer */
};

struct rt_shrwlock {
    _Atomic(uint32_t) word;    /* (A) readers, RW_WRITER, RW_WAITING */
    _Atomic(uint32_t) writers; /* (A) waiting; counted only if they are preferred */
    uint32_t owner[2];         /* POSIX layer */
    _Atomic(uint32_t) events;  /* (A) count of events after which waiters look again */
    uint32_t spare[2];
    uint32_t shared; /* POSIX layer */
    uint32_t spare2[4];
    uint32_t prefer_writer; /* (C) */
};

/* 0 or -ETIMEDOUT; -EBUSY. */
int rt_shmutex_lock(struct rt_shmutex *m, const struct rt_shared_limit *limit);
int rt_shmutex_trylock(struct rt_shmutex *m);
void rt_shmutex_unlock(struct rt_shmutex *m);

/* The same for robust ones, whose `owner` and `users` are the functions' (shared_robust.c), and:
 * -EOWNERDEAD: locked, and its last owner ended with it; -ENOTRECOVERABLE; -EAGAIN: no memory to
 * note that it is held; -ENOTSUP: not here (rt_robust_possible). A caller that owns the mutex would
 * wait for itself. */
int rt_robust_lock(struct rt_shmutex *m, const struct rt_shared_limit *limit);
int rt_robust_trylock(struct rt_shmutex *m);
bool rt_robust_is_mine(struct rt_shmutex *m);
bool rt_robust_is_free(struct rt_shmutex *m);
/* The caller owns it. */
void rt_robust_unlock(struct rt_shmutex *m);
void rt_robust_unlock_irqoff(struct rt_shmutex *m); /* under a lock of rank RANK_COND at most */
/* 0; -EINVAL: not the caller's, or nothing is wrong. */
int rt_robust_consistent(struct rt_shmutex *m);
/* Does the environment know of robust mutexes? */
bool rt_robust_possible(void);
/* A thread ends that holds it (robust.c). Inside the runtime. */
struct rt_omutex;
void rt_robust_end(struct rt_omutex *held);
/* In a child of fork: the parent's threads hold what they held, and the survivor (NULL: it is not
 * known yet) holds none. */
void rt_robust_forked(struct thread *survivor);
void rt_robust_reset(void); /* between runs of the simulator */

/* As their private siblings. */
int rt_shsem_trywait(struct rt_shsem *s);
int rt_shsem_wait(struct rt_shsem *s, const struct rt_shared_limit *limit);
int rt_shsem_post(struct rt_shsem *s);
uint32_t rt_shsem_value(struct rt_shsem *s);
int rt_shsem_destroy(struct rt_shsem *s); /* 0; -EBUSY: somebody waits */

/* True for one of each round. */
bool rt_shbarrier_wait(struct rt_shbarrier *b);
/* 0; -EBUSY: somebody waits. Waits for threads that are still leaving. */
int rt_shbarrier_destroy(struct rt_shbarrier *b);

/* First half of a wait, with the mutex held. Returns the ticket for the second half, which follows
 * after the mutex is unlocked. */
uint32_t rt_shcond_enter(struct rt_shcond *c);
int rt_shcond_wait(struct rt_shcond *c, uint32_t ticket, const struct rt_shared_limit *limit);
void rt_shcond_leave(struct rt_shcond *c); /* instead of waiting */
void rt_shcond_wake(struct rt_shcond *c, unsigned n);
/* Waits until nobody is in a call any more. */
void rt_shcond_destroy(struct rt_shcond *c);

int rt_shrwlock_rdlock(struct rt_shrwlock *l, const struct rt_shared_limit *limit);
int rt_shrwlock_wrlock(struct rt_shrwlock *l, const struct rt_shared_limit *limit);
int rt_shrwlock_tryrdlock(struct rt_shrwlock *l);
int rt_shrwlock_trywrlock(struct rt_shrwlock *l);
int rt_shrwlock_unlock(struct rt_shrwlock *l); /* 0, -EPERM (not held by anybody) */

#endif
