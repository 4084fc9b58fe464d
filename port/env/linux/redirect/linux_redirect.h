/* SPDX-License-Identifier: MIT */
/*
 * linux_redirect.h (Linux) - system calls that a module makes by itself: linux_redirect.c.
 */
#ifndef PIRN_LINUX_REDIRECT_H
#define PIRN_LINUX_REDIRECT_H

#include "linux.h"

/* A thread of this kernel thread waits in the system call futex at pc: from now on the POSIX layer
 * gets those calls of its module, if that can be done. In a handler that has interrupted the call,
 * with all signals blocked. */
void redirect_learn(uintptr_t pc);

/* Around fork, in the parent and in the child: no code is half changed. */
void redirect_before_fork(void);
void redirect_after_fork(void);

#endif
