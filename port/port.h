/* SPDX-License-Identifier: MIT */
/*
 * port.h - the calls that every platform must have, for the core.
 *
 * A platform is an environment (port/env/<env>: CPUs, sleeping, memory) and an architecture
 * (port/arch/<isa>: the switch of registers). Each supplies one header with its inline half, found
 * through the include path: port_arch.h and port_env.h. Everything below must exist. A missing
 * function fails to link (port/template); it never returns a made-up value.
 *
 * Optional capabilities have a header each, with a constant, calls and upcalls. Where the constant
 * is false or missing, the header has twins that do nothing, and the port has nothing to write:
 *
 *   port_preempt.h   PORT_PREEMPT       ticks that end a thread's turn, interrupts
 *   port_tls.h       PORT_TLS           thread-local storage, a block for each thread
 *   port_calls.h     PORT_CALLS_BLOCK   system calls that block a carrier
 *   port_foreign.h   PORT_FOREIGN       kernel threads that Pirn did not create
 *   port_signals.h   PORT_SIGNALS       signals, cancellation in the kernel
 *   port_processes.h PORT_PROCESSES     words that other processes see, fork
 *   port_affinity.h  PORT_CPU_SETS      CPU sets of threads
 *   port_quota.h     PORT_QUOTA         limits of CPU time
 *   port_io.h        PORT_IO            descriptors to wait for
 *   port_ready.h     PORT_READY         queues of ready threads in the hardware
 *   port_capacity.h  PORT_CAPACITIES    CPUs of different speeds
 *   port_nodes.h     PORT_NODES         NUMA nodes
 *   port_cache.h     PORT_CACHE         the size of the cache that all CPUs share
 *   port_misses.h    PORT_MISSES        counters of what threads miss of it
 *   port_stdio.h     PORT_STDIO         streams that read and write by functions of ours
 *   port_options.h   PORT_OPTIONS       options that the user sets
 *   port_files.h     PORT_FILES         files to write and read
 *   port_trace.h     PORT_TRACE         the event trace
 *   port_prof.h      PORT_PROF          the profiler
 *   port_report.h    PORT_REPORT        reports of deadlocks
 *   port_tools.h     PORT_TOOLS         sanitizers, Valgrind, the meter
 *   port_posix.h                        calls of the POSIX layer, on hosted platforms
 *
 * docs/internals/porting.md begins with the shortest port that boots.
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
 *   struct port_ctx                       the state of a thread that does not run
 *   port_ctx_init(ctx, low, size, entry)  entry runs on that stack at the first switch and never
 *                                         returns
 *   port_ctx_switch(from, to, note)       saves the callee-saved registers in from and continues
 *                                         to; returns that thread's note when another one switches
 *                                         to from. Notes are passed in the registers of a
 *                                         function's arguments, so that entry gets one, too
 *   port_cpu_relax()                      the instruction for spin loops
 *   PORT_ARCH_NAME                        the instruction set, as tools call it
 *   PORT_ARCH_FRAME_NONE                  defined if functions' frames are no chain that samples
 *                                         could follow (env/frames.h)
 *
 * port_env.h: CPU, interrupts, thread state outside the registers.
 *
 *   struct port_cpu, struct port_carrier, struct port_thread   what the environment keeps per each
 *   port_cpu_self()                       the CPU of the caller; read again after every switch;
 *                                         NULL on a foreign thread
 *   PORT_PREEMPTS_LIBRARY                 defined where a thread may be preempted in the library's
 *                                         code and go on on another CPU. Then port_cpu_self() is
 *                                         for callers inside; others have the following two
 *   port_cpu_near()                       the caller's CPU a moment ago. Elsewhere port_cpu_self()
 *   port_thread_self()                    the running thread; NULL before there is a CPU. Only with
 *                                         PORT_PREEMPTS_LIBRARY
 *   port_handler_refuse(what)             where there are handlers of interrupts (PORT_HANDLERS is
 *                                         defined): the caller is one, and does what it must not;
 *                                         ends the program
 *   port_irq_save(), port_irq_restore(s)  disable interrupts (signals, simulated interrupts); nests
 *   port_irq_disabled()                   the same as port_irq_save where the caller knows that
 *                                         they are enabled; port_irq_restore(0) ends it
 *   PORT_IRQ_OFF()                        for assertions: are they disabled? 1, 0; where it is not
 *                                         known, and not defined: -1
 *   port_irq_entered()                    first on a new stack: interrupts are disabled, as after a
 *                                         switch
 *   port_thread_switch(cpu, from, to)     thread state that is not in callee-saved registers:
 *                                         errno, TLS block, floating-point control
 *   port_thread_inherit(t)                the new thread t gets the caller's floating-point control
 *                                         and CPU set
 *   port_stack_check()                    interrupts are disabled: ends the program if the caller's
 *                                         stack is used up; nothing where it is not defined
 *   PORT_CPU_SHARED                       defined if the system lets other programs run on the
 *                                         processors; port_relax of a high round offers the
 *                                         caller's
 *   PORT_LOOK_WIDTH                       16 if it is not defined: a thief looks at so many near
 *                                         CPUs at once, and at so many others
 *                                         (sched/steal_search.c)
 *   PORT_CPUS_A_SEARCHER                  16 if it is not defined: for so many CPUs one may search
 *                                         while another is woken (core/wake.h)
 *   PORT_IDLE_STACK                       bytes of the stack of CPU 0's idle thread
 *   PORT_DUMPS_HERE                       true where any caller, also a handler, can write a report
 *                                         while other threads run; false if it is not defined
 *   PORT_QUIET_S                          default of option quiet, 0 if it is not defined
 *   PORT_DEADLOCK_ABORTS                  a deadlock aborts the program unless option deadlock is
 *                                         set
 */
