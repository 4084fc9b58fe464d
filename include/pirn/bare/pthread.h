/* SPDX-License-Identifier: MIT */
/*
 * pthread.h (boards) - threads, after POSIX.1-2017 (XSH 2.9), for programs without an operating
 * system: the library's functions under their POSIX names, and types of its own.
 *
 * Functions return 0 or an error number. Each function is described in XSH 3; comments here name
 * the differences from the standard. The functions that end in _np, and those named clockjoin,
 * clocklock and clockwait, are as in glibc. Times are absolute. Their clock is CLOCK_REALTIME
 * unless an argument or the object names another.
 *
 * Context: all functions may be called by threads, including main. Interrupt handlers may call
 * pthread_self, pthread_equal and pthread_getspecific, and may post semaphores (<semaphore.h>).
 *
 * Cancellation points: pthread_join and its relatives, pthread_cond_wait, _timedwait, _clockwait,
 * pthread_testcancel, sem_wait and its relatives, sleep, usleep, nanosleep, clock_nanosleep. A
 * thread with PTHREAD_CANCEL_ASYNCHRONOUS is cancelled at these points and where it sets type or
 * state. Nothing interrupts it in between.
 *
 * Not supported on boards: processes, so there is no pthread_atfork, and PTHREAD_PROCESS_SHARED
 * objects are like others; signals, so there is no pthread_sigmask; CPU time of threads, so there
 * is no pthread_getcpuclockid. pthread_exit and cancellation call the handlers of
 * pthread_cleanup_push and the destructors of keys; they unwind no C++ frames.
 */
#ifndef PIRN_BARE_PTHREAD_H
#define PIRN_BARE_PTHREAD_H

#include <limits.h>
#include <sched.h>
#include <sys/_pthreadtypes.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- threads ---- */

enum { PTHREAD_CREATE_JOINABLE, PTHREAD_CREATE_DETACHED };
enum { PTHREAD_INHERIT_SCHED, PTHREAD_EXPLICIT_SCHED };
enum { PTHREAD_SCOPE_SYSTEM, PTHREAD_SCOPE_PROCESS };
enum { PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED };

/* EAGAIN: out of memory; EINVAL: the attribute; EPERM: a real-time class, which the discipline
 * does not have. The new thread's stack has PIRN_STACK bytes (64 KiB) unless the attribute has a
 * size. */
int pthread_create(pthread_t *__restrict thread, const pthread_attr_t *__restrict attr,
                   void *(*start)(void *), void *__restrict arg);

/* EDEADLK: the caller itself, or a cycle of joins; EINVAL: detached, or another thread joins it;
 * tryjoin: EBUSY; timedjoin, clockjoin: ETIMEDOUT. */
int pthread_join(pthread_t thread, void **ret);
int pthread_tryjoin_np(pthread_t thread, void **ret);
int pthread_timedjoin_np(pthread_t thread, void **ret, const struct timespec *time);
int pthread_clockjoin_np(pthread_t thread, void **ret, clockid_t clock,
                         const struct timespec *time);
int pthread_detach(pthread_t thread);
pthread_t pthread_self(void);
int pthread_equal(pthread_t a, pthread_t b);

/* If main calls it, the program continues until its last thread has ended. */
void pthread_exit(void *ret) __attribute__((__noreturn__));

/* There are no signals: 0 for signal 0, else EINVAL. */
int pthread_kill(pthread_t thread, int signal);

/* Names have up to 15 bytes; ERANGE: the name is longer, or `size` is too small. */
int pthread_setname_np(pthread_t thread, const char *name);
int pthread_getname_np(pthread_t thread, char *name, size_t size);

/* ---- attributes of threads ---- */

/* EINVAL: invalid value; ENOTSUP: PTHREAD_SCOPE_PROCESS. Stack sizes are in bytes. The smallest is
 * PTHREAD_STACK_MIN, and sysconf(_SC_THREAD_STACK_MIN) for memory of the program's own. Boards
 * cannot protect memory, so the guard size has no effect; the runtime finds an overflow when the
 * thread is interrupted or switched. */
