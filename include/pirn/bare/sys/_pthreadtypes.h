/* SPDX-License-Identifier: MIT */
/*
 * sys/_pthreadtypes.h (boards) - the types of <pthread.h>, <semaphore.h> and <threads.h>. Programs
 * include those headers.
 *
 * A type has the size of the library's object that lies in it; the library asserts the sizes.
 * Zeroed objects are valid: plain mutexes, condition variables with the clock CLOCK_REALTIME,
 * readers-writer locks, semaphores of value 0.
 */
#ifndef PIRN_BARE_SYS_PTHREADTYPES_H
#define PIRN_BARE_SYS_PTHREADTYPES_H

#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct __pirn_queue {
    unsigned __words[2];
    void *__first;
};

/* A thread. Valid from its creation until it has been joined, or has ended detached. */
typedef struct thread *pthread_t;

typedef unsigned pthread_key_t;

typedef struct {
    int __state;
} pthread_once_t;

typedef struct {
    unsigned __words[2];
    void *__owner;
    unsigned __kind, __ceiling;
    struct __pirn_queue __queue;
} pthread_mutex_t;

typedef struct {
    struct __pirn_queue __queue;
    unsigned __words[5];
    unsigned __flags;
} pthread_cond_t;

typedef struct {
    unsigned __words[8];
    struct __pirn_queue __queue;
    unsigned __kind, __spare;
} pthread_rwlock_t;

typedef struct {
    unsigned __words[4];
    struct __pirn_queue __queue;
} pthread_barrier_t;

typedef unsigned pthread_spinlock_t;

typedef struct {
    int __words[3];
    size_t __guard;
    void *__top;
    size_t __size;
    unsigned __cpus;
} pthread_attr_t;

typedef struct {
    unsigned __bits;
} pthread_mutexattr_t;

typedef struct {
    unsigned __flags;
} pthread_condattr_t;

typedef struct {
    int __kind, __shared;
} pthread_rwlockattr_t;

typedef struct {
    int __shared;
} pthread_barrierattr_t;

typedef struct {
    unsigned __words[4];
    struct __pirn_queue __queue;
} sem_t;

#ifdef __cplusplus
}
#endif

#endif
