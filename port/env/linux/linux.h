/* SPDX-License-Identifier: MIT */
/*
 * linux.h - shared by the files of this port only.
 */
#ifndef PIRN_PORT_LINUX_H
#define PIRN_PORT_LINUX_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <signal.h>

#include "check.h"
#include "port.h"
#include "port_posix.h"

/* Sleep while *word == value, until `deadline` on the monotonic clock (UINT64_MAX: none). */
/* A carrier's thread begins, and takes over the state of its kernel thread's stand-in, if there is
 * one. In the child of a fork: the caller is the thread that has forked. */
void foreign_is_helper(void); /* of a kernel thread of our own, when it begins */
void foreign_becomes(struct thread *t);
void foreign_forked(bool started); /* in a child: its parent had a runtime */

/* These, permits and reactor_kick keep errno, which is a thread's that waits or wakes. */
void futex_wait(uint32_t *word, uint32_t value, uint64_t deadline);
void futex_wake(uint32_t *word);

/* Permits on a futex word: 0 none, 1 posted, 2 its owner sleeps, 3 in the reactor. */
void permit_wait(uint32_t *word, uint64_t deadline);
void permit_post(uint32_t *word);

/* pthread_create of the C library, also where the POSIX layer has taken the name. */
int kernel_thread_create(void *(*fn)(void *), void *arg);
int kernel_thread_create_known(void *(*fn)(void *), void *arg);

/* From here on the program can do without a kernel thread that is refused. */
void start_is_over(void);

/* Where the code of the program's sanitizer is; 0: nowhere. */
uintptr_t port_sanitizer_at(void);

/* Ticks for the calling kernel thread, if preemption is on. */
void preempt_begin(struct port_carrier *port);

/* Get a real-time signal from the C library, with this handler; *signal itself if it is one
 * already. `first`: it comes before others. 0, or -ENOTSUP and *why. own_signal_unmask takes it out
 * of a set of signals to block, if there is one (not 0). */
int own_signal(int *signal, bool first, const struct sigaction *action, const char **why);
void own_signal_unmask(int signal, uint64_t *set);
/* By the monitor: handlers that the program has replaced by system calls of its own are ours again.
 */
void own_signals_look(void);
void own_signal_alone(struct sigaction *action); /* its handler blocks all signals */

/* A timer that sends the signal to the calling kernel thread, which unblocks it; -1: there is none.
 * own_timer_set: time of the first signal (0: no more), and interval. */
int own_timer(clockid_t clock, int signal);
void own_timer_set(int timer, uint64_t first_ns, uint64_t interval_ns);

/* Frames of the runtime's signals come on the carrier's signal stack (SA_ONSTACK), if they can be
 * moved from there; 0: they cannot. frame_to_thread: on with the handler, on the thread's own
 * stack; returns only if the frame has not been moved. */
typedef void frame_handler(int signal, siginfo_t *info, void *frame);
int frames_flags(void);
void frame_to_thread(int signal, siginfo_t *info, void *frame, frame_handler *handler);

/* Is the address in the thread's own stack, not in one that the program has made? */
bool stack_is_own(struct thread *t, uintptr_t at);
#define RED_ZONE 128u /* below the stack pointer, in use */

/* linux_direct.c: the program sets masks, signal stacks and handlers by system calls of its own,
 * past this library. DIRECT_OPEN: signals that carriers do not block then. In a handler:
 * direct_learn takes what the thread has set so from the frame. signals_open_direct: carriers are
 * to open DIRECT_OPEN. */
#define DIRECT_OPEN (UINT64_C(1) << (SIGURG - 1))
bool direct_is_on(void);
void direct_look(void); /* by the monitor, now and then */
void direct_learn(void *frame, struct thread *t);
void direct_switch(struct thread *from);
void direct_thread_begins(void); /* the calling user thread, outside the runtime */
void signals_learn(void *frame); /* direct_learn, where the thread may be told of it */
void signals_open_direct(void);

/* May the caller be stopped where a signal has interrupted it (ucontext_t): without a file's lock,
 * not in the C library, on its own stack? */
bool preempt_may_leave(const void *context);

