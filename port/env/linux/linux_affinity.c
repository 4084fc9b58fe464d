/* SPDX-License-Identifier: MIT */
/*
 * linux_affinity.c (Linux) - CPU sets of threads.
 *
 * A thread with a set of its own runs on any worker: the worker adopts the set when it switches to
 * the thread, and drops it when it switches to a thread with another one, or with none (NULL: the
 * process's set). So a switch costs two loads and a compare, and system calls only if the sets
 * differ. The idle thread runs with the worker's present set.
 *
 * Sets are immutable and never freed. Equal sets are the same object, so comparing addresses is
 * enough. There are at most SETS_MAX different ones.
 *
 * The process's set is what its kernel threads have that nobody in here moves. It changes from
 * outside: by taskset -ap, the cpuset of a control group, a processor that is taken offline. The
 * kernel moves all kernel threads then, but a worker that changes its set afterwards would go back.
 * So each change of a set asks first for the present set of such a kernel thread, the monitor
 * (`keeper`).
 *
 * Invariants:
 *   1. A kernel thread's affinity, port_carrier.cpus and port_cpu.cpus change under `lock` only.
 *   2. port_carrier.cpus is the kernel thread's set; UNKNOWN before it has run a thread with one.
 *      port_cpu.cpus is the set of the kernel thread that carries the CPU, or UNKNOWN; then the
 *      next switch sets it.
 *   3. Setting the set of a thread that runs meanwhile: t's set is stored, all workers become
 *      UNKNOWN, heavy fence, and then the worker that runs t gets the set. A worker stores its
 *      running thread before it looks at the sets, so either it is seen running t, or it sees t's
 *      new set. A worker that leaves t sees UNKNOWN and waits for the lock. ORDER(affinity)
 *   4. A kernel thread that loses its CPU goes on with its thread, and keeps its set. It takes the
 *      lock before it runs another one (affinity_take). So it may get the set of its thread as long
 *      as it has taken no other CPU (port_carrier.took), even if a CPU still names it: the next
 *      kernel thread takes the CPU later. A thread that lost its CPU unannounced, in the C library,
 *      say, may leave that before it asks for one; it gets its set at once, too.
 *   5. From affinity_all_switches(mark) on, the mark is in every worker's port_cpu.cpus: it differs
 *      from every thread's set, and all switches come here: TIMES_BIT, to be counted
 *      (linux_times.c), DIRECT_BIT, for the kernel threads' masks (linux_direct.c), PKEYS_BIT, for
 *      protection keys (linux_pkeys.c). A thread that sets a mark and is then switched is seen with
 *      the mark by whoever runs it next: what made it ready orders the two.
 *   6. Bound workers (option bind): to them NULL means their own processor, bound[i], not `whole`.
 *      A kernel thread that takes a bound worker moves to its processor at once. The next switch
 *      gives it the set of its thread.
 *   7. `whole` and `changes` change under the lock, after a look at the keeper. Sets that were made
 *      before the last change (port_cpus.change) are older than it, as the kernel would have
 *      replaced them: they mean the processors that are in `whole`, too, or if there is none,
 *      `whole`. So does a bound worker's processor. A later set means itself: the thread that asks
 *      for it may leave the process's set, as the kernel lets it. A change makes all workers
 *      UNKNOWN: the kernel may have given a worker more than its thread's set.
 *
 * Lock: `lock`, taken inside of all others; interrupts are disabled, because its holder must stay
 * on its kernel thread. Its waiters sleep. Waiters that spun, even with sched_yield, kept the
 * holder from running: the kernel has moved it to one processor, where they were, too (a livelock
 * of minutes with 8 workers on 2 busy processors).
 */
#include "linux.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config.h"
#include "port_affinity.h"
#include "port_calls.h"

#define SETS_MAX 1024u
#define SPINS 100u

struct port_cpus {
    cpu_set_t set;
    unsigned change; /* of `whole`, the last one before the set was made */
};

static struct port_cpus
    whole;               /* (lock) of the process; equal to no set but a thread's without one */
