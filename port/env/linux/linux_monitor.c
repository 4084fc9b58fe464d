/* SPDX-License-Identifier: MIT */
/*
 * linux_monitor.c (Linux) - a kernel thread that delivers ticks to busy workers; an idle worker
 * sleeps with its own deadline.
 *
 * It starts with the runtime: later, a process near its memory limit could not start it. Each
 * worker's tick_at is its next tick; `wake_at` is when the monitor wakes. Setting an earlier tick
 * bumps the monitor: store tick_at, then read wake_at; the monitor stores wake_at, then reads every
 * tick_at again. Sequentially consistent: one of them sees the other. ORDER(monitor)
 *
 * The kernel may run the monitor late, as where threads compute that have lost their CPU. So a
 * computing thread that makes room also looks at its CPU's tick (monitor_is_late). Otherwise the
 * thread that the tick makes ready would wait for another turn.
 *
 * The monitor costs what it is woken up for. So it does not wake up for the tick of a worker that
 * sleeps until then itself. Such a worker sets its tick again (rt_service) when it has work: it
 * leaves its sleep, stores tick_at and reads wake_at, while the monitor stores wake_at and reads
 * whether it sleeps. And the monitor does not stop looking at the workers as soon as all sleep, but
 * when none has been awake for a whole interval: a worker that wakes up often need not wake the
 * monitor each time.
 */
#include "linux.h"
#include "port_calls.h"
#include "port_foreign.h"
#include "port_io.h"
#include "port_report.h"

#include <string.h>

#define MAX_CPUS 256
#define WATCH_NS 500000u          /* between two looks at the calls under way */
#define IDLE_NS 1000000000u       /* without a thread that runs: then cached memory is given back */
#define TRIM_NS 1000000000u       /* not used for so long: then some of it is given back */
#define SLEEP_OFTEN_NS 1000000u   /* from one sleep to the next: wakers fence */
#define SLEEP_SELDOM_NS 10000000u /* wakers do not */
#define REACTOR_NS 1000000u       /* between two fetches of reports while all workers are busy */

static struct {
    struct cpu *cpus[MAX_CPUS];
    uint64_t wake_at;       /* UINT64_MAX while asleep without limit, 0 while awake */
    uint32_t bump;          /* futex permit */
    uint32_t watch;         /* look at the calls */
    uint32_t dozing;        /* the workers are not looked at */
    uint32_t stirred;       /* a worker has woken up since the last look; a hint */
    uint64_t scan_at;       /* when the calls may be looked at next */
    uint64_t look_at;       /* when they are next */
    uint64_t looked;        /* when they were last */
    uint64_t fetch_at;      /* the next time for fetching reports, if that can wait */
    uint32_t attends;       /* it will look at the reports by itself */
    bool fetch_empty;       /* the last one was in vain */
    uint64_t sleeps;        /* of all workers, and scans, at the last look */
    uint64_t scans;         /* of the calls under way */
    uint64_t tend_at;       /* when signals and ticks are looked after next */
    uint64_t idle_from;     /* since when no worker has been awake; 0: one is */
    uint64_t idle_switches; /* of all workers when memory was given back last */
    uint32_t ask;           /* futex permit of the maker of carriers */
    uint32_t idle;          /* memory is to be given back */
    uint32_t kept;          /* there is much of it: look at it every second */
    uint32_t trim;          /* look at it now */
    uint64_t trim_at;       /* when it is looked at next */
    uint32_t wanted;        /* a carrier */
    uint32_t begun;         /* kernel threads of the runtime's, beside such as end soon */
} monitor;

/* Until its next tick, at which it wakes up itself. */
static bool worker_sleeps(const struct port_cpu *port)
{
    uint32_t permit = __atomic_load_n(&port->permit, __ATOMIC_SEQ_CST); /* ORDER(monitor) */
    RT_ASSERT(permit <= 3);
    return permit == 2 || (permit == 3 && reactor_is_exact());
}

/* The CPU's tick at the time *at is delivered once: by the monitor, or by the CPU itself. False: it
 * has another one meanwhile, *at, or none. */