/* Data from the thread that stops to the one that continues; only the core knows its meaning. */
struct port_ctx;
struct port_note {
    struct port_ctx *from; /* the thread that stops: set by the switch */
    void *cpu;
    void *arg;
    uintptr_t post;
};
typedef void port_ctx_entry_t(struct port_ctx *from, struct port_ctx *to, void *cpu, void *arg,
                              uintptr_t post);

#include "port_arch.h"
#include "port_env.h"

#ifndef PORT_IRQ_OFF
#define PORT_IRQ_OFF() (-1)
#endif

#ifndef port_stack_check
#define port_stack_check() ((void)0)
#endif

#ifndef PORT_PREEMPTS_LIBRARY
ALWAYS_INLINE struct cpu *port_cpu_near(void)
{
    return port_cpu_self();
}
#endif

/* For assertions: interrupts are disabled, or enabled, as far as that is known. */
ALWAYS_INLINE bool port_irq_is_off(void)
{
    return PORT_IRQ_OFF() != 0;
}

ALWAYS_INLINE bool port_irq_is_on(void)
{
    return PORT_IRQ_OFF() <= 0;
}

/* Capabilities that port_env.h does not define do not exist. */
#ifndef PORT_PREEMPT
#define PORT_PREEMPT false
#endif
#ifndef PORT_TLS
#define PORT_TLS false
#endif
#ifndef PORT_TLS_ALWAYS
#define PORT_TLS_ALWAYS false
#endif
#ifndef PORT_CALLS_BLOCK
#define PORT_CALLS_BLOCK false
#endif
#ifndef PORT_FOREIGN
#define PORT_FOREIGN false
#endif
#ifndef PORT_IDENTITY
#define PORT_IDENTITY false
#endif
#ifndef PORT_SIGNALS
#define PORT_SIGNALS false
#endif
#ifndef PORT_KNOWS_INSIDE
#define PORT_KNOWS_INSIDE false
#endif
/* Calls rt_trim_memory from time to time: port_memory_kept says that it is worth it. */
#ifndef PORT_TRIMS
#define PORT_TRIMS false
#define port_memory_kept() ((void)0)
#endif
#ifndef PORT_PROCESSES
#define PORT_PROCESSES false
#endif
#ifndef PORT_CPU_SETS
#define PORT_CPU_SETS false
#endif
#ifndef PORT_IO
#define PORT_IO false
#endif
#ifndef PORT_IO_CLOSE
#define PORT_IO_CLOSE false
#endif
#ifndef PORT_LOOK_WIDTH
#define PORT_LOOK_WIDTH 16u
#endif
#ifndef PORT_CPUS_A_SEARCHER
#define PORT_CPUS_A_SEARCHER 16u
#endif
#ifndef PORT_READY
#define PORT_READY false
#endif
#ifndef PORT_NODES
#define PORT_NODES false
#endif
#ifndef PORT_STDIO
#define PORT_STDIO false
#endif
#ifndef PORT_QUOTA
#define PORT_QUOTA false
#endif
#ifndef PORT_CACHE
#define PORT_CACHE false
#endif
#ifndef PORT_MISSES
#define PORT_MISSES false
#endif
#ifndef PORT_CAPACITIES
#define PORT_CAPACITIES false
#endif
#ifndef PORT_OPTIONS
#define PORT_OPTIONS false
#endif
#ifndef PORT_FILES
#define PORT_FILES false
#endif
#ifndef PORT_TRACE
#define PORT_TRACE false
#endif
#ifndef PORT_TRACE_SAVED
#define PORT_TRACE_SAVED false
#endif
#ifndef PORT_PROF
#define PORT_PROF false
#endif
#ifndef PORT_PROF_FRAMES
#define PORT_PROF_FRAMES false
#endif
#ifndef PORT_DUMPS_HERE
#define PORT_DUMPS_HERE false
#endif
#ifndef PORT_QUIET_S
#define PORT_QUIET_S 0
#endif
#ifndef PORT_REPORT
#define PORT_REPORT false
#endif
#ifndef PORT_TOOLS
#define PORT_TOOLS false
#endif

/*
 * Start and end.
 */

