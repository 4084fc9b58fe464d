/* SPDX-License-Identifier: MIT */
/*
 * posix_layout.c (glibc) - asserts the layout of glibc's pthread objects, as far as ours depend on
 * it. Contains no code.
 *
 * The runtime's objects lie in the memory of glibc's types. The assertions below state all that
 * must agree, and no more:
 *   1. An object of ours is not larger than the type.
 *   2. The static initializers of <pthread.h> make valid objects. They set every field to 0, with
 *      two exceptions: __kind of a mutex is its type, and __flags of a readers-writer lock that
 *      prefers writers is not 0. The fields of ours at these offsets take these values.
 *   3. Mutexes, semaphores and barriers between processes work with processes that use glibc's own
 *      threads: every field has its offset, its width and its values (shared.h has the protocols).
 * sem_t and pthread_barrier_t are opaque in glibc's headers; their offsets are those of struct
 * new_sem and struct pthread_barrier in glibc 2.36.
 */
#include "../posix_mutex.h"
#include "../posix_sem.h"

#define SAME_OFFSET(ours, field, theirs, data)                                                     \
    _Static_assert(offsetof(struct ours, field) == offsetof(theirs, __data.data), #ours "." #field)
#define OFFSET(ours, field, bytes)                                                                 \
    _Static_assert(offsetof(struct ours, field) == (bytes), #ours "." #field)
#define FITS(ours, theirs) _Static_assert(sizeof(struct ours) <= sizeof(theirs), #theirs)

/* Mutexes. */
FITS(rt_mutex, pthread_mutex_t);
FITS(rt_omutex, pthread_mutex_t);
FITS(rt_shmutex, pthread_mutex_t);
SAME_OFFSET(rt_mutex, kind, pthread_mutex_t, __kind);
SAME_OFFSET(rt_omutex, kind, pthread_mutex_t, __kind);
SAME_OFFSET(rt_shmutex, kind, pthread_mutex_t, __kind);
SAME_OFFSET(rt_shmutex, word, pthread_mutex_t, __lock);
SAME_OFFSET(rt_shmutex, count, pthread_mutex_t, __count);
SAME_OFFSET(rt_shmutex, owner, pthread_mutex_t, __owner);
SAME_OFFSET(rt_shmutex, users, pthread_mutex_t, __nusers);
SAME_OFFSET(rt_shmutex, previous, pthread_mutex_t, __list.__prev);
SAME_OFFSET(rt_shmutex, next, pthread_mutex_t, __list.__next);
_Static_assert((long)offsetof(struct rt_shmutex, word) - (long)offsetof(struct rt_shmutex, next) ==
                   PORT_ROBUST_OFFSET,
               "from an entry to its word");
_Static_assert((int)MUTEX_NORMAL == PTHREAD_MUTEX_NORMAL, "type");
_Static_assert((int)MUTEX_RECURSIVE == PTHREAD_MUTEX_RECURSIVE, "type");
_Static_assert((int)MUTEX_ERRORCHECK == PTHREAD_MUTEX_ERRORCHECK, "type");
_Static_assert((int)MUTEX_ADAPTIVE == PTHREAD_MUTEX_ADAPTIVE_NP, "type");

/* Bits of __kind beside the type: the flags of a robust mutex and of one between processes, and the
 * two that allow or forbid lock elision, which glibc sets for the type NORMAL, or when such a mutex
 * is first locked. */
_Static_assert(OM_ROBUST == 16, "PTHREAD_MUTEX_ROBUST_NORMAL_NP");
_Static_assert(MUTEX_SHARED == 128, "PTHREAD_MUTEX_PSHARED_BIT");
_Static_assert(MUTEX_HINTS == (256 | 512), "PTHREAD_MUTEX_ELISION_FLAGS_NP");

/* Condition variables: all fields are zero in the initializer. */
FITS(rt_cond, pthread_cond_t);
FITS(rt_shcond, pthread_cond_t);

/* Readers-writer locks. */
FITS(rt_rwlock, pthread_rwlock_t);
FITS(rt_shrwlock, pthread_rwlock_t);
SAME_OFFSET(rt_rwlock, shared, pthread_rwlock_t, __shared);
SAME_OFFSET(rt_rwlock, prefer_writer, pthread_rwlock_t, __flags);

/* Semaphores. */
FITS(rt_sem, sem_t);
FITS(rt_shsem, sem_t);
OFFSET(rt_sem, shared, 8);
OFFSET(rt_shsem, word, 0);
OFFSET(rt_shsem, shared, 8);

/* Barriers. */
FITS(rt_barrier, pthread_barrier_t);
FITS(rt_shbarrier, pthread_barrier_t);
OFFSET(rt_barrier, shared, 12);
OFFSET(rt_shbarrier, in, 0);
OFFSET(rt_shbarrier, round, 4);
OFFSET(rt_shbarrier, count, 8);
OFFSET(rt_shbarrier, shared, 12);
OFFSET(rt_shbarrier, out, 16);

_Static_assert(sizeof(struct rt_once) == sizeof(pthread_once_t), "pthread_once_t");
_Static_assert(sizeof(pthread_spinlock_t) == sizeof(uint32_t), "pthread_spinlock_t");