static bool deliver(struct cpu *cpu, uint64_t *at)
{
    if (!__atomic_compare_exchange_n(&rt_cpu_port(cpu)->tick_at, at, UINT64_MAX, false,
                                     __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) { /* ORDER(monitor) */
        return false;
    }
    rt_on_tick(cpu);
    return true;
}

void monitor_is_late(struct cpu *cpu)
{
    uint64_t at = __atomic_load_n(&rt_cpu_port(cpu)->tick_at, __ATOMIC_SEQ_CST);
    RT_ASSERT(cpu == port_cpu_self());
    if (at != UINT64_MAX && at <= port_now()) { /* ORDER(monitor) */
        deliver(cpu, &at);
    }
}

/* Deliver what is due; returns the next time. */
static uint64_t monitor_deliver(uint64_t now)
{
    uint64_t next = UINT64_MAX;
    RT_ASSERT(port_cpu_self() == NULL && port_is_helper());
    for (unsigned i = 0; i < MAX_CPUS; i++) {
        struct cpu *cpu = __atomic_load_n(&monitor.cpus[i], __ATOMIC_ACQUIRE); /* ORDER(monitor) */
        if (cpu == NULL) {
            continue;
        }
        struct port_cpu *port = rt_cpu_port(cpu);
        if (worker_sleeps(port)) {
            continue;
        }
        uint64_t at = __atomic_load_n(&port->tick_at, __ATOMIC_SEQ_CST); /* ORDER(monitor) */
        if ((at > now || !deliver(cpu, &at)) && at < next) {
            next = at;
        }
    }
    return next;
}

/* The calls under way: when to look again; UINT64_MAX: when someone asks. Those who ask often do
 * not have it look more often. */
static uint64_t calls_watch(uint64_t now)
{
    if (__atomic_load_n(&monitor.watch, __ATOMIC_SEQ_CST) != 0 && now < monitor.scan_at) {
        return monitor.scan_at; /* ORDER(monitor) */
    }
    if (__atomic_exchange_n(&monitor.watch, 0, __ATOMIC_SEQ_CST) == 0) { /* ORDER(monitor) */
        return UINT64_MAX;
    }
    RT_ASSERT(port_cpu_self() == NULL && monitor.wake_at == 0);
    monitor.scan_at = now + WATCH_NS;
    monitor.scans++;
    if (rt_calls_scan()) {
        __atomic_store_n(&monitor.watch, 1, __ATOMIC_SEQ_CST); /* ORDER(monitor) */
        return monitor.scan_at;
    }
    return UINT64_MAX;
}

static bool sleeps_in_call(struct cpu *cpu)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* ORDER(monitor) */
    return rt_cpu_sleeps_in_call(cpu);
}

/* It does not sleep for want of work. */
bool worker_awake(struct cpu *cpu)
{
    uint32_t permit = __atomic_load_n(&rt_cpu_port(cpu)->permit, __ATOMIC_SEQ_CST);
    RT_ASSERT(permit <= 3);
    return permit < 2 && !sleeps_in_call(cpu); /* ORDER(monitor) */
}

static bool any_worker(bool (*is)(struct cpu *cpu))
{
    for (unsigned i = 0; i < MAX_CPUS; i++) {
        struct cpu *cpu = __atomic_load_n(&monitor.cpus[i], __ATOMIC_ACQUIRE); /* ORDER(monitor) */
        if (cpu != NULL && is(cpu)) {
            return true;
        }
    }
    return false;
}

/* A CPU that sleeps, and a scan of the calls, pays for a system call, unless all wakers pay for a
 * fence: worth it from some thousand of them a second on. */
static void fences_look(uint64_t elapsed)
{
    uint64_t now = rt_sleeps() + monitor.scans, times = now - monitor.sleeps;
    monitor.sleeps = now;
    if (times * SLEEP_OFTEN_NS > elapsed) {
        rt_fences_choose(true);
    } else if (times * SLEEP_SELDOM_NS < elapsed) {
        rt_fences_choose(false);
    }
}

static void workers_look(uint64_t now)
{
    bool tend = now >= monitor.tend_at;
    if (tend) {
        own_signals_look();
        monitor.tend_at = now + blocked_interval();
    }
    for (unsigned i = 0; i < MAX_CPUS; i++) {
        struct cpu *cpu = __atomic_load_n(&monitor.cpus[i], __ATOMIC_ACQUIRE); /* ORDER(monitor) */
        if (cpu != NULL && worker_awake(cpu)) {
            blocked_look(cpu, now - monitor.looked);
            if (tend) {
                preempt_look(cpu, now);
                rt_call_look(cpu);
            }
        }
    }
    if (monitor.looked != 0) {
        fences_look(now - monitor.looked);
    }
    monitor.looked = now;
}

static uint64_t all_switches(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < MAX_CPUS; i++) {
        struct cpu *cpu = __atomic_load_n(&monitor.cpus[i], __ATOMIC_ACQUIRE); /* ORDER(monitor) */
        sum += cpu != NULL ? rt_cpu_switches(cpu) : 0;
    }
    return sum;
}

/* All workers sleep. When to look again. Whoever gives memory back wakes workers, so this happens
 * once between two times at which threads run. */
static uint64_t idle_watch(uint64_t now)
{
    if (monitor.idle_from == 0) {
        monitor.idle_from = now;
    }
    if (all_switches() == monitor.idle_switches) {
        return UINT64_MAX;
    }
    if (now - monitor.idle_from < IDLE_NS) {
        return monitor.idle_from + IDLE_NS;
    }
    monitor.idle_switches = all_switches();
    __atomic_store_n(&monitor.idle, 1, __ATOMIC_RELEASE); /* ORDER(monitor) */
    permit_post(&monitor.ask);
    return UINT64_MAX;
}

