/* SPDX-License-Identifier: MIT */
/*
 * sim_port.c - the calls of port.h on the simulator's contexts (sim.c).
 *
 * A CPU is a context; a tick comes from the device context, as the timer of a real port would, from
 * outside any CPU. Stacks come from malloc and are counted, so that a run can be checked for leaks.
 */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../src/core/cancel.h"
#include "../../../src/core/carrier.h"
#include "../../../src/core/id.h"
#include "../../../src/sync/sync.h"
#include "../../src/core/runtime.h"
#include "../../src/core/wake.h"
#include "port_calls.h"
#include "port_capacity.h"
#include "port_files.h"
#include "port_foreign.h"
#include "port_io.h"
#include "port_nodes.h"
#include "port_options.h"
#include "port_preempt.h"
#include "port_processes.h"
#include "port_report.h"
#include "port_signals.h"
#include "port_tools.h"
#include "sim_clock.h"

/* By the seed, without a choice of the scheduler's. */
unsigned port_cpu_capacity(unsigned i)
{
    static const unsigned capacities[] = {1024, 512, 256, 128};
    struct sim_rng rng = {(sim.config.seed * RT_MAX_CPUS + i + 1) * 0x9e3779b97f4a7c15ull};
    return sim.config.unequal ? capacities[sim_rng_next(&rng) >> 62] : PORT_CAPACITY_MAX;
}

unsigned port_cpu_node(unsigned i)
{
    const struct sim_timing *timed = sim.config.timed;
    if (timed != NULL) {
        return timed->topology != NULL ? i / timed->topology->per_node : 0;
    }
    return sim.config.nodes != 0 ? i % sim.config.nodes : 0;
}

unsigned port_node_distance(unsigned from, unsigned to)
{
    return from == to ? PORT_NODE_HERE : PORT_NODE_THERE;
}

unsigned port_cpu_count(void)
{
    return sim.config.ncpu;
}

static void carrier_context(void *arg)
{
    sim.contexts[sim_current].irq_off = 1;
    rt_carrier_main(arg);
}

int port_init(bool *caller_is_main)
{
    *caller_is_main = true;
    return 0;
}

size_t port_signal_room(void)
{
    return 0;
}

int port_preempt_start(uint64_t tick_ns, const char **why)
{
    (void)why;
    sim_preempts(true);
    timed_ticks_start(tick_ns);
    return 0;
}

int port_carrier_start(struct carrier *k)
{
    k->port.context = sim_context_new(carrier_context, k, NULL);
    return 0;
}

int port_carrier_begin(struct carrier *k, struct thread *t)
{
    k->port.context = sim_current;
    sim_tls_adopt(t);
    return 0;
}

void port_cpu_take(struct carrier *k, struct cpu *cpu)
{
    struct context *c = &sim.contexts[sim_current];
    if (k->port.context != sim_current) {
        sim_fail("a carrier runs in the place of another");
    }
    c->cpu = cpu;
    c->left = NULL;
}

/* A CPU has one carrier, and that runs here; a thread runs on one stack, and not on another's. */
const char *port_switch_refused(struct cpu *cpu)
{
    const struct context *c = &sim.contexts[sim_current];
    const struct port_stack *stack = &cpu->current->stack;
    uintptr_t above = (uintptr_t)__builtin_frame_address(0) - (uintptr_t)stack->low;
    return cpu->carrier->port.context != sim_current    ? "another carrier executes it"
           : c->cpu != cpu                              ? "this carrier has another"
           : c->on_signal_stack                         ? "this is the signal stack of its carrier"
           : stack->low != NULL && above >= stack->size ? "this is not the thread's stack"
                                                        : NULL;
}

void port_cpu_back(struct cpu *cpu)
{
    port_cpu_take(cpu->carrier, cpu);
}

void port_cpu_leave(struct thread *t)
{
    struct context *c = &sim.contexts[sim_current];
    c->cpu = NULL;
    c->left = t;
}

void port_carrier_wait(struct carrier *k)
{
    struct context *c = &sim.contexts[k->port.context];
    sim_context_wait(c, UINT64_MAX);
    at_xchg_acq(&c->posted, 0u);
}

void port_carrier_wake(struct carrier *k)
{
    at_xchg_rel(&sim.contexts[k->port.context].posted, 1u);
    sim_context_permit(k->port.context);
}

void sim_device_call(uint64_t after)
{
    context_wake_by(&sim.contexts[DEVICE], sim.now + after);
}

void port_carrier_interrupt(struct carrier *k)
{
    if (sim_kernel.interrupt != NULL) {
        sim_kernel.interrupt(k->port.context);
        return;
    }
    struct context *c = &sim.contexts[k->port.context];
    rt_cancel_set(c->left != NULL ? c->left : c->cpu->current, 0, CANCEL_NOTIFIED);
}

void port_interrupt_accept(void)
{
    if (sim_kernel.accept != NULL) {
        sim_kernel.accept();
    }
}

void port_thread_interrupt(struct thread *t)
{
    if (sim_kernel.thread_interrupt != NULL) {
        sim_kernel.thread_interrupt(t);
    }
}

