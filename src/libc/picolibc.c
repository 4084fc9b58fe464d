/* SPDX-License-Identifier: MIT */
/*
 * picolibc.c - the locks of the C library (picolibc): one for its own data (heap, environment, exit
 * handlers), one for each stream. They are recursive mutexes whose waiters are threads, so that a
 * thread can be preempted inside the C library. Cancellation points none of them.
 *
 * Before the runtime has started there is one thread, which will be its main thread: it takes and
 * gives back free mutexes, which needs no runtime.
 *
 * `owner` is written by who has the mutex, and read by others only to compare it with themselves:
 * they find their own address there only if they wrote it. `depth` belongs to the owner.
 *
 * A handler of interrupts cannot wait for a thread: if it needs a lock that a thread holds, the
 * program ends with a message.
 */
#include <stdio.h>
#include <string.h>
#include <sys/lock.h>

#include "../sync/sync.h"
#include "cpu.h"
#include "port_signals.h"
#include "runtime.h"

struct __lock {
    struct rt_mutex mutex;
    struct thread *owner;
    unsigned depth;
};

struct __lock __lock___libc_recursive_mutex;

static struct thread *self_thread(void)
{
    bool has;
    struct thread *self = rt_current(&has);
    return has ? self : &rt.main_thread;
}

/* Locks of the standard streams need no heap: a program that opens no files can do without one. A
 * program that opens files has the heap in its image. */
#define STANDARD_STREAMS 3
static struct __lock standard[STANDARD_STREAMS];
static uint32_t standard_used;

void *malloc(size_t size) __attribute__((weak));
void free(void *p) __attribute__((weak));

static struct __lock *lock_new(void)
{
    uint32_t i = __atomic_load_n(&standard_used, __ATOMIC_RELAXED);
    if (i < STANDARD_STREAMS &&
        (i = __atomic_fetch_add(&standard_used, 1, __ATOMIC_RELAXED)) < STANDARD_STREAMS) {
        return &standard[i];
    }
    struct __lock *l = malloc != NULL ? malloc(sizeof(struct __lock)) : NULL;
    return l != NULL ? memset(l, 0, sizeof(*l)) : NULL;
}

void __retarget_lock_init(_LOCK_T *lock)
{
    struct __lock *l = lock_new();
    if (l == NULL) {
        static const char text[] = "pirn: no memory for a lock of the C library\n";
        port_write(text, sizeof(text) - 1);
        port_panic();
    }
    *lock = l;
}

void __retarget_lock_close(_LOCK_T lock)
{
    if (lock < standard || lock >= standard + STANDARD_STREAMS) {
        free(lock);
    }
}

void __retarget_lock_acquire(_LOCK_T lock)
{
    struct thread *self = self_thread();
    if (unlikely(!port_may_switch())) {
        port_handler_refuse("calls a function of the C library that takes a lock (malloc, stdio, "
                            "exit), which handlers must not do");
    }
    if (__atomic_load_n(&lock->owner, __ATOMIC_RELAXED) != self) {
        if (!rt_mutex_lock_fast(&lock->mutex)) {
            rt_mutex_lock_slow(&lock->mutex, UINT64_MAX);
        }
        STORE_RLX(&lock->owner, self);
    }
    lock->depth++;
}

void __retarget_lock_release(_LOCK_T lock)
{
    if (--lock->depth == 0) {
        STORE_RLX(&lock->owner, NULL);
        if (!rt_mutex_unlock_fast(&lock->mutex)) {
            rt_mutex_unlock_slow(&lock->mutex);
        }
    }
}

/* All are recursive: a stream's lock is made by one pair of these and closed by the other. */
void __retarget_lock_init_recursive(_LOCK_T *lock)
{
    __retarget_lock_init(lock);
}

void __retarget_lock_close_recursive(_LOCK_T lock)
{
    __retarget_lock_close(lock);
}

void __retarget_lock_acquire_recursive(_LOCK_T lock)
{
    __retarget_lock_acquire(lock);
}

void __retarget_lock_release_recursive(_LOCK_T lock)
{
    __retarget_lock_release(lock);
}

/* The C library's own takes one lock and gives back another. */
int ftrylockfile(FILE *stream)
{
    (void)stream;
    return -1;
}
