/* SPDX-License-Identifier: MIT */
/*
 * posix_clock.c - clocks for the CPU time of threads. The kernel counts the CPU time of workers
 * only; the port's linux_times.c divides it among the threads. All other clocks are the C
 * library's.
 *
 * A clock id contains the thread's index and the low bits of its generation, above CLOCK_OURS. The
 * kernel has few positive ids and refuses these. So the clock of a thread that has ended is refused
 * (EINVAL) until its descriptor has been used for 32 more threads.
 */
#include <dlfcn.h>
#include <errno.h>
#include <sys/syscall.h>

#include "../../core/id.h"
#include "port_calls.h"
#include "port_posix.h"
#include "port_signals.h"
#include "posix_clock.h"
#include "posix_platform.h"

#define NS_PER_S 1000000000u
#define LIVES ((1u << (30 - ID_INDEX_BITS)) - 1)

/* The C library's function of that name. */
#define NEXT(name)                                                                                 \
    ((__typeof__(&name))dlsym(RTLD_NEXT, #name)) /* NOLINT: a pointer to a function */

typedef int (*gettime_fn)(clockid_t, struct timespec *);

static int gettime_plain(clockid_t clock, struct timespec *t)
{
    return (int)syscall(SYS_clock_gettime, clock, t);
}

/* Most calls are for other clocks and only pass through here. */
static _Atomic(gettime_fn) gettime_next = gettime_plain;

/* Before the first call from a signal handler, or from where the runtime must not enter the linker.
 * Earlier calls, and those from within dlsym, are system calls. */
static __attribute__((constructor)) void gettime_find(void)
{
    gettime_fn next = NEXT(clock_gettime);
    if (next != NULL) {
        at_store_rlx(&gettime_next, next);
    }
}

static clockid_t clock_of(const struct thread *t)
{
    return (clockid_t)((uint32_t)CLOCK_OURS | (t->generation & LIVES) << ID_INDEX_BITS | t->index);
}

static void read_time(struct thread *t, void *ns)
{
    *(uint64_t *)ns = port_time_of(t);
}

static void read_nothing(struct thread *t, void *unused)
{
    (void)t;
    (void)unused;
}

/* False: the id is not that of a living thread. */
static bool clock_visit(clockid_t clock, void (*fn)(struct thread *t, void *arg), void *arg)
{
    unsigned long irq;
    uint32_t index = (uint32_t)clock & ((1u << ID_INDEX_BITS) - 1);
    bool lock = port_may_wait();
    rt_enter(&irq);
    bool found = id_visit(index, (uint32_t)clock >> ID_INDEX_BITS, LIVES, lock, fn, arg);
    rt_leave(irq);
    return found;
}

/* True for the caller's own clock, whose other name is CLOCK_THREAD_CPUTIME_ID. */
static bool is_own(clockid_t clock)
{
    unsigned long irq;
    struct cpu *cpu = rt_enter(&irq);
    struct thread *t = cpu != NULL ? cpu->current : port_left_self();
    bool own = t != NULL && clock_of(t) == clock;
    rt_leave(irq);
    return own;
}

static NOINLINE int gettime_of_thread(clockid_t clock, struct timespec *t)
{
    uint64_t ns;
    if (clock == CLOCK_THREAD_CPUTIME_ID || is_own(clock)) {
        if (!port_time_self(&ns)) {
            return at_load_rlx(&gettime_next)(clock, t);
        }
    } else if (!clock_visit(clock, read_time, &ns)) {
        return posix_fail(EINVAL);
    }
    t->tv_sec = (time_t)(ns / NS_PER_S);
    t->tv_nsec = (long)(ns % NS_PER_S);
    return 0;
}

int pirn_posix_clock_gettime(clockid_t clock, struct timespec *t)
{
    if (unlikely(clock == CLOCK_THREAD_CPUTIME_ID || clock >= CLOCK_OURS)) {
        return gettime_of_thread(clock, t);
    }
    return at_load_rlx(&gettime_next)(clock, t);
}

int pirn_posix_clock_getres(clockid_t clock, struct timespec *t)
{
    if (clock < CLOCK_OURS) {
        return NEXT(clock_getres)(clock, t);
    }
    if (!clock_visit(clock, read_nothing, NULL)) {
        return posix_fail(EINVAL);
    }
    if (t != NULL) {
        *t = (struct timespec){.tv_nsec = 1};
    }
    return 0;
}

/* A program cannot set the CPU time of a thread. */
int pirn_posix_clock_settime(clockid_t clock, const struct timespec *t)
{
    if (clock < CLOCK_OURS) {
        return NEXT(clock_settime)(clock, t);
    }
    return posix_fail(clock_visit(clock, read_nothing, NULL) ? EPERM : EINVAL);
}

/* The calling thread is in timer_create. */
static __thread bool timer_begins __attribute__((tls_model("initial-exec")));

/* Up to glibc 2.33 timers are in a library of their own. It creates by the exported name a thread
 * to which the kernel sends the timers' signals, so that must be a kernel thread. */
bool posix_timer_helper(pthread_t *thread, void *(*start)(void *), void *arg, int *error)
{
    if (timer_begins) {
        *error = NEXT(pthread_create)(thread, NULL, start, arg);
    }
    return timer_begins;
}

/* On x86-64 there are two, with different timer_t, and dlsym of older C libraries (2.31) finds the
 * first. */
static int timer_create_next(clockid_t clock, struct sigevent *event, timer_t *timer)
{
    __typeof__(&timer_create) next =
        (__typeof__(next))dlvsym(RTLD_NEXT, "timer_create", "GLIBC_2.3.3");
    next = next != NULL ? next : NEXT(timer_create);
    return next(clock, event, timer);
}

/* The kernel's timer would measure the worker's time. */
int pirn_posix_timer_create(clockid_t clock, struct sigevent *event, timer_t *timer)
{
    if (clock == CLOCK_THREAD_CPUTIME_ID ? posix_is_foreign() : clock < CLOCK_OURS) {
        timer_begins = true;
        int result = timer_create_next(clock, event, timer);
        timer_begins = false;
        return result;
    }
    bool exists = clock == CLOCK_THREAD_CPUTIME_ID || clock_visit(clock, read_nothing, NULL);
    return posix_fail(exists ? ENOTSUP : EINVAL);
}

int posix_clock_sleep(clockid_t clock)
{
    return !is_own(clock) && clock_visit(clock, read_nothing, NULL) ? ENOTSUP : EINVAL;
}

int pirn_pthread_getcpuclockid(pthread_t thread, clockid_t *clock)
{
    struct thread *t = posix_thread(thread);
    uint64_t ns;
    if (t == NULL || at_load_rlx(&t->state) == THREAD_EXITED) {
        return ESRCH;
    }
    if (!(t->flags & THREAD_FOREIGN) && !port_time_self(&ns)) {
        port_time_of(t); /* starts counting now, not at the first read */
    }
    *clock = t->flags & THREAD_FOREIGN ? port_time_kernel_clock(t->port.tid) : clock_of(t);
    return 0;
}
