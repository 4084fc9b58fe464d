/* SPDX-License-Identifier: MIT */
/*
 * sync.h - synchronisation objects on wait queues.
 *
 * Each is a short file over waitq.h and knows no policy. Zeroed objects are valid.
 *
 * The POSIX layer uses them in place, in the memory of the ABI's types. So each has room for the
 * fields that the ABI's initializers set, at the offsets of the ABI: the fields marked "POSIX
 * layer", and some spare ones. Each ABI asserts that they fit (posix_layout.c,
 * posix_layout_bare.c).
 */
#ifndef PIRN_SYNC_SYNC_H
#define PIRN_SYNC_SYNC_H

#include <pirn/policy.h>

#include "cpu.h"
#include "port_ready.h"

struct rt_mutex {
    uint32_t spare;
    uint32_t count; /* POSIX layer: recursion */
    void *owner;    /* the last owner, for debuggers; POSIX layer: the present one */
    uint32_t kind;  /* (C) mutex_kind.h; the native API's is 0 */
    uint32_t spare2;
    struct waitq queue; /* state of its lock: MUTEX_OWNED, MUTEX_WAITERS */
};

struct rt_cond {
    struct waitq queue;
    uint32_t spare[5];
    uint32_t flags; /* POSIX layer: clock, process-shared */
};

struct rt_sem {
    uint32_t first; /* (C) the value that it began with */
    uint32_t spare;
    uint32_t shared; /* POSIX layer */
    uint32_t spare2;
    struct waitq queue; /* state of its lock: SEM_UNIT times the value */
};
#define SEM_UNIT 2u
#define RT_SEM_MAX 0x7fffffffu

struct rt_rwlock {
    _Atomic(uint32_t) word;   /* (A) readers, RW_WRITER, RW_WAITING */
    uint32_t writers_waiting; /* (queue lock) */
    uint32_t spare[4];
    uint32_t owner_hint;
    uint32_t shared; /* POSIX layer */
    struct waitq queue;
    uint32_t prefer_writer; /* (C) */
    uint32_t spare2;
};

struct rt_barrier {
    uint32_t arrived; /* (queue lock) */
    uint32_t round;   /* (queue lock) of the waiters: how often it has opened */
    uint32_t count;   /* (C) */
    uint32_t shared;  /* POSIX layer */
    struct waitq queue;
};

struct rt_once {
    _Atomic(uint32_t) state; /* (A) */
};
enum { ONCE_NEW, ONCE_RUNNING, ONCE_DONE };

/* In software `full.word` is the state, and guards both; with lines (core/line.h) see febit.c. */
struct rt_fe {
    uint64_t value;         /* (queue lock) */
    struct port_line full;  /* (queue lock) */
    struct port_line empty; /* not used in software */
    struct waitq queue;
};

void rt_mutex_init(struct rt_mutex *m);
int rt_mutex_trylock(struct rt_mutex *m);
enum { MUTEX_FREE = 0, MUTEX_OWNED = 2, MUTEX_WAITERS = 4 };

/* The caller has the mutex. The note is never cleared: it is valid while the mutex is locked. NULL:
 * no user thread, or one without a CPU at the moment. */
ALWAYS_INLINE void rt_mutex_set_owner(struct rt_mutex *m, void *self)
{
    at_store_rlx((_Atomic(void *) *)&m->owner, self);
}

/* The same for a caller without a CPU. The main thread is known before the runtime has started. */
COLD void rt_mutex_note_early(struct rt_mutex *m);

ALWAYS_INLINE void rt_mutex_note_owner(struct rt_mutex *m)
{
    bool has;
    struct thread *self = rt_current(&has);
    if (PORT_IDENTITY && unlikely(!has)) {
        rt_mutex_note_early(m);
    } else {
        rt_mutex_set_owner(m, self);
    }
}

/* Debug builds: the caller is about to unlock it. A mutex that is not locked, or by another thread,
 * ends the program with a message. */
#ifdef PIRN_DEBUG
void rt_mutex_check_owner(const struct rt_mutex *m);
#else
ALWAYS_INLINE void rt_mutex_check_owner(const struct rt_mutex *m)
{
    (void)m;
}
#endif

/* Lock and unlock without contention. False: nothing done. The caller is identified first: a load
 * behind the locked instruction would wait for it, and the unlock's instruction for the store. */
ALWAYS_INLINE bool rt_mutex_lock_fast(struct rt_mutex *m)
{
    bool has;
    void *self = rt_current(&has);
    uint32_t word = MUTEX_FREE;
    if (unlikely(!at_cas_acq(&m->queue.lock.word, &word, MUTEX_OWNED))) { /* ORDER(mutex) */
        return false;
    }
    if (PORT_IDENTITY && unlikely(!has)) {
        rt_mutex_note_early(m); /* as the last call: the ordinary way needs no stack frame */
    } else {
        rt_mutex_set_owner(m, self);
    }
    return true;
}

ALWAYS_INLINE bool rt_mutex_unlock_fast(struct rt_mutex *m)
{
    uint32_t word = MUTEX_OWNED;
    return likely(at_cas_rel(&m->queue.lock.word, &word, MUTEX_FREE)); /* ORDER(mutex) */
}

ALWAYS_INLINE bool rt_mutex_is_locked(const struct rt_mutex *m)
{
    return (at_load_rlx(&m->queue.lock.word) & MUTEX_OWNED) != 0;
}