/* Is it known where the C library's code lies, and our own? Is the address there (own: ours)? */
bool places_known(void);
bool place_is_kept(uintptr_t pc, bool *own);
/* By the monitor, now and then: the CPU may need a tick. */
void preempt_look(struct cpu *cpu, uint64_t now);
bool preempt_is_on(void);
void preempt_unmask(uint64_t *set); /* its signal, out of a set of signals to block */
void preempt_pause(const struct port_carrier *port, bool pauses); /* no ticks for a while */

/* linux_prof.c: samples of the calling kernel thread begin, if the profiler takes any; pause; its
 * signal, out of a set of signals to block; in the child of a fork. */
void prof_begin(struct port_carrier *port);
void prof_pause(const struct port_carrier *port, bool pauses);
void prof_unmask(uint64_t *set);
void prof_in_child(void);

/* Run fn() on a kernel thread with this stack, and wait for its end. */
int kernel_thread_run(void *(*fn)(void *), void **ret, void *stack, size_t size);

/* The calling kernel thread runs t, on its own TLS. */
void tls_adopt(struct thread *t);

/* Take over the C library's signal for port_everywhere. 0, or -ENOTSUP: it is not as expected. */
int everywhere_start(void);

/* In the child of a fork: nobody holds the locks of these files, nobody waits. */
void stack_forked(void);
void glibc_block_forked(void);
void everywhere_forked(void);
void monitor_forked(void);
void affinity_forked(void);
void robust_forked(void);

/* Make the signal stack of a carrier before it starts, so that the starter gets the error. 0 or
 * -ENOMEM. */
int fault_stack_make(struct port_carrier *port);

/* Catch stack overflow on the calling kernel thread. */
int fault_catch_here(struct port_carrier *port);

/* linux_affinity.c: the CPUs that the process may use; the calling worker, which may use them. */
void affinity_init(void);
void affinity_begin(struct port_carrier *port);
void affinity_take(struct cpu *cpu, struct port_carrier *from);

/* The processor to which worker i is bound; -1: none. */
int affinity_processor(unsigned i);

/* Are workers bound? Then a kernel thread begins with this set (cpu_set_t) instead of its creator's
 * one processor. */
bool affinity_is_bound(void);
void affinity_of_new(void *set);

/* The calling kernel thread has the process's set for as long as it lives: nobody in here changes
 * it. */
void affinity_kept_here(void);

/* linux_capacity.c: the capacity of a processor, by the files in this folder; PORT_CAPACITY_MAX if
 * there is none, or no number of 1 to 1024 in it. */
unsigned capacity_read(const char *folder, unsigned processor);

/* linux_cache.c: the size of the cache of the highest level, above the first, by the files in this
 * folder; 0: there is none, or they cannot be read. */
uint64_t cache_size_read(const char *folder);

/* linux_quota.c: the CPUs that the process's control groups pay for, by the files below this folder
 * ("": the system's own); PORT_QUOTA_NONE: there is no limit. magic: of the file system that has
 * groups of version 2. */
uint32_t quota_read(const char *root, long magic);

/* linux_nodes.c: the node of a processor, and the distance of two nodes, by the files in this
 * folder; node 0, and what port_nodes.h says, if they cannot be read. */
unsigned node_of_processor(const char *folder, unsigned processor);
unsigned node_distance(const char *folder, unsigned from, unsigned to);

/* CPU time of threads: linux_times.c. The calling kernel thread begins as carrier k, running t; it
 * switches, if TIMES_BIT is set; a tick. */
void times_begin(struct port_carrier *k, struct port_thread *t);
void times_switch(struct port_carrier *k, struct port_thread *from, struct port_thread *to);
void times_tick(struct cpu *cpu);
void affinity_times_begin_early(void);

/* All switches come to port_cpus_switch from now on, for the reason that the mark names: TIMES_BIT
 * and its like. Is it set; set it, any context (false: not yet); set it after first(), which only
 * one caller calls, in a thread. */
bool affinity_marked(uintptr_t mark);
bool affinity_all_switches(uintptr_t mark);
void affinity_all_switches_wait(uintptr_t mark, void (*first)(void));

