/* SPDX-License-Identifier: MIT */
/*
 * preempt.c (Linux) - a user thread that runs for a whole tick lets others run (signal-yield).
 *
 * Each worker has a timer on its own CPU time, so that a worker that sleeps or waits in the kernel
 * gets no ticks: no idle wake-ups, and no system call that ends with EINTR because of us. The
 * handler runs on the user thread's stack and calls rt_preempt, which switches to the next thread
 * from inside the handler; when the thread's turn comes again, perhaps on another worker, the
 * handler returns and the kernel restores all registers from the frame.
 *
 * When it does not switch:
 *   1. port_tls_inside != 0: the thread is in the runtime, which may hold a lock. The tick is
 * marked, and port_irq_restore takes it when the thread leaves.
 *   2. The interrupted instruction lies in the C library, the dynamic linker, or this library. The
 *      first two hold locks that block a worker, not a thread (malloc, stdio, the linker's): with
 * the holder switched away, a worker that needs one would sleep, and with the last one nobody runs
 *      the holder. This library reads the worker and what belongs to it in several steps; a
 * migration in between is not to happen. The timer is set to come again soon.
 *   3. On the alternative signal stack, which belongs to the worker.
 *   4. The thread has locked a file (flockfile): those who print would wait in the kernel.
 *   5. The worker has switched since the last tick: its thread has not run for a whole one.
 * Other locks of the C library that are held around the program's code (that of an fopencookie
 * stream, a callback of dl_iterate_phdr) are not seen.
 *
 * What the frame restores beside registers, the signal mask and the alternative stack, belongs to
 * the kernel thread on which the handler returns: frame.c.
 * The signal is not blocked while its handler runs (SA_NODEFER): the next thread needs its ticks.
 *
 * A thread with asynchronous cancellation (core/cancel.h) is ended from the handler, too.
 */
#include "linux.h"

/* The sanitizers deliver signals late, from their own code. */
#if defined(PORT_ARCH_TLS_INC) && !defined(PIRN_TSAN) && !defined(PIRN_ASAN)

#include <errno.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define RANGES 16
#define RETRY_NS 100000
#define MINSIGSTKSZ_BEFORE_AUXV 4096u /* kernels before 5.14 do not say */

static struct {
    int signal; /* 0: preemption is off */
    uint64_t tick_ns;
    unsigned nranges;
    struct {
        uintptr_t low, high;
        bool own;
    } range[RANGES];
    bool found_self, found_libc, self_is_program;
} preempt;

bool preempt_pc_is_kept(uintptr_t pc, bool *own)
{
    for (unsigned i = 0; i < preempt.nranges; i++) {
        if (pc >= preempt.range[i].low && pc < preempt.range[i].high) {
            *own = preempt.range[i].own;
            return true;
        }
    }
    *own = false;
    return false;
}

/* Who runs next begins with this tick: the next one is a whole one of his, too. Not inlined: after
 * a switch the worker is another one. */
static NOINLINE void preempt_now(struct cpu *cpu, uint64_t switches)
{
    rt_cpu_port(cpu)->seen = switches + 1;
    rt_preempt();
    if (port_cpu_self() == cpu && rt_cpu_switches(cpu) == switches) {
        rt_cpu_port(cpu)->seen = switches; /* nobody did */
    }
}

bool preempt_may_leave(const void *context)
{
    bool own;
    return port_tls_files == 0 &&
           !preempt_pc_is_kept(PORT_ARCH_SIGNAL_PC((const ucontext_t *)context), &own) &&
           !frame_interrupts_signal_stack(context);
}

/* What a tick means for the thread: true, and it is to make room now. */
static bool tick_ends_turn(const ucontext_t *context, struct cpu *cpu, uint64_t switches)
{
    bool may_leave = preempt_may_leave(context);
    if (may_leave && (port_tls_inside & ~PREEMPT_DEFERRED) == 0) {
        rt_cancel_async();
    }
    struct port_cpu *port = rt_cpu_port(cpu);
    if (switches != port->seen) {
        port->seen = switches;
        return false;
    }
    if ((port_tls_inside & ~PREEMPT_DEFERRED) != 0) {
        port->deferred_at = switches;
        port_tls_inside |= PREEMPT_DEFERRED;
        return false;
    }
    if (!may_leave) {
        own_timer_set(port->timer, RETRY_NS, preempt.tick_ns);
    }
    return may_leave;
}

