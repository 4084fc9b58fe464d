/* SPDX-License-Identifier: MIT
 *
 * libpirn-kernel.so: task affinity of POSIX threads under the kernel's scheduler (pirn-kernel). To
 * be preloaded, or linked. A program finds the two functions as weak symbols.
 *
 * int pthread_add_taskaffinity_np(pthread_t consumer, pthread_t producer);
 * int pthread_del_taskaffinity_np(pthread_t consumer, pthread_t producer);
 *
 *     The consumer waits for what the producer makes; or no longer. 0; ESRCH: a thread has ended;
 *     EINVAL: the consumer itself; ELOOP: the producer depends on the consumer; ENOSPC: too many
 *     producers (16) or consumers (1024); ENOENT (del): not declared; ENOSYS: no scheduler is
 *     loaded; EPERM, EACCES: the caller may not use BPF. No cancellation points.
 *
 * No table of threads is kept: a thread's number is in the id of its CPU-time clock, whose format
 * is part of the kernel's interface (~number in the bits above the lowest three). The C library
 * gives that id for every thread, the main one too, and ESRCH after the thread's end.
 */
#include "../table/maps.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int pthread_add_taskaffinity_np(pthread_t consumer, pthread_t producer);
EXPORTED int pthread_del_taskaffinity_np(pthread_t consumer, pthread_t producer);

enum { CLOCK_BITS = 3 };

/* 0: the thread has ended. */
static uint32_t thread_number(pthread_t thread)
{
    clockid_t clock;

    if (pthread_getcpuclockid(thread, &clock) != 0)
        return 0;
    return (uint32_t) ~(clock >> CLOCK_BITS);
}

/* Its clock may have been read while it ended. */
static int alive(uint32_t tid)
{
    return tid != 0 && syscall(SYS_tgkill, getpid(), (pid_t)tid, 0) == 0;
}

static int change(pthread_t consumer, pthread_t producer, int (*in_table)(uint32_t, uint32_t))
{
    uint32_t from = thread_number(consumer);
    uint32_t to = thread_number(producer);
    int saved = errno;
    int error;

    if (!alive(from) || !alive(to))
        error = ESRCH;
    else
        error = -in_table(from, to);
    errno = saved;
    return error;
}

int pthread_add_taskaffinity_np(pthread_t consumer, pthread_t producer)
{
    return change(consumer, producer, table_add);
}

int pthread_del_taskaffinity_np(pthread_t consumer, pthread_t producer)
{
    return change(consumer, producer, table_delete);
}
