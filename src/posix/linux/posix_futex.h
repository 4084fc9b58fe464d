/* SPDX-License-Identifier: MIT */
/*
 * posix_futex.h - the system call futex for threads of the program: posix_futex.c.
 */
#ifndef PIRN_POSIX_FUTEX_H
#define PIRN_POSIX_FUTEX_H

/* args: the six arguments after the number. The result and errno are the kernel's. */
long posix_futex(const long *args);

#endif