/* Rights of protection keys: linux_pkeys.c. A switch, if PKEYS_BIT is set. */
void pkeys_switch(struct port_thread *from, struct port_thread *to);
/* Between the two the calling kernel thread can read memory with any key, and code that may only be
 * executed. */
uint32_t pkeys_open(void);
void pkeys_close(uint32_t rights);

/* linux_fence.c. */
/* linux_slack.c: how late the kernel may end a sleep. slack_init: of the calling thread, and so of
 * those that it creates. When a worker that sleeps until `deadline` asks to be woken; `polls`: it
 * waits for descriptors. */
void slack_init(void);
void slack_is(uint64_t ns);
uint64_t slack_earlier(uint64_t deadline, uint64_t now, bool polls);

void fence_init(void);

/* The heavy fence, if membarrier does it or is not needed. False: the caller visits all processors
 * (affinity_visit_all), which then calls fence_visited. */
bool fence_by_kernel(void);
void fence_visited(void);
void affinity_visit_all(void);

/* For linux_features.c: are stacks guarded by mappings of their own; why threads share thread-local
 * storage, or ""; can futexes of other modules be redirected (linux_redirect.h)? */
bool stack_guards_are_mappings(void);
const char *tls_why_shared(void);
bool redirect_is_possible(void);

/* Choose the clock of the event trace, before port_trace_clock. */
void trace_clock_init(void);

/* linux_symbols.c: the function of the file that has the address, as the file has addresses; *from:
 * where it begins. */
bool symbol_find(const char *path, uintptr_t address, char *name, size_t size, uintptr_t *from);

/* ... variables of the file by their names; the value of one that is not found stays. */
struct symbol_named {
    const char *name;
    uintptr_t value; /* its address, as the file has addresses */
};
void symbols_find(const char *path, struct symbol_named *wanted, unsigned n);

/* Workers that block unannounced: linux_blocked.c. */
int blocked_start(void);
void blocked_forked(void);
void blocked_unmask(uint64_t *set);                   /* out of a set of signals to block */
bool worker_awake(struct cpu *cpu);                   /* it does not sleep for want of work */
void blocked_look(struct cpu *cpu, uint64_t elapsed); /* ns since the last look */
bool blocked_in_syscall(uintptr_t pc);                /* a signal handler's */
/* By the monitor: send it to the kernel thread, unless *sent says that one is on its way; its
 * handler clears *sent first. */
void monitor_send(struct port_carrier *k, uint32_t *sent, int signal);
uint64_t blocked_interval(void);             /* ns between two looks; UINT64_MAX: off */
uint64_t blocked_interval_now(uint64_t now); /* less while calls have blocked lately */
void blocked_stop_probes(
    struct port_carrier *port); /* no probes for it from now on: port->no_probes */

/* Can there be so many more kernel threads at the same time, ROOM_THREADS at most? Tries it. */
#define ROOM_THREADS 64u
bool room_for_threads(unsigned want);

/* Descriptors that threads wait for: linux_reactor.c. */
bool reactor_sleep(uint32_t *permit, uint64_t deadline); /* as permit_wait; false: not now */
void reactor_kick(void);                                 /* the worker that sleeps there */
/* The monitor sleeps there, as permit_wait, if reports are not fetched otherwise, and fetches. */
enum watch { WATCH_NOT, WATCH_EMPTY, WATCH_SLEPT }; /* EMPTY: there was no report after all */
enum watch reactor_watch(uint32_t *permit, uint64_t deadline);
void reactor_bump(void);       /* the monitor that sleeps there */
bool reactor_is_exact(void);   /* it wakes up at the deadline, not by milliseconds */
bool reactor_unattended(void); /* threads wait, and nobody sleeps there */
void reactor_forked(void);

/* A worker wakes up: the monitor may have to look at it again. */
void monitor_wakes(void);
void monitor_bump(void);    /* it does not sleep on */
bool monitor_attends(void); /* it sleeps, and will soon look at the reactor's reports by itself */

/* The CPU, which makes room for others, delivers its tick itself if that is due. Any context in
 * which the CPU does not change. */