void port_carrier_ask(void)
{
    sim.ask = true;
    sim_device_call(0);
}

void port_check(void) {}

void port_stack_begin(struct port_stack *stack)
{
    (void)stack;
}

void port_stack_end(struct port_stack *stack)
{
    (void)stack;
}

void port_cpu_stirs(void) {}

void port_calls_watch(void)
{
    sim.watch = true;
    sim_device_call(200);
}

void port_cpu_idle(struct cpu *cpu, uint64_t deadline)
{
    (void)cpu;
    sim_context_wait(&sim.contexts[sim_current], deadline);
}

void port_cpu_kick(struct cpu *cpu)
{
    sim_context_permit(cpu->carrier->port.context);
}

void port_relax(unsigned round)
{
    struct context *c = &sim.contexts[sim_current];
    c->spins = 8;
    sim.steps++;
    if (sim_is_timed()) {
        timed_relax(round);
    } else {
        sim.now += 20;
    }
    sim_check_steps();
    if (sim.pct) {
        c->priority = --sim.floor; /* it waits for somebody: let all others go on */
    }
    sim_switch(true);
}

uint64_t port_now(void)
{
    return sim.now;
}

/* Others run meanwhile; ticks and signals are kept out, as they would switch. */
void sim_irq_window(unsigned long state)
{
    if (state == 0) {
        sim_point(50, 0);
    }
}

void port_timer_set(struct cpu *cpu, uint64_t deadline)
{
    sim.tick_at[cpu->id] = deadline;
    context_wake_by(&sim.contexts[DEVICE], deadline);
}

/* Deliver ticks some time after they are due; watch calls; make carriers. New work is noticed at
 * the end, where no other context runs in between. */
void sim_device(void *unused)
{
    (void)unused;
    for (;;) {
        for (unsigned i = 0; i < sim.config.ncpu; i++) {
            if (sim.tick_at[i] <= sim.now) {
                sim.tick_at[i] = UINT64_MAX;
                rt_on_tick(rt.cpus[i]);
            }
        }
        if (sim.ask) {
            sim.ask = false;
            rt_carrier_add();
        }
        if (!sim_is_timed() && sim_choose(4) == 0) {
            rt_fences_choose(sim_choose(2) != 0);
        }
        if (!sim_is_timed() && sim_choose(16) == 0) {
            rt_call_look(rt.cpus[sim_choose(sim.config.ncpu)]);
        }
        if (sim.watch) {
            sim.watch = false;
            if (rt_calls_scan()) {
                sim.watch = true;
            }
        }
        port_io_poll();
        uint64_t next = sim.ask || sim_fds_due() ? sim.now : sim.watch ? sim.now + 200 : UINT64_MAX;
        for (unsigned i = 0; i < sim.config.ncpu; i++) {
            next = sim.tick_at[i] < next ? sim.tick_at[i] : next;
        }
        context_waits(&sim.contexts[DEVICE], next);
        sim_switch(true);
    }
}

void sim_tick(void)
{
    unsigned long irq;
    rt_self(); /* it may have lost its CPU */
    struct cpu *cpu = rt_enter(&irq);
    rt_charge(cpu, 1);
    rt_leave_woken(irq);
}

void sim_preempt(void)
{
    unsigned long irq;
    rt_enter(&irq);
    rt_preempt();
    rt_leave(irq);
}

bool sim_alloc_fails(void)
{
    unsigned nth = sim.config.fail_alloc, now = ++sim.allocations;
    return nth != 0 && (now == nth || (now > nth && sim.config.fail_more && !sim.mended));
}

void sim_alloc_mend(void)
{
    sim.mended = true;
}

/* malloc keeps what a run frees. Mapping large blocks anew for each of a million runs took most of
 * the time, in faults of fresh pages. */
static __attribute__((constructor)) void keep_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

int port_stack_alloc(struct port_stack *stack, size_t size, size_t guard)
{
    if (sim_alloc_fails()) {
        return -ENOMEM;
    }
    void *low = aligned_alloc(4096, size);
    if (low == NULL || sim.nstacks == SIM_MAX_STACKS) {
        return -ENOMEM;
    }
    *stack = (struct port_stack){.low = low, .size = size, .guard = guard};
    sim.stacks[sim.nstacks++] = *stack;
    sim_mem_forget(low, size);
    return 0;
}

void port_stack_free(struct port_stack *stack)
{
    for (unsigned i = 0; i < sim.nstacks; i++) {
        if (sim.stacks[i].low == stack->low) {
            sim.stacks[i] = sim.stacks[--sim.nstacks];
            sim_mem_forget(stack->low, stack->size);
            memset(stack->low, 0xdd, stack->size);
            free(stack->low);
            return;
        }
    }
    sim_fail("a stack is freed twice");
}

void *port_table_alloc(size_t size)
{
    void *p = aligned_alloc(4096, (size + 4095) & ~(size_t)4095);
    if (p != NULL) {
        memset(p, 0, size);
        sim_mem_forget(p, size);
    }
    return p;
}

