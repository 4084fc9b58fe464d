/* SPDX-License-Identifier: MIT */
/*
 * linux_preempt.c (Linux) - a user thread that runs for a whole tick lets others run
 * (signal-yield).
 *
 * Each worker has a timer on its own CPU time, so a worker that sleeps or waits in the kernel gets
 * no ticks: no idle wake-ups, and no system call that ends with EINTR because of us. The tick comes
 * on the worker's alternate stack, because the thread's stack may have no room (stacks of languages
 * that have their own). To switch the thread, the frame is moved to its stack, as if the kernel had
 * put it there. The handler continues there, and calls rt_preempt, which switches to the next
 * thread. When the thread's turn comes again, perhaps on another worker, the handler returns, and
 * the kernel restores all registers from the frame.
 *
 * The handler does not switch in these cases (enum place):
 *   1. port_tls_inside != 0: the thread is in the runtime, which may hold a lock. The tick is
 *      marked, and port_irq_restore takes it when the thread leaves.
 *   2. KEPT: the interrupted instruction lies in the C library or the dynamic linker. They hold
 *      locks that block a worker, not a thread (malloc, stdio, the linker's). If the holder were
 *      switched away, workers that need the lock would sleep, until no worker is left to run the
 *      holder. The same holds if the thread has locked a file (flockfile).
 *   3. KEPT: the stack pointer is not in the thread's stack, or has little room: the memory below
 *      it on a stack that the program has made is not known.
 *   4. OURS: in this library, which reads the worker and its state in several steps, between which
 *      the thread must not migrate. Or on the worker's alternate stack, where another handler has
 *      been interrupted.
 *   KEPT as well: the program is a direct one (linux_direct.c, 3).
 *   5. The worker has switched since the last tick: its thread has not run for a whole one.
 * Other locks of the C library that are held around the program's code (that of an fopencookie
 * stream, a callback of dl_iterate_phdr) are not seen.
 *
 * In 4 the timer comes again soon. In 2 and 3 the thread loses its CPU, if others wait for it: it
 * continues on its kernel thread, which keeps its locks, and another kernel thread executes the CPU
 * (rt_preempt_away). So a thread runs for two ticks at most while another one waits for its CPU, in
 * whatever code it is. It gets a CPU again at its next call of the runtime, or when a tick finds it
 * outside of 2 to 4 and queues it for one. While it has none, the kernel shares the processors
 * between it and the workers.
 *
 * The frame also restores the signal mask and the alternate stack, which belong to the kernel
 * thread on which the handler returns: linux_frame.c.
 *
 * The monitor sends a tick, too (preempt_look), when a worker has run one thread from one look to
 * the next although others wait. It counts for threads that cannot be switched, for workers without
 * a timer (RLIMIT_SIGPENDING is used up: then the signal is one that is not queued), and if the
 * thread has run for a tick by the clock and its timer has not ended one meanwhile. A worker that
 * shares its processor with other programs uses a tick of CPU time in many times that time, in
 * which threads that wait would not run. Each such tick is charged once: it begins when the monitor
 * first sees the thread, or when the last one ended, of either kind.
 *
 * On the alternate stack the handler blocks all signals, so that frames do not pile up there. On
 * the thread's stack it lets them in before it switches: the next thread needs its ticks.
 *
 * A thread with asynchronous cancellation (core/cancel.h) is ended from the handler, too.
 */
#include "linux.h"
#include "port_calls.h"
#include "port_preempt.h"
#include "port_signals.h"
#include "port_trace.h"

/* The sanitizers deliver signals late, from their own code. */
#if defined(PORT_ARCH_TLS_INC) && !defined(PIRN_TSAN) && !defined(PIRN_ASAN)

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define RETRY_NS 100000
#define NOT_SEEN UINT64_MAX /* no number of switches */
#define SWITCH_ROOM                                                                                \
    4096u /* of stack, beside the frame: what a switch needs from the handler on                   \
           */
#define MAIN_STACK (128u << 20) /* below the top of the process's stack nothing else is mapped */
#define MINSIGSTKSZ_BEFORE_AUXV 4096u /* kernels before 5.14 do not say */

static struct {
    int signal; /* 0: preemption is off */
    uint64_t tick_ns;
    size_t room; /* of stack that any tick needs which switches */
    bool moves;  /* frames begin on the signal stack, and are moved */
} preempt;

extern void *__libc_stack_end __attribute__((weak));

