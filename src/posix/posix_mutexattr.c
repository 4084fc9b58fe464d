/* SPDX-License-Identifier: MIT */
/*
 * posix_mutexattr.c - mutex attributes. An attribute keeps every valid value; mutex_init refuses
 * combinations that it does not support (ENOTSUP). An attribute is one word, which only this file
 * reads and writes.
 */
#include <errno.h>

#include "posix_mutex.h"

#define BITS(attr) (*(uint32_t *)(attr))
#define CONST_BITS(attr) (*(const uint32_t *)(attr))

#define BIT_SHARED 0x80000000u
#define BIT_ROBUST 0x40000000u
#define PROTOCOL_SHIFT 28
#define PROTOCOL_MASK 0x30000000u
#define CEILING_SHIFT 12
#define CEILING_MASK 0x00fff000u
#define TYPE_MASK 0x00000fffu

_Static_assert(sizeof(pthread_mutexattr_t) >= sizeof(uint32_t), "pthread_mutexattr_t");

static void set(pthread_mutexattr_t *attr, uint32_t mask, uint32_t bits)
{
    BITS(attr) = (BITS(attr) & ~mask) | bits;
}

int pirn_pthread_mutexattr_init(pthread_mutexattr_t *attr)
{
    BITS(attr) = PTHREAD_MUTEX_DEFAULT;
    return 0;
}

/* Leaves a type that mutex_init refuses. Undefined in POSIX for a null pointer, which the C library
 * does not read. */
int pirn_pthread_mutexattr_destroy(pthread_mutexattr_t *attr)
{
    if (attr != NULL) {
        BITS(attr) = UINT32_MAX;
    }
    return 0;
}

int pirn_pthread_mutexattr_settype(pthread_mutexattr_t *attr, int type)
{
    if (type < PTHREAD_MUTEX_NORMAL || type > PTHREAD_MUTEX_ADAPTIVE_NP) {
        return EINVAL;
    }
    set(attr, TYPE_MASK, (uint32_t)type);
    return 0;
}

int pirn_pthread_mutexattr_gettype(const pthread_mutexattr_t *attr, int *type)
{
    *type = (int)(CONST_BITS(attr) & TYPE_MASK);
    return 0;
}

int pirn_pthread_mutexattr_setpshared(pthread_mutexattr_t *attr, int shared)
{
    if (shared != PTHREAD_PROCESS_PRIVATE && shared != PTHREAD_PROCESS_SHARED) {
        return EINVAL;
    }
    set(attr, BIT_SHARED, shared == PTHREAD_PROCESS_SHARED ? BIT_SHARED : 0);
    return 0;
}

int pirn_pthread_mutexattr_getpshared(const pthread_mutexattr_t *attr, int *shared)
{
    *shared = CONST_BITS(attr) & BIT_SHARED ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE;
    return 0;
}

int pirn_pthread_mutexattr_setrobust(pthread_mutexattr_t *attr, int robust)
{
    if (robust != PTHREAD_MUTEX_STALLED && robust != PTHREAD_MUTEX_ROBUST) {
        return EINVAL;
    }
    set(attr, BIT_ROBUST, robust == PTHREAD_MUTEX_ROBUST ? BIT_ROBUST : 0);
    return 0;
}

int pirn_pthread_mutexattr_getrobust(const pthread_mutexattr_t *attr, int *robust)
{
    *robust = CONST_BITS(attr) & BIT_ROBUST ? PTHREAD_MUTEX_ROBUST : PTHREAD_MUTEX_STALLED;
    return 0;
}

int pirn_pthread_mutexattr_setprotocol(pthread_mutexattr_t *attr, int protocol)
{
    if (protocol != PTHREAD_PRIO_NONE && protocol != PTHREAD_PRIO_INHERIT &&
        protocol != PTHREAD_PRIO_PROTECT) {
        return EINVAL;
    }
    set(attr, PROTOCOL_MASK, (uint32_t)protocol << PROTOCOL_SHIFT);
    return 0;
}

int pirn_pthread_mutexattr_getprotocol(const pthread_mutexattr_t *attr, int *protocol)
{
    *protocol = (int)((CONST_BITS(attr) & PROTOCOL_MASK) >> PROTOCOL_SHIFT);
    return 0;
}

int pirn_pthread_mutexattr_setprioceiling(pthread_mutexattr_t *attr, int ceiling)
{
    if (!mutex_ceiling_valid(ceiling)) {
        return EINVAL;
    }
    set(attr, CEILING_MASK, (uint32_t)ceiling << CEILING_SHIFT);
    return 0;
}

/* The default is the lowest ceiling. */
int pirn_pthread_mutexattr_getprioceiling(const pthread_mutexattr_t *attr, int *ceiling)
{
    int kept = (int)((CONST_BITS(attr) & CEILING_MASK) >> CEILING_SHIFT);
    *ceiling = kept != 0 ? kept : MUTEX_CEILING_MIN;
    return 0;
}

int mutex_kind_of(const pthread_mutexattr_t *attr, uint32_t *kind)
{
    static const uint32_t protocols[] = {[PTHREAD_PRIO_NONE] = 0,
                                         [PTHREAD_PRIO_INHERIT] = OM_INHERIT,
                                         [PTHREAD_PRIO_PROTECT] = OM_PROTECT};
    uint32_t bits = CONST_BITS(attr);
    uint32_t type = bits & TYPE_MASK;
    uint32_t protocol = (bits & PROTOCOL_MASK) >> PROTOCOL_SHIFT;
    if (type > PTHREAD_MUTEX_ADAPTIVE_NP || protocol >= ARRAY_SIZE(protocols)) {
        return EINVAL;
    }
    *kind = type | protocols[protocol] | (bits & BIT_ROBUST ? OM_ROBUST : 0);
    if (POSIX_PROCESSES && (bits & BIT_SHARED)) {
        /* Priorities rank the threads of a process: those of another one have none to inherit. */
        *kind = (*kind & ~OM_INHERIT) | MUTEX_SHARED;
    }
    return rt_mutex_form(*kind) != MUTEX_IS_NONE ? 0 : ENOTSUP;
}
