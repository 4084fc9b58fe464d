/* SPDX-License-Identifier: MIT */
/*
 * bare_core.c (bare) - cores: starting, sleeping, kicking, their timers, preemption.
 *
 * The runtime disables interrupts by the core's own mask, so a handler never interrupts it; a
 * handler may call the functions that the API allows it (sem_post). Preemption waits until the
 * handler is done: bare_irq_end calls the core, on the thread's stack, above the registers that the
 * interrupt has saved there. When the thread's turn comes again, perhaps on another core, the
 * interrupt returns. The library, too, can be preempted wherever interrupts are enabled: a wake-up
 * waits for the end of a section at most. There is no preemption
 *   1. if the core executes no CPU yet, or its idle thread, which looks by itself (nor while the
 *      runtime is starting: rt_preempt);
 *   2. in the middle of a section that lets interrupts in (port_irq_window; `depth` says so). Then
 *      the timer comes again soon, as not every such section looks at its end.
 *   3. in a handler that an interrupt of a higher priority has interrupted (bare_irq.c; `below`
 *      says so): the end of the outermost one looks.
 *
 * Sleeping: the sleeper takes the permit, and waits for an interrupt with interrupts masked. A
 * pending interrupt ends the wait at once, also if it came before the wait, because its level is
 * kept until its handler has run. So nothing is lost between looking and waiting. A poster stores
 * the permit before it interrupts. ORDER(permit)
 *
 * Each core has one timer, set to the earliest of several times: when the runtime asked for
 * rt_on_tick, when the running thread's tick is over, and when the next sample is due. A core that
 * sleeps has no ticks, and no samples unless they count wall-clock time.
 */
#include "../../../src/prof/prof.h"
#include "atomic.h"
#include "bare.h"
#include "bare_watchdog.h"
#include "port_io.h"
#include "port_preempt.h"
#include "port_prof.h"
#include "port_report.h"
#include "port_trace.h"

#include <errno.h>
#include <pirn/watchdog.h>
#include <stdlib.h>

/* After an interruption in the middle of a section. */
#define RETRY_NS 20000u

/* So long a wait for another core is none for a short section: the core may be one of an emulator
 * that executes cores in turns (QEMU with -icount), and stands still as long as this one spins. */
#define DOZE_ROUNDS 1000u
#define DOZE_TICKS 50u /* of the board's clock: some microseconds */

/* Is there anything to set it for? src/features.cmake */
#define BARE_TIMER (RT_PREEMPT || RT_TIMED || RT_PROF || RT_WATCHDOG || RT_REPORT)

struct bare_core bare_cores[BARE_CORES];

static uint32_t timer_interrupts[BARE_CORES];

static struct {
    uint64_t tick_ns;   /* 0: no preemption */
    uint64_t sample_ns; /* 0: no samples */
    bool sample_idle;   /* of cores that sleep, too */
    uint32_t ncores;    /* that have begun or will begin; the first one has */
    struct carrier *carrier[BARE_CORES];
} cores = {.ncores = 1};

/* Set the core's timer; interrupts are disabled. */
static void timer_arm(struct port_cpu *port)
{
    if (!BARE_TIMER) {
        return;
    }
    RT_ASSERT(arch_irq_is_off() && port->hart == arch_core()->hart); /* its own core's */
    unsigned long irq = bare_lock(&port->lock);
    uint64_t at = port->timer_at < port->slice_at ? port->timer_at : port->slice_at;
    at = port->wake_at < at ? port->wake_at : at;
    at = RT_PROF && port->sample_at < at ? port->sample_at : at;
    at = RT_WATCHDOG && port->watch_at < at ? port->watch_at : at;
    board_timer_set(at == UINT64_MAX ? UINT64_MAX : bare_clock_at(at));
    bare_unlock(&port->lock, irq);
}

void port_timer_set(struct cpu *cpu, uint64_t deadline)
{
    struct port_cpu *port = rt_cpu_port(cpu);
    unsigned long irq = bare_lock(&port->lock);
    port->timer_at = deadline;
    bare_unlock(&port->lock, irq);
    irq = port_irq_save();
    if (cpu == port_cpu_self()) {
        timer_arm(port);
    } else {
        board_ipi(port->hart); /* it sets its timer */
    }
    port_irq_restore(irq);
}

/*
 * Preemption.
 */

size_t port_signal_room(void)
{
    return ARCH_TRAP_ROOM;
}

int port_preempt_start(uint64_t tick_ns, const char **why)
{
    (void)why;
    RT_ASSERT(tick_ns != 0 && port_cpu_self() == NULL); /* before cores read it */
    cores.tick_ns = tick_ns;
    return 0;
}

