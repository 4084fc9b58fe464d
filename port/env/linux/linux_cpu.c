/* SPDX-License-Identifier: MIT */
/*
 * linux_cpu.c (Linux) - workers: starting, sleeping, kicking.
 *
 * A permit is one word: the sleeper goes 0 -> 2 and waits in the kernel (3, 4: not in a futex:
 * linux_reactor.c); a poster stores 1 and enters the kernel only if it found 2 or more. A permit
 * posted before the sleeper looks is found by its exchange. ORDER(permit)
 */
#include "linux.h"
#include "linux_modules.h"
#include "port_calls.h"
#include "port_io.h"
#include "port_posix.h"
#include "port_processes.h"
#include "port_signals.h"
#include "redirect/linux_redirect.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RELAX_PAUSES 64u /* rounds: instructions */
#define RELAX_YIELDS 128u

__thread struct cpu *port_tls_self;
__thread uint32_t port_tls_inside;
__thread bool port_disturbed;

uint64_t port_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void futex_wait(uint32_t *word, uint32_t value, uint64_t deadline)
{
    struct timespec t = {.tv_sec = (time_t)(deadline / 1000000000u),
                         .tv_nsec = (long)(deadline % 1000000000u)};
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value, deadline != UINT64_MAX ? &t : NULL,
            NULL, FUTEX_BITSET_MATCH_ANY);
    errno = saved;
}

void futex_wake(uint32_t *word)
{
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = saved;
}