int pthread_attr_init(pthread_attr_t *attr);
int pthread_attr_destroy(pthread_attr_t *attr);
int pthread_attr_setdetachstate(pthread_attr_t *attr, int state);
int pthread_attr_getdetachstate(const pthread_attr_t *attr, int *state);
int pthread_attr_setstacksize(pthread_attr_t *attr, size_t size);
int pthread_attr_getstacksize(const pthread_attr_t *__restrict attr, size_t *__restrict size);
int pthread_attr_setstack(pthread_attr_t *attr, void *low, size_t size);
int pthread_attr_getstack(const pthread_attr_t *__restrict attr, void **__restrict low,
                          size_t *__restrict size);
int pthread_attr_setguardsize(pthread_attr_t *attr, size_t size);
int pthread_attr_getguardsize(const pthread_attr_t *__restrict attr, size_t *__restrict size);
int pthread_attr_setschedpolicy(pthread_attr_t *attr, int policy);
int pthread_attr_getschedpolicy(const pthread_attr_t *__restrict attr, int *__restrict policy);
int pthread_attr_setschedparam(pthread_attr_t *__restrict attr,
                               const struct sched_param *__restrict param);
int pthread_attr_getschedparam(const pthread_attr_t *__restrict attr,
                               struct sched_param *__restrict param);
int pthread_attr_setinheritsched(pthread_attr_t *attr, int inherit);
int pthread_attr_getinheritsched(const pthread_attr_t *__restrict attr, int *__restrict inherit);
int pthread_attr_setscope(pthread_attr_t *attr, int scope);
int pthread_attr_getscope(const pthread_attr_t *__restrict attr, int *__restrict scope);

/* ---- scheduling ---- */

/* EINVAL: no such class or priority; EPERM: a real-time class, which the discipline (PIRN_SCHED)
 * does not have. setconcurrency: a hint without effect. */
int pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *param);
int pthread_getschedparam(pthread_t thread, int *__restrict policy,
                          struct sched_param *__restrict param);
int pthread_setschedprio(pthread_t thread, int priority);
int pthread_setconcurrency(int level);
int pthread_getconcurrency(void);

/* The CPUs that a thread may run on: one, to which it is bound, or all. The policies dist and
 * central (PIRN_SCHED) can bind a thread: itself, or one that is created with the attribute. When
 * setaffinity returns, the caller runs on its CPU. A new thread has its creator's set, unless the
 * attribute has one (with size 0 it has none). EINVAL: no CPU of the set exists, or size is less
 * than that of cpu_set_t; ENOTSUP: the policy cannot, several CPUs but not all, or another thread's
 * set that would change; of an attribute, pthread_create returns these. (GNU;
 * pthread_setaffinity_np(3)) */
int pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *set);
int pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *set);
int pthread_attr_setaffinity_np(pthread_attr_t *attr, size_t size, const cpu_set_t *set);
int pthread_attr_getaffinity_np(const pthread_attr_t *attr, size_t size, cpu_set_t *set);

/* ---- mutexes ---- */

enum {
    PTHREAD_MUTEX_NORMAL,
    PTHREAD_MUTEX_RECURSIVE,
    PTHREAD_MUTEX_ERRORCHECK,
    PTHREAD_MUTEX_ADAPTIVE_NP, /* as PTHREAD_MUTEX_NORMAL */
    PTHREAD_MUTEX_DEFAULT = PTHREAD_MUTEX_NORMAL
};
enum { PTHREAD_MUTEX_STALLED, PTHREAD_MUTEX_ROBUST };
enum { PTHREAD_PRIO_NONE, PTHREAD_PRIO_INHERIT, PTHREAD_PRIO_PROTECT };

#define __PIRN_MUTEX_OF(type)                                                                      \
    {                                                                                              \
        {0}, 0, type, 0,                                                                           \
        {                                                                                          \
            {0}, 0                                                                                 \
        }                                                                                          \
    }
