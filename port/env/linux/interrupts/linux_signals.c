/* SPDX-License-Identifier: MIT */
/*
 * Length: the parts share the state of one struct, and the rules below.
 *
 * linux_signals.c (Linux) - between the kernel's signals, which are for kernel threads, and the
 * program's, which are for user threads (signals/posix_signal.h decides for which).
 *
 * From port_signals_start on, every carrier blocks the same signals: all but SIGNALS_OPEN. So a
 * switch of threads changes no mask. Signals to the process stay pending in the kernel until they
 * are fetched: by the receiver, a kernel thread that runs no user thread and waits for them, or by
 * a thread that has sent a signal and must see it delivered before it continues. The POSIX layer
 * keeps thread masks, pending signals and alternate stacks in memory.
 *
 * SIGNALS_OPEN are those that the kernel raises in the kernel thread whose instruction or call
 * caused them. They are handled here at once:
 *   1. A fault (and SIGABRT of abort()): the handler runs at once, at any instruction, because the
 *      thread would only fault again. If the kernel has put the frame on the carrier's signal stack
 *      (SA_ONSTACK), the frame is moved to the thread's own alternate stack, or to its stack,
 *      before the handler runs, because the handler may switch threads, or be left by siglongjmp.
 *      The moved frame looks like one that the kernel has made.
 *   2. SIGPIPE, SIGXFSZ, SIGSYS: pending for the thread, and taken at once.
 *   3. SIGPROF, SIGVTALRM, for profilers, which want the interrupted instruction: for the thread,
 *      if it does not block them; inside the runtime: when it leaves (linux_kept.c), or, if it
 *      ends, for another one, by the receiver.
 *   4. Signals that were sent to the process by kill(), or that come to a carrier without a thread:
 *      the receiver gets them (only if they are known to be for the process: SIGABRT is no fault
 *      then). The runtime's other kernel threads block SIGABRT, so the kernel does not choose them.
 *
 * Handlers run in a frame of a signal that we send to the carrier (that of linux_cancel.c), on the
 * thread's stack, as if the kernel had delivered the program's signal there:
 *   1. Not inside the runtime (port_tls_inside), but when the thread leaves it. So no handler ever
 *      interrupts the runtime, and functions that handlers may call (sem_post) never find a lock
 *      that the interrupted code holds.
 *   2. Not in this library, nor in the C library's own code, which may hold locks that other
 *      threads of the carrier need; the sender tries again later. An exception are system calls
 *      there, except those for memory, during which the allocator holds locks.
 *   3. A thread takes them by itself where it is safe: port_signals_accept sends the signal to the
 *      calling thread at an instruction that the handler knows.
 * While a handler runs, its thread may be switched away and continue elsewhere: linux_frame.c has
 * the state that the frame restores then. The frame comes on the carrier's signal stack and is
 * moved before (place_for): below the stack pointer, if that is in the thread's own stack.
 * Elsewhere the program has made the stack, and may have made it small because its handlers have
 * SA_ONSTACK: the frame goes where the kernel would have put it, to the thread's alternate stack.
 * Handlers never run on the carrier's signal stack, with one exception (linux_direct.c, 4): signals
 * are put off until the thread is back on its own stack.
 *
 * Used only where a thread knows whether it is inside the runtime, with TLS blocks of threads' own.
 */
#include "linux.h"
#include "port_calls.h"
#include "port_foreign.h"
#include "port_posix.h"
#include "port_signals.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define BIT(signal) (UINT64_C(1) << ((signal)-1))
#define FAULTS                                                                                     \
    (BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGABRT))
#define CAUSED (BIT(SIGPIPE) | BIT(SIGXFSZ) | BIT(SIGSYS))
#define TICKS (BIT(SIGPROF) | BIT(SIGVTALRM))
/* The runtime's own signals are in no set here (signals_mask). If one were fetched, it would be
 * taken for the program's, and the runtime's handler would run as the program's. SIGTTIN and
 * SIGTTOU are open because the kernel looks at the mask of the thread that uses the terminal. */
#define SIGNALS_OPEN (FAULTS | CAUSED | TICKS | BIT(SIGTTIN) | BIT(SIGTTOU))
#define SET_BYTES sizeof(uint64_t)

static uint64_t direct_open(void)
{
    return direct_is_on() ? DIRECT_OPEN : 0;
}

