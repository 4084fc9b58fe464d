/* SPDX-License-Identifier: MIT */
/*
 * port_posix.h - what the POSIX layer asks of a platform with an operating system.
 *
 * src/posix calls nothing of the platform's but this, the other port headers, and system calls in
 * src/posix/linux. Boards have none of it (src/posix/bare).
 *
 * port_env.h has, inline:
 *
 *   port_tls_own                    threads have TLS blocks of their own
 *   port_tls_handle_self()          the caller's pthread_t, where port_tls_own
 *   port_thread_of_handle(handle)   the thread whose pthread_t that is; NULL: one that has not
 *                                   called us
 *   port_tls_tid()                  the id that the C library has for the caller, where
 *                                   port_tls_own
 */
#ifndef PIRN_PORT_POSIX_H
#define PIRN_PORT_POSIX_H

#include "port.h"

#include <pthread.h>
#include <time.h>

/* CPU time of user threads in ns; any context. Counting begins with the first
 * call of either in the process (linux_times.c says what is known of the time before). Of the
 * caller: false if it is no user thread. Of a user thread that does not go away meanwhile. */
bool port_time_self(uint64_t *ns);
uint64_t port_time_of(struct thread *t);

/* The system's clock of the CPU time of a kernel thread. */
clockid_t port_time_kernel_clock(int tid);

/* Learn of forks from now on: before handlers that the program registers. 0 or -errno. */
int port_fork_watch(void);

/* The sanitizer that the program is built with, if this library is not. */
enum port_sanitizer { SANITIZER_NONE, SANITIZER_LEAK, SANITIZER_ADDRESS, SANITIZER_THREAD };
enum port_sanitizer port_sanitizer(void);

/* A kernel thread of the C library's, for a helper of a tool's. 0 or -errno. */
int port_helper_create(pthread_t *thread, void *(*fn)(void *), void *arg);
bool port_helper_next(void);
bool port_helper_self(void);

/* A system call made by every kernel thread of the process that the C library knows: by all or by
 * none; if it fails in some only, the process is aborted. 0 or -errno. Only if port_tls_own: else
 * the C library's own way works. Waits for the others in the kernel. */
int port_everywhere(long number, long a, long b, long c);

/* A system call that any of the bits of the word ends, by a signal: the kernel's result, or
 * PORT_CALL_STOPPED: it has not been made (where that cannot be told from the other: one of the
 * two); PORT_CALL_REPEATS: it was made and waited, and the kernel would make it again after a
 * handler with SA_RESTART. args: the call's number, then six arguments. */
#define PORT_CALL_STOPPED (-4096L)
#define PORT_CALL_REPEATS (-4097L)
long port_stop_call(const void *word, uint32_t bits, const long *args)
    __attribute__((visibility("hidden")));

/*
 * Signals of the program: linux_signals.c. The POSIX layer decides about them
 * (signals/posix_signal.h): handlers, and a kernel thread that runs no user thread, call these
 * functions.
 */
struct port_signal_upcalls {
    /* The handler of a signal that the interrupted instruction has caused runs now. info: a
     * siginfo_t, context: a ucontext_t. Also on foreign kernel threads, for every signal. */
    void (*run)(int signal, void *info, void *context);
    /* Where the frame of such a handler belongs: below this address. sp: the thread's. */
    void *(*stack)(uintptr_t sp);
    /* One has come: for the thread that runs here, or for the process. */
    void (*arrived)(const void *info, bool thread);
    /* The calling thread runs its handlers. True: a call that they interrupted is to fail. */
    bool (*take)(void *context);
    /* Fetch signals that are pending for the process, and tell threads again that have not taken
     * their signals. Returns the time of the next call (ns of port_now) at the latest. */
    uint64_t (*pump)(void);
};

/* From now on. Again does nothing new. 0, -ENOTSUP (not here), -errno. */
int port_signals_start(const struct port_signal_upcalls *up);

/* Let the kernel give the signal to us, instead of to a handler. flags: of sigaction. 0, -errno. */
int port_signal_catch(int signal, int flags);

/* Those that the library has taken for itself, and the C library's: no program's. */
uint64_t port_signals_own(void);

/* Take one that is pending for the process or the caller's kernel thread into the siginfo_t; which
 * are. */
bool port_signal_fetch(void *info);
uint64_t port_signals_of_kernel(void);

/* Do what the kernel does by default; returns if that was to stop the process, and it goes on. */
void port_signal_default(int signal);

/* Have the calling user thread, outside the runtime, take its signals. */
void port_signals_accept(void);

/* Have `pump` called soon. */
void port_signals_wake(void);

/* The mask of the calling kernel thread: NULL: a carrier's. For the time of a call that passes it
 * on to a new process. */
void port_signal_mask(const uint64_t *mask);

/* The calling carrier is about to become another program, which would die of a signal of our own
 * that is pending; with this mask. Or that has failed. */
void port_exec_begin(const uint64_t *mask);
void port_exec_end(void);

/* These signals of the process are not fetched any more: the program asks the kernel for them. */
void port_signals_leave_to_kernel(uint64_t set);

/* The calling worker, if it has the program's alternate stack (stack_t), which it began with, gets
 * one of its own. False: it has. */
bool port_signal_stack(void *programs);
bool port_signal_stack_is_programs(void);

/* Call fn(signal, info, context) on the stack that ends at top. */
void port_call_on(int signal, void *info, void *context, void (*fn)(int, void *, void *), void *top)
    __attribute__((visibility("hidden")));

#endif
