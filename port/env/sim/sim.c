/* SPDX-License-Identifier: MIT */
/*
 * sim.c - the contexts of the simulator, their scheduler, and the run. The calls of port.h are in
 * sim_port.c, the oracle is in sim_oracle.c.
 *
 * Contexts: one per virtual CPU, one device (it delivers ticks, as the timer of a real port would,
 * from outside any CPU), and the foreign kernel threads of the test. Exactly one runs; all others
 * are in port_ctx_switch inside sim_point, or wait.
 *
 * Invariants:
 *   1. Nothing here depends on addresses, wall time or earlier runs.
 *   2. A waiting context becomes runnable by a permit or by its deadline. If no context is
 *      runnable, time jumps to the next deadline; if there is none, the run is a deadlock.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../../src/core/carrier.h"
#include "../../../src/core/demand.h"
#include "../../../src/core/id.h"
#include "../../../src/core/io.h"
#include "../../../src/core/life.h"
#include "../../../src/core/nodes.h"
#include "../../../src/core/prio.h"
#include "../../../src/core/producers.h"
#include "../../../src/sync/futex.h"
#include "../../../src/sync/pollers.h"
#include "../../../src/sync/shared.h"
#include "../../../src/sync/sync.h"
#include "../../../src/sync/timers.h"
#include "../../src/core/runtime.h"
#include "port_preempt.h"
#include "port_processes.h"
#include "port_signals.h"
#include "port_trace.h"
#include "sim_clock.h"
#include "sim_internal.h"

#define HOST_STACK (256u << 10)
#define STEP_LIMIT 400000u
#define STEP_LIMIT_TIMED (1ull << 40)
/* PCT is unfair: a loop that never waits would starve the rest. Longer runs go on as random walks.
 */
#define PCT_STEPS 20000u
/* Contexts start above it; one that falls back gets the next lower value, below all others. */
#define PCT_FLOOR (1ull << 32)

struct sim sim;

unsigned sim_current;
unsigned sim_ncontexts;
bool sim_active;
bool sim_quiet;
enum mutant sim_mutant;

/* xorshift64* */
uint64_t sim_rng_next(struct sim_rng *rng)
{
    uint64_t x = rng->state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    rng->state = x;
    return x * 0x2545f4914f6cdd1dull;
}

uint32_t sim_choose(uint32_t n)
{
    uint32_t choice = (uint32_t)(sim_rng_next(&sim.rng) >> 33) % n;
    sim.hash = (sim.hash ^ choice) * 0x100000001b3ull;
    return choice;
}

uint32_t sim_random(uint32_t n)
{
    return sim_choose(n);
}

uint64_t sim_step(void)
{
    return sim.steps;
}

bool sim_fresh(unsigned context)
{
    return sim.contexts[context].spins != 0;
}

void sim_leave(void)
{
    struct port_ctx gone;
    struct port_note none = {0};
    sim_active = false;
    if (sim_kernel.left != NULL) {
        sim_kernel.left();
    }
    port_ctx_switch(&gone, &sim.driver, none);
    abort();
}

void sim_fail(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    sim_quiet = true;
    if (!sim.result->failed) {
        sim.result->failed = true;
        vsnprintf(sim.result->why, sizeof(sim.result->why), fmt, args);
    }
    va_end(args);
    sim_leave();
}

void context_set_state(struct context *c, enum context_state state)
{
    unsigned n = (unsigned)(c - sim.contexts);
    uint64_t bit = 1ull << (n % 64);
    sim.nrunnable += (state == CTX_RUNNABLE) - (c->state == CTX_RUNNABLE);
    c->state = state;
    sim.runnable[n / 64] =
        state == CTX_RUNNABLE ? sim.runnable[n / 64] | bit : sim.runnable[n / 64] & ~bit;
    timed_changed(c);
}

void context_wake_by(struct context *c, uint64_t deadline)
{
    c->deadline = deadline < c->deadline ? deadline : c->deadline;
    sim.wake_at = deadline < sim.wake_at ? deadline : sim.wake_at;
    timed_changed(c);
}

void context_waits(struct context *c, uint64_t deadline)
{
    c->deadline = UINT64_MAX;
    context_wake_by(c, deadline);
    context_set_state(c, CTX_WAITING);
    sim.permits |= c->permit;
}

static void context_entry(struct port_ctx *from, struct port_ctx *to, void *cpu, void *arg,
                          uintptr_t post)
{
    (void)from, (void)to, (void)cpu, (void)arg, (void)post;
    struct context *c = &sim.contexts[sim_current];
    c->fn(c->arg);
    context_set_state(c, CTX_DONE);
    sim_point(99, 0);
    abort();
}