void signals_mask(uint64_t *mask, bool of_carrier)
{
    uint64_t open = of_carrier ? SIGNALS_OPEN | direct_open() : FAULTS & ~BIT(SIGABRT);
    *mask = ~(open | BIT(CANCEL_SIGNAL) | BIT(CANCEL_SIGNAL + 1));
    preempt_unmask(mask);
    prof_unmask(mask);
    blocked_unmask(mask);
}

uint64_t port_signals_own(void)
{
    uint64_t mask;
    signals_mask(&mask, true);
    return ~mask & ~(SIGNALS_OPEN | DIRECT_OPEN);
}

#if defined(PORT_ARCH_TLS_INC) && !defined(PIRN_TSAN) && !defined(PIRN_ASAN)

PORT_ARCH_ACCEPT_CALL;
PORT_ARCH_CALL_ON;
long port_accept_call(int pid, int tid, int signal) __attribute__((visibility("hidden")));
extern const char port_accept_begin[] __attribute__((visibility("hidden")));
extern const char port_accept_end[] __attribute__((visibility("hidden")));

static struct {
    bool on;
    const struct port_signal_upcalls *up;
    uint64_t mask;        /* (A) of carriers */
    uint64_t left;        /* to readers of a signalfd */
    uint32_t main_has;    /* the main kernel thread has that mask */
    uint64_t everyone;    /* came to a carrier, for a thread that is not known. ORDER(sent) */
    int fd;               /* signalfd of the receiver */
    int receiver;         /* its kernel thread */
    uint32_t woken;       /* CANCEL_SIGNAL is on its way to it. ORDER(sent) */
    uint64_t misdirected; /* came to a carrier that ran no thread: for the receiver. ORDER(sent) */
} signals = {.fd = -1};

static void mask_set(int how, const uint64_t *mask, uint64_t *old)
{
    syscall(SYS_rt_sigprocmask, how, mask, old, SET_BYTES);
}

static uint64_t mask_now(void)
{
    return __atomic_load_n(&signals.mask, __ATOMIC_RELAXED);
}

void port_signal_mask(const uint64_t *mask)
{
    uint64_t common = mask_now();
    mask_set(SIG_SETMASK, mask != NULL ? mask : &common, NULL);
}

static bool is_on(void)
{
    return __atomic_load_n(&signals.on, __ATOMIC_ACQUIRE); /* ORDER(signals-on) */
}

/* The user thread that runs on the calling kernel thread; NULL: none, or the scheduler. */
static struct thread *running(void)
{
    struct cpu *cpu = port_cpu_self();
    struct thread *t = cpu != NULL ? rt_cpu_thread(cpu) : port_left_self();
    return t != NULL && !rt_thread_is_idle(t) ? t : NULL;
}

static bool is_carrier(void)
{
    return port_cpu_self() != NULL || port_left_self() != NULL;
}

bool signals_mask_common(uint64_t *mask)
{
    *mask = mask_now();
    return is_on();
}

/* A system call that the C library makes for itself was interrupted, and must not be repeated after
 * the handler. Not called where no handler may run (in this library). */
static void call_fail(ucontext_t *context)
{
    bool own;
    uintptr_t pc = PORT_ARCH_SIGNAL_PC(context);
    if (!place_is_kept(pc, &own) || own || !port_arch_is_call((const unsigned char *)pc) ||
        !PORT_ARCH_SIGNAL_REPEATS(context)) {
        return;
    }
    switch (PORT_ARCH_SIGNAL_CALL(context)) {
    case SYS_read:
    case SYS_write:
    case SYS_readv:
    case SYS_writev:
    case SYS_preadv2:
    case SYS_pwritev2:
    case SYS_openat:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_futex: /* lio_listio; its locks wait again */
        PORT_ARCH_SIGNAL_FAIL(context, EINTR);
        break;
    default:
        break;
    }
}

/* Calls that the C library's allocator makes with its locks held. A handler there may be switched
 * away with them, and workers that need them wait in the kernel. */
static bool is_for_memory(long call)
{
    return call == SYS_mmap || call == SYS_munmap || call == SYS_mremap || call == SYS_mprotect ||
           call == SYS_madvise || call == SYS_brk;
}

static bool may_run_at(const ucontext_t *context)
{
    uintptr_t pc = PORT_ARCH_SIGNAL_PC(context);
    bool own;
    if (pc >= (uintptr_t)port_accept_begin && pc <= (uintptr_t)port_accept_end) {
        return true;
    }
    return !place_is_kept(pc, &own) ||
           (!own && port_arch_in_syscall(pc) && !is_for_memory(PORT_ARCH_SIGNAL_NUMBER(context)));
}