void permit_wait(uint32_t *word, uint64_t deadline)
{
    uint32_t none = 0;
    if (__atomic_compare_exchange_n(word, &none, 2, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) { /* ORDER(permit) */
        futex_wait(word, 2, deadline);
    }
    RT_ASSERT(none <= 1); /* the word has one owner */
    UNUSED uint32_t before =
        __atomic_exchange_n(word, 0, __ATOMIC_SEQ_CST); /* ORDER(permit) ORDER(monitor) */
    RT_ASSERT(before == 1 || before == 2);
}

void permit_post(uint32_t *word)
{
    uint32_t before = __atomic_exchange_n(word, 1, __ATOMIC_ACQ_REL); /* ORDER(permit) */
    RT_ASSERT(before <= 4);
    if (before == 2) {
        futex_wake(word);
    } else if (before == 3) {
        reactor_kick();
    } else if (before == 4) {
        reactor_bump();
    }
}

void port_cpu_idle(struct cpu *cpu, uint64_t deadline)
{
    uint32_t *permit = &rt_cpu_port(cpu)->permit;
    RT_ASSERT(cpu == port_cpu_self() && port_irq_is_off());
    uint64_t now = deadline != UINT64_MAX ? port_now() : 0;
    if (rt_io_waiting() == 0 || !reactor_sleep(permit, slack_earlier(deadline, now, true))) {
        permit_wait(permit, slack_earlier(deadline, now, false));
    }
    monitor_wakes();
}

void port_cpu_kick(struct cpu *cpu)
{
    permit_post(&rt_cpu_port(cpu)->permit);
}

/* A long wait sleeps. Programs whose threads do nothing but yield have kept all others from the
 * processors for a minute (Linux 6.18, each program in an autogroup of its own). System calls,
 * because the POSIX layer may have the names. A signal ends the sleep with EINTR; errno is a user
 * thread's, which may wait here for a lock because a tick has come in the middle of its own code.
 */
void port_relax(unsigned round)
{
    static const struct timespec moment = {0, 1}; /* 50 microseconds: the timer's slack */
    if (round < RELAX_PAUSES) {
        port_cpu_relax();
    } else if (round < RELAX_YIELDS || round == UINT32_MAX) {
        syscall(SYS_sched_yield);
    } else {
        int saved = errno;
        syscall(SYS_nanosleep, &moment, NULL);
        errno = saved;
    }
}

bool carrier_is_own(const struct port_carrier *port)
{
    return port->tid == (int)syscall(SYS_gettid);
}

void *__cxa_get_globals(void) __attribute__((weak));

int port_carrier_begin(struct carrier *k, struct thread *t)
{
    struct port_carrier *port = rt_carrier_port(k);
    RT_ASSERT(port_cpu_self() == NULL);
    kernel_thread_begun();
    foreign_becomes(t);
    port->tid = (int)syscall(SYS_gettid);
    rt_thread_port(t)->tid = 0; /* it is no foreign thread any more */
    port->robust = NULL;
    port->errno_at = &errno;
    port->cxx_at = __cxa_get_globals != NULL ? __cxa_get_globals() : NULL;
    port_arch_fp_save(&port->fp);
    affinity_begin(port);
    times_begin(port, rt_thread_port(t));
    int error = fault_catch_here(port);
    if (error == 0) {
        tls_adopt(t);
        preempt_begin(port);
        prof_begin(port);
    }
    return error;
}

void port_cpu_take(struct carrier *k, struct cpu *cpu)
{
    struct port_carrier *from = rt_carrier_port(k);
    struct port_cpu *port = rt_cpu_port(cpu);
    RT_ASSERT(carrier_is_own(from));
    port->carrier = from;
    port->errno_at = from->errno_at;
    port->cxx_at = from->cxx_at;
    port->timer = from->timer;
    port->fp = from->fp;
    affinity_take(cpu, from);
    monitor_add(cpu);
    port_cpu_back(cpu);
}

void port_cpu_back(struct cpu *cpu)
{
    RT_ASSERT(carrier_is_own(rt_cpu_port(cpu)->carrier));
    if (!port_tls_own) {
        port_tls_thread = NULL;
    }
    port_tls_self = cpu;
    meter_begin();
}

void port_cpu_leave(struct thread *t)
{
    RT_ASSERT(rt_cpu_thread(port_cpu_self()) == t);
    RT_ASSERT(rt_cpu_port(port_cpu_self())->carrier ==
              rt_carrier_port(rt_cpu_carrier(port_cpu_self())));
    meter_end();
    port_tls_thread = t;
    port_tls_self = NULL;
}

void port_carrier_wait(struct carrier *k)
{
    RT_ASSERT(carrier_is_own(rt_carrier_port(k)));
    permit_wait(&rt_carrier_port(k)->permit, UINT64_MAX);
}

void port_carrier_wake(struct carrier *k)
{
    permit_post(&rt_carrier_port(k)->permit);
}

void port_cxx_switch(struct cpu *cpu, struct thread *from, struct thread *to)
{
    uint64_t *at = rt_cpu_port(cpu)->cxx_at;
    RT_ASSERT(cpu == port_cpu_self() && port_irq_is_off() && !port_tls_own);
    if (at != NULL) {
        uint64_t *saved = rt_thread_port(from)->cxx;
        const uint64_t *next = rt_thread_port(to)->cxx;
        saved[0] = at[0];
        saved[1] = at[1];
        at[0] = next[0];
        at[1] = next[1];
    }
}

void port_fp_switch_one(struct cpu *cpu, struct thread *from, struct thread *to, bool is_from)
{
    struct port_fp *common = &rt_cpu_port(cpu)->fp;
    RT_ASSERT(rt_cpu_thread(cpu) == to && port_irq_is_off());
    if (is_from) {
        port_fp_switch(&rt_thread_port(from)->fp, common);
    } else {
        port_fp_switch(common, &rt_thread_port(to)->fp);
    }
}

static pid_t started_by;

/* A child of fork without a runtime of its own has nothing to report. */
static void on_exit_here(void)
{
    if (getpid() == started_by) {
        rt_on_exit();
    }
}

/* The caller has no CPU any more; its next call of the API starts a new runtime. */
static void on_fork_here(void)
{
    redirect_after_fork();
    bool started = rt_forked();
    if (started) {
        stack_forked();
        if (port_tls_own) {
            glibc_block_forked();
            everywhere_forked();
        }
        monitor_forked();
        blocked_forked();
        reactor_forked();
        affinity_forked();
        robust_forked();
        signals_forked();
        port_tls_self = NULL;
    }
    foreign_forked(started);
    prof_in_child();
    rt_forked_above();
}

/* Constructors call it, and whoever starts the runtime, perhaps another kernel thread meanwhile. */
int port_fork_watch(void)
{
    static uint32_t watched; /* 1: a thread registers the handlers; 2: they are registered */
    int error = 0;
    for (unsigned round = 0; error == 0; round++) {
        uint32_t state = 0;
        if (__atomic_compare_exchange_n(&watched, &state, 1, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_ACQUIRE)) { /* ORDER(start) */
            error = pthread_atfork(redirect_before_fork, redirect_after_fork, on_fork_here);
            __atomic_store_n(&watched, error == 0 ? 2 : 0, __ATOMIC_RELEASE); /* ORDER(start) */
        } else if (state == 2) {
            break;
        } else {
            port_relax(round);
        }
    }
    return -error;
}

#if defined(PIRN_TSAN) || defined(PIRN_ASAN)
/* The sanitizer's own pthread_create must see the thread. */
static int create_real(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                       void *arg)
{
    return pthread_create(thread, attr, fn, arg);
}
static int join_real(pthread_t thread, void **ret)
{
    return pthread_join(thread, ret);
}
static int create_everywhere(pthread_t *thread, void *(*fn)(void *), void *arg)
{
    pthread_attr_t attr;
    cpu_set_t set;
    affinity_of_new(&set);
    pthread_attr_init(&attr);
    pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
    int error = pthread_create(thread, &attr, fn, arg);
    pthread_attr_destroy(&attr);
    return error;
}
static void real_find(void) {}
#else
/* (C) Found at the start, because dlsym takes the linker's lock. Later a thread that waits for the
 * new carrier may hold this lock. */
static struct {
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    int (*join)(pthread_t, void **);
    int (*attr_init)(pthread_attr_t *);
    int (*attr_destroy)(pthread_attr_t *);
    int (*attr_setaffinity)(pthread_attr_t *, size_t, const void *);
} real;

static void real_find(void)
{
    *(void **)&real.create = dlsym(RTLD_NEXT, "pthread_create");
    *(void **)&real.join = dlsym(RTLD_NEXT, "pthread_join");
    *(void **)&real.attr_init = dlsym(RTLD_NEXT, "pthread_attr_init");
    *(void **)&real.attr_destroy = dlsym(RTLD_NEXT, "pthread_attr_destroy");
    *(void **)&real.attr_setaffinity = dlsym(RTLD_NEXT, "pthread_attr_setaffinity_np");
}

static int create_real(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                       void *arg)
{
    return real.create != NULL ? real.create(thread, attr, fn, arg) : ENOSYS;
}
static int join_real(pthread_t thread, void **ret)
{
    return real.join != NULL ? real.join(thread, ret) : ENOSYS;
}

/* A kernel thread inherits its creator's set. A bound worker's would keep it on one processor until
 * it runs there, which a worker of a real-time class does not let happen. */
static int create_everywhere(pthread_t *thread, void *(*fn)(void *), void *arg)
{
    pthread_attr_t attr;
    cpu_set_t set;
    if (real.attr_init == NULL || real.attr_destroy == NULL || real.attr_setaffinity == NULL) {
        return create_real(thread, NULL, fn, arg);
    }
    affinity_of_new(&set);
    real.attr_init(&attr);
    real.attr_setaffinity(&attr, sizeof(set), &set);
    int error = create_real(thread, &attr, fn, arg);
    real.attr_destroy(&attr);
    return error;
}
#endif

/* (C) A refused kernel thread ends the program: from port_init to the end of the start. */
static bool start_needs_all;

void start_is_over(void)
{
    start_needs_all = false;
}

int port_init(bool *caller_is_main)
{
    *caller_is_main = syscall(SYS_gettid) == getpid();
    start_needs_all = true;
    fence_init();
    slack_init();
    trace_clock_init();
    fd_init();
    affinity_init();
    bool again = started_by != 0;
    real_find();
    modules_find();
    if (rt_takes_calls()) {
        blocked_start();
    }
    started_by = getpid();
    int error = port_fork_watch();
    if (error == 0) {
        error = monitor_start();
    }
    if (error != 0 || again) {
        return error;
    }
    return atexit(on_exit_here) == 0 ? 0 : -ENOMEM;
}

static void *carrier_main(void *arg)
{
    uint64_t mask;
    signals_mask(&mask, true);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
    RT_ASSERT(port_cpu_self() == NULL && port_irq_is_on());
    port_irq_entered();
    foreign_is_helper();
    rt_carrier_main(arg);
    return NULL;
}

/* While another thread is in execve the kernel refuses new ones (EAGAIN), although there is no lack
 * of anything. If the call succeeds, the caller is gone; if not, they can be created again. So a
 * start tries for a second. Counted, because on a loaded machine the call takes longer, too. */
static int create_at_last(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                          void *arg)
{
    static const struct timespec pause = {0, 1000000};
    enum { TRIES = 1000 };
    for (unsigned tries = 0;; tries++) {
        int error = attr == NULL && affinity_is_bound() ? create_everywhere(thread, fn, arg)
                                                        : create_real(thread, attr, fn, arg);
        if (error != EAGAIN || !start_needs_all || tries == TRIES) {
            return error;
        }
        syscall(SYS_nanosleep, &pause, NULL);
    }
}

/* Helpers and all workers but the main thread's must not get signals of the process. They start
 * with all signals blocked that a thread does not cause itself, and with those that the creator
 * blocks: unblocking these for a moment would let in pending ones. Carriers set their own mask when
 * they begin. */
static int create_masked(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                         void *arg, bool carrier)
{
    uint64_t mask, old;
    signals_mask(&mask, carrier);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &mask, &old, sizeof(mask));
    int error = create_at_last(thread, attr, fn, arg);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof(old));
    return -error;
}

