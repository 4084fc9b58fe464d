/* SPDX-License-Identifier: MIT */
/*
 * posix_layout_bare.c (bare) - asserts that the runtime's objects fit into the types of
 * include/pirn/bare/sys/_pthreadtypes.h, and that the initializers of <pthread.h> set the right
 * fields. Contains no code.
 */
#include "../posix_mutex.h"

#define SAME_OFFSET(ours, field, theirs, member)                                                   \
    _Static_assert(offsetof(struct ours, field) == offsetof(theirs, member), #ours "." #field)
#define FITS(ours, theirs) _Static_assert(sizeof(struct ours) <= sizeof(theirs), #theirs)

FITS(rt_mutex, pthread_mutex_t);
FITS(rt_omutex, pthread_mutex_t);
SAME_OFFSET(rt_mutex, kind, pthread_mutex_t, __kind);
_Static_assert((int)MUTEX_NORMAL == PTHREAD_MUTEX_NORMAL, "type");
_Static_assert((int)MUTEX_RECURSIVE == PTHREAD_MUTEX_RECURSIVE, "type");
_Static_assert((int)MUTEX_ERRORCHECK == PTHREAD_MUTEX_ERRORCHECK, "type");
_Static_assert((int)MUTEX_ADAPTIVE == PTHREAD_MUTEX_ADAPTIVE_NP, "type");

FITS(rt_cond, pthread_cond_t);
FITS(rt_rwlock, pthread_rwlock_t);
SAME_OFFSET(rt_rwlock, prefer_writer, pthread_rwlock_t, __kind);
FITS(rt_sem, sem_t);
FITS(rt_barrier, pthread_barrier_t);
_Static_assert(sizeof(struct rt_once) == sizeof(pthread_once_t), "pthread_once_t");
_Static_assert(sizeof(pthread_spinlock_t) == sizeof(uint32_t), "pthread_spinlock_t");
