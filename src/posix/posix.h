/* SPDX-License-Identifier: MIT */
/*
 * posix.h - declarations that the files of the POSIX layer share; no other file includes it.
 *
 * The layer checks arguments, maps error numbers and keeps what POSIX adds to a thread (keys,
 * cleanup handlers). The runtime's objects lie in the memory of the ABI's types. A zeroed object,
 * or one set by PTHREAD_*_INITIALIZER, is valid, because the runtime's objects have the fields that
 * the initializers set at the same offsets (posix_layout.c, posix_layout_bare.c). Functions return
 * +errno; sem_* and nanosleep return -1 and set errno.
 *
 * There are two ABIs. Each has a folder that the build puts into the include path: glibc/ (Linux)
 * and bare/ (boards). Each folder has three files:
 *   posix_abi.h        the system's headers, and the part of the ABI that this header needs
 *   posix_platform.h   functions that the files common to both ABIs call
 *   posix_more.def     functions of this ABI alone
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

/* The value of a key in one thread; valid if seq equals the key's. */
struct posix_slot {
    uint32_t seq;
    void *value;
};

#define POSIX_INLINE_SLOTS 16u

/*
 * The part of a thread that POSIX adds: thread->local. It is made when first needed and released
 * when the thread ends. Only its own thread uses it.
 */
struct posix_local {
    struct posix_slot *slots; /* inline_slots, or a table of PTHREAD_KEYS_MAX */
    unsigned nslots;
    posix_cleanup *cleanup;     /* newest first */
    struct posix_local *next;   /* (pool.lock) in the pool */
    struct posix_unwind unwind; /* for pthread_exit: outlives the frames that it unwinds */
    struct posix_slot inline_slots[POSIX_INLINE_SLOTS];
};

/* The caller's; made on the first call. NULL: out of memory. */
struct posix_local *posix_local(void);

/* The thread ends: run key destructors, release its local. rt_personality.local_end. */
void posix_local_end(struct thread *self);

/* Release self->local without running destructors. rt_personality.local_drop. */
void posix_local_drop(struct thread *self);

/* In the child of a fork: mark the pool's lock as free. */
void posix_local_forked(void);

/* The C library's streams wait as read and write do, if the port can have it. The runtime has just
 * started. */
void posix_streams_begin(void);

/* Run key destructors over the values of `local`, up to PTHREAD_DESTRUCTOR_ITERATIONS rounds. */
void posix_keys_end(struct posix_local *local);

/* Convert POSIX scheduling parameters to the scheduler's. 0, EINVAL, EPERM or ENOTSUP. */
int posix_sched_translate(int policy, int priority, unsigned weight, struct sched_params *params);

/* End the calling user thread, which has a request that is due: run cleanup handlers and key
 * destructors. Returns only in a signal handler that has interrupted the runtime; a later
 * cancellation point then acts on the request. */
COLD void posix_cancel_now(void);

/* A cancellation point: acts on a request that is due. Called at the beginning of a function, and
 * where a wait returns ECANCELED. Does nothing without a CPU (in a signal handler during a call, or
 * in a thread that has lost its CPU and has not called the runtime since): later waits and calls
 * look at the request again. */
ALWAYS_INLINE void posix_point(void)
{
    bool has;
    struct thread *self = rt_current(&has);
    if (RT_CANCEL && likely(has) && cancel_is_due(at_load_rlx(&self->cancel))) {
        posix_cancel_now();
    }
}

/* Set the cancellation type; returns the previous one. Declared for posix_exit.c. */
int posix_cancel_type(int type);

/* When a wait ends. A null pointer to a limit means never. */
struct posix_limit {
    clockid_t clock;
    const struct timespec *abstime;
};

ALWAYS_INLINE bool posix_clock_valid(clockid_t clock)
{
    return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

/* Convert to the time of port_now. 0, EINVAL (bad clock or tv_nsec), ETIMEDOUT (past; *deadline is
 * now). Reads CLOCK_REALTIME once: a wait does not follow later steps of that clock. */
#ifdef PIRN_WITHOUT_TIMED
/* Without timed waits every deadline is invalid. */
ALWAYS_INLINE int posix_deadline(const struct posix_limit *limit, uint64_t *deadline)
{
    (void)limit;
    *deadline = UINT64_MAX;
    return EINVAL;
}
#else
int posix_deadline(const struct posix_limit *limit, uint64_t *deadline);
#endif

/* The same for objects between processes. The kernel waits for them and follows the clock. */
struct rt_shared_limit;
int posix_shared_limit(const struct posix_limit *limit, struct rt_shared_limit *shared);

/* Set errno and return -1. */
int posix_fail(int error);

#define ATTR(attr) ((struct posix_attr *)(attr))
#define CONST_ATTR(attr) ((const struct posix_attr *)(attr))
#define POSIX_GUARD_DEFAULT RT_GUARD_DEFAULT

enum {
    POSIX_ATTR_DETACHED = 0x1,
    POSIX_ATTR_EXPLICIT = 0x2,
    POSIX_ATTR_STACK = 0x8,
};

/* 0, EINVAL, ENOMEM, EPERM (a real-time class that the discipline does not have), ENOTSUP (a signal
 * mask where threads have no signals of their own). */
int posix_attr_translate(const pthread_attr_t *attr, struct thread_attr *out);

/* The smallest stack, bytes. given: for a stack that the program supplies. */
size_t posix_stack_least(bool given);

#endif
