/* SPDX-License-Identifier: MIT */
/*
 * port.h - the contract between the core and the place where it runs.
 *
 * A place is an environment (port/env/<env>: what a CPU is, how it sleeps, where memory comes from)
 * and an architecture (port/arch/<isa>: how registers are switched). Each supplies one header with
 * its inline half, found through the include path: port_arch.h and port_env.h. Everything below
 * must exist; what is missing fails to link (port/template shows it), it never returns a made-up
 * value.
 *
 * Upcalls of the core: rt_carrier_main (a started carrier enters it), rt_on_kick and rt_on_tick
 * (interrupt context).
 */
#ifndef PIRN_PORT_H
#define PIRN_PORT_H

#include "compiler.h"

struct carrier;
struct cpu;
struct thread;

/*
 * port_arch.h: context switch.
 *
 *   struct port_ctx                       what a thread that does not run consists of
 *   port_ctx_init(ctx, low, size, entry)  entry runs on that stack at the first switch and never
 *                                         returns
 *   port_ctx_switch(from, to, note)       saves the callee-saved registers in from, continues to;
 *                                         returns his note when someone switches to from. Notes go
 *                                         over in the registers of a function's arguments, so that
 *                                         entry gets one, too
 *   port_cpu_relax()                      the instruction for spin loops
 *   PORT_ARCH_FRAME_NONE                  defined if functions' frames are no chain that samples
 *                                         could follow (env/frames.h)
 *
 * port_env.h: CPU, interrupts, thread state outside the registers.
 *
 *   struct port_cpu, struct port_carrier, struct port_thread   what the environment keeps per each
 *   PORT_TLS_ALWAYS                       threads have TLS blocks of their own, whatever the user
 *                                         and the layer above say: they cost nothing
 *   PORT_CALLS_BLOCK                      calls of the system may block a carrier
 *   PORT_CPU_SHARED                       defined if the system lets others run on the processors,
 *                                         too; port_relax of a high round offers the caller's
 *   PORT_IDLE_STACK                       bytes of the stack of CPU 0's scheduler context
 *   PORT_FOREIGN                          there may be kernel threads that are not the runtime's
 *   PORT_SIGNALS                          there are signals, which end waits
 *   PORT_DEADLOCK                         what the option "deadlock" is unless set, as text
 *   port_cpu_interrupt(cpu)               have a CPU that runs a thread look at what is pending for
 *                                         it; a no-op where interrupting costs more than waiting
 *                                         for its next tick or call
 *   port_may_switch()                     the caller is no interrupt handler, which cannot be left
 *   port_cpu_self()                       the CPU of the caller; re-read after every switch; NULL
 *                                         on a foreign kernel thread
 *   port_irq_save(), port_irq_restore(s)  keep interrupts (signals, simulated interrupts) out
 *   port_irq_disabled()                        the first of them for who knows that they are not out
 *   port_irq_window(s)                    interrupts that wait come in, unless s says that they
 *                                         stay out, and nobody else runs on this CPU: between the
 *                                         steps of a long section, without locks, where a thread
 *                                         has called the runtime. A no-op where no interrupt waits
 *                                         for it
 *   PORT_EXPIRE_MOST                      how many timers expire at once, at least 1; for the rest
 *                                         there is another tick
 *   port_thread_switch(cpu, from, to)     thread state that is not in callee-saved registers:
 *                                         errno, TLS block, floating-point control
 *   port_switch_refused(cpu)              for debug builds: why the caller, which is about to stop
 *                                         running on this CPU, must not do so here, as the CPU or
 *                                         the stack is not its own; NULL: it may
 *   port_thread_inherit(t)                the new thread t gets the caller's floating-point control
 *                                         and CPU set
 *   port_thread_cpus(t, set)              the new thread t gets this CPU set, the port's own thing
 *   port_thread_handle(t)                 what the place's libraries take for the thread's id
 *                                         (pthread_t)
 *   PORT_KNOWS_INSIDE                     for a POSIX layer: port_may_wait can tell whether a
 *                                         handler has interrupted the runtime
 *   port_cancel_start()                   likewise: threads will be cancelled. 0 or -errno
 *   port_san_*                            tell AddressSanitizer and ThreadSanitizer about stacks
 *                                         and switches
 *   port_trace_clock()                    ticks of the clock of the event trace, the same on all
 *                                         CPUs; any context, a few ns
 *   port_trace_ns()                       as port_now, but in the simulator no scheduling point
 *   port_meter_*                          tell the metered library that a CPU has no work, or has
 *                                         some again; its part of the counters. Else empty, and 0
 */