static void on_tick(int signal, siginfo_t *info, void *arg)
{
    ucontext_t *context = arg;
    struct cpu *cpu = port_cpu_self();
    (void)signal;
    (void)info;
    if (cpu == NULL) {
        port_disturbed = true;
        return;
    }
    rt_tick_begins();
    uint64_t switches = rt_cpu_switches(cpu);
    bool ends = tick_ends_turn(context, cpu, switches);
    rt_tick_ends(ends);
    if (!ends) {
        return;
    }
    unsigned long irq = port_irq_save();
    times_tick(cpu);
    preempt_now(cpu, switches);
    port_irq_restore(irq); /* a tick that has come meanwhile: another switch */
    rt_cancel_async();
    signals_take(context);
    frame_leave(context);
}

/* Left the runtime, or one level of it, with a tick marked. A switch since then was its answer. On
 * the carrier's signal stack the mark stays, for the next time. */
void preempt_deferred(void)
{
    while (port_tls_inside == PREEMPT_DEFERRED) {
        if (on_signal_stack()) {
            return;
        }
        port_irq_entered();
        meter_begin();
        struct cpu *cpu = port_cpu_self();
        if (cpu != NULL && rt_cpu_switches(cpu) == rt_cpu_port(cpu)->deferred_at) {
            preempt_now(cpu, rt_cpu_port(cpu)->deferred_at);
        }
        meter_end();
        PORT_ARCH_TLS_SET(port_tls_inside, 0);
    }
    if (port_tls_inside == 0) {
        signals_leave();
    }
}

static int range_add(struct dl_phdr_info *info, size_t size, void *unused)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash != NULL ? slash + 1 : info->dlpi_name;
    bool libc = strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-", 5) == 0;
    bool take = libc || strncmp(name, "ld-", 3) == 0 || strncmp(name, "ld.so", 5) == 0 ||
                strncmp(name, "libasan.", 8) == 0 || strncmp(name, "libtsan.", 8) == 0 ||
                strncmp(name, "liblsan.", 8) == 0;
    (void)size;
    (void)unused;
    preempt.found_libc |= libc;
    for (int pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < info->dlpi_phnum; i++) {
            const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
            uintptr_t low = info->dlpi_addr + ph->p_vaddr, high = low + ph->p_memsz;
            if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X)) {
                continue;
            }
            bool self = (uintptr_t)on_tick >= low && (uintptr_t)on_tick < high;
            if (self) {
                take = preempt.found_self = true;
                preempt.self_is_program = info->dlpi_name[0] == '\0';
            }
            if (pass == 1 && take && preempt.nranges < RANGES) {
                preempt.range[preempt.nranges].low = low;
                preempt.range[preempt.nranges].own = self;
                preempt.range[preempt.nranges++].high = high;
            }
        }
    }
    return 0;
}

bool preempt_places_known(void)
{
    if (preempt.nranges == 0) {
        dl_iterate_phdr(range_add, NULL);
    }
    return preempt.found_self && preempt.found_libc && !preempt.self_is_program;
}

/* Its runtime has locks, too, of which the allocator's are taken inside ours. */
static bool sanitizer_is_kept(void)
{
    uintptr_t at = port_sanitizer_at();
    bool own;
    return at == 0 || preempt_pc_is_kept(at, &own);
}

void preempt_unmask(uint64_t *set)
{
    own_signal_unmask(preempt.signal, set);
}

int port_preempt_start(uint64_t tick_ns, const char **why)
{
    struct sigaction act = {.sa_sigaction = on_tick,
                            .sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER};
    if (!preempt_places_known()) {
        *why = "the library or the C library is linked statically: where code must not be "
               "interrupted cannot be told";
        return -ENOTSUP;
    }
    if (!sanitizer_is_kept()) {
        *why =
            "the runtime of the program's sanitizer is linked statically, as clang does: where it "
            "must not be interrupted cannot be told (gcc links it dynamically)";
        return -ENOTSUP;
    }
    preempt.tick_ns = tick_ns;
    return own_signal(&preempt.signal, false, &act, why);
}

void preempt_pause(const struct port_carrier *port, bool pauses)
{
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
    port->timer = -1;
    if (preempt.signal == 0) {
        return;
    }
    port->timer = own_timer(METER_TICK_CLOCK(preempt.tick_ns), preempt.signal);
    if (port->timer < 0) {
        static const char text[] = "pirn: no timer for a worker: its threads are not preempted\n";
        port_write(text, sizeof(text) - 1);
        return;
    }
    own_timer_set(port->timer, preempt.tick_ns, preempt.tick_ns);
}

#else /* no preemption */

#include <errno.h>

#ifdef PORT_ARCH_TLS_INC
/* No tick is ever deferred: who left a level of the runtime is still in another. */
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

void preempt_pause(const struct port_carrier *port, bool pauses)
{
    (void)port;
    (void)pauses;
}

int port_preempt_start(uint64_t tick_ns, const char **why)
{
    (void)tick_ns;
    *why = "threads are preempted on x86-64 only, and not in builds with a sanitizer";
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