static unsigned changes; /* (lock) of `whole` */
static int keeper;       /* (A) the kernel thread that has the process's set; 0: none yet */
static struct port_cpus *sets[SETS_MAX];
static unsigned nsets; /* (lock) */
static struct cpu *workers[RT_MAX_CPUS];
static uint16_t bound[RT_MAX_CPUS]; /* (C) of each worker: 1 + its processor; 0: it is not bound */
static unsigned nworkers;           /* (lock) */
static uint32_t lock;               /* futex: 0 free, 1 taken, 2 taken and somebody sleeps */

#define MARKS (TIMES_BIT | DIRECT_BIT | PKEYS_BIT)
#define UNKNOWN ((const struct port_cpus *)(UINTPTR_MAX & ~MARKS))
_Static_assert(MARKS < _Alignof(struct port_cpus), "an address has room for the marks");

static uintptr_t marks; /* (A) written under the lock */

/* For assertions: by somebody. */
UNUSED ALWAYS_INLINE bool lock_is_held(void)
{
    return __atomic_load_n(&lock, __ATOMIC_RELAXED) != 0;
}

static bool lock_try(void)
{
    uint32_t free = 0;
    return __atomic_compare_exchange_n(&lock, &free, 1, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED); /* ORDER(affinity) */
}

/* Waiters sleep in the kernel: it has just moved the holder to a processor, perhaps theirs. */
static COLD void lock_wait(void)
{
    for (unsigned round = 0; round < SPINS; round++) {
        if (lock_try()) {
            return;
        }
        port_cpu_relax();
    }
    while (__atomic_exchange_n(&lock, 2, __ATOMIC_ACQUIRE) != 0) { /* ORDER(affinity) */
        futex_wait(&lock, 2, UINT64_MAX);
    }
}

static void lock_release(void)
{
    uint32_t before = __atomic_exchange_n(&lock, 0, __ATOMIC_RELEASE); /* ORDER(affinity) */
    RT_ASSERT(before == 1 || before == 2);
    if (before == 2) {
        futex_wake(&lock);
    }
}

static void affinity_lock(unsigned long *irq)
{
    *irq = port_irq_save();
    if (!lock_try()) {
        lock_wait();
    }
}

static void affinity_unlock(unsigned long irq)
{
    RT_ASSERT(port_irq_is_off());
    lock_release();
    port_irq_restore(irq);
}

static void cpus_store_locked(struct port_cpu *cpu, const struct port_cpus *cpus)
{
    uintptr_t word = (uintptr_t)cpus | marks;
    RT_ASSERT(lock_is_held() && ((uintptr_t)cpus & MARKS) == 0);
    __atomic_store_n(&cpu->cpus, (const struct port_cpus *)word, __ATOMIC_RELAXED);
}

ALWAYS_INLINE const struct port_cpus *cpus_load(const struct port_cpu *cpu)
{
    uintptr_t word = (uintptr_t)__atomic_load_n(&cpu->cpus, __ATOMIC_RELAXED);
    return (const struct port_cpus *)(word & ~MARKS);
}

bool affinity_marked(uintptr_t mark)
{
    return (__atomic_load_n(&marks, __ATOMIC_ACQUIRE) & mark) != 0; /* ORDER(marks) */
}

/* Every worker's next switch sets its set. */
static void forget_locked(void)
{
    for (unsigned i = 0; i < nworkers; i++) {
        cpus_store_locked(rt_cpu_port(workers[i]), UNKNOWN);
    }
}

static void mark_locked(uintptr_t mark)
{
    RT_ASSERT(lock_is_held() && (mark & ~MARKS) == 0);
    __atomic_store_n(&marks, marks | mark, __ATOMIC_RELEASE); /* ORDER(marks) */
    for (unsigned i = 0; i < nworkers; i++) {
        struct port_cpu *cpu = rt_cpu_port(workers[i]);
        cpus_store_locked(cpu, cpus_load(cpu));
    }
}