/* 0, -ETIMEDOUT */
int rt_mutex_lock_until(struct rt_mutex *m, uint64_t deadline);
int rt_mutex_lock_slow(struct rt_mutex *m, uint64_t deadline); /* after rt_mutex_lock_fast */
/* The same; with the asynchronous type of cancellation also -ECANCELED, without the mutex. */
int rt_mutex_lock_async(struct rt_mutex *m, uint64_t deadline);
void rt_mutex_unlock(struct rt_mutex *m);
void rt_mutex_unlock_slow(struct rt_mutex *m);
/* Unlock with the interrupts disabled already and a lock of rank RANK_COND held. */
void rt_mutex_unlock_irqoff(struct cpu *cpu, struct rt_mutex *m);

void rt_cond_init(struct rt_cond *c);
/* 0, -EBUSY (somebody waits). Afterwards no released waiter touches it. */
int rt_cond_destroy(struct rt_cond *c);
int rt_cond_wait_until(struct rt_cond *c, struct rt_mutex *m, uint64_t deadline);
/* The same as a cancellation point: -ECANCELED, with the mutex. */
int rt_cond_wait_point(struct rt_cond *c, struct rt_mutex *m, uint64_t deadline);
/* The same where the mutex is something else: `release` gives it up, under the queue's lock, and
 * the caller takes it back. A cancellation point. */
int rt_cond_wait_released(struct rt_cond *c, uint64_t deadline,
                          void (*release)(struct cpu *cpu, void *mutex), void *mutex);
void rt_cond_signal(struct rt_cond *c);
void rt_cond_broadcast(struct rt_cond *c);

int rt_sem_init(struct rt_sem *s, uint32_t value);
/* t waits, or is being woken from a wait: for a semaphore that did not begin at 0? Such a one
 * counts what may be used: free places, not data. */
bool rt_sem_is_for_room(const struct thread *t);

int rt_sem_trywait(struct rt_sem *s);
int rt_sem_wait_until(struct rt_sem *s, uint64_t deadline);
/* The same as a cancellation point: -ECANCELED. */
int rt_sem_wait_point(struct rt_sem *s, uint64_t deadline);
/* The same without deadline; true: the caller was switched away. For PORT_ARCH_RETURN_BY_JUMP. */
bool rt_sem_wait(struct rt_sem *s);
/* The same with a label (core/label.h), which stays until the call returns. */
struct pirn_label;
void rt_sem_wait_as(struct rt_sem *s, const struct pirn_label *label);
int rt_sem_post(struct rt_sem *s);

/* For callers that are inside the runtime and stay there (pollers.c). _wait_inside: label is NULL,
 * or as rt_sem_wait_as; false: it has not blocked. _post_inside: the caller leaves by
 * rt_leave_woken. */
bool rt_sem_wait_inside(struct rt_sem *s, const struct pirn_label *label);
int rt_sem_post_inside(struct rt_sem *s, struct cpu *cpu);
uint32_t rt_sem_value(struct rt_sem *s);

void rt_rwlock_init(struct rt_rwlock *l);
int rt_rwlock_tryrdlock(struct rt_rwlock *l);
int rt_rwlock_trywrlock(struct rt_rwlock *l);
/* 0, -ETIMEDOUT; with the asynchronous type of cancellation also -ECANCELED, without the lock. */
int rt_rwlock_rdlock_until(struct rt_rwlock *l, uint64_t deadline);
int rt_rwlock_wrlock_until(struct rt_rwlock *l, uint64_t deadline);
/* 0, -EPERM (not held by anybody) */
int rt_rwlock_unlock(struct rt_rwlock *l);

int rt_barrier_init(struct rt_barrier *b, uint32_t count);
bool rt_barrier_wait(struct rt_barrier *b);

/* Call it before the memory is freed, when all waiters have been released. */
void rt_barrier_settle(struct rt_barrier *b);

void rt_once(struct rt_once *once, void (*fn)(void));
/* Its halves. If begin returns true, the caller runs the function, and says at the end whether the
 * function has run to its end. */
bool rt_once_begin(struct rt_once *once);
void rt_once_end(struct rt_once *once, bool done);

void rt_fe_init(struct rt_fe *w);
int rt_fe_write_until(struct rt_fe *w, uint64_t value, uint64_t deadline);
int rt_fe_read_until(struct rt_fe *w, uint64_t *value, uint64_t deadline);
int rt_fe_take_until(struct rt_fe *w, uint64_t *value, uint64_t deadline);
void rt_fe_overwrite(struct rt_fe *w, uint64_t value);
void rt_fe_purge(struct rt_fe *w);
bool rt_fe_full(struct rt_fe *w);

/* Block until the deadline. */
void rt_sleep_until(uint64_t deadline);
/* The same as a cancellation point: 0, -ECANCELED. */
int rt_sleep_point(uint64_t deadline);

/* Make a list of unlinked waiters ready, oldest first. irq: the value that rt_enter has stored;
 * pending interrupts come in after each waiter. Or RT_IRQ_STAY: the caller holds locks. */
#define RT_IRQ_STAY 1ul
void rt_wake_list(struct cpu *cpu, struct list *list, enum pirn_why why, unsigned long irq);

#endif
