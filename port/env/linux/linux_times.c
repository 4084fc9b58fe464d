/* SPDX-License-Identifier: MIT */
/*
 * linux_times.c (Linux) - CPU time of user threads, for CLOCK_THREAD_CPUTIME_ID.
 *
 * Nothing is counted until a program asks (port_time_self, port_time_of). Then every worker's
 * port_cpu.cpus gets a mark, TIMES_BIT, that no thread's set has. The switch compares the two
 * anyway. From then on they differ each time, and the switch takes the slow way, which counts. So a
 * program that does not ask pays nothing.
 *
 * An account belongs to a kernel thread (port_carrier), because the kernel counts its CPU time,
 * which is divided among the user threads; the CPU that it executes does not matter. The account
 * has a span, from the last switch until now, which belongs to `timed`. A span shorter than SPAN_NS
 * is charged by wall-clock time. A longer one may have been interrupted by other processes: it is
 * charged by the kernel's count since its last answer, minus the shorter spans since then. So the
 * shares of all threads add up to the kernel's count, a system call is made every SPAN_NS at most,
 * and a single span is wrong by SPAN_NS at most. Idle threads have a share, too.
 *
 * Invariants:
 *   1. An account is written by its kernel thread only, with interrupts disabled, between two
 *      changes of `seq`. A handler that finds seq odd has interrupted that, and only reads.
 *   2. t->timed_on is the account whose span is t's, NULL if there is none. It becomes NULL by a
 *      release after t's share is added: a reader that sees NULL reads the whole sum afterwards.
 *   3. A reader reads the clocks between two reads of seq. If seq is the same, t has run there all
 *      the time, and at least the reader's result will be charged later: so a thread's clock never
 *      goes back. For that the switch reads the clocks after all see an odd seq (store, full fence,
 *      clocks; clocks, full fence, load). ORDER(times)
 *   4. A carrier's account begins at its first switch, tick or reading after the program has asked;
 *      at the start of the runtime, if the program asked before.
 */
#include "linux.h"
#include "port_calls.h"
#include "port_posix.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SPAN_NS 20000u
#define TRIES 8u

