/* SPDX-License-Identifier: MIT */
/* start_failed.h - the end of a program whose runtime cannot start. */
#ifndef PIRN_CORE_START_FAILED_H
#define PIRN_CORE_START_FAILED_H

#include "cpu.h"

#ifdef PIRN_WITHOUT_MESSAGES

#define start_failed(error, what) ((void)(error), (void)(what), port_exit_now(1))
#define start_failed_of(error, what, cpu) ((void)(cpu), start_failed(error, what))
#define start_failed_policy(error) ((void)(error), port_exit_now(1))

#else

/* The message, and status 1. `what` was refused with -errno `error`; of CPU number `cpu`. */
NORETURN COLD void start_failed(int error, const char *what);
NORETURN COLD void start_failed_of(int error, const char *what, unsigned cpu);
NORETURN COLD void start_failed_policy(int error);

#endif

#endif