void port_memory_kept(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* ORDER(monitor) */
    if (__atomic_load_n(&monitor.kept, __ATOMIC_RELAXED) == 0 &&
        __atomic_exchange_n(&monitor.kept, 1, __ATOMIC_SEQ_CST) == 0) { /* ORDER(monitor) */
        permit_post(&monitor.bump);
    }
}

/* Stacks that lie unused while threads run. When to look again. */
static uint64_t memory_watch(uint64_t now)
{
    if (__atomic_load_n(&monitor.kept, __ATOMIC_SEQ_CST) == 0) { /* ORDER(monitor) */
        monitor.trim_at = 0;
        return UINT64_MAX;
    }
    if (monitor.trim_at == 0 || now >= monitor.trim_at) {
        if (monitor.trim_at != 0) {
            __atomic_store_n(&monitor.trim, 1, __ATOMIC_RELEASE); /* ORDER(monitor) */
            permit_post(&monitor.ask);
        }
        monitor.trim_at = now + TRIM_NS;
    }
    return monitor.trim_at;
}

/* Whoever puts a stack into the pool reads `kept` after that; so one of the two sees it. */
static void memory_trim(void)
{
    rt_trim_memory();
    if (!rt_memory_to_trim()) {
        __atomic_store_n(&monitor.kept, 0, __ATOMIC_SEQ_CST); /* ORDER(monitor) */
        __atomic_thread_fence(__ATOMIC_SEQ_CST);              /* ORDER(monitor) */
        if (rt_memory_to_trim()) {
            port_memory_kept();
        }
    }
}

/* Workers that are awake: do they sleep in the kernel? Returns when to look again. */
static uint64_t workers_watch(uint64_t now)
{
    if (now < monitor.look_at) {
        return monitor.look_at;
    }
    uint64_t interval = blocked_interval_now(now);
    bool stirred = __atomic_exchange_n(&monitor.stirred, 0, __ATOMIC_RELAXED) != 0;
    RT_ASSERT(monitor.wake_at == 0);
    if (interval != UINT64_MAX) {
        workers_look(now);
    }
    monitor.look_at = interval == UINT64_MAX ? UINT64_MAX : now + interval;
    __atomic_store_n(&monitor.dozing, 1, __ATOMIC_SEQ_CST); /* ORDER(monitor) */
    bool idle = !stirred && !any_worker(worker_awake);
    if (idle || interval == UINT64_MAX) {
        monitor.look_at = 0; /* when it is woken */
        return idle ? idle_watch(now) : UINT64_MAX;
    }
    monitor.idle_from = 0;
    __atomic_store_n(&monitor.dozing, 0, __ATOMIC_SEQ_CST); /* ORDER(monitor) */
    return monitor.look_at;
}

void monitor_wakes(void)
{
    if (__atomic_load_n(&monitor.stirred, __ATOMIC_RELAXED) == 0) {
        __atomic_store_n(&monitor.stirred, 1, __ATOMIC_RELAXED);
    }
    if (__atomic_load_n(&monitor.dozing, __ATOMIC_SEQ_CST) != 0 && /* ORDER(monitor) */
        (blocked_interval() != UINT64_MAX || rt_io_waiting() != 0) &&
        __atomic_exchange_n(&monitor.dozing, 0, __ATOMIC_SEQ_CST) != 0) {
        permit_post(&monitor.bump);
    }
}

void port_cpu_stirs(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* ORDER(monitor) */
    monitor_wakes();
}

bool monitor_attends(void)
{
    return __atomic_load_n(&monitor.attends, __ATOMIC_SEQ_CST) != 0; /* ORDER(monitor) */
}

void monitor_bump(void)
{
    permit_post(&monitor.bump);
}

void port_calls_watch(void)
{
    if (__atomic_load_n(&monitor.watch, __ATOMIC_SEQ_CST) == 0 && /* ORDER(monitor) */
        __atomic_exchange_n(&monitor.watch, 1, __ATOMIC_SEQ_CST) == 0) {
        permit_post(&monitor.bump);
    }
}

void kernel_thread_begun(void)
{
    __atomic_add_fetch(&monitor.begun, 1, __ATOMIC_RELAXED);
}

unsigned kernel_threads_begun(void)
{
    return __atomic_load_n(&monitor.begun, __ATOMIC_RELAXED);
}