/* How much of the thread's stack lies below the address; 0: it is not in that stack. */
static size_t room_below(struct thread *t, uintptr_t at)
{
    uintptr_t low = (uintptr_t)rt_thread_stack(t), high = rt_thread_stack_top(t);
    if (low == 0) { /* the main thread: the process's stack, which grows */
        high = &__libc_stack_end != NULL ? (uintptr_t)__libc_stack_end : UINTPTR_MAX;
        low = high > MAIN_STACK ? high - MAIN_STACK : 0;
    }
    return at > low && at < high ? at - low : 0;
}

/* The frame that is there may be much smaller than the largest one: that has the state of AMX. */
#ifdef PORT_ARCH_FRAME_BYTES
static size_t room_needed(const ucontext_t *context)
{
    return preempt.moves ? PORT_ARCH_FRAME_BYTES(context) + RED_ZONE + SWITCH_ROOM : preempt.room;
}
#else
static size_t room_needed(const ucontext_t *context)
{
    (void)context;
    return preempt.room;
}
#endif

/* Is the stack pointer in the thread's stack, with room for the frame and a switch below it? */
static bool stack_has(struct thread *t, const ucontext_t *context)
{
    size_t room = room_below(t, PORT_ARCH_SIGNAL_SP(context));
    return room != 0 && room >= room_needed(context);
}

bool stack_is_own(struct thread *t, uintptr_t at)
{
    return room_below(t, at) != 0;
}

enum place {
    PLACE_FREE, /* it may be switched here */
    PLACE_OURS, /* it will leave soon */
    PLACE_KEPT, /* it may stay for as long as it likes */
};

/* Where has the signal interrupted t, which is not inside the runtime? */
static enum place place_of(struct thread *t, const ucontext_t *context)
{
    uintptr_t pc = PORT_ARCH_SIGNAL_PC(context);
    bool own, kept = place_is_kept(pc, &own);
    if (own || frame_interrupts_signal_stack(context)) {
        return PLACE_OURS;
    }
    kept |= port_tls_files != 0 || !stack_has(t, context) ||
            (direct_is_on() && !rt_cancel_async_due()); /* linux_direct.c, 3 */
    return kept ? PLACE_KEPT : PLACE_FREE;
}

/* The next thread, or this one if nobody else is to run, begins with this tick, so its first tick
 * is a whole one; but not if the monitor has sent it: then the timer's next one may come at once.
 * Not inlined: after a switch the worker is another one. */
static NOINLINE void preempt_now(struct cpu *cpu, uint64_t switches, bool sent)
{
    RT_ASSERT(cpu == port_cpu_self() && port_irq_is_off());
    monitor_is_late(cpu);
    rt_cpu_port(cpu)->seen = sent ? NOT_SEEN : switches + 1;
    rt_preempt();
    if (!sent && port_cpu_self() == cpu && rt_cpu_switches(cpu) == switches) {
        rt_cpu_port(cpu)->seen = switches; /* nobody did */
    }
}

bool preempt_may_leave(const void *context)
{
    struct cpu *cpu = port_cpu_self();
    return cpu != NULL && place_of(rt_cpu_thread(cpu), context) == PLACE_FREE;
}

static bool is_inside(void)
{
    return (port_tls_inside & ~PREEMPT_DEFERRED) != 0;
}

/* By the monitor, not by the worker's timer. */
static bool tick_is_sent(const siginfo_t *info)
{
    return info->si_code != SI_TIMER;
}

/* The thread makes room, on its own stack: by a switch; or it has lost its CPU before, and queues
 * for one. */
static void tick_switches(int signal, siginfo_t *info, void *arg)
{
    ucontext_t *context = arg;
    (void)signal;
    RT_ASSERT(!is_inside());
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &context->uc_sigmask, NULL, (size_t)_NSIG / 8);
    rt_cancel_async();
    struct cpu *cpu = port_cpu_self();
    if (cpu == NULL) {
        rt_left_returns();
    } else {
        unsigned long irq = port_irq_save();
        times_tick(cpu);
        preempt_now(cpu, rt_cpu_switches(cpu), tick_is_sent(info));
        port_irq_restore(irq); /* it may switch, too */
    }
    rt_cancel_async();
    signals_take(context, info);
    frame_leave(context);
}

/* Does not return if the frame is on the alternate stack, which is free then. Under Valgrind, which
 * has frames of its own kind, it is not. */
void frame_to_thread(int signal, siginfo_t *info, void *frame, frame_handler *handler)
{
    ucontext_t *context = frame;
    if (frame_on_signal_stack(context)) {
        PORT_ARCH_FRAME_MOVE(context, info, PORT_ARCH_SIGNAL_SP(context) - RED_ZONE, signal,
                             handler);
    }
    handler(signal, info, context);
}

