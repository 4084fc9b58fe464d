/* SPDX-License-Identifier: MIT */
/*
 * posix.h - shared by the files of the POSIX layer only.
 *
 * The layer validates, maps error numbers and keeps what POSIX adds to a thread (keys, cleanup
 * handlers). Objects lie in place in the ABI's types: zeroed ones and those of
 * PTHREAD_*_INITIALIZER are valid, because the runtime's objects have the fields that the
 * initializers set at the same offsets (posix_layout.c, posix_layout_bare.c). Functions return
 * +errno; sem_* and nanosleep return -1 and set errno.
 *
 * There are two ABIs, each with a folder that the build puts into the include path: glibc/ (Linux),
 * bare/ (boards). posix_abi.h: the system's headers, and what this header needs of the ABI;
 * posix_platform.h: what the files that both have in common call; posix_more.def: functions of one
 * ABI alone.
 */
#ifndef PIRN_POSIX_H
#define PIRN_POSIX_H

#include "posix_abi.h"
#include <errno.h>

#include <pirn/pthread_np.h>

#include "../core/cancel.h"
#include "../sync/sync.h"
#include "options.h"

#define PTHREAD(ret, name, params, args) ret pirn_pthread_##name params;
#define POSIX(ret, name, params, args) ret pirn_posix_##name params;
#include "posix.def"
#include "posix_more.def"
#undef PTHREAD
#undef POSIX

int pirn_posix_sched_yield(void);
NORETURN void pirn_pthread_exit(void *ret);
NORETURN void pirn_posix_thrd_exit(int result);

/* Value of a key in one thread; valid if seq is the key's. */
struct posix_slot {
    uint32_t seq;
    void *value;
};

#define POSIX_INLINE_SLOTS 16u

/*
 * What POSIX adds to a thread: thread->local, made when first needed, given back when the thread
 * ends. Owned by its thread; nobody else touches it.
 */
struct posix_local {
    struct posix_slot *slots; /* inline_slots, or a table of PTHREAD_KEYS_MAX */
    unsigned nslots;
    posix_cleanup *cleanup;     /* newest first */
    struct posix_local *next;   /* in the pool */
    struct posix_unwind unwind; /* of pthread_exit: outlives the frames that it unwinds */
    struct posix_slot inline_slots[POSIX_INLINE_SLOTS];
};

/* The caller's; made if need be; NULL without memory. */
struct posix_local *posix_local(void);

/* The thread ends: run key destructors, give its local back. rt_personality.local_end. */
void posix_local_end(struct thread *self);

/* Give it back; the values of keys are gone. For rt_personality. */
void posix_local_drop(struct thread *self);

/* In the child of a fork: its lock is free. */
void posix_local_forked(void);

/* Destructor rounds of POSIX over the values of `local`. */
void posix_keys_end(struct posix_local *local);

/* 0 or a positive error number. */
int posix_sched_translate(int policy, int priority, unsigned weight, struct sched_params *params);

/* The calling user thread, whose request is due, ends as cancelled: cleanup handlers, key
 * destructors. Returns only in a signal handler that has interrupted the runtime: then a later
 * cancellation point acts. */
COLD void posix_cancel_now(void);

/* A cancellation point: acts on a request. At the beginning of the function, and where a wait
 * returns ECANCELED. Without a CPU (a signal handler in a call; a thread that has lost it and has
 * not called the runtime since) it is left to what follows: waits and calls look again. */
ALWAYS_INLINE void posix_point(void)
{
    const struct cpu *cpu = port_cpu_self();
    if (RT_CANCEL && likely(cpu != NULL) && cancel_is_due(at_load_rlx(&cpu->current->cancel))) {
        posix_cancel_now();
    }
}

/* For posix_exit.c. */
int posix_cancel_type(int type);

/* When to stop waiting: NULL for never. */
struct posix_limit {
    clockid_t clock;
    const struct timespec *abstime;
};

ALWAYS_INLINE bool posix_clock_valid(clockid_t clock)
{
    return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

/* Convert to the time of port_now. 0, EINVAL (clock or tv_nsec), ETIMEDOUT (past; *deadline is
 * now). CLOCK_REALTIME is read once, here: a wait does not follow later steps of that clock. */
#ifdef PIRN_WITHOUT_TIMED
/* No deadline is a valid one. */
ALWAYS_INLINE int posix_deadline(const struct posix_limit *limit, uint64_t *deadline)
{
    (void)limit;
    *deadline = UINT64_MAX;
    return EINVAL;
}
#else
int posix_deadline(const struct posix_limit *limit, uint64_t *deadline);
#endif

/* The same for objects between processes: the system waits for them, and follows the clock. */
struct rt_shared_limit;
int posix_shared_limit(const struct posix_limit *limit, struct rt_shared_limit *shared);

/* Set errno; -1. */
int posix_fail(int error);

#define ATTR(attr) ((struct posix_attr *)(attr))
#define CONST_ATTR(attr) ((const struct posix_attr *)(attr))
#define POSIX_GUARD_DEFAULT RT_GUARD_DEFAULT

enum {
    POSIX_ATTR_DETACHED = 0x1,
    POSIX_ATTR_EXPLICIT = 0x2,
    POSIX_ATTR_STACK = 0x8,
};

/* 0, EINVAL, ENOMEM, EPERM (scheduling that we do not have yet), ENOTSUP (likewise signal masks).
 */
int posix_attr_translate(const pthread_attr_t *attr, struct thread_attr *out);

/* Bytes of the smallest stack: of ours, of the caller's. */
size_t posix_stack_least(bool given);

#endif
