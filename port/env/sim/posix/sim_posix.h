/* SPDX-License-Identifier: MIT */
/*
 * sim_posix.h - what tests of the POSIX layer ask of the simulated kernel (sim_kernel.h).
 */
#ifndef PIRN_SIM_POSIX_H
#define PIRN_SIM_POSIX_H

#include <stdbool.h>
#include <stdint.h>

/* Another process sends a signal to this one. */
void sim_kill(int signal);

/* How often the receiver has tried to interrupt a thread for its signals. How many cancel signals
 * all others have sent. */
unsigned sim_receiver_asked(void);
unsigned sim_others_sent(void);

/* In a call of the C library that nobody has announced, for so long; it may cost the caller its
 * CPU, and handlers may run in it. */
void sim_libc_call(uint32_t ns);

/* Descriptors from here on are no streams: to read one is a system call that waits. */
#define SIM_FD_DEVICES 4

/* The default action of this signal, which ends the process, is what the test wants: the run ends
 * well there, if it ends there. */
void sim_expect_default(int signal);

/* The test wants the run to end in execve(), and look() to be called there: with the new program's
 * signal mask and what is pending for it. */
void sim_expect_exec(void (*look)(uint64_t mask, uint64_t pending));

/* As fork(). The child is simulated to its end before the parent goes on; it ends by
 * sim_child_exit. A failure there fails the parent's run. The parent gets a number, which
 * sim_child_status turns into the status. */
int sim_fork(void);
void sim_child_exit(int status) __attribute__((noreturn));
int sim_child_status(int child);

/* There is a program of this name, and none of another. */
#define SIM_PROGRAM "/bin/program"

#endif