#define PTHREAD_MUTEX_INITIALIZER __PIRN_MUTEX_OF(PTHREAD_MUTEX_NORMAL)
#define PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP __PIRN_MUTEX_OF(PTHREAD_MUTEX_RECURSIVE)
#define PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP __PIRN_MUTEX_OF(PTHREAD_MUTEX_ERRORCHECK)
#define PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP __PIRN_MUTEX_OF(PTHREAD_MUTEX_ADAPTIVE_NP)

/* EBUSY: trylock, destroy; ETIMEDOUT; EDEADLK, EPERM: error-checking mutexes, unlock also of
 * recursive and robust ones; EAGAIN: locked too often; EOWNERDEAD, ENOTRECOVERABLE: robust mutexes;
 * EINVAL: destroyed, or the caller's priority is above the ceiling. No cancellation points. */
int pthread_mutex_init(pthread_mutex_t *__restrict mutex,
                       const pthread_mutexattr_t *__restrict attr);
int pthread_mutex_destroy(pthread_mutex_t *mutex);
int pthread_mutex_lock(pthread_mutex_t *mutex);
int pthread_mutex_trylock(pthread_mutex_t *mutex);
int pthread_mutex_timedlock(pthread_mutex_t *__restrict mutex,
                            const struct timespec *__restrict time);
int pthread_mutex_clocklock(pthread_mutex_t *__restrict mutex, clockid_t clock,
                            const struct timespec *__restrict time);
int pthread_mutex_unlock(pthread_mutex_t *mutex);
int pthread_mutex_consistent(pthread_mutex_t *mutex);
int pthread_mutex_getprioceiling(const pthread_mutex_t *__restrict mutex, int *__restrict ceiling);
int pthread_mutex_setprioceiling(pthread_mutex_t *__restrict mutex, int ceiling,
                                 int *__restrict old);

int pthread_mutexattr_init(pthread_mutexattr_t *attr);
int pthread_mutexattr_destroy(pthread_mutexattr_t *attr);
int pthread_mutexattr_settype(pthread_mutexattr_t *attr, int type);
int pthread_mutexattr_gettype(const pthread_mutexattr_t *__restrict attr, int *__restrict type);
int pthread_mutexattr_setpshared(pthread_mutexattr_t *attr, int shared);
int pthread_mutexattr_getpshared(const pthread_mutexattr_t *__restrict attr,
                                 int *__restrict shared);
int pthread_mutexattr_setrobust(pthread_mutexattr_t *attr, int robust);
int pthread_mutexattr_getrobust(const pthread_mutexattr_t *__restrict attr, int *__restrict robust);
int pthread_mutexattr_setprotocol(pthread_mutexattr_t *attr, int protocol);
int pthread_mutexattr_getprotocol(const pthread_mutexattr_t *__restrict attr,
                                  int *__restrict protocol);
int pthread_mutexattr_setprioceiling(pthread_mutexattr_t *attr, int ceiling);
int pthread_mutexattr_getprioceiling(const pthread_mutexattr_t *__restrict attr,
                                     int *__restrict ceiling);

/* ---- condition variables ---- */

#define PTHREAD_COND_INITIALIZER                                                                   \
    {                                                                                              \
        {{0}, 0}, {0}, 0                                                                           \
    }

/* ETIMEDOUT; EPERM: the mutex is error-checking, recursive or robust, and the caller does not hold
 * it; EINVAL: the time; EBUSY: destroy while threads wait; EOWNERDEAD, ENOTRECOVERABLE: from the
 * mutex. Waiters are served by priority, then in order of arrival. */
int pthread_cond_init(pthread_cond_t *__restrict cond, const pthread_condattr_t *__restrict attr);
int pthread_cond_destroy(pthread_cond_t *cond);
int pthread_cond_wait(pthread_cond_t *__restrict cond, pthread_mutex_t *__restrict mutex);
int pthread_cond_timedwait(pthread_cond_t *__restrict cond, pthread_mutex_t *__restrict mutex,
                           const struct timespec *__restrict time);