/* The thread is to make room where it cannot be switched. On return it may have no CPU. */
static void tick_is_kept(struct cpu *cpu, enum place place)
{
    int timer = rt_cpu_port(cpu)->timer;
    int saved = errno;
    RT_ASSERT(place != PLACE_FREE && !is_inside() && cpu == port_cpu_self());
    times_tick(cpu);
    monitor_is_late(cpu);
    if ((place == PLACE_OURS || rt_preempt_away() == RT_ROOM_NO_CARRIER) && timer >= 0) {
        own_timer_set(timer, RETRY_NS, preempt.tick_ns);
    }
    errno = saved;
}

enum meaning {
    TICK_NOTHING,
    TICK_SWITCHES, /* the thread makes room, or ends, where it is */
    TICK_KEPT,     /* it is to, but cannot where it is */
};

/* By the clock, as the monitor has seen. It counts once; if the thread cannot make room just now,
 * the timer comes again, and its tick is a whole one. */
static bool tick_is_long(struct port_cpu *port, uint64_t switches)
{
    if (switches != __atomic_load_n(&port->long_switches, __ATOMIC_RELAXED)) {
        return false;
    }
    __atomic_store_n(&port->long_switches, NOT_SEEN, __ATOMIC_RELAXED);
    port->seen = switches;
    return true;
}

/* Has the thread run for a whole tick of the worker's timer? */
static bool tick_is_whole(struct port_cpu *port, uint64_t switches)
{
    bool whole = switches == port->seen;
    port->seen = switches;
    if (whole) {
        __atomic_store_n(&port->whole_ticks, port->whole_ticks + 1, __ATOMIC_RELAXED);
    }
    return whole;
}

/* The same of a tick that the monitor has sent. Where the thread cannot be switched it counts
 * earlier: the worker shares the processors with threads that have lost their CPU. Elsewhere the
 * thread may sleep in a system call of its own, and has not run: it keeps its CPU until the
 * monitor's probe finds it asleep (linux_blocked.c). */
static bool sent_is_whole(struct port_cpu *port, uint64_t switches, enum place place, uintptr_t pc)
{
    if (place == PLACE_KEPT || port->timer < 0) {
        return switches == __atomic_load_n(&port->sent_switches, __ATOMIC_RELAXED);
    }
    return !blocked_in_syscall(pc) && tick_is_long(port, switches);
}

static enum meaning tick_means(struct cpu *cpu, enum place place, bool sent, uintptr_t pc)
{
    struct port_cpu *port = rt_cpu_port(cpu);
    uint64_t switches = rt_cpu_switches(cpu);
    bool whole = sent ? sent_is_whole(port, switches, place, pc) : tick_is_whole(port, switches);
    if (whole && is_inside()) {
        RT_ASSERT(cpu == port_cpu_self());
        port->deferred_at = switches;
        port->deferred_sent = sent;
        port_tls_inside |= PREEMPT_DEFERRED;
    }
    if (!whole && place == PLACE_KEPT && !is_inside()) {
        rt_preempt_away_soon();
    }
    RT_ASSERT(place != PLACE_FREE || port_tls_files == 0);
    if (is_inside() || !(whole || rt_cancel_async_due())) {
        return TICK_NOTHING;
    }
    return place == PLACE_FREE ? TICK_SWITCHES : whole ? TICK_KEPT : TICK_NOTHING;
}

/* The thread is about to make room. A tick of the other kind, which comes at the same time, finds
 * it in the C library, on the way to that, and must not count. */
static void ticks_have_counted(struct port_cpu *port)
{
    port->seen = NOT_SEEN;
    __atomic_store_n(&port->sent_switches, NOT_SEEN, __ATOMIC_RELAXED);
}

/* True: the thread makes room where it is. */
static bool tick_of_running(struct cpu *cpu, const ucontext_t *context, bool sent)
{
    rt_tick_begins();
    enum place place = place_of(rt_cpu_thread(cpu), context);
    enum meaning means = tick_means(cpu, place, sent, PORT_ARCH_SIGNAL_PC(context));
    RT_ASSERT(means == TICK_NOTHING || (means == TICK_SWITCHES) == (place == PLACE_FREE));
    rt_tick_ends(means == TICK_SWITCHES);
    if (means == TICK_KEPT) {
        tick_is_kept(cpu, place);
    } else if (means == TICK_SWITCHES) {
        ticks_have_counted(rt_cpu_port(cpu));
    }
    return means == TICK_SWITCHES;
}

/* A thread without a CPU. In a call it is interrupted for nothing. Elsewhere it had one until a
 * tick, or a system call, took it away: where it may be switched it goes back to the others. */