/* What who stops tells who goes on; the core's own. */
struct port_ctx;
struct port_note {
    struct port_ctx *from; /* who stops: set by the switch */
    void *cpu;
    void *arg;
    uintptr_t post;
};
typedef void port_ctx_entry_t(struct port_ctx *from, struct port_ctx *to, void *cpu, void *arg,
                              uintptr_t post);

#include "port_arch.h"
#include "port_env.h"

/* First of all, before options are read: end the program with a message where the runtime cannot
 * work, instead of failing somewhere later. */
void port_check(void);

/* CPUs that the environment offers; at least 1. */
unsigned port_cpu_count(void);

/* Called once, before any CPU starts, by the kernel thread that starts the runtime. 0 or -errno.
 * *caller_is_main: it is the program's main thread, which lives as long as the program, and may
 * become CPU 0. If it is not, it may end at any time, and stays a foreign kernel thread. */
int port_init(bool *caller_is_main);

/* From now on, carriers that begin later call rt_preempt for a user thread that has run for a whole
 * tick of CPU time without a switch; never between port_irq_save and port_irq_restore, nor where a
 * library that the runtime and its users share is executing. -ENOTSUP and *why: not here. */
int port_preempt_start(uint64_t tick_ns, const char **why);

/* Bytes of its stack that a thread needs for being preempted, at most. */
size_t port_signal_room(void);

/*
 * Carriers execute CPUs: kernel threads; on a board the cores themselves (core/carrier.h).
 */

/* Start a carrier: it calls rt_carrier_main(k), which never returns, on a stack of the port's. 0 or
 * -errno. */
int port_carrier_start(struct carrier *k);

/* The caller, which runs thread t, is carrier k from now on. 0 or -errno. */
int port_carrier_begin(struct carrier *k, struct thread *t);

/* The caller, carrier k, executes `cpu` from now on: port_cpu_self() is that. */
void port_cpu_take(struct carrier *k, struct cpu *cpu);

/* The caller executes `cpu` again, which it executed until port_cpu_leave. */
void port_cpu_back(struct cpu *cpu);

/* The caller, a carrier that runs thread t, executes no CPU from now on: port_cpu_self() is NULL,
 * port_foreign_self() is t. */
void port_cpu_leave(struct thread *t);

/* Sleep until a permit arrives, consume it; may return early. Post one, with release and acquire;
 * any context. */
void port_carrier_wait(struct carrier *k);
void port_carrier_wake(struct carrier *k);

/* Interrupt the system call in which a thread without CPU is on carrier k: a handler there calls
 * rt_cancel_notice, exactly once for each time. Interrupts are disabled. */
void port_carrier_interrupt(struct carrier *k);

/* The caller takes the interruption now that its carrier has put off. */
void port_interrupt_accept(void);

/* Have rt_cancel_notice called soon by user thread t, if it runs, and then, outside the runtime,
 * rt_cancel_async, or what the layer above has for signals. As above. */
void port_thread_interrupt(struct thread *t);

/* Have rt_carrier_add called, once, by a kernel thread that is no carrier. Any context. */
void port_carrier_ask(void);

/* Have rt_calls_scan called soon, and again every now and then while it returns true. Any context;
 * a no-op where carriers cannot block. */
void port_calls_watch(void);

/* Sleep until a permit arrives or `deadline` (ns of port_now, UINT64_MAX: none) has passed;
 * consumes the permit. May return early; a permit that was posted before the call is never lost. */
void port_cpu_idle(struct cpu *cpu, uint64_t deadline);

/* Post one permit (idempotent). Callable from any thread, CPU or interrupt handler. */
void port_cpu_kick(struct cpu *cpu);

