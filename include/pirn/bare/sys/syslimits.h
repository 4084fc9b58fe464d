/* SPDX-License-Identifier: MIT */
/*
 * sys/syslimits.h (boards) - the C library's part of <limits.h>, and the limits that
 * libpirn-pthread adds: keys of thread-specific data, rounds of their destructors, bytes of the
 * smallest stack, the largest value of a semaphore, open message queues, priorities of messages.
 */
#ifndef PIRN_BARE_SYS_SYSLIMITS_H
#define PIRN_BARE_SYS_SYSLIMITS_H

#include_next <sys/syslimits.h>

#define PTHREAD_DESTRUCTOR_ITERATIONS 4
#define PTHREAD_KEYS_MAX 256
#ifdef PIRN_STACK_LEAST /* defined by the library's build */
#define PTHREAD_STACK_MIN PIRN_STACK_LEAST
#else
#define PTHREAD_STACK_MIN 16384
#endif
#define SEM_VALUE_MAX 0x7fffffff
#define MQ_OPEN_MAX 16
#define MQ_PRIO_MAX 32

#endif