struct start {
    void *(*fn)(void *);
    void *arg;
    uint32_t taken;
};

static void start_taken(struct start *start)
{
    RT_ASSERT(start->taken == 0);
    __atomic_store_n(&start->taken, 1, __ATOMIC_RELEASE); /* ORDER(helper) */
    futex_wake(&start->taken);
}

static void start_await(struct start *start)
{
    while (__atomic_load_n(&start->taken, __ATOMIC_ACQUIRE) == 0) { /* ORDER(helper) */
        futex_wait(&start->taken, 0, UINT64_MAX);
    }
}

static __thread uint8_t helper; /* enum: the next thread that is created will be one; is one */
enum { HELPER_NEXT = 1, HELPER_SELF };

static void *helper_main(void *arg)
{
    struct start *from = arg, start = *from;
    start_taken(from);
    RT_ASSERT(helper == 0 && port_cpu_self() == NULL);
    helper = HELPER_SELF;
    return start.fn(start.arg);
}

bool port_helper_next(void)
{
    return helper == HELPER_NEXT;
}

bool port_helper_self(void)
{
    return helper == HELPER_SELF;
}

int port_helper_create(pthread_t *thread, void *(*fn)(void *), void *arg)
{
    struct start start = {fn, arg, 0};
    int error = create_masked(thread, NULL, helper_main, &start, false);
    if (error == 0) {
        start_await(&start);
    }
    return error;
}