bool core_preempts(void)
{
    return RT_PREEMPT && cores.tick_ns != 0;
}

static void slice_begin(struct port_cpu *port)
{
    port->slice_at = RT_PREEMPT && cores.tick_ns != 0 ? port_now() + cores.tick_ns : UINT64_MAX;
}

static void samples_begin(struct port_cpu *port)
{
    if (RT_PROF) {
        port->sample_at = cores.sample_ns != 0 ? port_now() + cores.sample_ns : UINT64_MAX;
    }
}

/* The first core has its CPU later. */
int port_prof_start(uint32_t hz, bool wall, const char **why)
{
    (void)why;
    RT_ASSERT(hz != 0 && port_cpu_self() == NULL);
    cores.sample_ns = 1000000000u / hz;
    cores.sample_idle = wall;
    return 0;
}

void bare_irq_begin(void)
{
    arch_core()->depth++;
    section_off();
    RT_ASSERT(bare_in_handler());
}

/* A tick: the turn of a thread that has run for a whole one is over. */
static void tick(struct cpu *cpu, struct port_cpu *port)
{
    uint64_t switches = rt_cpu_switches(cpu);
    bool ends = port->seen == switches;
    rt_tick_begins();
    port->seen = switches;
    port->over_at = ends ? switches : UINT64_MAX;
    rt_tick_ends(ends);
}

uint32_t pirn_timer_interrupts(unsigned core)
{
    return core < BARE_CORES ? __atomic_load_n(&timer_interrupts[core], __ATOMIC_RELAXED) : 0;
}

void bare_on_timer(void)
{
    struct cpu *cpu = port_cpu_self();
    uint32_t *count = &timer_interrupts[arch_core() - bare_cores];
    RT_ASSERT(bare_in_handler());
    STORE_RLX(count, *count + 1); /* its own */
    if (!BARE_TIMER || cpu == NULL) {
        board_timer_set(UINT64_MAX);
        return;
    }
    struct port_cpu *port = rt_cpu_port(cpu);
    uint64_t now = port_now();
    unsigned long irq = bare_lock(&port->lock);
    bool due = RT_TIMED && port->timer_at <= now;
    port->timer_at = due ? UINT64_MAX : port->timer_at;
    bare_unlock(&port->lock, irq);
    if (due) {
        rt_on_tick(cpu);
    }
    if (port->wake_at <= now) {
        port->wake_at = UINT64_MAX;
    }
    if (RT_PROF && port->sample_at <= now) {
        port->sampled = true;
        port->sample_at = now + cores.sample_ns;
    }
    if (RT_WATCHDOG && port->watch_at <= now) {
        watchdog_look(cpu, port);
    }
    if (RT_PREEMPT && port->slice_at <= now) {
        slice_begin(port);
        tick(cpu, port);
    }
    timer_arm(port);
}

/* The watchdog may have been asked for, or not any more; or the CPU has slept. */
static void watchdog_set(struct port_cpu *port)
{
    if (RT_WATCHDOG &&
        (port->watch_at != UINT64_MAX) != (__atomic_load_n(&watchdog_us, __ATOMIC_RELAXED) != 0)) {
        watchdog_begin(port);
    }
}

void bare_on_ipi(void)
{
    struct cpu *cpu = port_cpu_self();
    RT_ASSERT(bare_in_handler());
    board_ipi_taken();
    if (cpu != NULL) {
        watchdog_set(rt_cpu_port(cpu));
        timer_arm(rt_cpu_port(cpu));
        if (RT_INPUT) {
            port_io_poll();
        }
    }
}

/* The section gets on by a step at least, until the next interrupt comes in. */
static void retry(struct port_cpu *port)
{
    port->wake_at = port_now() + RETRY_NS;
    timer_arm(port);
}

/* Is the interrupted thread to make room, or to see what is pending? It does so now, but for the
 * middle of a section: then soon; in a handler: at its end. */
static bool is_due(struct cpu *cpu, bool in_section)
{
    struct port_cpu *port = rt_cpu_port(cpu);
    RT_ASSERT(arch_irq_is_off() && !rt_thread_is_idle(rt_cpu_thread(cpu)));
    if (port->over_at != rt_cpu_switches(cpu) && !rt_cpu_pending(cpu)) {
        return false;
    }
    if (in_section && arch_core()->below == 0) {
        retry(port);
    }
    return !in_section;
}

bool bare_is_thread(void)
{
    unsigned long irq = arch_irq_save();
    bool is = arch_core()->depth == 0;
    arch_irq_restore(irq);
    return is;
}