/* Spin loops call this with the number of rounds already spun; long spins give the machine away,
 * very long ones for some time. UINT32_MAX: give it away now. */
void port_relax(unsigned round);

/* The heavy half of the asymmetric fence pair (core/atomic.h), and whether it reaches the other
 * CPUs. */
void port_fence_heavy(void);
#ifndef PIRN_BARE /* there it is false: a constant of atomic.h */
HIDDEN extern bool port_fence_asymmetric;
#endif

/* Monotonic nanoseconds. */
uint64_t port_now(void);

/* Ask for rt_on_tick(cpu) at or soon after `deadline`; a later call replaces it. UINT64_MAX: none.
 */
void port_timer_set(struct cpu *cpu, uint64_t deadline);

/*
 * Stacks. `size` is what the thread may use, `guard` what lies below it and cannot be accessed
 * where there is an MMU; the port rounds both up. `arena` is the port's own. 0 or -ENOMEM.
 */
struct port_stack {
    void *low;
    size_t size;
    size_t guard;
    void *arena;
};
int port_stack_alloc(struct port_stack *stack, size_t size, size_t guard);
void port_stack_free(struct port_stack *stack);

/* Threads will run, or run no more, on a stack that is the program's own: for tools that have to
 * know stacks. The two calls above do that, too. */
void port_stack_begin(struct port_stack *stack);
void port_stack_end(struct port_stack *stack);

/*
 * Thread-local storage of the program's (__thread): a block for each thread (THREAD_TLS), where the
 * place has that. port_tls_start is called once, after port_init and before any thread exists
 * beside the caller. 0: from now on all threads have blocks, those of carriers included, and
 * port_thread_switch switches between them. Else threads share the block of the CPU that runs them,
 * and *why says why: -ENOTSUP, -ENOMEM: users are to know; -ENOSYS: they are not (builds for
 * tests). by_syscall: switch by a system call even where an instruction can, to measure that.
 */
int port_tls_start(bool by_syscall, const char **why);

/* Bytes of a block. */
size_t port_tls_room(void);

/* Make t's block in the port_tls_room() bytes from `at`, above t's stack. May allocate and block:
 * not between rt_enter and rt_leave. 0 or -ENOMEM. */
int port_tls_alloc(struct thread *t, void *at);

/* Give it up, and what the C library keeps about it; then its memory may go. Any context. */
void port_tls_free(struct thread *t);

/* In the thread: its life begins; the destructors of its thread-local objects are to run; nothing
 * of the program's runs in it any more: make the block as new, for its next life. */
void port_tls_begin(void);
void port_tls_end(void);
void port_tls_reset(void);

/* Zeroed memory for tables of the core; NULL if there is none. Never called on a hot path. */
void *port_table_alloc(size_t size);
void port_table_free(void *p, size_t size);

/* Report once, by rt_io_ready(fd, what), any of `events` (bits of poll(), errors always) of the
 * descriptor, also what is so already; replaces what was asked before. With interrupts disabled. 0 or
 * -errno: it cannot be watched. 1: it can, and nothing was asked before about the file that has
 * this number now. */
int port_io_arm(int fd, uint32_t events);

/* A copy of a descriptor whose number is about to be closed: another number for its file, which is
 * the runtime's own. What was asked about the file by the old number is forgotten. -errno; -ECHILD:
 * the caller's process is not the one in which the runtime runs, though it shares its memory.
 * Interrupts disabled. port_io_drop closes a copy, and keeps errno. */
int port_io_copy(int fd);
void port_io_drop(int fd);

/* The lowest number from `first` on that is a descriptor of the port's own; UINT_MAX: none. */
unsigned port_io_own(unsigned first);

/* Is the caller inside the runtime (a signal handler, which has interrupted it)? As far as the port
 * knows. */
bool port_is_inside(void);

/* Deliver what is there, without waiting. A searching CPU calls it now and then while
 * rt_io_waiting(); one that sleeps (port_cpu_idle) waits for it. */
void port_io_poll(void);

/* The thread that a carrier without a CPU runs; NULL on other kernel threads. */
struct thread *port_left_self(void);