bool affinity_all_switches(uintptr_t mark)
{
    if (!affinity_marked(mark)) {
        if (!lock_try()) {
            return false;
        }
        mark_locked(mark);
        lock_release();
    }
    return true;
}

void affinity_all_switches_wait(uintptr_t mark, void (*first)(void))
{
    unsigned long irq;
    affinity_lock(&irq);
    if (!affinity_marked(mark)) {
        first();
        mark_locked(mark);
    }
    affinity_unlock(irq);
}

/* Somebody asks who is no user thread. Before the runtime starts he may become one. */
void affinity_times_begin_early(void)
{
    if (__atomic_load_n(&nworkers, __ATOMIC_RELAXED) == 0) {
        affinity_all_switches(TIMES_BIT);
    }
}

/* 0 or -errno; errno stays. 0 for pid is the caller. */
static int kernel_set(pid_t pid, const cpu_set_t *set)
{
    int saved = errno;
    int error = syscall(SYS_sched_setaffinity, pid, sizeof(*set), set) == 0 ? 0 : -errno;
    errno = saved;
    return error;
}

static int kernel_get(pid_t pid, cpu_set_t *set)
{
    int saved = errno;
    CPU_ZERO(set);
    int error = syscall(SYS_sched_getaffinity, pid, sizeof(*set), set) >= 0 ? 0 : -errno;
    errno = saved;
    return error;
}

void affinity_init(void)
{
    kernel_get(0, &whole.set);
}

void affinity_kept_here(void)
{
    __atomic_store_n(&keeper, (int)syscall(SYS_gettid), __ATOMIC_RELAXED);
}

/* Invariant 7. */
static void whole_update_locked(void)
{
    cpu_set_t now;
    int tid = __atomic_load_n(&keeper, __ATOMIC_RELAXED);
    RT_ASSERT(lock_is_held());
    if (tid != 0 && kernel_get(tid, &now) == 0 && !CPU_EQUAL(&now, &whole.set) &&
        CPU_COUNT(&now) != 0) {
        whole.set = now;
        changes++;
        forget_locked();
    }
}

static void keep_allowed_locked(cpu_set_t *set)
{
    cpu_set_t both;
    RT_ASSERT(lock_is_held());
    CPU_AND(&both, set, &whole.set);
    *set = CPU_COUNT(&both) != 0 ? both : whole.set;
}

/* The processors that a thread's set means now. */
static void meaning_locked(const struct port_cpus *cpus, cpu_set_t *set)
{
    *set = cpus != NULL ? cpus->set : whole.set;
    if (cpus != NULL && cpus->change != changes) {
        keep_allowed_locked(set);
    }
}

unsigned port_cpu_count(void)
{
    cpu_set_t set;
    int n = kernel_get(0, &set) == 0 ? CPU_COUNT(&set) : 0;
    return n > 0 ? (unsigned)n : 1;
}

/* The first one has the process' set; others were made by one that may be elsewhere. */
void affinity_begin(struct port_carrier *port)
{
    unsigned long irq;
    affinity_lock(&irq);
    port->cpus = nworkers == 0 ? NULL : UNKNOWN;
    affinity_unlock(irq);
}

int port_workers_bind(unsigned n)
{
    unsigned found = 0;
    for (unsigned i = 0; i < CPU_SETSIZE && found < n; i++) {
        if (CPU_ISSET(i, &whole.set)) {
            bound[found++] = (uint16_t)(i + 1);
        }
    }
    if (found < n) {
        memset(bound, 0, sizeof(bound));
    }
    return found == n ? 0 : -EINVAL;
}

int affinity_processor(unsigned i)
{
    return (int)bound[i] - 1;
}

bool affinity_is_bound(void)
{
    return bound[0] != 0;
}

void affinity_of_new(void *set)
{
    unsigned long irq;
    affinity_lock(&irq);
    whole_update_locked();
    *(cpu_set_t *)set = whole.set;
    affinity_unlock(irq);
}

static bool is_bound(const struct cpu *cpu)
{
    return rt_cpu_id(cpu) < RT_MAX_CPUS && bound[rt_cpu_id(cpu)] != 0;
}