static bool sanitized(void)
{
#if defined(PIRN_TSAN) || defined(PIRN_ASAN)
    return true;
#else
    return port_sanitizer() != SANITIZER_NONE;
#endif
}

static void *sanitized_main(void *arg)
{
    struct start *from = arg, start = *from;
    start_taken(from);
    return start.fn(start.arg);
}

/* A kernel thread that begins takes locks of AddressSanitizer's allocator. A fork does not wait for
 * these locks, and in the child they would be held for ever. So this returns when the thread has
 * begun. */
int kernel_thread_create(void *(*fn)(void *), void *arg)
{
    pthread_t thread;
    struct start start = {fn, arg, 0};
    if (!sanitized()) {
        return create_masked(&thread, NULL, fn, arg, fn == carrier_main);
    }
    int error = create_masked(&thread, NULL, sanitized_main, &start, fn == carrier_main);
    if (error == 0) {
        start_await(&start);
    }
    return error;
}

/* A kernel thread that the program's ThreadSanitizer must know, because it allocates. It is made
 * through the interceptor, which calls the POSIX layer, which calls port_helper_create. */
int kernel_thread_create_known(void *(*fn)(void *), void *arg)
{
    typedef int (*create_fn)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    pthread_t thread;
    if (port_sanitizer() != SANITIZER_THREAD) {
        return kernel_thread_create(fn, arg);
    }
    create_fn theirs = (create_fn)dlsym(RTLD_DEFAULT, "pthread_create");
    RT_ASSERT(helper == 0);
    helper = HELPER_NEXT;
    int error = theirs != NULL ? theirs(&thread, NULL, fn, arg) : ENOSYS;
    helper = 0;
    return -error;
}