/* May the calling user thread wait here? Not in a signal handler that has interrupted the runtime
 * or stands on the worker's signal stack; nor where the port cannot tell. */
bool port_may_wait(void);

/* For a foreign kernel thread: wait itself. 0, -ETIMEDOUT, -EBADF. */
int port_io_block(int fd, uint32_t events, uint64_t deadline);

/*
 * port_is_helper(): is the caller a kernel thread of the runtime's own? The start may wait for it.
 */

/* The stand-in of the calling foreign kernel thread (port_cpu_self() == NULL); of a carrier without
 * a CPU the thread that it runs. With PORT_IDENTITY also before the runtime has started: then that
 * of the program's main thread is rt_main_identity(); calls nothing of the program's. */
struct thread *port_foreign_self(void);

/* A foreign kernel thread that must block: wait until port_foreign_unpark, or until `deadline`.
 * Permit semantics as for CPUs. */
void port_foreign_park(struct thread *t, uint64_t deadline);
void port_foreign_unpark(struct thread *t);

/*
 * Words that other processes see, too. Both are for foreign kernel threads or threads that may
 * block their CPU. Wait until port_shared_wake for the word, in whatever process, unless it does
 * not hold `value` (any more); `deadline` in ns of port_now, or with `realtime` of the system's
 * clock, whose steps count. 0 or -ETIMEDOUT; may return early with 0. Wake at most n of those that
 * wait. Both are full fences with respect to the word.
 */
int port_shared_wait(_Atomic(uint32_t) *word, uint32_t value, uint64_t deadline, bool realtime);
void port_shared_wake(_Atomic(uint32_t) *word, unsigned n);

/*
 * Reports (sync/report.h).
 */

/* Have rt_report_turn called soon, and then again at the times that it returns, by a kernel thread
 * that is no carrier; or by the calling CPU while it sleeps. Any context. */
void port_report_poke(void);

/* May something of the program's call the runtime that is none of its user threads: other kernel
 * threads, signal handlers? True where that cannot be told. */
bool port_outsiders(void);

/* Are all kernel threads of the process the runtime's own; without a runtime, is there one only?
 * False where that cannot be told. */
bool port_alone(void);

/* Call fn where the threads are as at one moment, and where it harms nobody if it fails. */
void port_report_run(void (*fn)(void));

/* Where the program's own code has called what thread t waits in; called by fn above. False:
 * cannot tell. */
bool port_where(const struct thread *t, char *text, size_t size);

/* Say, in lines of its own, which calls are active in thread t, which waits; called by fn above.
 * May say nothing. */
void port_say_calls(const struct thread *t);

/* The number of a signal by its name or number; -1: there is no such signal. And: have
 * rt_dump_asked called when it comes. 0 or -errno. */
int port_signal_of(const char *name);
int port_dump_start(int signal);

/* Start a foreign kernel thread that calls fn(arg) and then ends. 0 or -errno. */
int port_foreign_start(void (*fn)(void *), void *arg);

/* Option `name` of the user (environment variable PIRN_NAME on hosted systems); NULL if not given,
 * and always where the user has fewer rights than the process (set-user-ID). */
const char *port_option(const char *name);

/* Name of the i-th option that the user gave, in lower case, known or not; NULL after the last, and
 * where port_option always is. */
const char *port_option_name(unsigned i);

/* Has the program been given the runtime from outside (LD_PRELOAD), without being linked with it?
 */
bool port_preloaded(void);

/* Unbuffered output to the user's error stream; safe in a signal handler. */
void port_write(const char *text, size_t length);

/* Write a whole file, or nothing of it. A new file is its owner's alone. 0 or -errno; of a name
 * that has one already, -ELOOP: it is a symbolic link; -ENODEV: neither an ordinary file nor a
 * folder. */
int port_file_write(const char *path, const char *text, size_t length);

/* What traces and profiles say of the program. */
struct port_program_facts {
    const char *program; /* its name */
    const char *machine; /* the instruction set, as tools call it */
    uint64_t pid;
    uint64_t unix_ns; /* the calendar now */
};
void port_program_facts(struct port_program_facts *facts);