void maker_turn(uint64_t until)
{
    RT_ASSERT(port_cpu_self() == NULL && port_is_helper());
    permit_wait(&monitor.ask, until);
    if (__atomic_exchange_n(&monitor.wanted, 0, __ATOMIC_ACQ_REL) != 0) { /* ORDER(monitor) */
        rt_carrier_add();
    }
    if (__atomic_exchange_n(&monitor.idle, 0, __ATOMIC_ACQ_REL) != 0) { /* ORDER(monitor) */
        rt_idle_memory();
    }
    if (__atomic_exchange_n(&monitor.trim, 0, __ATOMIC_ACQ_REL) != 0) { /* ORDER(monitor) */
        memory_trim();
    }
}

static void *maker_main(void *unused)
{
    (void)unused;
    foreign_is_helper();
    kernel_thread_begun();
    for (uint64_t next = UINT64_MAX;; next = rt_report_turn(port_now())) {
        maker_turn(next);
    }
    return NULL;
}

/* Not by the monitor itself: the C library's locks, which making a kernel thread takes, may be held
 * by threads that wait for a tick. The same goes for reports. */
void port_carrier_ask(void)
{
    __atomic_store_n(&monitor.wanted, 1, __ATOMIC_RELEASE); /* ORDER(monitor) */
    permit_post(&monitor.ask);
}

void port_report_poke(void)
{
    permit_post(&monitor.ask);
}

/* Until a time, or until somebody needs it. If threads wait for descriptors, and no worker sleeps
 * until there are reports, it fetches them itself: each one at once if a worker could run the
 * thread at once (it sleeps in a call), otherwise those of REACTOR_NS together. */
static void monitor_sleep(uint64_t until)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* ORDER(monitor): `attends`, then who waits */
    bool waits = reactor_unattended();
    if (waits && monitor.fetch_at > port_now() &&
        (monitor.fetch_empty || !any_worker(sleeps_in_call))) {
        __atomic_store_n(&monitor.attends, 1, __ATOMIC_SEQ_CST); /* ORDER(monitor) */
        permit_wait(&monitor.bump, monitor.fetch_at < until ? monitor.fetch_at : until);
        __atomic_store_n(&monitor.attends, 0, __ATOMIC_SEQ_CST); /* ORDER(monitor) */
        return;
    }
    enum watch slept = waits ? reactor_watch(&monitor.bump, until) : WATCH_NOT;
    if (slept == WATCH_NOT) {
        permit_wait(&monitor.bump, until);
        return;
    }
    monitor.fetch_at = port_now() + REACTOR_NS;
    monitor.fetch_empty = slept == WATCH_EMPTY;
}

static void *monitor_main(void *unused)
{
    (void)unused;
    foreign_is_helper();
    kernel_thread_begun();
    affinity_kept_here();
    for (;;) {
        uint64_t now = port_now(), calls = calls_watch(now), look = workers_watch(now);
        uint64_t memory = memory_watch(now), next = monitor_deliver(now);
        next = calls < next ? calls : next;
        next = look < next ? look : next;
        next = memory < next ? memory : next;
        __atomic_store_n(&monitor.wake_at, next, __ATOMIC_SEQ_CST); /* ORDER(monitor) */
        uint64_t again = monitor_deliver(port_now());
        if (again >= next) {
            monitor_sleep(next);
        }
        __atomic_store_n(&monitor.wake_at, 0, __ATOMIC_SEQ_CST); /* ORDER(monitor) */
    }
    return NULL;
}

int monitor_start(void)
{
    int error = kernel_thread_create(monitor_main, NULL);
    return error == 0 ? kernel_thread_create_known(maker_main, NULL) : error;
}

void monitor_add(struct cpu *cpu)
{
    unsigned id = rt_cpu_id(cpu);
    RT_ASSERT(id >= MAX_CPUS || monitor.cpus[id] == NULL || monitor.cpus[id] == cpu);
    RT_ASSERT(carrier_is_own(rt_cpu_port(cpu)->carrier));
    if (id >= MAX_CPUS) { /* a carrier's own record, which is no worker and has no timers */
        rt_cpu_port(cpu)->tick_at = UINT64_MAX;
    } else if (monitor.cpus[id] == NULL) {
        rt_cpu_port(cpu)->tick_at = UINT64_MAX;
        __atomic_store_n(&monitor.cpus[id], cpu, __ATOMIC_SEQ_CST); /* ORDER(monitor) */
        monitor_wakes();
    }
}

void port_timer_set(struct cpu *cpu, uint64_t deadline)
{
    __atomic_store_n(&rt_cpu_port(cpu)->tick_at, deadline, __ATOMIC_SEQ_CST); /* ORDER(monitor) */
    if (deadline < __atomic_load_n(&monitor.wake_at, __ATOMIC_SEQ_CST)) {     /* ORDER(monitor) */
        permit_post(&monitor.bump);
    }
}

void monitor_forked(void)
{
    memset(&monitor, 0, sizeof(monitor));
}