void port_table_free(void *p, size_t size)
{
    (void)size;
    free(p);
}

bool port_is_inside(void)
{
    return sim.contexts[sim_current].irq_off != 0;
}

bool port_may_wait(void)
{
    struct context *c = &sim.contexts[sim_current];
    return c->cpu != NULL && c->irq_off == 0;
}

struct thread *port_left_self(void)
{
    return sim.contexts[sim_current].left;
}

struct thread *port_foreign_known(void)
{
    return NULL; /* no foreign thread forks here */
}

struct thread *port_foreign_self(void)
{
    struct context *c = &sim.contexts[sim_current];
    if (c->left != NULL) {
        return c->left;
    }
    if (c->becomes != NULL) {
        return c->becomes;
    }
    if (!c->has_thread) {
        c->has_thread = true;
        thread_init_bare(&c->thread, THREAD_FOREIGN, "foreign");
        at_init(&c->thread.state, (uint32_t)THREAD_RUNNING);
        id_assign(&c->thread);
    }
    return &c->thread;
}

void sim_foreign_becomes(struct thread *t)
{
    struct context *c = &sim.contexts[sim_current];
    c->cpu = NULL;
    c->left = NULL;
    c->becomes = t;
}

static struct context *context_of_waiting(struct thread *t)
{
    if (t->flags & THREAD_AWAY) {
        return &sim.contexts[t->carrier->port.context];
    }
    for (unsigned i = 0; i < sim_ncontexts; i++) {
        if (sim.contexts[i].becomes == t) {
            return &sim.contexts[i];
        }
    }
    return CONTAINER_OF(t, struct context, thread);
}

void port_foreign_park(struct thread *t, uint64_t deadline)
{
    struct context *c = context_of_waiting(t);
    sim_context_wait(c, deadline);
    at_xchg_acq(&c->posted, 0u);
}

void port_foreign_unpark(struct thread *t)
{
    struct context *c = context_of_waiting(t);
    at_xchg_rel(&c->posted, 1u);
    sim_context_permit((unsigned)(c - sim.contexts));
}

int port_foreign_start(void (*fn)(void *), void *arg)
{
    sim_foreign(fn, arg);
    return 0;
}

const char *port_option(const char *name)
{
    static char ncpu[16];
    if (strcmp(name, "cpus") == 0) {
        snprintf(ncpu, sizeof(ncpu), "%u", sim.config.ncpu);
        return ncpu;
    }
    return strcmp(name, "sched") == 0       ? sim.config.sched
           : strcmp(name, "reservoir") == 0 ? sim.config.reservoir
           : strcmp(name, "detour") == 0    ? sim.config.detour
           : strcmp(name, "preempt") == 0   ? sim.config.preempt
           : strcmp(name, "trace") == 0     ? sim_trace_option()
           : strcmp(name, "tracesize") == 0 ? sim_trace_size()
           : strcmp(name, "tracefull") == 0 ? sim_trace_full()
           : strcmp(name, "spares") == 0    ? "4"
           : strcmp(name, "spin") == 0      ? sim_is_timed() ? sim.config.timed->spin : "1"
           : strcmp(name, "stack") == 0     ? "32K"
           : strcmp(name, "tls") == 0       ? sim.tls ? "own" : "shared"
           : sim_is_timed()                 ? timed_option(name)
                                            : NULL;
}

const char *port_option_name(unsigned i)
{
    (void)i;
    return NULL;
}

bool port_preloaded(void)
{
    return false;
}

void port_program_facts(struct port_program_facts *facts)
{
    *facts = (struct port_program_facts){.program = "simulator", .machine = "simulator"};
}

void port_write(const char *text, size_t length)
{
    if (!sim_active) {
        fwrite(text, 1, length, stderr);
        return;
    }
    struct sim_result *r = sim.result;
    size_t n = length < sizeof(r->why) - 1 ? length : sizeof(r->why) - 1;
    memcpy(r->why, text, n);
    r->why[n] = '\0';
}

/* One file, in memory, kept between runs: a run may read what an earlier one wrote. */
static char sim_file[65536];

int port_file_write(const char *path, const char *text, size_t length)
{
    (void)path;
    if (length >= sizeof(sim_file)) {
        return -ENOSPC;
    }
    memcpy(sim_file, text, length);
    sim_file[length] = '\0';
    return 0;
}

char *port_file_read(const char *path, size_t max, size_t *size)
{
    (void)path;
    (void)max;
    *size = strlen(sim_file) + 1;
    char *text = *size > 1 ? port_table_alloc(*size) : NULL;
    return text != NULL ? strcpy(text, sim_file) : NULL;
}

void port_panic(void)
{
    sim_quiet = true;
    sim.result->failed = true;
    sim_leave();
}

void port_error_text(int error, char *text, size_t size)
{
    snprintf(text, size, "error %d", -error);
}

void port_exit_now(int status)
{
    (void)status;
    port_panic();
}

void port_exit(int status)
{
    if (sim.result->exit_status != -1) {
        sim_fail("the program ends twice");
    }
    sim.result->exit_status = status;
    sim_leave();
}