int kernel_thread_run(void *(*fn)(void *), void **ret, void *stack, size_t size)
{
    pthread_t thread;
    pthread_attr_t attr;
    RT_ASSERT(((uintptr_t)stack | size) % PAGE_SIZE == 0 && size != 0);
    pthread_attr_init(&attr);
    int error = -pthread_attr_setstack(&attr, stack, size);
    if (error == 0) {
        error = create_masked(&thread, &attr, fn, NULL, false);
    }
    pthread_attr_destroy(&attr);
    return error != 0 ? error : -join_real(thread, ret);
}

static void *room_wait(void *go)
{
    while (__atomic_load_n((uint32_t *)go, __ATOMIC_ACQUIRE) == 0) { /* ORDER(helper) */
        futex_wait(go, 0, UINT64_MAX);
    }
    return NULL;
}

bool room_for_threads(unsigned want)
{
    pthread_t threads[ROOM_THREADS];
    uint32_t go = 0;
    unsigned n = 0;
    if (sanitized()) {
        return true;
    }
    RT_ASSERT(want <= ROOM_THREADS);
    real_find();
    while (n < want && create_masked(&threads[n], NULL, room_wait, &go, false) == 0) {
        n++;
    }
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE); /* ORDER(helper) */
    for (unsigned i = 0; i < n; i++) {
        futex_wake(&go);
    }
    for (unsigned i = 0; i < n; i++) {
        join_real(threads[i], NULL);
    }
    return n == want;
}

int port_carrier_start(struct carrier *k)
{
    int error = fault_stack_make(rt_carrier_port(k));
    return error == 0 ? kernel_thread_create(carrier_main, k) : error;
}

bool port_may_wait(void)
{
#ifdef PORT_ARCH_TLS_INC
    struct cpu *cpu = port_cpu_self();
    if (cpu == NULL || (port_tls_inside & ~PREEMPT_DEFERRED) != 0) {
        return false;
    }
    uintptr_t low = (uintptr_t)rt_carrier_port(rt_cpu_carrier(cpu))->signal_stack;
    return low == 0 || (uintptr_t)__builtin_frame_address(0) - low >= SIGNAL_STACK;
#else
    return false;
#endif
}

bool port_is_inside(void)
{
#ifdef PORT_ARCH_TLS_INC
    return (port_tls_inside & ~PREEMPT_DEFERRED) != 0;
#else
    return false;
#endif
}