int pthread_cond_clockwait(pthread_cond_t *__restrict cond, pthread_mutex_t *__restrict mutex,
                           clockid_t clock, const struct timespec *__restrict time);
int pthread_cond_signal(pthread_cond_t *cond);
int pthread_cond_broadcast(pthread_cond_t *cond);

int pthread_condattr_init(pthread_condattr_t *attr);
int pthread_condattr_destroy(pthread_condattr_t *attr);
int pthread_condattr_setclock(pthread_condattr_t *attr, clockid_t clock);
int pthread_condattr_getclock(const pthread_condattr_t *__restrict attr,
                              clockid_t *__restrict clock);
int pthread_condattr_setpshared(pthread_condattr_t *attr, int shared);
int pthread_condattr_getpshared(const pthread_condattr_t *__restrict attr, int *__restrict shared);

/* ---- readers-writer locks ---- */

enum {
    PTHREAD_RWLOCK_PREFER_READER_NP,
    PTHREAD_RWLOCK_PREFER_WRITER_NP, /* as PTHREAD_RWLOCK_PREFER_READER_NP */
    PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP,
    PTHREAD_RWLOCK_DEFAULT_NP = PTHREAD_RWLOCK_PREFER_READER_NP
};

#define __PIRN_RWLOCK_OF(kind)                                                                     \
    {                                                                                              \
        {0}, {{0}, 0}, kind, 0                                                                     \
    }
#define PTHREAD_RWLOCK_INITIALIZER __PIRN_RWLOCK_OF(0)
#define PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP                                          \
    __PIRN_RWLOCK_OF(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP)

/* EBUSY: try, destroy; ETIMEDOUT; EDEADLK: the caller holds it for writing; EAGAIN: too many
 * readers; EPERM: unlock of a lock that is free or that another writer holds; EINVAL: the time. No
 * cancellation points. */
int pthread_rwlock_init(pthread_rwlock_t *__restrict lock,
                        const pthread_rwlockattr_t *__restrict attr);
int pthread_rwlock_destroy(pthread_rwlock_t *lock);
int pthread_rwlock_rdlock(pthread_rwlock_t *lock);
int pthread_rwlock_tryrdlock(pthread_rwlock_t *lock);
int pthread_rwlock_timedrdlock(pthread_rwlock_t *__restrict lock,
                               const struct timespec *__restrict time);
int pthread_rwlock_clockrdlock(pthread_rwlock_t *__restrict lock, clockid_t clock,
                               const struct timespec *__restrict time);
int pthread_rwlock_wrlock(pthread_rwlock_t *lock);
int pthread_rwlock_trywrlock(pthread_rwlock_t *lock);
int pthread_rwlock_timedwrlock(pthread_rwlock_t *__restrict lock,
                               const struct timespec *__restrict time);
int pthread_rwlock_clockwrlock(pthread_rwlock_t *__restrict lock, clockid_t clock,
                               const struct timespec *__restrict time);
int pthread_rwlock_unlock(pthread_rwlock_t *lock);

int pthread_rwlockattr_init(pthread_rwlockattr_t *attr);
int pthread_rwlockattr_destroy(pthread_rwlockattr_t *attr);
int pthread_rwlockattr_setkind_np(pthread_rwlockattr_t *attr, int kind);
int pthread_rwlockattr_getkind_np(const pthread_rwlockattr_t *__restrict attr,
                                  int *__restrict kind);
int pthread_rwlockattr_setpshared(pthread_rwlockattr_t *attr, int shared);
int pthread_rwlockattr_getpshared(const pthread_rwlockattr_t *__restrict attr,
                                  int *__restrict shared);

/* ---- barriers, spin locks, once ---- */

#define PTHREAD_BARRIER_SERIAL_THREAD (-1)

