/* SPDX-License-Identifier: MIT */
/*
 * port_posix.h - the calls of the POSIX layer on a platform with an operating system.
 *
 * src/posix uses the platform only through this header, the other port headers, and system calls in
 * src/posix/linux. Boards have none of it (src/posix/bare).
 *
 * port_env.h has, inline:
 *
 *   port_tls_own                    threads have TLS blocks of their own
 *   port_tls_handle_self()          the caller's pthread_t, where port_tls_own
 *   port_tls_handle_early()         the same, also before that is decided
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

/* The program is about to get a protection key: from now on threads have rights of their own, and
 * new ones their creator's. In a thread. */
void port_pkeys_begin(void);

/* A handler of the program's begins in the caller, with the rights of the process's start, as the
 * kernel's do; returns what the caller had, to be given back when the handler ends. */
uint32_t port_pkeys_enter(void);
void port_pkeys_leave(uint32_t rights);

/* Is the word's memory this process's alone? False: perhaps not. Reads a file of /proc. */
bool port_memory_is_private(const void *word);

/* Learn of forks from now on: before handlers that the program registers. 0 or -errno. */
int port_fork_watch(void);

/* The sanitizer with which the program is built, unless this library is, too. */
enum port_sanitizer { SANITIZER_NONE, SANITIZER_LEAK, SANITIZER_ADDRESS, SANITIZER_THREAD };
enum port_sanitizer port_sanitizer(void);

/* Create a kernel thread of the C library, for a tool's helper. 0 or -errno. */
int port_helper_create(pthread_t *thread, void *(*fn)(void *), void *arg);
bool port_helper_next(void);
bool port_helper_self(void);

/* Every kernel thread of the process that the C library knows makes this system call: all or none.
 * If it fails in some, the process is aborted. 0 or -errno. Only if port_tls_own; otherwise the C
 * library's own function works. Waits for the others in the kernel. */
int port_everywhere(long number, long a, long b, long c);

/* Make a system call that a signal ends if any of the bits of the word is set. Returns the kernel's
 * result; PORT_CALL_STOPPED: the call was not made; PORT_CALL_REPEATS: it was made and waited, and
 * the kernel would repeat it after a handler with SA_RESTART. Ports that cannot tell the last two
 * apart return either. args: the call's number, then six arguments. */
#define PORT_CALL_STOPPED (-4096L)
#define PORT_CALL_REPEATS (-4097L)
long port_stop_call(const void *word, uint32_t bits, const long *args)
    __attribute__((visibility("hidden")));

/* Code that makes the system call futex by itself, and has waited there, calls `futex` instead from
 * then on, where the platform can bring that about. args: the six arguments after the number. The
 * result and errno are the kernel's. */
void port_redirect_futexes(long (*futex)(const long *args));

/*
 * Signals of the program: linux_signals.c. The POSIX layer decides about them
 * (signals/posix_signal.h): handlers, and a kernel thread that runs no user thread, call these
 * functions.
 */
struct port_signal_upcalls {
    /* The handler of a signal that the interrupted instruction has caused runs now. info: a
     * siginfo_t, context: a ucontext_t. Also on foreign kernel threads, for every signal. */
    void (*run)(int signal, void *info, void *context);
    /* The calling thread's alternate stack: the frame of a handler that is to run there belongs
     * below the returned address. sp: the thread's. NULL: it has none. */
    void *(*stack)(uintptr_t sp);
    /* Does a signal that the calling thread is to take have a handler with SA_ONSTACK, or is there
     * none that has a handler? Switches no thread. */
    bool (*on_stack)(void);
    /* The calling thread has set its mask by a system call of its own. Any context. */
    void (*mask)(struct thread *self, uint64_t mask);
    /* The signal is for all threads. */
    void (*everyone)(int signal);
    /* A signal has come, for the thread that runs here or for the process. Switches no thread. */
    void (*arrived)(const void *info, bool thread);
    /* The calling thread runs its handlers. True: a call that they interrupted must fail. */
    bool (*take)(void *context);
    /* Fetch signals that are pending for the process, and tell threads again that have not taken
     * their signals. Returns the time of the next call (ns of port_now) at the latest. */
    uint64_t (*pump)(void);
};

/* Signals go this way from now on. A second call does nothing. 0, -ENOTSUP (not here), -errno. */
int port_signals_start(const struct port_signal_upcalls *up);

/* Let the kernel give the signal to us, instead of to a handler. flags: of sigaction. 0, -errno. */
int port_signal_catch(int signal, int flags);

/* Signals that this library or the C library uses, not programs. */
uint64_t port_signals_own(void);

/* Take a signal that is pending for the process or the caller's kernel thread into the siginfo_t.
 * And the set of such signals. */
bool port_signal_fetch(void *info);
uint64_t port_signals_of_kernel(void);

/* Perform the kernel's default action. Returns if that has stopped the process, and it continues.
 */
void port_signal_default(int signal);

/* A signal of the process (siginfo_t), which was fetched, goes to the main kernel thread, which
 * runs no user threads. False: that one has ended. */
bool port_signal_to_main(int signal, const void *info);

/* The calling user thread, outside the runtime, takes its signals. False: it runs a handler on the
 * carrier's signal stack, and takes them when that has returned. */
bool port_signals_accept(void);

/* The program sets handlers by system calls of its own, past this library, and probably masks and
 * signal stacks, too. */
void port_signals_direct(void);

/* Have `pump` called soon. */
void port_signals_wake(void);

/* Set the mask of the calling kernel thread; NULL: that of a carrier. For the duration of a call
 * that passes it on to a new process. */
void port_signal_mask(const uint64_t *mask);

/* begin: the calling carrier is about to execute another program, with this mask. A pending signal
 * of our own would kill that program. end: it has failed. */
void port_exec_begin(const uint64_t *mask);
void port_exec_end(void);

/* These signals of the process are not fetched any more: the program asks the kernel for them. */
void port_signals_leave_to_kernel(uint64_t set);

/* If the calling worker has the program's alternate stack (stack_t), with which it began, it gets
 * one of its own. False: it has one already, threads cannot have signals of their own, or there is
 * no memory. */
bool port_signal_stack(void *programs);

/* Call fn(signal, info, context) on the stack that ends at top. */
void port_call_on(int signal, void *info, void *context, void (*fn)(int, void *, void *), void *top)
    __attribute__((visibility("hidden")));

#endif
