/* SPDX-License-Identifier: MIT */
/*
 * inline.h - the short ways of pirn.h without a call. Linux only; elsewhere, and in programs that
 * are compiled with -fsanitize=thread, including it changes nothing.
 *
 *     #include <pirn/inline.h>        in place of <pirn/pirn.h>
 *
 * A mutex that is free, a semaphore whose value is above 0, and a function that has run once need
 * one or two instructions on one word. A program that links the shared library pays two jumps, and
 * a call, beside them. With this header the compiler puts those instructions where the call was;
 * all else is done by the library, as before. Functions, objects, errors and contexts are those of
 * pirn.h, and code with and without the header may use the same objects: the addresses of the
 * functions are the library's.
 *
 * What it costs:
 *   - The program contains the layout of the objects. PIRN_INLINE_VERSION counts the layouts; a
 *     library with another one lacks the symbol pirn_inline_VERSION, and such a program does not
 *     start: "undefined symbol: pirn_inline_1". It must be compiled again.
 *   - A mutex that is locked inline has no owner in reports (deadlocks, `pirn dump`, gdb), since
 *     the thread is not asked who it is. Builds of the library with assertions do not check who
 *     unlocks it.
 */
#ifndef PIRN_INLINE_H
#define PIRN_INLINE_H

#include <errno.h>

#include <pirn/pirn.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PIRN_INLINE_NOT
#endif
#endif
#if !defined(__linux__) || defined(__SANITIZE_THREAD__)
#define PIRN_INLINE_NOT
#endif

#ifndef PIRN_INLINE_NOT

#define PIRN_INLINE_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

extern const char pirn_inline_1;
__attribute__((used)) static const char *const pirn_inline_needs = &pirn_inline_1;

#define PIRN_INLINE static inline __attribute__((always_inline))

/* The words of the objects: states of a mutex (free, or owned and nobody waits), a semaphore's
 * value times 2, the lowest bit being its lock, and the state of a function that has run. */
#define PIRN_INLINE_MUTEX_FREE 0u
#define PIRN_INLINE_MUTEX_OWNED 2u
#define PIRN_INLINE_SEM_UNIT 2u
#define PIRN_INLINE_SEM_LOCKED 1u
#define PIRN_INLINE_SEM_MOST (PIRN_SEM_MAX * PIRN_INLINE_SEM_UNIT)
#define PIRN_INLINE_ONCE_DONE 2u

/* Take it if it is free; else *word is its state. Nobody is noted as its owner. */
PIRN_INLINE bool pirn_inline_mutex_take(pirn_mutex_t *mutex, uint32_t *word)
{
    *word = PIRN_INLINE_MUTEX_FREE;
    if (__builtin_expect(!__atomic_compare_exchange_n(&mutex->queue.opaque[0], word,
                                                      PIRN_INLINE_MUTEX_OWNED, false,
                                                      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED),
                         0)) {
        return false;
    }
    __atomic_store_n((void **)(void *)&mutex->opaque[2], (void *)NULL, __ATOMIC_RELAXED);
    return true;
}

PIRN_INLINE void pirn_inline_mutex_lock(pirn_mutex_t *mutex)
{
    uint32_t word;
    if (!pirn_inline_mutex_take(mutex, &word)) {
        pirn_mutex_lock(mutex);
    }
}

PIRN_INLINE int pirn_inline_mutex_trylock(pirn_mutex_t *mutex)
{
    uint32_t word;
    if (pirn_inline_mutex_take(mutex, &word)) {
        return 0;
    }
    return (word & PIRN_INLINE_MUTEX_OWNED) != 0 ? -EBUSY : pirn_mutex_trylock(mutex);
}

PIRN_INLINE void pirn_inline_mutex_unlock(pirn_mutex_t *mutex)
{
    uint32_t word = PIRN_INLINE_MUTEX_OWNED;
    if (__builtin_expect(!__atomic_compare_exchange_n(&mutex->queue.opaque[0], &word,
                                                      PIRN_INLINE_MUTEX_FREE, false,
                                                      __ATOMIC_RELEASE, __ATOMIC_RELAXED),
                         0)) {
        pirn_mutex_unlock(mutex);
    }
}

/* Take 1 from a value above 0 that nobody changes at the same time. */
PIRN_INLINE bool pirn_inline_sem_take(pirn_sem_t *sem)
{
    uint32_t *at = &sem->queue.opaque[0];
    uint32_t word = __atomic_load_n(at, __ATOMIC_RELAXED);
    return word > PIRN_INLINE_SEM_LOCKED && !(word & PIRN_INLINE_SEM_LOCKED) &&
           __atomic_compare_exchange_n(at, &word, word - PIRN_INLINE_SEM_UNIT, false,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

PIRN_INLINE void pirn_inline_sem_wait(pirn_sem_t *sem)
{
    if (!pirn_inline_sem_take(sem)) {
        pirn_sem_wait(sem);
    }
}

PIRN_INLINE int pirn_inline_sem_trywait(pirn_sem_t *sem)
{
    return pirn_inline_sem_take(sem) ? 0 : pirn_sem_trywait(sem);
}

PIRN_INLINE int pirn_inline_sem_post(pirn_sem_t *sem)
{
    uint32_t *at = &sem->queue.opaque[0];
    uint32_t word = __atomic_load_n(at, __ATOMIC_RELAXED);
    if (word != 0 && !(word & PIRN_INLINE_SEM_LOCKED) && word != PIRN_INLINE_SEM_MOST &&
        __atomic_compare_exchange_n(at, &word, word + PIRN_INLINE_SEM_UNIT, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED)) {
        return 0;
    }
    return pirn_sem_post(sem);
}

PIRN_INLINE void pirn_inline_once(pirn_once_t *once, void (*fn)(void))
{
    if (__builtin_expect(__atomic_load_n(&once->opaque, __ATOMIC_ACQUIRE) != PIRN_INLINE_ONCE_DONE,
                         0)) {
        pirn_once(once, fn);
    }
}

/* Only calls: the address of a function is the library's. */
#define pirn_mutex_lock(mutex) pirn_inline_mutex_lock(mutex)
#define pirn_mutex_trylock(mutex) pirn_inline_mutex_trylock(mutex)
#define pirn_mutex_unlock(mutex) pirn_inline_mutex_unlock(mutex)
#define pirn_sem_wait(sem) pirn_inline_sem_wait(sem)
#define pirn_sem_trywait(sem) pirn_inline_sem_trywait(sem)
#define pirn_sem_post(sem) pirn_inline_sem_post(sem)
#define pirn_once(once, fn) pirn_inline_once((once), (fn))

#ifdef __cplusplus
}
#endif

#endif
#endif
