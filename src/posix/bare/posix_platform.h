/* SPDX-License-Identifier: MIT */
/*
 * posix_platform.h (bare) - the functions that the files common to both ABIs call. Boards have no
 * sanitizers, no signals, and only the runtime's clock to sleep by.
 */
#ifndef PIRN_POSIX_PLATFORM_H
#define PIRN_POSIX_PLATFORM_H

#include <errno.h>

#include "../posix.h"

#define posix_sanitized false
#define POSIX_TOOL_KEY_NONE ((pthread_key_t)PTHREAD_KEYS_MAX)

ALWAYS_INLINE bool posix_sanitizer_helper(pthread_t *thread, const pthread_attr_t *attr,
                                          void *(*start)(void *), void *arg, const int *error)
{
    (void)thread;
    (void)attr;
    (void)start;
    (void)arg;
    (void)error;
    return false;
}

ALWAYS_INLINE bool posix_timer_helper(pthread_t *thread, void *(*start)(void *), void *arg,
                                      const int *error)
{
    (void)thread;
    (void)start;
    (void)arg;
    (void)error;
    return false;
}

ALWAYS_INLINE void posix_sanitizer_created(void) {}

ALWAYS_INLINE void posix_sanitizer_root(const void *low, size_t size, bool is)
{
    (void)low;
    (void)size;
    (void)is;
}

ALWAYS_INLINE pthread_key_t posix_sanitizer_key(void (*destructor)(void *))
{
    (void)destructor;
    return POSIX_TOOL_KEY_NONE;
}

/* There is no such key. */
ALWAYS_INLINE void *posix_sanitizer_getspecific(pthread_key_t key)
{
    (void)key;
    return NULL;
}

ALWAYS_INLINE int posix_sanitizer_setspecific(pthread_key_t key, const void *value)
{
    (void)key;
    (void)value;
    return EINVAL;
}

ALWAYS_INLINE void *posix_sanitizer_outer(const char *name)
{
    (void)name;
    return NULL;
}

ALWAYS_INLINE void posix_signals_take(void) {}

ALWAYS_INLINE void posix_mask_end(void) {}

ALWAYS_INLINE void posix_signals_opened(uint64_t mask)
{
    (void)mask;
}

ALWAYS_INLINE void posix_signals_expect(void) {}

/* No signal interrupts a wait. */
ALWAYS_INLINE bool posix_interrupted(bool restarts)
{
    (void)restarts;
    return false;
}

ALWAYS_INLINE int posix_sleep_elsewhere(clockid_t clock, int flags, const struct timespec *time,
                                        struct timespec *left)
{
    (void)clock;
    (void)flags;
    (void)time;
    (void)left;
    return EINVAL;
}

#endif
