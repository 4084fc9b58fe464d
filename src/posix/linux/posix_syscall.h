/* SPDX-License-Identifier: MIT */
/*
 * posix_syscall.h - the program's syscall(): posix_syscall.c.
 */
#ifndef PIRN_POSIX_SYSCALL_H
#define PIRN_POSIX_SYSCALL_H

#include <sys/types.h>

/* a: the six arguments after the number. The result and errno are the kernel's. */
long posix_syscall(long number, const long *a);

/* CPU sets: posix_affinity.c. */
long posix_call_setaffinity(pid_t pid, size_t size, const void *set);
long posix_call_getaffinity(pid_t pid, size_t size, void *set);

/* What the library itself gets for syscall: the system call alone. */
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);

#endif