void signals_learn(void *frame)
{
    struct thread *t = direct_is_on() && is_on() ? running() : NULL;
    if (t != NULL && !port_is_inside()) {
        direct_learn(frame, t);
    }
}

void signals_mask_by_program(struct thread *t, uint64_t mask)
{
    signals.up->mask(t, mask);
}

/* Unless a handler that is interrupted has put CANCEL_SIGNAL off: that stays blocked. */
void signals_adopt(void *frame)
{
    ucontext_t *context = frame;
    signals_learn(frame);
    if (is_on() && is_carrier()) {
        uint64_t mask;
        memcpy(&mask, &context->uc_sigmask, SET_BYTES);
        mask = mask_now() | (mask & BIT(CANCEL_SIGNAL));
        memcpy(&context->uc_sigmask, &mask, SET_BYTES);
        if (__atomic_load_n(&signals.main_has, __ATOMIC_RELAXED) == 0 &&
            (int)syscall(SYS_gettid) == getpid()) {
            __atomic_store_n(&signals.main_has, 1, __ATOMIC_RELEASE); /* ORDER(signals-on) */
        }
    }
}

static void take(ucontext_t *context)
{
    RT_ASSERT(port_irq_is_on());
    bool fails = signals.up->take(context);
    frame_leave(context);
    if (fails) {
        call_fail(context);
    }
}

/* On the stack to which the frame has been moved. */
static void take_unmasked(int signal, siginfo_t *info, void *arg)
{
    ucontext_t *context = arg;
    (void)signal;
    (void)info;
    frame_open(context, OPENS_SIGNALS);
    take(context);
}

/* The frame belongs below the returned address, where the kernel would have put that of the
 * handler; NULL: it stays on the carrier's signal stack (linux_direct.c). */
static void *place_for(const ucontext_t *context, bool alternate)
{
    uintptr_t sp = PORT_ARCH_SIGNAL_SP(context);
    bool own = stack_is_own(running(), sp);
    void *top = alternate ? signals.up->stack(sp) : NULL;
    RT_ASSERT(frame_on_signal_stack(context));
    if (direct_is_on() && frame_interrupts_signal_stack(context)) {
        return NULL;
    }
    if (top == NULL && !(alternate && !own && direct_is_on())) {
        top = (void *)(sp - RED_ZONE);
    }
    return top;
}

/* The handlers run elsewhere than on_cancel, which blocks all signals. */
static void take_elsewhere(ucontext_t *context, siginfo_t *info)
{
    bool own = stack_is_own(running(), PORT_ARCH_SIGNAL_SP(context));
    void *top = place_for(context, !own && signals.up->on_stack());
    if (top != NULL) {
        PORT_ARCH_FRAME_MOVE(context, info, top, CANCEL_SIGNAL, take_unmasked);
    }
    take(context);
}

void signals_take(void *frame, void *info)
{
    ucontext_t *context = frame;
    if (!is_on() || running() == NULL || !rt_signalled() || frame_opens() != OPENS_NOTHING) {
        return;
    }
    if ((port_tls_inside & ~PREEMPT_DEFERRED) != 0) {
        port_tls_inside |= PREEMPT_DEFERRED;
    } else if (frame_interrupts_signal_stack(context)) {
        cancel_notify_later(context);
    } else if (!may_run_at(context)) {
        return;
    } else if (frame_on_signal_stack(context)) {
        take_elsewhere(context, info);
    } else {
        take(context);
    }
}

/* Inside the runtime, so that a handler that comes meanwhile takes none from the same list. */
static bool kept_take_alone(siginfo_t *info)
{
    unsigned long irq = port_irq_save();
    bool got = kept_take(info);
    port_irq_restore(irq);
    return got;
}

static COLD NOINLINE void kept_arrive(void)
{
    siginfo_t info;
    while (kept_any() && kept_take_alone(&info)) {
        signals.up->arrived(&info, true);
    }
}

/* The thread leaves the runtime. */
void signals_leave(void)
{
    RT_ASSERT(port_tls_inside == 0);
    if (kept_any() && is_on()) {
        kept_arrive();
    }
    if (is_on() && running() != NULL) {
        rt_signals_left();
    }
}

static void fault(int signal, siginfo_t *info, void *context)
{
    signals.up->run(signal, info, context);
    frame_leave(context);
}