/* EINVAL: count is 0; EBUSY: destroy while threads wait. No cancellation point. */
int pthread_barrier_init(pthread_barrier_t *__restrict barrier,
                         const pthread_barrierattr_t *__restrict attr, unsigned count);
int pthread_barrier_destroy(pthread_barrier_t *barrier);
int pthread_barrier_wait(pthread_barrier_t *barrier);
int pthread_barrierattr_init(pthread_barrierattr_t *attr);
int pthread_barrierattr_destroy(pthread_barrierattr_t *attr);
int pthread_barrierattr_setpshared(pthread_barrierattr_t *attr, int shared);
int pthread_barrierattr_getpshared(const pthread_barrierattr_t *__restrict attr,
                                   int *__restrict shared);

/* A spinning thread lets other threads of its core run after a while. EBUSY: trylock. A handler of
 * an interrupt may call trylock and unlock; one that spins as long ends the program. */
int pthread_spin_init(pthread_spinlock_t *lock, int shared);
int pthread_spin_destroy(pthread_spinlock_t *lock);
int pthread_spin_lock(pthread_spinlock_t *lock);
int pthread_spin_trylock(pthread_spinlock_t *lock);
int pthread_spin_unlock(pthread_spinlock_t *lock);

#define PTHREAD_ONCE_INIT                                                                          \
    {                                                                                              \
        0                                                                                          \
    }

/* If the thread ends inside fn, by pthread_exit or cancellation, fn counts as not run. */
int pthread_once(pthread_once_t *once, void (*fn)(void));

/* ---- thread-specific data ---- */

/* EAGAIN: PTHREAD_KEYS_MAX keys exist; ENOMEM; EINVAL: no such key. */
int pthread_key_create(pthread_key_t *key, void (*destructor)(void *));
int pthread_key_delete(pthread_key_t key);
void *pthread_getspecific(pthread_key_t key);
int pthread_setspecific(pthread_key_t key, const void *value);

/* ---- cancellation, cleanup handlers ---- */

enum { PTHREAD_CANCEL_ENABLE, PTHREAD_CANCEL_DISABLE };
enum { PTHREAD_CANCEL_DEFERRED, PTHREAD_CANCEL_ASYNCHRONOUS };
#define PTHREAD_CANCELED ((void *)-1)

/* EINVAL: no such state or type. */
int pthread_cancel(pthread_t thread);
int pthread_setcancelstate(int state, int *old);
int pthread_setcanceltype(int type, int *old);
void pthread_testcancel(void);

struct __pirn_cleanup {
    struct __pirn_cleanup *__older;
    void (*__fn)(void *);
    void *__arg;
    int __type;
};
void __pirn_cleanup_push(struct __pirn_cleanup *cleanup);
void __pirn_cleanup_pop(struct __pirn_cleanup *cleanup, int run);
void __pirn_cleanup_push_defer(struct __pirn_cleanup *cleanup);
void __pirn_cleanup_pop_restore(struct __pirn_cleanup *cleanup, int run);

/* Used in pairs in the same block: push opens a block and pop closes it. */
#define pthread_cleanup_push(fn, arg)                                                              \
    do {                                                                                           \
        struct __pirn_cleanup __cleanup = {0, fn, arg, 0};                                         \
        __pirn_cleanup_push(&__cleanup);
#define pthread_cleanup_pop(run)                                                                   \
    __pirn_cleanup_pop(&__cleanup, run);                                                           \
    }                                                                                              \
    while (0)
/* The same, with the type PTHREAD_CANCEL_DEFERRED in between. */
#define pthread_cleanup_push_defer_np(fn, arg)                                                     \
    do {                                                                                           \
        struct __pirn_cleanup __cleanup = {0, fn, arg, 0};                                         \
        __pirn_cleanup_push_defer(&__cleanup);
#define pthread_cleanup_pop_restore_np(run)                                                        \
    __pirn_cleanup_pop_restore(&__cleanup, run);                                                   \
    }                                                                                              \
    while (0)

#ifdef __cplusplus
}
#endif

#endif