bool bare_irq_leaves(uintptr_t pc, const struct arch_frame *frame)
{
    struct bare_core *core = arch_core();
    struct cpu *cpu = core->cpu;
    RT_ASSERT(bare_in_handler());
    bool in_section = --core->depth != 0;
    if (RT_PROF && cpu != NULL && rt_cpu_port(cpu)->sampled) {
        rt_cpu_port(cpu)->sampled = false;
        prof_sample(pc, 1, frame);
    }
    if (RT_PREEMPT && cores.tick_ns != 0 && cpu != NULL && !rt_thread_is_idle(rt_cpu_thread(cpu)) &&
        is_due(cpu, in_section)) {
        return true;
    }
    section_on();
    return false;
}

/* After the switch the core is another one. */
void bare_irq_switch(void)
{
    struct cpu *cpu = port_cpu_self();
    struct port_cpu *port = rt_cpu_port(cpu);
    uint64_t switches = rt_cpu_switches(cpu);
    RT_ASSERT(bare_is_inside());
    if (port->over_at == switches) {
        port->over_at = UINT64_MAX;
        port->seen = switches + 1; /* who runs next begins with this tick */
        rt_preempt();
    } else {
        rt_interrupted();
    }
    section_on();
}

void bare_irq_end(uintptr_t pc, const struct arch_frame *frame)
{
    if (bare_irq_leaves(pc, frame)) {
        bare_irq_switch();
    }
}

/*
 * Sleeping, waking.
 */

/* The core that went to sleep last looks whether that is for ever: bare_report.c. When next. */
static uint64_t report(struct port_cpu *port)
{
    if (port->report_at != UINT64_MAX && port->report_at <= port_now()) {
        port->report_at = rt_report_turn(port_now());
    }
    return port->report_at;
}

void port_cpu_idle(struct cpu *cpu, uint64_t deadline)
{
    struct port_cpu *port = rt_cpu_port(cpu);
    RT_ASSERT(bare_is_inside() && cpu == port_cpu_self());
    port->slice_at = UINT64_MAX;
    if (RT_WATCHDOG && __atomic_load_n(&watchdog_us, __ATOMIC_RELAXED) != 0) {
        watchdog_sleeps(cpu, port);
    }
    if (RT_PROF && !cores.sample_idle) {
        port->sample_at = UINT64_MAX;
    }
    while (__atomic_exchange_n(&port->permit, 0, __ATOMIC_ACQUIRE) == 0 && /* ORDER(permit) */
           (!RT_TIMED || port_now() < deadline)) {
        uint64_t report_at = RT_REPORT ? report(port) : UINT64_MAX;
        port->wake_at = report_at < deadline ? report_at : deadline;
        timer_arm(port);
        section_on(); /* the rest of it is none */
        arch_wait();
        arch_irq_window();
        section_off();
        RT_ASSERT(bare_is_inside() && cpu == port_cpu_self()); /* handlers left no trace */
    }
    port->wake_at = UINT64_MAX;
    watchdog_set(port);
    slice_begin(port);
    if (RT_PROF && !cores.sample_idle) {
        samples_begin(port);
    }
    timer_arm(port);
}

void port_cpu_kick(struct cpu *cpu)
{
    struct port_cpu *port = rt_cpu_port(cpu);
    port_stack_check();
    STORE_REL(&port->permit, 1); /* ORDER(permit) */
    port_cpu_interrupt(cpu);
}

void bare_look_again(void)
{
    struct cpu *cpu = port_cpu_self();
    if (cpu != NULL) {
        STORE_REL(&rt_cpu_port(cpu)->permit, 1); /* ORDER(permit) */
    }
}

void port_cpu_interrupt(struct cpu *cpu)
{
    RT_ASSERT(arch_irq_is_off()); /* else the caller may be another CPU's by now */
    if (cpu != port_cpu_self()) {
        board_ipi(rt_cpu_port(cpu)->hart);
    }
}

#ifdef ARCH_YIELD
/* In a handler no other interrupt would end a wait. */
static void doze(void)
{
    arch_yield();
}
#else
/* The timer comes too early for what it was set to, which its handler sets again. Masked interrupts
 * that are pending end the wait, too, but an emulator lets another core run first. */
static COLD NOINLINE void doze(void)
{
    unsigned long irq = port_irq_save();
    board_timer_set(board_clock() + DOZE_TICKS);
    arch_wait();
    port_irq_restore(irq);
}
#endif

void port_relax(unsigned round)
{
    if (BARE_CORES > 1 && round >= DOZE_ROUNDS && round != UINT32_MAX) {
        doze();
    } else {
        port_cpu_relax();
    }
}

void bare_lock_wait(const uint32_t *word)
{
    for (unsigned round = 0; __atomic_load_n(word, __ATOMIC_RELAXED) != 0; round++) {
        port_relax(round);
    }
}