/* It was sent to the process, and came here by chance: the receiver gets it. */
static void leave_to_receiver(const siginfo_t *info)
{
    RT_ASSERT(is_on() && is_carrier());
    kept_for_receiver(info);
    __atomic_fetch_or(&signals.misdirected, BIT(info->si_signo), __ATOMIC_RELAXED);
    port_signals_wake(); /* ORDER(sent) */
}

/* Caused by the thread itself: by its instruction, abort() or tgkill. */
static bool is_caused(int signal, const siginfo_t *info)
{
    return (BIT(signal) & FAULTS) && (info->si_code > 0 || info->si_code == SI_TKILL);
}

/* Sent by kill() or sigqueue(), not caused by the thread or its CPU time. The kernel's SIGPIPE and
 * SIGXFSZ look like the process's own kill(). */
static bool is_for_process(int signal, const siginfo_t *info)
{
    bool sent = info->si_code == SI_QUEUE ||
                (info->si_code == SI_USER && (!(BIT(signal) & CAUSED) || info->si_pid != getpid()));
    return (BIT(signal) & (CAUSED | TICKS)) ? sent : info->si_code != SI_TKILL;
}

/* The program means a kernel thread that a thread was on when it looked, and is not now. */
static bool is_for_everyone(int signal, const siginfo_t *info)
{
    return direct_is_on() && (BIT(signal) & DIRECT_OPEN) != 0 && is_on() && is_carrier() &&
           info->si_code == SI_TKILL && info->si_pid == getpid();
}

/* The thread is outside of the runtime. Leaving that again may switch threads. */
static void arrives(int signal, siginfo_t *info, ucontext_t *context)
{
    RT_ASSERT(is_on() && port_irq_is_on());
    signals.up->arrived(info, !is_for_process(signal, info));
    if (frame_on_signal_stack(context)) {
        cancel_notify_later(context); /* it is taken on the thread's stack */
    } else {
        signals_take(context, info);
        frame_leave(context);
    }
}

static void on_signal(int signal, siginfo_t *info, void *frame)
{
    ucontext_t *context = frame;
    const struct thread *t = is_on() ? running() : NULL;
    bool caused = is_caused(signal, info);
    signals_learn(context);
    if (is_for_everyone(signal, info)) {
        __atomic_fetch_or(&signals.everyone, BIT(signal), __ATOMIC_RELAXED);
        port_signals_wake(); /* ORDER(sent) */
        return;
    }
    if (t == NULL) {
        if (!is_on() || !is_carrier() || caused) {
            signals.up->run(signal, info, context);
        } else {
            leave_to_receiver(info);
        }
        return;
    }
    void *top = caused && frame_on_signal_stack(context) ? place_for(context, true) : NULL;
    if (top != NULL) {
        PORT_ARCH_FRAME_MOVE(context, info, top, signal, fault);
    }
    if (caused && t != NULL && frame_on_signal_stack(context)) {
        uint64_t all = ~UINT64_C(0); /* it stays: no frames pile up there */
        mask_set(SIG_SETMASK, &all, NULL);
    }
    if (caused) {
        fault(signal, info, context);
    } else if ((port_tls_inside & ~PREEMPT_DEFERRED) == 0) {
        arrives(signal, info, context);
    } else if (is_for_process(signal, info) || rt_thread_ends()) {
        leave_to_receiver(info);
    } else {
        RT_ASSERT(!caused && port_irq_is_off());
        kept_put(info);
        port_tls_inside |= PREEMPT_DEFERRED;
    }
}

int port_signal_catch(int signal, int flags)
{
    struct sigaction action = {.sa_sigaction = on_signal};
    RT_ASSERT(signal >= 1 && signal <= 64 && signals.up != NULL);
    action.sa_flags =
        SA_SIGINFO | SA_RESTART | SA_NODEFER | (flags & (SA_ONSTACK | SA_NOCLDSTOP | SA_NOCLDWAIT));
    return __sigaction(signal, &action, NULL) == 0 ? 0 : -errno;
}

static bool misdirected_fetch(siginfo_t *info)
{
    uint64_t set = __atomic_load_n(&signals.misdirected, __ATOMIC_RELAXED);
    if (set == 0) {
        return false;
    }
    int signal = __builtin_ctzll(set) + 1;
    __atomic_fetch_and(&signals.misdirected, ~BIT(signal), __ATOMIC_ACQUIRE); /* ORDER(sent) */
    kept_of_receiver(signal, info);
    return true;
}