void monitor_is_late(struct cpu *cpu);

/* The maker of carriers, which also writes the reports, waits until then at the latest, and makes a
 * carrier if one is wanted meanwhile. */
void maker_turn(uint64_t until);

/* The calling kernel thread is one of the runtime's and will not end; how many have said so. */
void kernel_thread_begun(void);
unsigned kernel_threads_begun(void);

/* A signal handler of the runtime's, not of the program's: linux_report.c. */
void report_own_handler(const void *fn);

/* Look after the worker from now on; again does nothing. */
void monitor_add(struct cpu *cpu);

/* The program's signals: linux_signals.c. In a handler of any signal of our own (frame: a
 * ucontext_t): adopt gives the carrier the common mask; take lets the thread take its signals, if
 * it may there. */
void signals_adopt(void *frame);
void signals_take(void *frame, void *info);
void signals_leave(void); /* take, for a thread that leaves the runtime */

/* linux_kept.c. A signal for the calling thread, which is inside the runtime; the oldest one; are
 * there any? */
void kept_put(const siginfo_t *info);
bool kept_take(siginfo_t *info);
bool kept_any(void);
/* One for the receiver, before it is told; what is known of it, once. */
void kept_for_receiver(const siginfo_t *info);
void kept_of_receiver(int signal, siginfo_t *info);
void kept_forked(void);
void signals_mask(uint64_t *mask, bool of_carrier); /* signals that carriers, or helpers, block */
void signals_forked(void);
int signals_descriptor(void); /* where they are fetched; -1 */

/* Of the calling kernel thread alone: for its user thread, now. */
void pending_fetch(const struct port_signal_upcalls *up);

/* The signal that notifies a thread of requests and signals: the C library's own for
 * cancellation, the first real-time signal of the kernel. */
#define CANCEL_SIGNAL __SIGRTMIN

/* sigaction of the C library, also where the POSIX layer has taken the name. */
int __sigaction(int signal, const struct sigaction *action, struct sigaction *old);

/* Frames of signal handlers: linux_frame.c. frame_leave is the last call of a handler in which the
 * thread may have been switched. The frame gets no signal stack, and the common mask of all
 * carriers. While there is no common mask, it gets that of the calling kernel thread, which blocks
 * all signals from then on. */
void frame_leave(void *frame);
/* A handler whose frame has been moved to the thread's stack sets the mask of the frame. `what`:
 * what it does next. A handler of the runtime's that interrupts it there reads that by frame_opens,
 * and leaves it to the first one. */
enum frame_opening { OPENS_NOTHING, OPENS_SIGNALS, OPENS_CANCEL };
void frame_open(const void *frame, enum frame_opening what);
enum frame_opening frame_opens(void);
/* Does the frame's handler interrupt the carrier's signal stack; does the caller, called by that
 * handler, run there; does any caller? */
bool frame_interrupts_signal_stack(const void *frame);
bool frame_on_signal_stack(const void *frame);
bool on_signal_stack(void);

/* The mask that all carriers have in common. False: they do not yet. */
bool signals_mask_common(uint64_t *mask);
void signals_mask_by_program(struct thread *t, uint64_t mask); /* the thread has set it itself */

/* CANCEL_SIGNAL comes to the calling carrier when the handler that it is in has returned; if
 * `frame` has interrupted another handler on the signal stack, when that has. */
void cancel_notify_later(void *frame);

/* CANCEL_SIGNAL to a kernel thread of this process, as soon as it can be queued. errno is kept. */
void cancel_send(int tid);

/* A file descriptor, out of the way of programs that count on low numbers. */
int fd_move_up(int fd);

/* linux_files.c: the open file becomes `size` zeroes, for which there is room on the disk. 0 or
 * -errno. */
int file_fill(int fd, size_t size);
void fd_init(void); /* before the first helper */

#define SIGNAL_STACK (64u << 10)

/* Start the timer thread. 0 or -errno. */
int monitor_start(void);

/* For assertions: the carrier is the calling kernel thread. */
bool carrier_is_own(const struct port_carrier *port);

#define PAGE_SIZE 4096u

#endif
