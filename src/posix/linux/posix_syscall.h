/* SPDX-License-Identifier: MIT */
/*
 * posix_syscall.h - the program's syscall(): posix_syscall.c.
 */
#ifndef PIRN_POSIX_SYSCALL_H
#define PIRN_POSIX_SYSCALL_H

/* a: the six arguments after the number. The result and errno are the kernel's. */
long posix_syscall(long number, const long *a);

/* What the library itself gets for syscall: the system call alone. */
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);

#endif