unsigned sim_context_new(void (*fn)(void *), void *arg, struct cpu *cpu)
{
    if (sim_ncontexts == SIM_CONTEXTS) {
        sim_fail("too many contexts");
    }
    unsigned n = sim_ncontexts++;
    struct context *c = &sim.contexts[n];
    void *stack = c->stack;
    if (stack == NULL) {
        stack = mmap(NULL, HOST_STACK, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    memset((void *)c, 0, sizeof(*c));
    c->stack = stack;
    c->fn = fn;
    c->arg = arg;
    c->cpu = cpu;
    c->clock = sim.now;
    context_set_state(c, CTX_RUNNABLE);
    c->priority = PCT_FLOOR + 1 + sim_choose(1000);
    port_ctx_init(&c->ctx, stack, HOST_STACK, context_entry);
    if (sim_active) {
        sim_mem_inherit(n);
    }
    return n;
}

void sim_context_end(unsigned n)
{
    context_set_state(&sim.contexts[n], CTX_DONE);
}

/* Called whatever the device was doing. */
void sim_device_renew(void)
{
    struct context *c = &sim.contexts[DEVICE];
    c->irq_off = 0;
    c->permit = false;
    port_ctx_init(&c->ctx, c->stack, HOST_STACK, context_entry);
    context_waits(c, UINT64_MAX);
    sim.preempt = sim.watch = sim.ask = false;
    for (unsigned i = 0; i < RT_MAX_CPUS; i++) {
        sim.tick_at[i] = UINT64_MAX;
    }
}

static void contexts_wake_due(void)
{
    if (!sim.permits && sim.now < sim.wake_at) {
        return;
    }
    sim.permits = false;
    sim.wake_at = UINT64_MAX;
    for (unsigned i = 0; i < sim_ncontexts; i++) {
        struct context *c = &sim.contexts[i];
        if (c->state == CTX_WAITING && (c->permit || c->deadline <= sim.now)) {
            context_set_state(c, CTX_RUNNABLE);
        } else if (c->state == CTX_WAITING && c->deadline < sim.wake_at) {
            sim.wake_at = c->deadline;
        }
    }
}

static bool time_jump(void)
{
    uint64_t next = UINT64_MAX;
    for (unsigned i = 0; i < sim_ncontexts; i++) {
        if (sim.contexts[i].state == CTX_WAITING && sim.contexts[i].deadline < next) {
            next = sim.contexts[i].deadline;
        }
    }
    if (next == UINT64_MAX) {
        return false;
    }
    sim.now = next > sim.now ? next : sim.now;
    contexts_wake_due();
    return true;
}

static void describe(struct thread *t, void *arg)
{
    struct sim_result *r = arg;
    size_t n = strlen(r->why);
    if (t->state != THREAD_EXITED && n < sizeof(r->why)) {
        snprintf(r->why + n, sizeof(r->why) - n, " [%u %s %s wait %u]", t->index, t->name,
                 thread_state_name(t->state), t->wait_reason);
    }
}

static void append(void *to, const char *text)
{
    struct sim_result *r = to;
    size_t n = strlen(r->why);
    snprintf(r->why + n, sizeof(r->why) - n, " %s", text);
}

/* Fail and say what every thread does, and how the queues stand. */
static NORETURN void sim_stuck(const char *what)
{
    sim_quiet = true;
    struct sim_result *r = sim.result;
    int n = snprintf(r->why, sizeof(r->why), "%s (step %llu, time %llu, contexts", what,
                     (unsigned long long)sim.steps, (unsigned long long)sim.now);
    for (unsigned i = 0; i < sim_ncontexts && n < 200; i++) {
        n += snprintf(r->why + n, sizeof(r->why) - (size_t)n, " %u:%u/%llu", i,
                      sim.contexts[i].state, (unsigned long long)sim.contexts[i].priority);
    }
    snprintf(r->why + n, sizeof(r->why) - (size_t)n, "):");
    r->failed = true;
    id_for_each(describe, r);
    if (sim_ready_left() != NULL) {
        append(r, sim_ready_left());
    }
    if (rt.policy.dump != NULL) {
        rt.policy.dump(append, r);
    }
    sim_leave();
}

void sim_check_steps(void)
{
    if (sim.steps > sim.config.step_limit) {
        sim_stuck("step limit: no end (livelock?)");
    }
}

static unsigned choose_walk(void)
{
    unsigned k = sim_choose(sim.nrunnable);
    for (unsigned word = 0;; word++) {
        for (uint64_t left = sim.runnable[word]; left != 0; left &= left - 1) {
            if (k-- == 0) {
                return word * 64 + (unsigned)__builtin_ctzll(left);
            }
        }
    }
}

static unsigned choose_pct(void)
{
    unsigned best = SIM_CONTEXTS;
    for (unsigned word = 0; word * 64 < sim_ncontexts; word++) {
        for (uint64_t left = sim.runnable[word]; left != 0; left &= left - 1) {
            unsigned i = word * 64 + (unsigned)__builtin_ctzll(left);
            if (best == SIM_CONTEXTS || sim.contexts[i].priority > sim.contexts[best].priority) {
                best = i;
            }
        }
    }
    return best;
}

static unsigned choose_timed(void)
{
    unsigned next = timed_next();
    if (next == SIM_CONTEXTS) {
        sim_stuck("deadlock");
    }
    return next;
}

static unsigned choose_next(bool must_leave)
{
    if (sim_is_timed()) {
        return choose_timed();
    }
    contexts_wake_due();
    if (sim.nrunnable == 0) {
        if (!time_jump()) {
            sim_stuck("deadlock");
        }
        return choose_next(must_leave);
    }
    if (sim.pct && sim.steps < PCT_STEPS) {
        return choose_pct();
    }
    struct context *self = &sim.contexts[sim_current];
    if (!must_leave && self->state == CTX_RUNNABLE && sim_choose(sim.walk) != 0) {
        return sim_current;
    }
    return choose_walk();
}

void sim_switch(bool must_leave)
{
    unsigned next = choose_next(must_leave);
    if (next == sim_current) {
        return;
    }
    struct context *from = &sim.contexts[sim_current];
    struct port_note none = {0};
    sim_current = next;
    port_ctx_switch(&from->ctx, &sim.contexts[next].ctx, none);
}

/* The running context falls back if its time has come; port_relax counts steps, too, and may have
 * passed by one. */
static void priority_change(void)
{
    sim.change_next = UINT64_MAX;
    for (unsigned i = 0; i < ARRAY_SIZE(sim.change_at); i++) {
        uint64_t at = sim.change_at[i];
        if (sim.steps == at) {
            sim.contexts[sim_current].priority = --sim.floor;
        } else if (at > sim.steps && at < sim.change_next) {
            sim.change_next = at;
        }
    }
}

void sim_point(uint32_t what, uint32_t detail)
{
    sim.steps++;
    if (sim_is_timed()) {
        timed_pass(what, detail);
    } else {
        sim.now += 5;
    }
    sim.hash = (sim.hash ^ (sim_current << 24 ^ what << 16 ^ detail)) * 0x100000001b3ull;
    sim_check_steps();
    if (sim.pct && sim.steps >= sim.change_next) {
        priority_change();
    }
    sim_switch(false);
    if (what <= 3 || what >= 8) { /* anything but a spin */
        struct context *back = &sim.contexts[sim_current];
        back->spins = back->spins > 0 ? back->spins - 1 : 0;
    }
    sim_sample();
    if (sim_kernel.point != NULL && !sim_quiet) {
        sim_kernel.point();
    }
}

/* Wait for a permit or the deadline. */
void sim_context_wait(struct context *c, uint64_t deadline)
{
    sim_point(42, 0);
    /* Sometimes it returns early. In timed runs a permit that is there already may yet arrive. */
    if (sim_is_timed() || (!c->permit && sim_choose(16) != 0)) {
        context_waits(c, deadline);
        sim_switch(true);
    }
    c->permit = false;
}

void sim_context_permit(unsigned n)
{
    sim_point(POINT_PERMIT, n);
    if (sim_is_timed()) {
        timed_permit(&sim.contexts[n]);
    }
    sim.contexts[n].permit = sim.permits = true;
    timed_changed(&sim.contexts[n]);
}

struct main_arg {
    void (*body)(void *);
    void *arg;
};

static void main_context(void *arg)
{
    struct main_arg *m = arg;
    rt_self();
    m->body(m->arg);
    if (sim.config.expect_exit) {
        sim_fail("the program did not end");
    }
    rt_timers_end();
    rt_on_exit();
    /* The last exits may still be on their way to the counters and the stack caches, and the device
     * in the middle of making a carrier: let them finish. */
    for (unsigned round = 0; round < 100000; round++) {
        if (life_count() == 1 && sim.nstacks == 1 + stack_cached() &&
            sim.contexts[DEVICE].state == CTX_WAITING) {
            break;
        }
        rt_yield();
        port_relax(round);
    }
    sim_leave();
}

static void sim_begin(const struct sim_config *config, struct sim_result *result)
{
    sim.config = *config;
    if (sim.config.step_limit == 0) {
        sim.config.step_limit = sim_is_timed() ? STEP_LIMIT_TIMED : STEP_LIMIT;
    }
    sim.result = result;
    memset(result, 0, sizeof(*result));
    result->exit_status = -1;
    sim.rng.state = config->seed * 0x9e3779b97f4a7c15ull + 0x1234567;
    for (int i = 0; i < 4; i++) {
        sim_rng_next(&sim.rng);
    }
    sim.now = 1000000;
    sim.hash = 0xcbf29ce484222325ull;
    sim.steps = 0;
    sim_fds_reset();
    sim_ready_reset();
    sim.preempt = sim.watch = sim.ask = sim.alone = false;
    sim.allocations = 0;
    sim.mended = false;
    sim.sample_ns = sim.sample_at = 0;
    sim.samples = 0;
    sim.nstacks = 0;
    sim_ncontexts = 0;
    memset(sim.runnable, 0, sizeof(sim.runnable));
    sim.nrunnable = 0;
    sim.wake_at = UINT64_MAX;
    sim.permits = false;
    sim.change_next = 0;
    sim_mutant = config->mutant;
    sim.pct = sim_choose(3) == 0;
    sim.tls = sim_choose(2) == 0;
    sim_tls_reset();
    if (sim_kernel.begin != NULL) {
        sim_kernel.begin();
    }
    sim.walk = 1u << sim_choose(6);
    sim.floor = PCT_FLOOR;
    for (unsigned i = 0; i < ARRAY_SIZE(sim.change_at); i++) {
        sim.change_at[i] = sim_choose(1u << (6 + sim_choose(8)));
    }
    for (unsigned i = 0; i < RT_MAX_CPUS; i++) {
        sim.tick_at[i] = UINT64_MAX;
    }
    sim_mem_begin(config->weak, sim_choose(4) != 0);
    sim_ready_begin();
    sim_placing_begin();
    timed_begin();
}

static void sim_end(void)
{
    struct sim_result *r = sim.result;
    bool whole = !r->failed && r->exit_status == -1;
    if (whole) {
        stack_drain_all();
    }
    if (whole && sim.nstacks != 1) { /* CPU 0's scheduler stack remains */
        r->failed = true;
        snprintf(r->why, sizeof(r->why), "%u stacks leaked", sim.nstacks - 1);
    }
    if (whole && sim.tls && sim_tls_blocks() != 1) {
        r->failed = true;
        snprintf(r->why, sizeof(r->why), "%u TLS blocks leaked", sim_tls_blocks() - 1);
    }
    if (whole && !r->failed && sim_ready_left() != NULL) {
        r->failed = true;
        snprintf(r->why, sizeof(r->why), "%s", sim_ready_left());
    }
    while (sim.nstacks != 0) {
        free(sim.stacks[--sim.nstacks].low);
    }
    if (!whole) {
        stack_forget_all();
    }
    const char *why = sim_trace_end();
    if (why != NULL && !r->failed) {
        r->failed = true;
        snprintf(r->why, sizeof(r->why), "trace: %s", why);
    }
    prof_forget();
    if (rt.policy.fini != NULL) {
        rt.policy.fini();
    }
    carrier_reset();
    io_reset();
    for (unsigned i = 0; i < RT_MAX_CPUS && rt.cpus[i] != NULL; i++) {
        free(rt.cpus[i]);
    }
    memset((void *)&rt, 0, sizeof(rt));
    nodes_end();
    producers_reset();
    demands_reset();
    id_reset();
    life_reset();
    rt_futex_reset();
    rt_timers_reset();
    rt_pollers_reset();
    prio_reset();
    rt_shared_reset();
    rt_robust_reset();
    sim_mem_end();
    r->hash = sim.hash;
    r->steps = sim.steps;
}

void sim_run(const struct sim_config *config, void (*body)(void *), void *arg,
             struct sim_result *result)
{
    struct main_arg m = {body, arg};
    struct port_note none = {0};
    sim_begin(config, result);
    sim_context_new(sim_device, NULL, NULL);
    context_waits(&sim.contexts[DEVICE], UINT64_MAX);
    unsigned first = sim_context_new(main_context, &m, NULL);
    sim_current = first;
    sim_quiet = false;
    sim_active = true;
    port_ctx_switch(&sim.driver, &sim.contexts[first].ctx, none);
    sim_active = false;
    sim_quiet = false;
    sim_end();
}

void sim_foreign(void (*fn)(void *), void *arg)
{
    sim_context_new(fn, arg, NULL);
}

/* The simulated process has no limits. */
uint64_t port_memory_limit(void)
{
    return UINT64_MAX;
}

int port_start_enter(void)
{
    return 0;
}

void port_start_leave(int kept)
{
    (void)kept;
}

bool port_start_possible(unsigned ncpu)
{
    return ncpu != 0;
}

void port_start_goes_on(void) {}