/* Setting fails only where all processors of the set have just gone. */
static void carrier_set(struct port_carrier *k, const struct port_cpus *cpus, const cpu_set_t *set)
{
    RT_ASSERT(lock_is_held() && k->tid != 0);
    if (kernel_set(k->tid, set) != 0) {
        whole_update_locked();
        kernel_set(k->tid, &whole.set);
    }
    k->cpus = cpus;
}

static void worker_set(struct cpu *cpu, const struct port_cpus *cpus)
{
    struct port_cpu *port = rt_cpu_port(cpu);
    cpu_set_t set;
    RT_ASSERT(lock_is_held() && cpus != UNKNOWN);
    whole_update_locked();
    if (cpus == NULL && is_bound(cpu)) {
        CPU_ZERO(&set);
        CPU_SET(bound[rt_cpu_id(cpu)] - 1u, &set);
        keep_allowed_locked(&set);
    } else {
        meaning_locked(cpus, &set);
    }
    carrier_set(port->taker, cpus, &set);
    cpus_store_locked(port, cpus);
}

void affinity_take(struct cpu *cpu, struct port_carrier *from)
{
    unsigned long irq;
    unsigned i = 0;
    struct port_cpu *port = rt_cpu_port(cpu);
    affinity_lock(&irq);
    RT_ASSERT(port->carrier == from && carrier_is_own(from));
    port->taker = from;
    from->took = port;
    cpus_store_locked(port, from->cpus);
    __atomic_store_n(&port->tid, from->tid, __ATOMIC_RELAXED);
    if (is_bound(cpu)) {
        worker_set(cpu, NULL);
    }
    while (i < nworkers && workers[i] != cpu) {
        i++;
    }
    if (i == nworkers && rt_cpu_id(cpu) < RT_MAX_CPUS) { /* not the record of a carrier's own */
        RT_ASSERT(nworkers < RT_MAX_CPUS);
        workers[nworkers] = cpu;
        __atomic_store_n(&nworkers, nworkers + 1, __ATOMIC_RELAXED);
    }
    affinity_unlock(irq);
}

/* The idle thread runs anywhere. */
void port_cpus_switch(struct cpu *cpu, struct thread *from, struct thread *to)
{
    unsigned long irq;
    struct port_cpu *port = rt_cpu_port(cpu);
    const struct port_thread *next = rt_thread_port(to);
    RT_ASSERT(cpu == port_cpu_self() && rt_cpu_thread(cpu) == to && port_irq_is_off());
    if (affinity_marked(TIMES_BIT)) {
        times_switch(port->carrier, rt_thread_port(from), rt_thread_port(to));
    }
    if (affinity_marked(PKEYS_BIT)) {
        pkeys_switch(rt_thread_port(from), rt_thread_port(to));
    }
    direct_switch(from);
    if (!rt_thread_is_idle(to) &&
        cpus_load(port) != __atomic_load_n(&next->cpus, __ATOMIC_RELAXED)) {
        affinity_lock(&irq);
        worker_set(cpu, __atomic_load_n(&next->cpus, __ATOMIC_RELAXED));
        affinity_unlock(irq);
    }
}

/* The calling kernel thread runs on each processor of its cpuset for a moment. A processor that
 * switches to it passes a full fence. */
static void visit_all_locked(void)
{
    cpu_set_t now, one;
    unsigned visited = 0;
    RT_ASSERT(lock_is_held() && port_irq_is_off());
    int error = kernel_get(0, &now);
    for (unsigned i = 0; i < CPU_SETSIZE && error == 0; i++) {
        CPU_ZERO(&one);
        CPU_SET(i, &one);
        visited += kernel_set(0, &one) == 0;
    }
    if (visited != 0) {
        kernel_set(0, &now);
    } else {
        rt_say("pirn: a filter of system calls that was installed after the start refuses "
               "membarrier and sched_setaffinity: threads may hang; allow one of them\n");
    }
    fence_visited();
}

void affinity_visit_all(void)
{
    unsigned long irq;
    affinity_lock(&irq);
    visit_all_locked();
    affinity_unlock(irq);
}