static bool tick_of_left(const ucontext_t *context)
{
    port_disturbed = true;
    return !is_inside() && rt_left_may_return() &&
           place_of(port_left_self(), context) == PLACE_FREE;
}

/* The kernel queues the signal: a kernel thread that is not run for a while would find a frame on
 * its stack for each that the monitor has sent. So there is one at most, as in linux_cancel.c. */
static bool tick_was_sent(const siginfo_t *info)
{
    struct carrier *k = rt_carrier_here();
    bool sent = tick_is_sent(info);
    if (sent && k != NULL) {
        __atomic_exchange_n(&rt_carrier_port(k)->tick_sent, 0, __ATOMIC_ACQ_REL); /* ORDER(sent) */
    }
    return sent;
}

static void on_tick(int signal, siginfo_t *info, void *arg)
{
    ucontext_t *context = arg;
    struct cpu *cpu = port_cpu_self();
    RT_ASSERT(cpu == NULL || carrier_is_own(rt_cpu_port(cpu)->carrier));
    bool sent = tick_was_sent(info);
    signals_learn(context);
    bool switches = cpu != NULL ? tick_of_running(cpu, context, sent) : tick_of_left(context);
    if (switches) {
        frame_to_thread(signal, info, context, tick_switches);
    }
}

/* Left the runtime in a handler that runs on the carrier's alternate stack (linux_frame.c, 3). The
 * tick stays marked, and comes again soon in case the thread does not call; signals come when the
 * handler has returned. */
static COLD void deferred_stays(void)
{
    struct cpu *cpu = port_cpu_self();
    int saved = errno;
    RT_ASSERT(port_tls_inside == PREEMPT_DEFERRED);
    if (cpu != NULL && rt_cpu_port(cpu)->timer >= 0) {
        own_timer_set(rt_cpu_port(cpu)->timer, RETRY_NS, preempt.tick_ns);
    }
    if (rt_signalled()) {
        cancel_notify_later(NULL);
    }
    errno = saved;
}

/* Threads keep their kernel threads: linux_direct.c, 3. */
static void direct_deferred(void)
{
    struct cpu *cpu = port_cpu_self();
    if (cpu != NULL && rt_cpu_switches(cpu) == rt_cpu_port(cpu)->deferred_at) {
        monitor_is_late(cpu);
        rt_preempt_away();
    }
}

/* Left the runtime, or one level of it, with a tick marked. A switch since then was its answer. */
void preempt_deferred(void)
{
    while (port_tls_inside == PREEMPT_DEFERRED) {
        if (on_signal_stack()) {
            deferred_stays();
            return;
        }
        if (direct_is_on()) {
            PORT_ARCH_TLS_SET(port_tls_inside, 0);
            direct_deferred();
            continue;
        }
        port_irq_entered();
        meter_begin();
        struct cpu *cpu = port_cpu_self();
        if (cpu != NULL && rt_cpu_switches(cpu) == rt_cpu_port(cpu)->deferred_at) {
            preempt_now(cpu, rt_cpu_port(cpu)->deferred_at, rt_cpu_port(cpu)->deferred_sent);
        }
        meter_end();
        RT_ASSERT((port_tls_inside & ~PREEMPT_DEFERRED) == 1);
        PORT_ARCH_TLS_SET(port_tls_inside, 0);
    }
    if (port_tls_inside == 0) {
        signals_leave();
    }
}

/* Its runtime has locks, too, of which the allocator's are taken inside ours. */
static bool sanitizer_is_kept(void)
{
    uintptr_t at = port_sanitizer_at();
    bool own;
    return at == 0 || place_is_kept(at, &own);
}

/* The kernel lets a process have so many timers as it may queue signals: RLIMIT_SIGPENDING. */
static bool timers_are_there(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGURG};
    int timer;
    if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) != 0) {
        return false;
    }
    syscall(SYS_timer_delete, timer);
    return true;
}

/* One that can be sent nevertheless, and that nothing sends on this architecture. 0: the program
 * has taken it. */
static int signal_unqueued(void)
{
    struct sigaction old;
    return __sigaction(SIGSTKFLT, NULL, &old) == 0 && old.sa_handler == SIG_DFL ? SIGSTKFLT : 0;
}

/* Has the thread run for a tick by the clock, and met no whole one of its timer? */
static void look_by_clock(struct port_cpu *port, uint64_t switches, bool still, uint64_t now)
{
    uint32_t ticks = __atomic_load_n(&port->whole_ticks, __ATOMIC_RELAXED);
    if (still && ticks == port->look_ticks && now - port->still_from < preempt.tick_ns) {
        return;
    }
    __atomic_store_n(&port->long_switches, still && ticks == port->look_ticks ? switches : NOT_SEEN,
                     __ATOMIC_RELAXED);
    port->look_ticks = ticks;
    port->still_from = now;
}

