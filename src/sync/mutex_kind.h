/* SPDX-License-Identifier: MIT */
/*
 * mutex_kind.h - the word `kind` of a mutex, and the one place that tells mutexes apart.
 *
 * Callers: the POSIX layer for every operation that is not on a plain mutex's fast path, and the
 * report of a deadlock.
 *
 * A mutex is one of three structures (rt_mutex, rt_omutex, rt_shmutex), which have `kind` at the
 * same offset. rt_mutex_form says which one.
 *
 * Invariants:
 *   1. `kind` is written when the mutex is initialized, by an initializer of the ABI's header, and
 *      when it is destroyed; it does not change while the mutex is in use. So it may be read
 *      without a lock.
 *   2. A kind of 0 is a plain mutex: objects of zeroes are valid.
 *   3. No two forms share a kind. The ABI asserts that its initializers, and processes with which
 *      it shares mutexes, write these values (src/posix/.../posix_layout*.c).
 */
#ifndef PIRN_SYNC_MUTEX_KIND_H
#define PIRN_SYNC_MUTEX_KIND_H

#include "compiler.h"
#include "config.h"
#include "port.h"

/* The type, after pthread_mutexattr_settype. */
enum mutex_type { MUTEX_NORMAL, MUTEX_RECURSIVE, MUTEX_ERRORCHECK, MUTEX_ADAPTIVE };
#define MUTEX_TYPE 3u

/* A mutex with any of these bits is a struct rt_omutex, unless it is between processes. */
#define OM_ROBUST 16u
#define OM_INHERIT 32u
#define OM_PROTECT 64u
#define OM_ANY (OM_ROBUST | OM_INHERIT | OM_PROTECT)

/* Between processes: a struct rt_shmutex, which may be robust, too. */
#define MUTEX_SHARED 128u
#define SHARED_MAY_BE (RT_OWNED ? OM_ROBUST : 0u)
/* Hints of the process that has made it, beside MUTEX_SHARED. They mean nothing here. */
#define MUTEX_HINTS 768u

#define MUTEX_DESTROYED UINT32_MAX

enum rt_mutex_form {
    MUTEX_IS_PLAIN,   /* struct rt_mutex; `owner` is only a note */
    MUTEX_IS_COUNTED, /* struct rt_mutex of a type that has an owner; `count` counts its locks */
    MUTEX_IS_OMUTEX,  /* struct rt_omutex */
    MUTEX_IS_SHARED,  /* struct rt_shmutex */
    MUTEX_IS_NONE,    /* destroyed, or left out of the build */
};

ALWAYS_INLINE uint32_t rt_mutex_type(uint32_t kind)
{
    return kind & MUTEX_TYPE;
}

ALWAYS_INLINE enum rt_mutex_form rt_mutex_form(uint32_t kind)
{
    if (kind <= MUTEX_TYPE) {
        return kind == MUTEX_RECURSIVE || kind == MUTEX_ERRORCHECK ? MUTEX_IS_COUNTED
                                                                   : MUTEX_IS_PLAIN;
    }
    if (RT_OWNED && (kind & OM_ANY) != 0 && (kind & ~(OM_ANY | MUTEX_TYPE)) == 0) {
        return MUTEX_IS_OMUTEX;
    }
    if (PORT_PROCESSES && (kind & ~(MUTEX_TYPE | MUTEX_HINTS | SHARED_MAY_BE)) == MUTEX_SHARED) {
        return MUTEX_IS_SHARED;
    }
    return MUTEX_IS_NONE;
}

#endif