/* The light half is a full fence, too. */
void port_fence_heavy(void)
{
    at_fence_seq();
}

/*
 * Starting.
 */

unsigned port_cpu_count(void)
{
    unsigned n = board_core_count();
    return n < BARE_CORES ? n : BARE_CORES;
}

void port_check(void) {}

static void on_exit_here(void)
{
    rt_on_exit();
    trace_save();
}

int port_init(bool *caller_is_main)
{
    *caller_is_main = true;
    return !RT_AT_EXIT || atexit(on_exit_here) == 0 ? 0 : -ENOMEM;
}

int port_carrier_start(struct carrier *k)
{
    uint32_t core = cores.ncores;
    if (core >= port_cpu_count()) {
        bare_few_cores(port_cpu_count());
    }
    RT_ASSERT(core != 0 && cores.carrier[core] == NULL);
    if (bare_own_make(core) != 0) {
        return -ENOMEM;
    }
    RT_ASSERT(rt_carrier_port(k)->core == 0);
    rt_carrier_port(k)->core = core;
    STORE_REL(&cores.carrier[core], k); /* ORDER(carrier) */
    cores.ncores = core + 1;
    board_cores_wake();
    return 0;
}

/* The core's own block is that of its idle thread, or of the program's first thread. */
int port_carrier_begin(struct carrier *k, struct thread *t)
{
    struct port_thread *thread = rt_thread_port(t);
    struct bare_core *core = arch_core();
    RT_ASSERT(core == &bare_cores[rt_carrier_port(k)->core] && core->cpu == NULL);
    RT_ASSERT(core->stack_low != 0 && port_arch_tp() != 0);
    thread->tls = port_arch_tp();
    BARE_THREAD(thread->tls) = t;
    thread->low = core->stack_low;
#ifdef ARCH_GUARD_MOVES
    thread->guard = bare_guard_of(&bare_own[rt_carrier_port(k)->core]);
#endif
    port_arch_fp_save(&rt_carrier_port(k)->fp);
    return 0;
}

void port_cpu_take(struct carrier *k, struct cpu *cpu)
{
    struct port_cpu *port = rt_cpu_port(cpu);
    struct bare_core *core = arch_core();
    unsigned long irq = port_irq_save();
    RT_ASSERT(core->cpu == NULL && core->depth == 0); /* a core takes one CPU, for good */
    port->hart = (uint32_t)core->hart;
    STORE_REL(&core->cpu, cpu); /* ORDER(carrier) bare_irq.c: its hart */
    port->fp = rt_carrier_port(k)->fp;
    port->timer_at = port->wake_at = port->over_at = UINT64_MAX;
    port->report_at = port->watch_at = UINT64_MAX;
    slice_begin(port);
    samples_begin(port);
    timer_arm(port);
    port_irq_restore(irq);
}

#ifdef PIRN_DEBUG
static bool begun[BARE_CORES]; /* each its own core's */

static void begun_set(unsigned number)
{
    begun[number] = true;
}

bool bare_may_wait(void)
{
    bool *own = &begun[arch_core() - bare_cores], may = *own;
    *own = true; /* the message takes locks, too */
    return may;
}
#else
static void begun_set(unsigned number)
{
    (void)number;
}
#endif

/* Whoever waits for a lock may doze, which the core's timer must be able to end. So interrupts come
 * first. */
static void core_begin(unsigned number, unsigned long hart)
{
    struct bare_core *core = &bare_cores[number];
    const struct bare_own *own = bare_own_begin(number);
    core->hart = hart;
    core->stack_low = own->low;
    core->trap_stack = bare_trap_stack(number);
    arch_core_set(core);
    bare_guard_begin(own);
    section_begin();
    RT_ASSERT(arch_irq_is_off() && core->cpu == NULL && core->depth == 0);
    board_core_begin();
    begun_set(number);
    void *block = pool_alloc(tls_size());
    if (block == NULL) {
        bare_stop("no memory for a core's thread-local storage", 1);
    }
    port_arch_tp_set(tls_make(block, NULL), true);
}

void bare_first_begin(unsigned long hart)
{
    core_begin(0, hart);
    bare_clock_begin();
}

static NORETURN void core_runs(unsigned number, unsigned long hart)
{
    struct carrier *k = cores.carrier[number];
    core_begin(number, hart);
    RT_ASSERT(number < BARE_CORES && rt_carrier_port(k)->core == number);
    rt_carrier_main(k);
    port_panic();
}

void bare_core_main(unsigned number, unsigned long hart)
{
    while (__atomic_load_n(&cores.carrier[number], __ATOMIC_ACQUIRE) == NULL) {
        board_core_wait(); /* ORDER(carrier) */
    }
    bare_own_enter(number, core_runs, hart);
}
