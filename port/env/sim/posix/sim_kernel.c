/* SPDX-License-Identifier: MIT */
/*
 * sim_kernel.c (simulator) - interrupting contexts, and sleeping in the kernel: see sim_kernel.h.
 */
#include "sim_kernel.h"
#include "sim_posix.h"

#include <stdlib.h>
#include <string.h>

#include "../../../src/core/cancel.h"
#include "../../../src/core/carrier.h"
#include "../../../src/core/mutant.h"
#include "port_calls.h"
#include "port_signals.h"

struct sim_kthread sim_kthreads[SIM_CONTEXTS];

static bool disturbed;

bool *sim_disturbed(void)
{
    return &disturbed;
}

struct sim_kthread *sim_kthread_self(void)
{
    return &sim_kthreads[sim_current];
}

static struct thread *thread_here(void)
{
    struct cpu *cpu = port_cpu_self();
    return cpu != NULL ? cpu->current : port_left_self();
}

static bool *deferred_here(void)
{
    static bool nobodys;
    struct thread *t = thread_here();
    return t != NULL ? &t->port.deferred : &nobodys;
}

/* A thread's, wherever it runs. */
int *sim_errno(void)
{
    struct thread *t = sim_active ? thread_here() : NULL;
    return t != NULL ? &t->port.error : &sim_kthread_self()->error;
}

/* ---- interruption ---- */

void sim_interrupt_send(unsigned context)
{
    struct sim_kthread *k = &sim_kthreads[context];
    sim_kthread_self()->asked++;
    if (k->sent) {
        return;
    }
    k->sent = k->pending = true;
    sim_kthread_self()->sends++;
    if (k->sleeps) {
        sim_context_permit(context);
    }
}

static bool may_come(const struct sim_kthread *k)
{
    return k->pending && !k->blocked && !k->handles;
}

/* As on_cancel of linux_cancel.c. */
void sim_interrupt_take(enum sim_where where)
{
    struct sim_kthread *k = sim_kthread_self();
    bool at_call = where == SIM_CALL || where == SIM_SLEEPS;
    k->sent = k->pending = false;
    k->handles = true;
    enum rt_notice notice = rt_cancel_notice(at_call);
    k->handles = false;
    if (notice == RT_NOTICE_LATER) {
        k->blocked = k->pending = true;
        return;
    }
    if (at_call) {
        k->stopped |= notice != RT_NOTICE_NONE;
        return;
    }
    disturbed |= port_cpu_self() == NULL;
    if (port_is_inside()) {
        *deferred_here() = true;
        return;
    }
    if (where != SIM_USER) {
        return;
    }
    if (notice == RT_NOTICE_STOP && port_cpu_self() != NULL) {
        rt_cancel_async();
    }
    sim_signals_take();
}

/* It was interrupted meanwhile, or by a tick: as PREEMPT_DEFERRED of the Linux port. A thread that
 * was notified while it was ready does not notice here. */
static void leaves(void)
{
    bool *deferred = deferred_here();
    if (*deferred || (sim.preempt && sim_choose(16) == 0)) {
        *deferred = false;
        rt_signals_left();
    }
}

/* At any scheduling point. */
static void point(void)
{
    struct sim_kthread *k = sim_kthread_self();
    if (may_come(k) && k->where != SIM_SLEEPS && sim_choose(2) == 0) {
        sim_interrupt_take(k->where == SIM_USER ? SIM_LIBRARY : k->where);
    }
}

/* In the program's own code: signals that have been sent come; or a tick, which does the same. */
static void user(void)
{
    if (may_come(sim_kthread_self())) {
        sim_interrupt_take(SIM_USER);
    } else if (sim.preempt && !port_is_inside() && sim_choose(8) == 0) {
        rt_cancel_async();
        sim_signals_take();
    }
}

void sim_libc_call(uint32_t ns)
{
    uint64_t until = sim.now + ns;
    sim_unannounced();
    do {
        sim_kernel_sleep(until);
        if (may_come(sim_kthread_self())) {
            sim_interrupt_take(SIM_USER);
        }
    } while (sim.now < until);
}

static void accept(void)
{
    struct sim_kthread *k = sim_kthread_self();
    k->blocked = false;
    if (may_come(k)) {
        sim_interrupt_take(SIM_LIBRARY);
    }
}

/* The carrier of a thread that runs on another CPU. */
static void thread_interrupt(struct thread *t)
{
    struct cpu *cpu = rt_thread_cpu(t);
    if (cpu != NULL && cpu != port_cpu_self()) {
        sim_interrupt_send(cpu->carrier->port.context);
    }
}

long port_stop_call(const void *word, uint32_t bits, const long *args)
{
    struct sim_kthread *k = sim_kthread_self();
    k->stopped = false;
    k->where = SIM_CALL;
    sim_point(51, 0);
    long result = at_load_rlx((_Atomic(uint32_t) *)(uintptr_t)word) & bits ? PORT_CALL_STOPPED : 0;
    sim_point(51, 1);
    if (result == 0 && k->stopped) {
        result = PORT_CALL_STOPPED;
    }
    k->where = SIM_SLEEPS;
    result = result == 0 ? sim_kernel_call(args, true) : result;
    k->where = SIM_LIBRARY;
    sim_point(51, 2);
    return result;
}

/* ---- sleeping ---- */

void sim_kernel_sleep(uint64_t deadline)
{
    struct context *c = &sim.contexts[sim_current];
    struct sim_kthread *k = sim_kthread_self();
    k->sleeps = true;
    if (!may_come(k)) {
        sim_context_wait(c, deadline);
    }
    k->sleeps = false;
}

void sim_kernel_wake(void)
{
    for (unsigned i = 0; i < sim_ncontexts; i++) {
        if (sim_kthreads[i].sleeps) {
            sim_context_permit(i);
        }
    }
}

/* ---- a run ---- */

extern char __start_simstate[], __stop_simstate[];

static struct table {
    struct table *next;
    uint64_t unused; /* keeps the rest aligned as the C library does */
} * tables;

/* The layer's tables, which it never gives back. */
void *sim_table_alloc(size_t size)
{
    struct table *t = calloc(1, sizeof(*t) + size);
    if (t == NULL || sim_alloc_fails()) {
        free(t);
        return NULL;
    }
    t->next = tables;
    tables = t;
    sim_mem_forget(t + 1, size);
    return t + 1;
}

void sim_table_free(void *p, size_t size)
{
    (void)p; /* at the end of the run */
    (void)size;
}

static void begin(void)
{
    static char *fresh;
    size_t size = (size_t)(__stop_simstate - __start_simstate);
    if (fresh == NULL) {
        fresh = malloc(size);
        memcpy(fresh, __start_simstate, size);
    }
    memcpy(__start_simstate, fresh, size);
    while (tables != NULL) {
        struct table *t = tables;
        tables = t->next;
        free(t);
    }
    memset(sim_kthreads, 0, sizeof(sim_kthreads));
    sim_signals_reset();
    sim_process_reset();
    disturbed = false;
}

const struct sim_kernel sim_kernel = {
    .begin = begin,
    .point = point,
    .user = user,
    .interrupt = sim_interrupt_send,
    .accept = accept,
    .thread_interrupt = thread_interrupt,
    .changed = sim_kernel_wake,
    .leaves = leaves,
    .left = sim_process_left,
};