/* The signals that are fetched: those that carriers block, without those left for signalfd. */
static uint64_t fetched(uint64_t left)
{
    return mask_now() & ~left;
}

/* The caller has a lock: nobody else fetches. */
bool port_signal_fetch(void *info)
{
    static const struct timespec none = {0, 0};
    if (misdirected_fetch(info)) {
        return true;
    }
    uint64_t set = fetched(__atomic_load_n(&signals.left, __ATOMIC_RELAXED));
    int saved = errno;
    bool got = syscall(SYS_rt_sigtimedwait, &set, info, &none, SET_BYTES) > 0;
    errno = saved;
    return got;
}

uint64_t port_signals_of_kernel(void)
{
    uint64_t set = 0;
    syscall(SYS_rt_sigpending, &set, SET_BYTES);
    return (set & ~port_signals_own()) | __atomic_load_n(&signals.misdirected, __ATOMIC_RELAXED);
}

void port_signal_default(int signal)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    uint64_t set = BIT(signal), before;
    __sigaction(signal, &action, NULL);
    mask_set(SIG_UNBLOCK, &set, &before);
    syscall(SYS_tgkill, getpid(), (int)syscall(SYS_gettid), signal);
    mask_set(SIG_SETMASK, &before, NULL); /* it was one that stops the process */
}

/* errno is the handlers' to change. */
bool port_signals_accept(void)
{
    int self = (int)syscall(SYS_gettid);
    if (direct_is_on() && on_signal_stack()) {
        cancel_notify_later(NULL);
        return false;
    }
    if (port_accept_call(getpid(), self, CANCEL_SIGNAL) == -EAGAIN) {
        cancel_send(self);
    }
    return true;
}

void port_exec_begin(const uint64_t *mask)
{
    static const struct timespec none = {0, 0};
    struct port_carrier *port = rt_carrier_port(rt_carrier_here());
    uint64_t all = ~UINT64_C(0), own;
    RT_ASSERT(carrier_is_own(port));
    mask_set(SIG_SETMASK, &all, NULL);
    __atomic_exchange_n(&port->cancel_sent, 1, __ATOMIC_ACQ_REL); /* ORDER(sent) */
    blocked_stop_probes(port);
    preempt_pause(port, true);
    prof_pause(port, true);
    own = port_signals_own();
    while (syscall(SYS_rt_sigtimedwait, &own, NULL, &none, SET_BYTES) > 0) {
    }
    port_signal_mask(mask);
}

void port_exec_end(void)
{
    struct port_carrier *port = rt_carrier_port(rt_carrier_here());
    RT_ASSERT(carrier_is_own(port)); /* the thread has kept it meanwhile */
    preempt_pause(port, false);
    prof_pause(port, false);
    __atomic_store_n(&port->no_probes, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&port->tick_sent, 0, __ATOMIC_RELEASE);      /* ORDER(sent) */
    __atomic_store_n(&port->probe_sent, 0, __ATOMIC_RELEASE);     /* ORDER(sent) */
    __atomic_exchange_n(&port->cancel_sent, 0, __ATOMIC_ACQ_REL); /* ORDER(sent) */
    port_signal_mask(NULL);
}

bool port_signal_stack(void *programs)
{
    RT_ASSERT(port_irq_is_off()); /* it keeps its CPU, and so its kernel thread */
    struct port_carrier *port = rt_carrier_port(rt_cpu_carrier(port_cpu_self()));
    stack_t mine = {.ss_size = SIGNAL_STACK};
    if (port->signal_stack != NULL || !port_tls_own || !places_known() ||
        (mine.ss_sp = port_table_alloc(mine.ss_size)) == NULL) {
        return false;
    }
    port->signal_stack = mine.ss_sp;
    return syscall(SYS_sigaltstack, &mine, programs) == 0;
}

void port_signals_wake(void)
{
    int saved = errno;
    int receiver = __atomic_load_n(&signals.receiver, __ATOMIC_ACQUIRE); /* ORDER(signals-on) */
    if (receiver != 0 && __atomic_exchange_n(&signals.woken, 1, __ATOMIC_ACQ_REL) == 0) {
        cancel_send(receiver);
    }
    errno = saved;
}

void port_signals_leave_to_kernel(uint64_t more)
{
    uint64_t left = __atomic_or_fetch(&signals.left, more, __ATOMIC_RELAXED);
    uint64_t set = fetched(left);
    if (is_on()) {
        syscall(SYS_signalfd4, signals.fd, &set, SET_BYTES, 0);
    }
}