static const struct port_cpus *find_locked(const cpu_set_t *set)
{
    RT_ASSERT(lock_is_held() && nsets <= SETS_MAX);
    if (CPU_EQUAL(set, &whole.set)) {
        return &whole;
    }
    for (unsigned i = 0; i < nsets; i++) {
        if (sets[i]->change == changes && CPU_EQUAL(set, &sets[i]->set)) {
            return sets[i];
        }
    }
    struct port_cpus *new = nsets < SETS_MAX ? port_table_alloc(sizeof(*new)) : NULL;
    if (new != NULL) {
        new->set = *set;
        new->change = changes;
        sets[nsets++] = new;
    }
    return new;
}

/* The set that the kernel makes of a set: it is tried on the calling worker. */
static int effective_locked(const cpu_set_t *want, cpu_set_t *got)
{
    cpu_set_t now;
    RT_ASSERT(lock_is_held() && port_irq_is_off());
    int error = kernel_get(0, &now);
    if (error == 0) {
        error = kernel_set(0, want);
    }
    if (error == 0) {
        kernel_get(0, got);
        kernel_set(0, &now);
    }
    return error;
}

int port_cpus_find(const void *set, size_t size, const struct port_cpus **out)
{
    cpu_set_t want, got;
    unsigned long irq;
    CPU_ZERO(&want);
    memcpy(&want, set, size < sizeof(want) ? size : sizeof(want));
    affinity_lock(&irq);
    whole_update_locked();
    int error = effective_locked(&want, &got);
    if (error == 0) {
        *out = find_locked(&got);
        error = *out != NULL ? 0 : -ENOMEM;
    }
    affinity_unlock(irq);
    return error;
}

ALWAYS_INLINE const struct port_cpus *own(const struct port_cpus *cpus)
{
    return cpus == &whole ? NULL : cpus;
}

void port_cpus_begin(struct port_thread *t, const struct port_cpus *cpus)
{
    t->cpus = own(cpus);
}

void port_cpus_set(struct thread *t, const struct port_cpus *cpus)
{
    unsigned long irq;
    cpus = own(cpus);
    affinity_lock(&irq);
    __atomic_store_n(&rt_thread_port(t)->cpus, cpus, __ATOMIC_RELAXED);
    forget_locked();
    if (!fence_by_kernel()) { /* ORDER(affinity) */
        visit_all_locked();
    }
    for (unsigned i = 0; i < nworkers; i++) {
        struct port_cpu *port = rt_cpu_port(workers[i]);
        if (rt_cpu_runs(workers[i], t) && port->taker->took == port) {
            worker_set(workers[i], cpus);
        }
    }
    struct carrier *k = rt_carrier_left_by(t); /* after the workers, where it was before */
    if (k != NULL) {
        cpu_set_t set;
        meaning_locked(cpus, &set);
        carrier_set(rt_carrier_port(k), cpus, &set);
    }
    affinity_unlock(irq);
}

int port_cpus_set_foreign(const struct port_thread *t, const void *set, size_t size)
{
    cpu_set_t want;
    CPU_ZERO(&want);
    memcpy(&want, set, size < sizeof(want) ? size : sizeof(want));
    return kernel_set(t->tid, &want);
}

int port_cpus_get(const struct port_thread *t, void *set)
{
    if (t->tid != 0) {
        return kernel_get(t->tid, set);
    }
    unsigned long irq;
    affinity_lock(&irq);
    whole_update_locked();
    meaning_locked(__atomic_load_n(&t->cpus, __ATOMIC_RELAXED), set);
    affinity_unlock(irq);
    return 0;
}

/* The kernel thread that forked is the only one, with the CPUs that it has; all, if it was a bound
 * worker. */
void affinity_forked(void)
{
    if (bound[0] != 0) {
        kernel_set(0, &whole.set);
    }
    lock = 0;
    keeper = 0;
    nworkers = 0;
    marks &= PKEYS_BIT; /* the child has the parent's keys */
}