void preempt_look(struct cpu *cpu, uint64_t now)
{
    struct port_cpu *port = rt_cpu_port(cpu);
    uint64_t switches = rt_cpu_switches(cpu);
    RT_ASSERT(port_cpu_self() == NULL);
    bool still = switches == __atomic_load_n(&port->sent_switches, __ATOMIC_RELAXED);
    __atomic_store_n(&port->sent_switches, switches, __ATOMIC_RELAXED);
    look_by_clock(port, switches, still, now);
    if (preempt.signal != 0 && still && (rt_cpu_pending(cpu) || rt_cpu_has_ready(cpu))) {
        struct port_carrier *k = rt_carrier_port(rt_cpu_carrier(cpu));
        monitor_send(k, &k->tick_sent, preempt.signal);
    }
}

bool preempt_is_on(void)
{
    return preempt.signal != 0;
}

/* Valgrind's frames are not the kernel's, and cannot be moved. */
int frames_flags(void)
{
#ifdef PORT_ARCH_VALGRIND
    if (PORT_ARCH_VALGRIND(0x1001, 0, 0) != 0) {
        return 0;
    }
#endif
    return SA_ONSTACK;
}

void preempt_unmask(uint64_t *set)
{
    own_signal_unmask(preempt.signal, set);
}

int port_preempt_start(uint64_t tick_ns, const char **why)
{
    struct sigaction act = {.sa_sigaction = on_tick,
                            .sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER};
    if (!places_known()) {
        *why = "the library or the C library is linked statically: where code must not be "
               "interrupted is not known";
        return -ENOTSUP;
    }
    if (!sanitizer_is_kept()) {
        *why =
            "the runtime of the program's sanitizer is linked statically, as clang does: where it "
            "must not be interrupted is not known (gcc links it dynamically)";
        return -ENOTSUP;
    }
    if (preempt.signal == 0 && !timers_are_there()) {
        preempt.signal = signal_unqueued();
    }
    act.sa_flags |= frames_flags();
    own_signal_alone(&act);
    preempt.tick_ns = tick_ns;
    preempt.room = port_signal_room() + SWITCH_ROOM;
    preempt.moves = frames_flags() != 0;
    return own_signal(&preempt.signal, false, &act, why);
}

void preempt_pause(const struct port_carrier *port, bool pauses)
{
    RT_ASSERT(port->timer < 0 || preempt.signal != 0);
    if (port->timer >= 0) {
        uint64_t ns = pauses ? 0 : preempt.tick_ns;
        own_timer_set(port->timer, ns, ns);
    }
}

/* The frame, with all the registers that the machine has, and ours. */
size_t port_signal_room(void)
{
    unsigned long frame = getauxval(AT_MINSIGSTKSZ);
    return frame != 0 ? frame : MINSIGSTKSZ_BEFORE_AUXV;
}

void preempt_begin(struct port_carrier *port)
{
    RT_ASSERT(carrier_is_own(port));
    port->timer = -1;
    if (preempt.signal == 0) {
        return;
    }
    port->timer = own_timer(METER_TICK_CLOCK(preempt.tick_ns), preempt.signal);
    if (port->timer >= 0) { /* else by the monitor's ticks */
        own_timer_set(port->timer, preempt.tick_ns, preempt.tick_ns);
    }
}

#else /* no preemption */

#include <errno.h>

int frames_flags(void)
{
    return 0;
}

void frame_to_thread(int signal, siginfo_t *info, void *frame, frame_handler *handler)
{
    handler(signal, info, frame);
}

#ifdef PORT_ARCH_TLS_INC
/* No tick is ever deferred: a thread that left a level of the runtime is still in another. */
void preempt_deferred(void) {}
#endif

bool preempt_may_leave(const void *context)
{
    (void)context;
    return false;
}

void preempt_unmask(uint64_t *set)
{
    (void)set;
}

void preempt_look(struct cpu *cpu, uint64_t now)
{
    (void)cpu;
    (void)now;
}

bool preempt_is_on(void)
{
    return false;
}

void preempt_pause(const struct port_carrier *port, bool pauses)
{
    (void)port;
    (void)pauses;
}

int port_preempt_start(uint64_t tick_ns, const char **why)
{
    (void)tick_ns;
    *why = "threads are preempted on x86-64 and AArch64 only, and not in builds with a sanitizer";
    return -ENOTSUP;
}

size_t port_signal_room(void)
{
    return 0;
}

void preempt_begin(struct port_carrier *port)
{
    (void)port;
}

#endif
