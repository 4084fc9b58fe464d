/* SPDX-License-Identifier: MIT */
/*
 * posix_c11.c - <threads.h> (C11 7.26): the functions of pthread.h with other names and result
 * codes.
 *
 * The types of both ABIs allow this: thrd_t and tss_t are pthread_t and pthread_key_t; mtx_t, cnd_t
 * and once_flag are as large as pthread_mutex_t, pthread_cond_t and pthread_once_t. So a zeroed
 * mtx_t is a plain mutex. TIME_UTC is CLOCK_REALTIME.
 */
#include <errno.h>
#include <threads.h>

#include "posix.h"
#include "posix_platform.h"

_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "mtx_t");
_Static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t), "cnd_t");
_Static_assert(sizeof(once_flag) == sizeof(pthread_once_t), "once_flag");
_Static_assert(sizeof(thrd_t) == sizeof(pthread_t), "thrd_t");
_Static_assert(sizeof(tss_t) == sizeof(pthread_key_t), "tss_t");

#define MTX(mutex) ((pthread_mutex_t *)(mutex))
#define CND(cond) ((pthread_cond_t *)(cond))

/* Under a sanitizer, call its pthread interceptor, which then calls us: it intercepts none of the
 * C11 names. */
#define OUTER(name)                                                                                \
    (likely(!posix_sanitized)                                                                      \
         ? pirn_pthread_##name                                                                     \
         : (__typeof__(&pirn_pthread_##name))posix_sanitizer_outer("pthread_" #name))

static int result_of(int error)
{
    switch (error) {
    case 0:
        return thrd_success;
    case EBUSY:
        return thrd_busy;
    case ETIMEDOUT:
        return thrd_timedout;
    case ENOMEM:
        return thrd_nomem;
    default:
        return thrd_error;
    }
}

/*
 * fn is called as a function that returns a pointer. On every supported architecture an int is
 * returned in the low half of the register that returns a pointer, and thrd_join reads only that
 * half. (A trampoline would need memory for fn and arg.)
 */
int pirn_posix_thrd_create(thrd_t *thread, thrd_start_t fn, void *arg)
{
    void *(*start)(void *) = (void *(*)(void *))(void (*)(void))fn;
    int error = OUTER(create)(thread, NULL, start, arg);
    return result_of(error == EAGAIN ? ENOMEM : error);
}

int pirn_posix_thrd_equal(thrd_t a, thrd_t b)
{
    return pirn_pthread_equal(a, b);
}

thrd_t pirn_posix_thrd_current(void)
{
    return pirn_pthread_self();
}

/* 0; -1: a signal interrupted the sleep and *left is the rest; another negative value: an error. */
int pirn_posix_thrd_sleep(const struct timespec *time, struct timespec *left)
{
    int error = pirn_posix_clock_nanosleep(CLOCK_REALTIME, 0, time, left);
    return error == 0 ? 0 : error == EINTR ? -1 : -2;
}

void pirn_posix_thrd_yield(void)
{
    rt_yield();
}

void pirn_posix_thrd_exit(int result)
{
    pirn_pthread_exit((void *)(intptr_t)result);
}

int pirn_posix_thrd_detach(thrd_t thread)
{
    return result_of(OUTER(detach)(thread));
}

int pirn_posix_thrd_join(thrd_t thread, int *result)
{
    void *ret;
    int error = OUTER(join)(thread, &ret);
    if (error == 0 && result != NULL) {
        *result = (int)(intptr_t)ret;
    }
    return result_of(error);
}

int pirn_posix_mtx_init(mtx_t *mutex, int type)
{
    pthread_mutexattr_t attr;
    if ((type & ~(mtx_timed | mtx_recursive)) != 0) {
        return thrd_error;
    }
    pirn_pthread_mutexattr_init(&attr);
    pirn_pthread_mutexattr_settype(&attr, type & mtx_recursive ? PTHREAD_MUTEX_RECURSIVE
                                                               : PTHREAD_MUTEX_NORMAL);
    return result_of(OUTER(mutex_init)(MTX(mutex), &attr));
}

void pirn_posix_mtx_destroy(mtx_t *mutex)
{
    OUTER(mutex_destroy)(MTX(mutex));
}

int pirn_posix_mtx_lock(mtx_t *mutex)
{
    return result_of(OUTER(mutex_lock)(MTX(mutex)));
}

int pirn_posix_mtx_trylock(mtx_t *mutex)
{
    return result_of(OUTER(mutex_trylock)(MTX(mutex)));
}

int pirn_posix_mtx_timedlock(mtx_t *mutex, const struct timespec *abstime)
{
    return result_of(OUTER(mutex_timedlock)(MTX(mutex), abstime));
}

int pirn_posix_mtx_unlock(mtx_t *mutex)
{
    return result_of(OUTER(mutex_unlock)(MTX(mutex)));
}

int pirn_posix_cnd_init(cnd_t *cond)
{
    return result_of(OUTER(cond_init)(CND(cond), NULL));
}

void pirn_posix_cnd_destroy(cnd_t *cond)
{
    OUTER(cond_destroy)(CND(cond));
}

int pirn_posix_cnd_signal(cnd_t *cond)
{
    return result_of(OUTER(cond_signal)(CND(cond)));
}

int pirn_posix_cnd_broadcast(cnd_t *cond)
{
    return result_of(OUTER(cond_broadcast)(CND(cond)));
}

int pirn_posix_cnd_wait(cnd_t *cond, mtx_t *mutex)
{
    return result_of(OUTER(cond_wait)(CND(cond), MTX(mutex)));
}

int pirn_posix_cnd_timedwait(cnd_t *cond, mtx_t *mutex, const struct timespec *abstime)
{
    return result_of(OUTER(cond_timedwait)(CND(cond), MTX(mutex), abstime));
}

int pirn_posix_tss_create(tss_t *key, tss_dtor_t destructor)
{
    return result_of(pirn_pthread_key_create(key, destructor));
}

void pirn_posix_tss_delete(tss_t key)
{
    pirn_pthread_key_delete(key);
}

void *pirn_posix_tss_get(tss_t key)
{
    return pirn_pthread_getspecific(key);
}

int pirn_posix_tss_set(tss_t key, void *value)
{
    return result_of(pirn_pthread_setspecific(key, value));
}

void pirn_posix_call_once(once_flag *once, void (*fn)(void))
{
    OUTER(once)((pthread_once_t *)once, fn);
}
