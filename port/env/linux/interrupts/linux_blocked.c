/* SPDX-License-Identifier: MIT */
/*
 * linux_blocked.c (Linux) - workers whose thread sleeps in the kernel without having said so
 * (rt_call_begin): in the C library's own calls (stdio, the resolver, its locks), or in system
 * calls that the program makes itself.
 *
 * The monitor looks at every worker every LOOK_NS. One that has not switched since the last look
 * and has used no CPU time sleeps in the kernel, or waits for a processor. The monitor sends it a
 * signal. The handler gives the CPU away (rt_call_unannounced) and returns: the system call goes on
 * (SA_RESTART), and the thread gets a CPU again when it next calls the runtime. The monitor opens
 * no file to know better: it would take a number that the program's next file is to have; the
 * handler waits for a second probe, and looks whether the kernel thread has slept in between.
 *
 * A program in which one thread has waited so is likely to have others. So for EAGER_FOR_NS after
 * such a wait the monitor looks every EAGER_NS, and the first probe is enough where the instruction
 * is one at which a thread has slept before (`sites`). When that finds no spare carrier, the
 * monitor goes back to its usual pace, because each probe may end the call with EINTR.
 *
 * The decision is made by the worker itself, in the handler, so there is nothing to race with:
 *   1. port_cpu_self() is NULL: it has no CPU any more.
 *   2. port_tls_inside is not 0: it is in the runtime (or idle there). It will leave on its own.
 *   3. The interrupted instruction is not a system call: the thread runs. The signal was too late.
 * The handler runs on the carrier's signal stack, as threads need no room for it so, and keeps out
 * all other signals: a thread that is interrupted there must not be switched (linux_frame.c).
 *
 * Code outside the C library that waits in a futex, by an instruction of its own, makes its later
 * calls elsewhere: linux_redirect.c.
 *
 * Calls that the kernel does not restart after a handler (poll, epoll_wait, futex with a limit,
 * ...) end with EINTR. Those of the C library's interface are announced by the POSIX layer and get
 * no signal. Under the native API this is off (rt_takes_calls).
 *
 * While all workers sleep for want of work the monitor does not look: `dozing`. A worker that wakes
 * up tells it: the worker's permit changes, then it reads dozing; the monitor stores dozing, then
 * reads the permits. Sequentially consistent: one of them sees the other. ORDER(monitor)
 */
#include "linux.h"

#include "../../../../src/prof/prof.h"
#include "port_calls.h"
#include "redirect/linux_redirect.h"

/* As for preemption: whether a thread is inside the runtime must be known. */
#if defined(PORT_ARCH_TLS_INC) && !defined(PIRN_TSAN) && !defined(PIRN_ASAN)

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define LOOK_NS 10000000u
#define EAGER_NS 500000u
#define EAGER_FOR_NS 1000000000u
#define BUSY_PART 10u /* this part of the time between two looks on a CPU: it does not sleep */
#define SITES 64u

static int probe;            /* the signal; 0: off */
static uint32_t sending;     /* the monitor is about to send it. ORDER(sending) */
static uint64_t eager_until; /* (A) a time of port_now, by handlers; the monitor reads it */

/* (A) System calls, by the address behind the instruction, in which a thread has slept. A hint:
 * of two addresses with the same place, the last one counts. */
static uintptr_t sites[SITES];

static uintptr_t *site_of(uintptr_t pc)
{
    return &sites[(pc ^ pc >> 6 ^ pc >> 12) % SITES];
}

/* Has this kernel thread gone to sleep in the kernel since the last probe, for the same thread,
 * without a switch in between? The call goes to sleep again after each probe; one that only waits
 * for a processor does not. */
static bool has_slept(struct cpu *cpu)
{
    struct port_cpu *port = rt_cpu_port(cpu);
    struct rusage use;
    RT_ASSERT(cpu == port_cpu_self() && port_irq_is_on());
    uint64_t switches = rt_cpu_switches(cpu);
    if (syscall(SYS_getrusage, RUSAGE_THREAD, &use) != 0) {
        return false;
    }
    bool same = port->probe_switches == switches, slept = use.ru_nvcsw != port->probe_slept;
    port->probe_switches = switches;
    port->probe_slept = use.ru_nvcsw;
    return same && slept;
}

/* begins: it begins there. Code that is compiled at run time may have a protection key, and a
 * handler no access to it. */
static bool in_syscall(uintptr_t pc, bool *begins)
{
    uint32_t rights = pkeys_open();
    bool in = port_arch_in_syscall(pc);
    *begins = in && port_arch_is_call((const unsigned char *)pc);
    pkeys_close(rights);
    return in;
}

bool blocked_in_syscall(uintptr_t pc)
{
    bool begins;
    return in_syscall(pc, &begins);
}