static void everyone_gets(void)
{
    uint64_t set = __atomic_exchange_n(&signals.everyone, 0, __ATOMIC_RELAXED);
    for (; set != 0; set &= set - 1) {
        signals.up->everyone(__builtin_ctzll(set) + 1);
    }
}

/* CANCEL_SIGNAL reaches it while it waits, and only then; that of port_everywhere always. */
static void *receiver_main(void *unused)
{
    uint64_t all = ~BIT(CANCEL_SIGNAL + 1), waiting = all & ~BIT(CANCEL_SIGNAL);
    (void)unused;
    mask_set(SIG_SETMASK, &all, NULL);
    __atomic_store_n(&signals.receiver, (int)syscall(SYS_gettid),
                     __ATOMIC_RELEASE); /* ORDER(signals-on) */
    for (;;) {
        __atomic_exchange_n(&signals.woken, 0, __ATOMIC_ACQ_REL); /* ORDER(sent) */
        everyone_gets();
        uint64_t next = signals.up->pump(), now = port_now();
        uint64_t wait = next > now ? next - now : 0;
        struct timespec limit = {(time_t)(wait / 1000000000u), (long)(wait % 1000000000u)};
        struct pollfd p = {signals.fd, POLLIN, 0};
        syscall(SYS_ppoll, &p, 1, next != UINT64_MAX ? &limit : NULL, &waiting, SET_BYTES);
    }
    return NULL;
}

/* The main kernel thread, the only carrier that has not begun with that mask, learns by
 * CANCEL_SIGNAL. Where it is no carrier the program's signals are its own affair. */
static void main_masks(void)
{
    if (!rt_main_is_carrier()) {
        return;
    }
    cancel_send(getpid());
    for (unsigned round = 0; __atomic_load_n(&signals.main_has, __ATOMIC_ACQUIRE) == 0;
         round++) { /* ORDER(signals-on) */
        port_relax(round);
    }
}

bool port_signal_to_main(int signal, const void *info)
{
    siginfo_t sent = *(const siginfo_t *)info;
    RT_ASSERT(!rt_main_is_carrier());
    if (sent.si_code >= 0 || sent.si_code == SI_TKILL) {
        sent.si_code = SI_QUEUE; /* a thread may send the kernel's codes to itself only */
    }
    return syscall(SYS_rt_tgsigqueueinfo, getpid(), getpid(), signal, &sent) == 0;
}

static void mask_make(void)
{
    uint64_t mask;
    signals_mask(&mask, true);
    __atomic_store_n(&signals.mask, mask, __ATOMIC_RELAXED);
}

void signals_open_direct(void)
{
    if (is_on()) {
        mask_make();
        rt_carriers_interrupt(); /* each takes the mask: signals_adopt */
    }
}

int port_signals_start(const struct port_signal_upcalls *up)
{
    uint64_t set;
    if (!port_tls_own || !places_known()) {
        return -ENOTSUP;
    }
    int error = port_cancel_start();
    if (error != 0) {
        return error;
    }
    signals.up = up;
    mask_make();
    set = fetched(signals.left);
    if (signals.fd < 0) {
        signals.fd = fd_move_up(
            (int)syscall(SYS_signalfd4, -1, &set, SET_BYTES, SFD_CLOEXEC | SFD_NONBLOCK));
    }
    if (signals.fd < 0) {
        return -errno;
    }
    if (is_carrier()) {
        pending_fetch(signals.up);
    }
    __atomic_store_n(&signals.on, true, __ATOMIC_RELEASE); /* ORDER(signals-on) */
    if (is_carrier()) {
        port_signal_mask(NULL);
    }
    error = kernel_thread_create(receiver_main, NULL);
    if (error == 0 && (int)syscall(SYS_gettid) != getpid()) {
        main_masks();
    } else {
        signals.main_has = 1;
    }
    return error;
}

int signals_descriptor(void)
{
    return __atomic_load_n(&signals.fd, __ATOMIC_RELAXED);
}

void signals_forked(void)
{
    if (signals.fd >= 0) {
        syscall(SYS_close, signals.fd);
    }
    signals.on = false;
    signals.fd = -1;
    signals.receiver = 0;
    signals.main_has = 0;
    signals.woken = 0;
    signals.misdirected = signals.everyone = 0;
    kept_forked();
}

#endif