/* Called first, before options are read. If the runtime cannot work here, end the program with a
 * message, instead of failing later. */
void port_check(void);

/* CPUs that the environment offers; at least 1. */
unsigned port_cpu_count(void);

/* Called once, before any CPU starts, by the kernel thread that starts the runtime. 0 or -errno.
 * *caller_is_main: it is the program's main thread, which lives as long as the program, and may
 * become CPU 0. If it is not, it may end at any time, and stays a foreign thread. */
int port_init(bool *caller_is_main);

/* Stop the program at once with `status` (a usage error) or with a crash (our own bug). */
NORETURN void port_exit_now(int status);
NORETURN void port_panic(void);

/* End the program in the ordinary way: exit handlers run. */
NORETURN void port_exit(int status);

/* Unbuffered output to the user's error stream; safe in a signal handler. */
void port_write(const char *text, size_t length);

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

/* Sleep until a permit arrives or `deadline` (ns of port_now, UINT64_MAX: none) has passed;
 * consumes the permit. May return early; a permit that was posted before the call is never lost. */
void port_cpu_idle(struct cpu *cpu, uint64_t deadline);

/* Post one permit (idempotent). Callable from any thread, CPU or interrupt handler. */
void port_cpu_kick(struct cpu *cpu);

/* Spin loops call this with the number of rounds already spun. Long spins give the processor to
 * others, very long ones for some time. UINT32_MAX: give it away now. */
void port_relax(unsigned round);

/* The heavy half of the asymmetric fence pair (core/atomic.h), and whether it reaches the other
 * CPUs. */
void port_fence_heavy(void);
#ifndef PIRN_BARE /* there it is false: a constant of atomic.h */
HIDDEN extern bool port_fence_asymmetric;
#endif

/*
 * Time.
 */

/* Monotonic nanoseconds. */
uint64_t port_now(void);

/* Ask for rt_on_tick(cpu) at or soon after `deadline`; a later call replaces it. UINT64_MAX: none.
 */
void port_timer_set(struct cpu *cpu, uint64_t deadline);

/*
 * Memory.
 */

/* Stacks. The thread may use `size` bytes; `guard` bytes below cannot be accessed, where there is
 * an MMU; the port rounds both up. Of a stack that the program gives, the port may take some as
 * guard (port_stack_begin). Only the port uses `arena`. 0 or -ENOMEM. */
struct port_stack {
    void *low;
    size_t size;
    size_t guard;
    void *arena;
};
int port_stack_alloc(struct port_stack *stack, size_t size, size_t guard);
void port_stack_free(struct port_stack *stack);

/* Zeroed memory for tables of the core; NULL if there is none. Never called on a hot path. */
void *port_table_alloc(size_t size);
void port_table_free(void *p, size_t size);

/*
 * Upcalls.
 */
void rt_carrier_main(struct carrier *k);
void rt_on_kick(struct cpu *cpu); /* a kick reaches a running CPU; interrupt context */
void rt_on_tick(struct cpu *cpu); /* interrupt context */
void rt_on_exit(void);            /* the program ends in the ordinary way */

/* Called instead of a call that this platform does not have: the API was used where no thread runs.
 * Ends the program. */
NORETURN COLD void rt_no_such_call(void);

/* For ports that see the core's structures only as names. */
struct port_cpu *rt_cpu_port(struct cpu *cpu);
struct port_carrier *rt_carrier_port(struct carrier *k);
struct port_thread *rt_thread_port(struct thread *t);
struct carrier *rt_cpu_carrier(struct cpu *cpu);
struct carrier *rt_carrier_here(void); /* the calling kernel thread; NULL: it is none */

/* CPU i, of rt_cpu_count(); is it asleep; has it a ready thread beside the one that runs? Hints,
 * any context, once the runtime has started, which the first one waits for. */
unsigned rt_cpu_count(void);
struct cpu *rt_cpu_at(unsigned i);
bool rt_cpu_asleep(unsigned i);
bool rt_cpu_searches(unsigned i); /* it has no thread, and is awake; a look from outside */
bool rt_cpu_has_ready(struct cpu *cpu);

unsigned rt_cpu_id(const struct cpu *cpu);
uint64_t rt_cpu_switches(const struct cpu *cpu);
/* Give cached stacks back: all, since nothing has run for a while; some of those that nobody has
 * used since the last call. On a kernel thread that is no CPU. Are there more than are to be
 * kept? */
void rt_idle_memory(void);
void rt_trim_memory(void);
bool rt_memory_to_trim(void);
struct cpu *rt_thread_cpu(const struct thread *t); /* where it runs or ran last; NULL: it has not */
void *rt_thread_stack(struct thread *t);           /* its lowest address */
uintptr_t rt_thread_stack_top(const struct thread *t);
bool rt_cpu_runs(struct cpu *cpu, const struct thread *t); /* a look from outside */
struct thread *rt_cpu_thread(struct cpu *cpu); /* that the CPU runs; called by the CPU */
bool rt_thread_is_idle(const struct thread *t);

#endif