/*
 * The event trace. Make its file: `size` bytes of zeroes in memory, which are in the file, too,
 * whenever and however the process ends; there is room for all of them. In `path` %p stands for the
 * process id. 0 or -errno, as port_file_claim. Drop the memory; the file stays.
 */
int port_trace_open(const char *path, size_t size, void **at);
void port_trace_drop(void *at, size_t size);
uint64_t port_trace_clock_hz(void); /* of port_trace_clock; 0: not known */

/*
 * The profiler (prof.h). Samples from now on, of each carrier, and of the caller: so many a second
 * of its CPU time, or of the clock on the wall. 0, -ENOTSUP and *why, -errno.
 */
int port_prof_start(uint32_t hz, bool wall, const char **why);

/* What the calling kernel thread keeps while it runs no user thread; is it the program's main one;
 * where that one's stack is, if that is known. */
struct prof_thread;
struct prof_thread *port_prof_outside(void);
bool port_prof_main(void);
bool port_prof_stack(uintptr_t *low, uintptr_t *high);

/* Where the functions return to that are active where the sample was taken, by the chain of frame
 * pointers as far as that goes on the stack from low to high; the innermost first. How many. */
unsigned port_prof_frames(const void *context, uintptr_t low, uintptr_t high, uintptr_t *frames,
                          unsigned max);

/* What is executable: bytes of files, in memory. */
struct port_code {
    uintptr_t start, end;
    uint64_t offset;
    const char *path;
};
void port_code_each(void (*fn)(void *arg, const struct port_code *code), void *arg);

/* Open the file, make it if need be; until the process ends, or becomes another program, nobody
 * else can claim it. A descriptor, or -errno as port_file_write; -EBUSY: another process has
 * claimed it. */
int port_file_claim(const char *path);

/* The name of a file with %p replaced by the process id, %% by %. 0, -ENAMETOOLONG, -EINVAL:
 * another
 * %. */
int port_name_expand(const char *from, char *to, size_t size);

/* A whole file of at most `max` bytes, with a final NUL, in a table of *size bytes, which the
 * caller gives back. NULL if it cannot be read. */
char *port_file_read(const char *path, size_t max, size_t *size);

/* Stop the program at once with `status` (a usage error) or with a crash (our own bug). */
NORETURN void port_exit_now(int status);
NORETURN void port_panic(void);

/* End the program in the ordinary way: exit handlers run. */
NORETURN void port_exit(int status);

/* Upcalls. */
void rt_carrier_main(struct carrier *k);
int rt_carrier_add(void); /* one more spare carrier. 0 or -errno */
bool rt_calls_scan(void);
/* at_call: the interrupted instruction is where the call can be stopped. STOP: a request to end is
 * due: stop it. SIGNAL: there are signals for the thread: stop it likewise. LATER: something else
 * was interrupted, a handler of the program's on top of the call perhaps: once more when that is
 * over. */
enum rt_notice { RT_NOTICE_NONE, RT_NOTICE_STOP, RT_NOTICE_SIGNAL, RT_NOTICE_LATER };
enum rt_notice rt_cancel_notice(bool at_call);
bool rt_cancel_async_due(void);
void rt_cancel_async(void); /* does not return if a request to end is due */
bool rt_signalled(void);    /* there may be signals for the calling user thread, and it may take
                               them: it is in no call (rt_call_begin) */
void rt_signals_left(void); /* it takes them, outside the runtime */
bool rt_call_unannounced(void);
/* A user thread has run for a whole tick where it must not be switched, as in the C library.
 * NOBODY: no other thread is to run instead. MADE: it has no CPU any more, and goes on. NO_CARRIER:
 * there is none for the CPU yet; again, soon. Conditions as for rt_preempt, but for a switch. */
enum rt_room { RT_ROOM_NOBODY, RT_ROOM_MADE, RT_ROOM_NO_CARRIER };
enum rt_room rt_preempt_away(void);
void rt_preempt_away_soon(void); /* it is to be expected: have a carrier made */
/* The caller is a user thread without a CPU, and in no call (rt_call_begin): rt_left_returns,
 * outside of the runtime, queues for one. */