static void on_probe(int signal, siginfo_t *info, void *arg)
{
    const ucontext_t *context = arg;
    uintptr_t pc = PORT_ARCH_SIGNAL_PC(context);
    bool begins;
    (void)signal;
    (void)info;
    struct carrier *k = rt_carrier_here();
    if (k != NULL) {
        RT_ASSERT(carrier_is_own(rt_carrier_port(k)));
        __atomic_exchange_n(&rt_carrier_port(k)->probe_sent, 0, __ATOMIC_ACQ_REL); /* ORDER(sent) */
    }
    signals_adopt(arg);
    port_disturbed |= port_cpu_self() == NULL;
    if (port_cpu_self() != NULL && (port_tls_inside & ~PREEMPT_DEFERRED) == 0 &&
        in_syscall(pc, &begins)) {
        int saved = errno;
        uintptr_t *site = site_of(pc);
        bool known = __atomic_load_n(site, __ATOMIC_RELAXED) == pc;
        if (has_slept(port_cpu_self()) || known) {
            prof_waits_blocked(context);
            bool given = rt_call_unannounced();
            if (begins && PORT_ARCH_SIGNAL_CALL(context) == SYS_futex) {
                redirect_learn(pc);
            }
            __atomic_store_n(site, pc, __ATOMIC_RELAXED);
            __atomic_store_n(&eager_until, given ? port_now() + EAGER_FOR_NS : 0, __ATOMIC_RELAXED);
        }
        errno = saved;
    }
}

int blocked_start(void)
{
    struct sigaction act = {.sa_sigaction = on_probe,
                            .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    const char *why;
    own_signal_alone(&act);
    int error = own_signal(&probe, false, &act, &why);
    if (error == 0) { /* until the monitor, which looks then, knows how often CPUs sleep */
        rt_fences_choose(true);
    }
    return error;
}

void blocked_unmask(uint64_t *set)
{
    own_signal_unmask(probe, set);
}

static uint64_t cpu_time(int tid)
{
    struct timespec t = {0, 0};
    syscall(SYS_clock_gettime, port_time_kernel_clock(tid), &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A carrier that must get no more probes says so, and then waits until the monitor is not about to
 * send one: by the order of both pairs (seq-cst) one of the two sees the other. ORDER(sending) */
static bool send(const struct port_carrier *k, int signal)
{
    bool sent = false;
    RT_ASSERT(port_cpu_self() == NULL &&
              __atomic_load_n(&sending, __ATOMIC_RELAXED) == 0); /* the monitor alone */
    __atomic_store_n(&sending, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&k->no_probes, __ATOMIC_SEQ_CST) == 0) { /* ORDER(sending) */
        sent =
            syscall(SYS_tgkill, getpid(), __atomic_load_n(&k->tid, __ATOMIC_RELAXED), signal) == 0;
    }
    __atomic_store_n(&sending, 0, __ATOMIC_SEQ_CST);
    return sent;
}

/* The kernel queues these signals. One that is on its way to a kernel thread that gets no processor
 * is enough: a thousand would use up what the user may queue, and would all be handled at once. */
void monitor_send(struct port_carrier *k, uint32_t *sent, int signal)
{
    RT_ASSERT(signal != 0 && (sent == &k->probe_sent || sent == &k->tick_sent));
    if (__atomic_exchange_n(sent, 1, __ATOMIC_ACQ_REL) == 0 && !send(k, signal)) { /* ORDER(sent) */
        __atomic_store_n(sent, 0, __ATOMIC_RELEASE);                               /* ORDER(sent) */
    }
}

void blocked_stop_probes(struct port_carrier *port)
{
    __atomic_store_n(&port->no_probes, 1, __ATOMIC_SEQ_CST);
    for (unsigned round = 0; __atomic_load_n(&sending, __ATOMIC_SEQ_CST) != 0; round++) {
        port_relax(round); /* ORDER(sending) */
    }
}

void blocked_look(struct cpu *cpu, uint64_t elapsed)
{
    struct port_cpu *port = rt_cpu_port(cpu);
    int tid = __atomic_load_n(&port->tid, __ATOMIC_RELAXED);
    RT_ASSERT(port_cpu_self() == NULL);
    uint64_t switches = rt_cpu_switches(cpu), used = cpu_time(tid);
    uint64_t busy = (elapsed < LOOK_NS ? elapsed : LOOK_NS) / BUSY_PART;
    bool still =
        switches == port->look_switches && tid == port->look_tid && used - port->look_used < busy;
    port->look_switches = switches;
    port->look_used = used;
    port->look_tid = tid;
    if (probe != 0 && still && worker_awake(cpu)) {
        struct port_carrier *k = rt_carrier_port(rt_cpu_carrier(cpu));
        monitor_send(k, &k->probe_sent, probe);
    }
}

/* The parent's monitor may have been about to send. */
void blocked_forked(void)
{
    __atomic_store_n(&sending, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&eager_until, 0, __ATOMIC_RELAXED);
}

uint64_t blocked_interval(void)
{
    return probe != 0 || preempt_is_on() ? LOOK_NS : UINT64_MAX;
}

uint64_t blocked_interval_now(uint64_t now)
{
    bool eager = probe != 0 && now < __atomic_load_n(&eager_until, __ATOMIC_RELAXED);
    return eager ? EAGER_NS : blocked_interval();
}

#else

#include <errno.h>

int blocked_start(void)
{
    return -ENOTSUP;
}

void blocked_unmask(uint64_t *set)
{
    (void)set;
}

void blocked_look(struct cpu *cpu, uint64_t elapsed)
{
    (void)cpu;
    (void)elapsed;
}

bool blocked_in_syscall(uintptr_t pc)
{
    (void)pc;
    return false;
}

void blocked_stop_probes(struct port_carrier *port)
{
    (void)port;
}

void blocked_forked(void) {}

uint64_t blocked_interval(void)
{
    return UINT64_MAX;
}

uint64_t blocked_interval_now(uint64_t now)
{
    (void)now;
    return UINT64_MAX;
}

#endif
