/* SPDX-License-Identifier: MIT */
/*
 * posix_affinity.c - CPU sets of threads. The kernel takes the CPUs that the process may not use
 * out of a set: reading the set does not return them.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "../posix.h"
#include "port_affinity.h"
#include "posix_syscall.h"
#include "runtime.h"

static int get(struct thread *t, size_t size, cpu_set_t *set)
{
    cpu_set_t got;
    int error = -port_cpus_get(&t->port, &got);
    if (error != 0) {
        return error;
    }
    if (size % sizeof(unsigned long) != 0) {
        return EINVAL;
    }
    for (size_t i = size; i < sizeof(got); i++) {
        if (((const unsigned char *)&got)[i] != 0) {
            return EINVAL;
        }
    }
    memset(set, 0, size);
    memcpy(set, &got, size < sizeof(got) ? size : sizeof(got));
    return 0;
}

static int set_user(struct thread *t, size_t size, const cpu_set_t *set)
{
    const struct port_cpus *cpus;
    int error = -port_cpus_find(set, size, &cpus);
    if (error == 0) {
        port_cpus_set(t, cpus);
    }
    return error;
}

int pirn_pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *set)
{
    struct thread *t = posix_thread(thread);
    return t == NULL ? ESRCH : get(t, size, set);
}

int pirn_pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *set)
{
    struct thread *t = posix_thread(thread);
    if (t == NULL) {
        return ESRCH;
    }
    return t->flags & THREAD_FOREIGN ? -port_cpus_set_foreign(&t->port, set, size)
                                     : set_user(t, size, set);
}

/* 0, or what gettid returns. */
static bool is_caller(pid_t pid)
{
    return pid == 0 || (port_tls_own && pid == port_tls_tid());
}

/* The thread that a process id names: the caller, or by the process's own id the main thread. NULL:
 * the kernel handles the call. A thread that has lost its CPU gets one: the kernel would set the
 * CPUs of the kernel thread on which it happens to run. */
static struct thread *thread_of(pid_t pid)
{
    if (at_load_acq(&rt.started) != 2 || posix_is_foreign()) { /* ORDER(start) */
        return NULL;
    }
    struct thread *t = is_caller(pid) ? rt_self() : pid == getpid() ? &rt.main_thread : NULL;
    return t != NULL && t->flags & THREAD_FOREIGN ? NULL : t;
}

int pirn_posix_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
    struct thread *t = thread_of(pid);
    if (t == NULL) {
        return (int)syscall(SYS_sched_setaffinity, pid, size, set);
    }
    int error = set_user(t, size, set);
    return error == 0 ? 0 : posix_fail(error);
}

int pirn_posix_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    struct thread *t = thread_of(pid);
    if (t != NULL) {
        int error = get(t, size, set);
        return error == 0 ? 0 : posix_fail(error);
    }
    long filled = syscall(SYS_sched_getaffinity, pid, size < INT_MAX ? size : INT_MAX, set);
    if (filled < 0) {
        return -1;
    }
    memset((char *)set + filled, 0, size - (size_t)filled);
    return 0;
}

/* The kernel refuses a null pointer; other invalid ones end the program, where it would return
 * EFAULT. */
long posix_call_setaffinity(pid_t pid, size_t size, const void *set)
{
    return set == NULL ? syscall(SYS_sched_setaffinity, pid, size, set)
                       : pirn_posix_sched_setaffinity(pid, size, set);
}

/* The system call returns how many bytes it has written. */
long posix_call_getaffinity(pid_t pid, size_t size, void *set)
{
    struct thread *t = thread_of(pid);
    long filled = syscall(SYS_sched_getaffinity, t != NULL ? 0 : pid, size, set);
    if (t == NULL || filled < 0) {
        return filled;
    }
    int error = get(t, (size_t)filled, set);
    return error == 0 ? filled : posix_fail(error);
}
