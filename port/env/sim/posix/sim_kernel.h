/* SPDX-License-Identifier: MIT */
/*
 * sim_kernel.h - the model of an operating system's kernel under the POSIX layer: what port_posix.h
 * asks of a platform, and the system calls that src/posix makes, on the simulator's contexts.
 *
 * Each context is a kernel thread. The POSIX layer's objects are linked with other names for what
 * they take from the C library (src/posix/sim.cmake): system calls come to sim_syscall, errno is
 * sim_errno, and all their variables lie in one section, which each run finds as a new process
 * would. So the sources are those of Linux, unchanged.
 *
 * The model has one signal of the runtime's own, the cancel signal, which stands for all that the
 * Linux port sends its carriers (linux_cancel.c). It is sent to a context, and comes at that
 * context's next scheduling point or later. The place where it has interrupted the context
 * decides what a handler may do then:
 *
 *   in the runtime, in the POSIX layer    notices (rt_cancel_notice); takes no signals
 *   in the program's own code             takes signals: runs the program's handlers; ends the
 *   (sim_pause), in a call of the C       thread, if it is cancelled asynchronously
 *   library (sim_libc_call)
 *   at a stoppable call                   stops it (port_stop_call)
 *   on the carrier's signal stack         comes again
 *
 * Invariants:
 *   1. The runtime's handler never runs on a context that blocks it (`blocked`, `handles`), nor
 *      without having been sent (`pending`).
 *   2. A call that sleeps is woken by what it waits for, by its deadline, or by a signal; nothing
 *      else ends it.
 *   3. A signal of the process that nobody has fetched is in `process`, in the order of arrival; no
 *      signal is lost in the kernel.
 */
#ifndef PIRN_SIM_KERNEL_H
#define PIRN_SIM_KERNEL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "../sim_internal.h"
#include "port_posix.h"

/* Where the runtime's handler interrupts a context. */
enum sim_where {
    SIM_LIBRARY, /* in the runtime or the POSIX layer */
    SIM_USER,    /* where a handler of the program's may run */
    SIM_CALL,    /* at a stoppable call, which has not been made */
    SIM_SLEEPS,  /* in a stoppable call, which waits */
};

/* A context as the kernel sees it. Its own, but for `sent` and `pending`. */
struct sim_kthread {
    bool sent;    /* the cancel signal, and its handler has not said so: it is not sent again */
    bool pending; /* it has not come */
    bool blocked; /* it is to wait until port_interrupt_accept */
    bool handles; /* its handler looks for requests, and blocks it */
    bool stopped; /* it has ended the stoppable call that it found */
    bool sleeps;  /* in a call: what it waits for wakes it */
    enum sim_where where;
    int error;      /* errno, if no thread of the runtime's is there */
    uint64_t mask;  /* between port_exec_begin and the call: of the new program */
    uint32_t *word; /* futex that it waits for */
    unsigned asked; /* how often it has asked for the cancel signal to be sent, to anyone */
    unsigned sends; /* how often it was sent */
};

extern struct sim_kthread sim_kthreads[SIM_CONTEXTS];

/* The running context's. It may be another one after any scheduling point. */
struct sim_kthread *sim_kthread_self(void);

/* Send the cancel signal to a context. */
void sim_interrupt_send(unsigned context);

/* The signal has come: where? */
void sim_interrupt_take(enum sim_where where);

/* The running context sleeps in the kernel until it is woken, at the latest at `deadline`. */
void sim_kernel_sleep(uint64_t deadline);

/* Something has happened that a call may wait for. */
void sim_kernel_wake(void);

/* A system call: its number and six arguments; -errno. stoppable: as port_stop_call, then also
 * PORT_CALL_STOPPED and PORT_CALL_REPEATS. */
long sim_kernel_call(const long *args, bool stoppable);

/* The running thread takes its signals, if it may. */
void sim_signals_take(void);

/* Signals of the process that nobody has fetched. take: the first of the set, in arrival order;
 * false: none. */
void sim_process_send(const siginfo_t *info);
bool sim_process_take(uint64_t set, siginfo_t *info);
uint64_t sim_process_pending(void);

/* A run begins, or a child of a fork: the kernel has no handlers of ours, and nothing pending. */
void sim_signals_reset(void);
void sim_process_reset(void);

/* The run ends here, if it is a child's: it tells its parent. */
void sim_process_left(void);

/* The POSIX layer's objects call these instead of the C library's syscall, __errno_location and
 * __sigaction, and port_table_alloc, port_table_free: the layer's tables go at the end of a run. */
long sim_syscall(long number, ...);
int *sim_errno(void);
int sim_clock_gettime(clockid_t clock, struct timespec *t);
int sim_sigaction(int signal, const struct sigaction *action, struct sigaction *old);
void *sim_table_alloc(size_t size);
void sim_table_free(void *p, size_t size);

/* execve(): does not return if there is such a program. */
long sim_exec(const char *path);

#endif
