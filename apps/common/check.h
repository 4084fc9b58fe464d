/* SPDX-License-Identifier: MIT
 *
 * Checked calls: the reaction of an application when the runtime refuses something. Used by every
 * application; an error ends the process with status 1 and a sentence on standard error that names
 * the call and the reason.
 */
#ifndef APPS_COMMON_CHECK_H
#define APPS_COMMON_CHECK_H

#include "name.h"

#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

/* Enough for any of the applications' threads, and small enough for thousands of them. If the
 * system's minimum is larger, that is used. */
#define APP_STACK_SIZE ((size_t)64 * 1024)

/* For functions that return an error number (pthread_*): 0 passes, anything else dies. */
void check_rc(int rc, const char *what);

/* For allocations: a null pointer dies. Returns the pointer. */
void *check_alloc(void *memory, size_t bytes);

/* `count` (at least 1) zeroed elements of `bytes` bytes; dies if there is no memory. */
void *array_alloc(size_t count, size_t bytes);

/* An attribute for a small stack, for threads that thread_start does not fit. */
void small_stack_attr(pthread_attr_t *attr);

/* Joinable thread with a small stack. */
void thread_start(pthread_t *thread, void *(*entry)(void *), void *arg);
void thread_join(pthread_t thread);

/* Semaphores report through errno, and a wait may be interrupted by a signal. */
void semaphore_init(sem_t *sem, unsigned value);
void semaphore_wait(sem_t *sem);
void semaphore_post(sem_t *sem);
void semaphore_destroy(sem_t *sem);

#endif