static uint64_t kernel_time(clockid_t clock)
{
    struct timespec t = {0, 0};
    int saved = errno;
    syscall(SYS_clock_gettime, clock, &t);
    errno = saved;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Of any kernel thread of the process: linux/posix-timers.h. */
clockid_t port_time_kernel_clock(int tid)
{
    return (clockid_t)(~(unsigned)tid << 3 | 6u);
}

#define GET(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define SET(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)

ALWAYS_INLINE uint64_t account_known(const struct times *a)
{
    return GET(a->kernel_at) + GET(a->short_ns);
}

/* The charge of a span that ends now, when the kernel has counted `kernel`. */
static uint64_t span_worth(const struct times *a, uint64_t kernel, uint64_t now)
{
    uint64_t wall = now - GET(a->span_at), known = account_known(a);
    uint64_t left = kernel > known ? kernel - known : 0;
    return left < wall ? left : wall;
}

static void thread_charge(struct port_thread *t, uint64_t ns)
{
    SET(t->used, GET(t->used) + ns);
}

/* Returns the time on the wall. */
static uint64_t span_end_exact(struct times *a, struct port_thread *from)
{
    uint64_t kernel = kernel_time(CLOCK_THREAD_CPUTIME_ID), now = port_now();
    uint64_t known = account_known(a);
    thread_charge(from, span_worth(a, kernel, now));
    SET(a->kernel_at, kernel);
    SET(a->short_ns, known > kernel ? known - kernel : 0); /* shorter spans have had too much */
    return now;
}

static uint64_t account_begin(struct times *a)
{
    SET(a->kernel_at, kernel_time(CLOCK_THREAD_CPUTIME_ID));
    SET(a->short_ns, 0);
    return port_now();
}

static uint64_t span_end(struct times *a, struct port_thread *from, bool exact)
{
    if (unlikely(GET(a->timed) != from)) {
        return account_begin(a);
    }
    uint64_t now = port_now(), wall = now - GET(a->span_at);
    if (unlikely(exact || wall >= SPAN_NS)) {
        return span_end_exact(a, from);
    }
    thread_charge(from, wall);
    SET(a->short_ns, GET(a->short_ns) + wall);
    return now;
}

/* The span ends, and was `from`'s; the next is `to`'s. exact: by the kernel's word in any case. */
static void account_pass(struct port_carrier *k, struct port_thread *from, struct port_thread *to,
                         bool exact)
{
    struct times *a = &k->times;
    uint32_t seq = GET(a->seq);
    RT_ASSERT((seq & 1) == 0 && carrier_is_own(k) && port_irq_is_off());
    RT_ASSERT(GET(a->timed) != from || GET(from->timed_on) == k);
    SET(a->seq, seq + 1);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* ORDER(times) */
    SET(a->span_at, span_end(a, from, exact));
    SET(a->timed, to);
    if (from != to) {
        __atomic_store_n(&from->timed_on, NULL, __ATOMIC_RELEASE); /* ORDER(times) */
    }
    __atomic_store_n(&to->timed_on, k, __ATOMIC_RELEASE); /* ORDER(times) */
    __atomic_store_n(&a->seq, seq + 2, __ATOMIC_RELEASE); /* ORDER(times) */
}

void times_switch(struct port_carrier *k, struct port_thread *from, struct port_thread *to)
{
    account_pass(k, from, to, false);
}

void times_begin(struct port_carrier *k, struct port_thread *t)
{
    bool on = affinity_marked(TIMES_BIT);
    RT_ASSERT(carrier_is_own(k));
    k->times = (struct times){.kernel_at = kernel_time(CLOCK_THREAD_CPUTIME_ID),
                              .span_at = port_now(),
                              .timed = on ? t : NULL};
    SET(t->used, k->times.kernel_at);
    SET(t->timed_on, on ? k : NULL);
}

/* The calling kernel thread, if it runs a user thread t; else NULL. While the runtime starts, the
 * first CPU runs nobody yet, and the main thread has no CPU and no carrier. */
static struct port_carrier *carrier_here(struct thread **t)
{
    struct cpu *cpu = port_cpu_self();
    *t = cpu != NULL ? rt_cpu_thread(cpu) : port_left_self();
    if (*t == NULL) {
        return NULL;
    }
    struct carrier *k = cpu != NULL ? rt_cpu_carrier(cpu) : rt_thread_carrier(*t);
    return k != NULL ? rt_carrier_port(k) : NULL;
}

ALWAYS_INLINE bool account_changes(const struct port_carrier *k)
{
    return (__atomic_load_n(&k->times.seq, __ATOMIC_ACQUIRE) & 1) != 0; /* ORDER(times) */
}

/* A thread that asks before its worker has switched at all has had all of the worker's time. */
static void account_open(struct port_carrier *k, struct thread *t)
{
    struct cpu *cpu = port_cpu_self();
    RT_ASSERT(port_irq_is_off() && !account_changes(k) && GET(k->times.timed) == NULL);
    struct port_thread *port = rt_thread_port(t);
    if (cpu != NULL && rt_cpu_switches(cpu) == 0) {
        SET(port->used, kernel_time(CLOCK_THREAD_CPUTIME_ID));
    }
    account_pass(k, port, port, true);
}

bool port_time_self(uint64_t *ns)
{
    struct thread *t;
    unsigned long irq = port_irq_save();
    struct port_carrier *k = carrier_here(&t);
    if (k != NULL) {
        struct port_thread *timed = GET(k->times.timed);
        if (!account_changes(k)) {
            affinity_all_switches(TIMES_BIT);
            if (timed != NULL) {
                account_pass(k, timed, timed, true);
            } else {
                account_open(k, t);
            }
        }
        *ns = GET((timed != NULL ? timed : rt_thread_port(t))->used);
    } else {
        affinity_times_begin_early();
    }
    port_irq_restore(irq);
    return k != NULL;
}

void times_tick(struct cpu *cpu)
{
    struct port_carrier *k = rt_cpu_port(cpu)->carrier;
    RT_ASSERT(cpu == port_cpu_self() && carrier_is_own(k));
    if (affinity_marked(TIMES_BIT) && GET(k->times.timed) == NULL) {
        unsigned long irq = port_irq_save();
        account_open(k, rt_cpu_thread(cpu));
        port_irq_restore(irq);
    }
}

/* Invariant 3. `used` is read at an even seq: it has all that was charged before. After TRIES
 * spans that were over too soon the present one is left out, which is short, too; times
 * reported before belong to those. */
static uint64_t read_other(const struct port_thread *t, const struct port_carrier *here)
{
    RT_ASSERT(port_irq_is_off());
    for (unsigned tries = 0, round = 0;; round++) {
        /* ORDER(times) */
        struct port_carrier *k = __atomic_load_n(&t->timed_on, __ATOMIC_ACQUIRE);
        if (k == NULL) {
            return GET(t->used);
        }
        uint32_t seq = __atomic_load_n(&k->times.seq, __ATOMIC_ACQUIRE); /* ORDER(times) */
        uint64_t used = GET(t->used);
        if (((seq & 1) != 0 && k == here) || tries == TRIES) {
            return used;
        }
        if ((seq & 1) != 0 || GET(k->times.timed) != t) {
            port_relax(round);
            continue;
        }
        uint64_t kernel = kernel_time(port_time_kernel_clock(k->tid));
        uint64_t worth = span_worth(&k->times, kernel, port_now());
        __atomic_thread_fence(__ATOMIC_SEQ_CST); /* ORDER(times) */
        if (GET(k->times.seq) == seq) {
            return used + worth;
        }
        tries++;
    }
}

uint64_t port_time_of(struct thread *thread)
{
    struct thread *self;
    unsigned long irq = port_irq_save();
    affinity_all_switches(TIMES_BIT);
    uint64_t ns = read_other(rt_thread_port(thread), carrier_here(&self));
    port_irq_restore(irq);
    return ns;
}