bool rt_left_may_return(void);
void rt_left_returns(void);
uint32_t rt_io_waiting(void); /* threads that wait for descriptors; a hint */
void rt_io_ready(int fd, uint32_t events);
int rt_io_await(int fd, uint32_t events); /* the calling user thread waits for a report: 0,
                                             -ECANCELED */
bool rt_takes_calls(void);                /* blocked threads that said nothing lose their CPU */
uint64_t rt_report_turn(uint64_t now);    /* when to call it again */
void rt_dump_asked(void);                 /* any context */
const struct port_ctx *rt_thread_ctx(const struct thread *t);
bool rt_thread_waits(const struct thread *t);
/* For the event trace: a tick has interrupted the running thread; its handler returns, or is about
 * to call rt_preempt. Any context. */
void rt_tick_begins(void);
void rt_tick_ends(bool preempts);
void rt_on_kick(struct cpu *cpu);
void rt_on_tick(struct cpu *cpu);
bool rt_forked(void);       /* this is the child of a fork; true if there was a runtime */
void rt_forked_above(void); /* and then, whether there was or not: the layer above hears of it */
void rt_on_exit(void);      /* the program ends in the ordinary way */

/* For ports that see the core's structures only as names. */
struct port_cpu *rt_cpu_port(struct cpu *cpu);
struct port_carrier *rt_carrier_port(struct carrier *k);
struct carrier *rt_cpu_carrier(struct cpu *cpu);
struct carrier *rt_carrier_here(void); /* the calling kernel thread; NULL: it is none */
/* Where interrupts are the hardware's: is there something that the CPU has to look at? And: the
 * handler of an interrupt has ended, have it look; a more urgent thread than the interrupted one
 * runs then. Conditions as for rt_preempt. */
bool rt_cpu_pending(const struct cpu *cpu);
void rt_interrupted(void);

/* The running thread's slice is over: let the next one run, if there is one. The port calls it on
 * the thread's own stack, in a signal or interrupt handler, with interrupts disabled; it returns when
 * the thread runs again, perhaps on another CPU. */
void rt_preempt(void);

/* CPU i, of rt_cpu_count(); is it asleep; has it a ready thread beside the one that runs? Hints,
 * any context, once the runtime has started, which the first one sees to. */
unsigned rt_cpu_count(void);
struct cpu *rt_cpu_at(unsigned i);
bool rt_cpu_asleep(unsigned i);
bool rt_cpu_has_ready(struct cpu *cpu);

unsigned rt_cpu_id(const struct cpu *cpu);
uint64_t rt_cpu_switches(const struct cpu *cpu);
struct cpu *rt_thread_cpu(const struct thread *t); /* where it runs or ran last; NULL: it has not */
struct port_thread *rt_thread_port(struct thread *t);
struct carrier *rt_thread_carrier(struct thread *t); /* of one that port_left_self has returned */
void *rt_thread_stack(struct thread *t);             /* its lowest address */
uintptr_t rt_thread_stack_top(const struct thread *t);
bool rt_cpu_runs(struct cpu *cpu, const struct thread *t); /* a look from outside */
struct thread *rt_cpu_thread(struct cpu *cpu); /* that the CPU runs; called by the CPU */
bool rt_thread_is_foreign(const struct thread *t);
bool rt_thread_is_idle(const struct thread *t);
bool rt_main_is_carrier(void);         /* the program's main kernel thread executes CPUs */
struct thread *rt_main_identity(void); /* of the program's main kernel thread without a CPU */
struct thread *rt_foreign_new(void); /* stand-in of a foreign kernel thread; NULL without memory */
void rt_foreign_free(struct thread *t);
void rt_foreign_becomes(struct thread *t, struct thread *idle);

/* For reports of ports: the thread's number and name; that it has used up its stack. */
void rt_describe_thread(const struct thread *t, char *text, size_t size);
void rt_describe_full_stack(const struct thread *t, char *text, size_t size);
struct thread *rt_thread_of_port(const struct port_thread *port);

/* If `address` lies within `guard` bytes below the stack of the CPU's running thread: true, and a
 * message. */
bool rt_describe_overflow(struct cpu *cpu, uintptr_t address, char *text, size_t size);

#endif
