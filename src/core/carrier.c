/* SPDX-License-Identifier: MIT */
/*
 * carrier.c - see carrier.h.
 */
#include <errno.h>
#include <string.h>

#include "../trace/trace.h"
#include "call_sleep.h"
#include "carrier.h"
#include "id.h"
#include "io.h"
#include "mutant.h"
#include "nodes.h"
#include "port_calls.h"
#include "port_foreign.h"
#include "port_io.h"
#include "runtime.h"
#include "spinlock.h"
#include "start_failed.h"
#include "switch.h"
#include "wake.h"
#include "yield.h"

static struct {
    spinlock_t lock;
    struct carrier *first;
    _Atomic(struct carrier *) made; /* (A) never taken out */
    unsigned idle;                  /* spares that wait */
    unsigned extra;                 /* carriers made as spares */
    bool asked;                     /* for one more, and not answered */
    struct carrier *unstarted;      /* its kernel thread was refused; of rt_carrier_add */
} spares;

/* The watch over calls. */
static struct {
    _Atomic(uint32_t) begun;                             /* (A) since the last scan; a hint */
    uint32_t seen[PORT_CALLS_BLOCK ? RT_MAX_CPUS : 1];   /* tickets at the last scan; its own */
    uint32_t looked[PORT_CALLS_BLOCK ? RT_MAX_CPUS : 1]; /* at the last look; its own */
} calls;

CARRIER_STEP void spare_put(struct carrier *k)
{
    spin_lock(&spares.lock, RANK_SPARE);
    k->next_spare = spares.first;
    spares.first = k;
    spares.idle++;
    spin_unlock(&spares.lock, RANK_SPARE);
}

/* Should another one be made, so that one is in reserve? The caller asks for it, without the lock.
 */
static bool spare_wanted_locked(void)
{
    bool ask = spares.idle == 0 && spares.extra < rt.spares && !spares.asked;
    spares.asked |= ask;
    return ask;
}

/* NULL: there is none, and one more was asked for if the limit allows it. */
static struct carrier *spare_take(void)
{
    spin_lock(&spares.lock, RANK_SPARE);
    struct carrier *k = spares.first;
    if (k != NULL) {
        spares.first = k->next_spare;
        spares.idle--;
    }
    bool ask = spare_wanted_locked();
    spin_unlock(&spares.lock, RANK_SPARE);
    if (ask) {
        port_carrier_ask();
    }
    return k;
}

CARRIER_STEP void carrier_give(struct carrier *k, struct cpu *cpu)
{
    at_store_rel(&k->cpu, cpu); /* ORDER(carrier) */
    port_carrier_wake(k);
}

void cpu_init(struct cpu *cpu, unsigned id)
{
    cpu->id = id;
    nodes_cpu_begin(cpu);
    at_init(&cpu->pending, 0u);
    timer_heap_init(&cpu->timers);
    at_init(&cpu->inbox, (struct thread *)NULL);
    at_init(&cpu->created, 0u);
    at_init(&cpu->exited, 0u);
    at_init(&cpu->call, 0u);
}

static void carrier_begins_with(struct carrier *k, struct cpu *cpu)
{
    cpu->carrier = k;
    cpu->idle = cpu->current = &k->idle;
    k->idle.cpu = cpu;
}

/* "idle-12" */
static void idle_name(struct thread *t, uint32_t id)
{
    char name[RT_NAME_MAX] = "idle-", *end = name + 5;
    for (uint32_t rest = id; RT_MAX_CPUS > 10 && rest >= 10; rest /= 10) {
        end++;
    }
    for (char *at = end; at >= name + 5; at--, id /= 10) {
        *at = (char)('0' + id % 10);
    }
    thread_set_name(t, name);
}

int carrier_make(struct carrier **out, struct cpu *cpu)
{
    struct carrier *k = port_table_alloc(sizeof(struct carrier));
    if (k == NULL) {
        return -ENOMEM;
    }
    thread_init_bare(&k->idle, THREAD_IDLE | (rt.tls_room != 0 ? THREAD_TLS : 0), "idle-spare");
    if (cpu != NULL) {
        idle_name(&k->idle, cpu->id);
    }
    at_init(&k->idle.state, (uint32_t)THREAD_READY);
    at_init(&k->cpu, cpu);
    at_init(&k->left, (struct thread *)NULL);
    if (PORT_CALLS_BLOCK) {
        cpu_init(k->limbo, RT_NO_CPU);
        carrier_begins_with(k, k->limbo);
    }
    if (cpu != NULL) {
        carrier_begins_with(k, cpu);
    }
    int error = id_assign(&k->idle);
    if (error != 0) {
        if (!RT_MAIN_STARTS) {
            port_table_free(k, sizeof(struct carrier));
        }
        return error;
    }
    spin_lock(&spares.lock, RANK_SPARE);
    k->next_made = at_load_rlx(&spares.made);
    at_store_rel(&spares.made, k); /* ORDER(carrier) */
    spin_unlock(&spares.lock, RANK_SPARE);
    *out = k;
    return 0;
}

static int spare_make(struct carrier **k)
{
    unsigned long irq = port_irq_save();
    int error = carrier_make(k, NULL);
    port_irq_restore(irq);
    return error;
}

/* Starting a kernel thread calls the program's allocator, which may call us: outside the runtime.
 * */
int rt_carrier_add(void)
{
    struct carrier *k = spares.unstarted;
    int error = k == NULL ? spare_make(&k) : 0;
    if (error == 0) {
        at_init(&k->idle.state, (uint32_t)THREAD_RUNNING);
        error = port_carrier_start(k);
        spares.unstarted = error != 0 ? k : NULL;
    }
    unsigned long irq = port_irq_save();
    spin_lock(&spares.lock, RANK_SPARE);
    spares.asked = false;
    spares.extra += error == 0;
    spin_unlock(&spares.lock, RANK_SPARE);
    port_irq_restore(irq);
    return error;
}

void carrier_carry(struct carrier *k, struct cpu *cpu)
{
    cpu->carrier = k;
    cpu->idle = &k->idle;
    k->idle.cpu = cpu;
    port_cpu_take(k, cpu);
    trace_carry(cpu);
}

struct cpu *carrier_wait(struct carrier *k)
{
    struct cpu **kept = k->kept, *cpu = *kept;
    *kept = NULL;
    port_cpu_leave(&k->idle);
    if (cpu == NULL) {
        at_store_rlx(&k->cpu, (struct cpu *)NULL);
        spare_put(k);
    }
    while (cpu == NULL && (cpu = at_load_acq(&k->cpu)) == NULL) { /* ORDER(carrier) */
        port_carrier_wait(k);
    }
    cpu->current = &k->idle;
    carrier_carry(k, cpu);
    return cpu;
}

void rt_carrier_main(struct carrier *k)
{
    struct cpu *cpu = at_load_rlx(&k->cpu);
    int error = port_carrier_begin(k, &k->idle);
    if (error != 0) {
        start_failed(error, "no memory for the signal stack of a kernel thread");
    }
    if (PORT_CALLS_BLOCK) {
        port_cpu_take(k, k->limbo);
    }
    if (PORT_CALLS_BLOCK && cpu == NULL) {
        cpu = k->limbo; /* it begins with a wait for a CPU */
    } else {
        carrier_carry(k, cpu);
    }
    rt_cpu_main(cpu);
}

#if PORT_CALLS_BLOCK
/* Carriers beside the CPUs' that wait in calls although a CPU could have waited for their
 * descriptors: so many for each CPU, and some. */
#define SLEEPERS_EACH 4u
#define SLEEPERS_MORE 8u

/* Is there a spare, and are not too many in calls? */
static bool spare_is_ready(void)
{
    spin_lock(&spares.lock, RANK_SPARE);
    bool few = spares.extra - spares.idle < SLEEPERS_EACH * rt.ncpu + SLEEPERS_MORE;
    bool ready = spares.idle != 0, ask = few && spare_wanted_locked();
    spin_unlock(&spares.lock, RANK_SPARE);
    if (ask) {
        port_carrier_ask();
    }
    return few && ready;
}

/* A CPU that has something else to run hands it to another carrier, which costs more than a switch;
 * but the thread's wait then costs nothing more. With many threads that wait for descriptors the
 * switch is better. */
static bool calls_pay(struct cpu *cpu)
{
    return !rt_has_work(cpu) || rt_io_waiting() <= rt.ncpu;
}

bool rt_call_sleeps(void)
{
    unsigned long irq;
    struct cpu *cpu = rt_enter(&irq);
    bool sleeps = PORT_CALLS_BLOCK && cpu != NULL && rt.spares != 0 && call_may_sleep() &&
                  calls_pay(cpu) && spare_is_ready();
    rt_leave(irq);
    return sleeps;
}
#endif

/* The call blocks, and k is to go on with the CPU. Returns the call's ticket. The policy is asked
 * first: only it knows whether there is something to run. */
static uint32_t call_blocks(struct cpu *cpu, struct thread *self, struct carrier *k,
                            uint32_t number)
{
    struct thread *next = rt_pick(cpu), **given = cpu->given;
    if (next == NULL && call_may_sleep()) {
        return call_sleep_begin(cpu, self, k, number) ? number | CALL_ASLEEP : 0;
    }
    *given = next;
    port_cpu_leave(self);
    carrier_give(k, cpu);
    return 0;
}

/* The caller has left the CPU. Is it to be watched? */
static void call_watch(struct cpu *cpu)
{
    if (at_load_rlx(&rt.idle_word) & RT_CALLS) { /* ORDER(call-watch) */
        if (!MUTANT(CALL_KEEPS) && rt_has_work(cpu)) {
            rt_calls_tell();
        }
    } else if (!MUTANT(CALL_UNSEEN)) {
        at_store_rlx(&calls.begun, 1u);
        port_calls_watch();
    }
}

void rt_call_begin(struct rt_call *call, bool blocks)
{
    unsigned long irq;
    struct cpu *cpu = rt_enter(&irq);
    call->cpu = cpu;
    if (!PORT_CALLS_BLOCK || cpu == NULL || rt.spares == 0) {
        call->cpu = NULL;
        rt_leave(irq);
        return;
    }
    struct thread *self = cpu->current;
    struct carrier *k = blocks ? spare_take() : NULL;
    trace_call(cpu, self, k != NULL);
    self->wait_reason = WAIT_CALL;
    self->carrier = cpu->carrier;
    cpu->calls = cpu->calls < CALL_NUMBER ? cpu->calls + 1 : 1;
    if (k != NULL) {
        call->ticket = call_blocks(cpu, self, k, cpu->calls);
    } else {
        call->ticket = cpu->calls;
        port_cpu_leave(self);
        at_store_rel(&cpu->call, call->ticket); /* ORDER(call) */
        waker_fence();                          /* ORDER(call-watch) */
        call_watch(cpu);
    }
    rt_leave(irq);
}

/* Inside the runtime, without a CPU; on return with one. */
static void call_return(struct thread *self)
{
    struct carrier *k = self->carrier;
    RT_ASSERT(k != NULL); /* set by the code that took the CPU */
    at_store_rlx(&k->left, (struct thread *)NULL);
    if (*k->kept == NULL && call_sleep_adopt(self)) {
        return;
    }
    trace_called(NULL, self);
    struct cpu *limbo = k->limbo;
    limbo->current = self;
    port_cpu_take(k, limbo);
    switch_to(limbo, &k->idle, POST_RETURN, NULL);
}

void rt_call_end(struct rt_call *call)
{
    if (!PORT_CALLS_BLOCK || call->cpu == NULL) {
        return;
    }
    unsigned long irq = port_irq_save();
    struct thread *self = port_foreign_self();
    struct cpu *cpu = call->cpu;
    uint32_t ticket = call->ticket;
    if (call_is_asleep(ticket)) {
        if (!call_sleep_end(cpu, self, ticket)) {
            call_return(self);
        }
    } else if ((ticket != 0 && at_cas_acq(&cpu->call, &ticket, 0u)) || /* ORDER(call) */
               MUTANT(CALL_BACK)) {
        port_cpu_back(cpu);
        trace_called(cpu, self);
    } else {
        call_return(self);
    }
    self->wait_reason = WAIT_NONE;
    self->carrier = NULL;
    port_irq_restore(irq);
}

/* Leaving may run a handler, which may lose the CPU again. */
void rt_call_return(struct thread *self)
{
    do {
        unsigned long irq = port_irq_save();
        call_return(self);
        self->carrier = NULL;
        port_irq_restore(irq);
    } while (port_cpu_self() == NULL && !MUTANT(RETURN_ONCE));
}

/* The running thread goes on without a CPU. k executes the CPU from now on, beginning with `next`
 * (NULL: the thread that is picked). */
static void cpu_lose(struct cpu *cpu, struct carrier *k, struct thread *next)
{
    struct thread *self = cpu->current, **given = cpu->given;
    RT_ASSERT(!(self->flags & THREAD_IDLE) && *given == NULL);
    RT_ASSERT(at_load_rlx(&k->cpu) == NULL && k != cpu->carrier);
    trace_call(cpu, self, true);
    if (next != NULL) {
        prof_waits_left(self);
    }
    self->carrier = cpu->carrier;
    at_store_rlx(&self->carrier->left, self);
    *given = next;
    port_cpu_leave(self);
    carrier_give(k, cpu);
}

bool rt_call_unannounced(void)
{
    unsigned long irq;
    struct cpu *cpu = rt_enter(&irq);
    struct carrier *k = rt.spares != 0 && rt_may_preempt(cpu) ? spare_take() : NULL;
    if (k != NULL) {
        cpu_lose(cpu, k, NULL);
    }
    rt_leave(irq);
    return k != NULL;
}

enum rt_room rt_preempt_away(void)
{
    unsigned long irq;
    struct cpu *cpu = rt_enter(&irq);
    enum rt_room room = RT_ROOM_NO_CARRIER;
    struct carrier *k = rt.spares != 0 && rt_may_preempt(cpu) ? spare_take() : NULL;
    if (k != NULL) {
        struct thread *next = preempt_next(cpu);
        room = next != NULL ? RT_ROOM_MADE : RT_ROOM_NOBODY;
        if (next != NULL) {
            STAT_INC(&cpu->stats.preemptions);
            STAT_INC(&cpu->stats.handovers);
            cpu_lose(cpu, k, next);
        } else {
            spare_put(k);
        }
    }
    rt_leave(irq);
    return room;
}

void rt_preempt_away_soon(void)
{
    unsigned long irq;
    rt_enter(&irq);
    spin_lock(&spares.lock, RANK_SPARE);
    bool ask = spare_wanted_locked();
    spin_unlock(&spares.lock, RANK_SPARE);
    if (ask) {
        port_carrier_ask();
    }
    rt_leave(irq);
}

void rt_left_returns(void)
{
    rt_call_return(port_left_self());
}

bool rt_left_may_return(void)
{
    struct thread *t = port_cpu_self() == NULL ? port_left_self() : NULL;
    return t != NULL && !(t->flags & THREAD_IDLE) && t->wait_reason != WAIT_CALL;
}

struct carrier *rt_carrier_here(void)
{
    struct cpu *cpu = port_cpu_self();
    struct thread *t = cpu != NULL ? NULL : port_left_self();
    if (cpu != NULL) {
        return cpu->carrier;
    }
    if (t != NULL && (t->flags & THREAD_IDLE)) {
        return CONTAINER_OF(t, struct carrier, idle);
    }
    return t != NULL ? t->carrier : NULL;
}

struct carrier *rt_carrier_left_by(const struct thread *t)
{
    struct carrier *k = at_load_acq(&spares.made); /* ORDER(carrier) */
    while (k != NULL && at_load_rlx(&k->left) != t) {
        k = k->next_made;
    }
    return k;
}

bool carrier_interrupt_left(struct thread *t)
{
    struct carrier *k = rt_carrier_left_by(t);
    if (k != NULL) {
        port_carrier_interrupt(k);
    }
    return k != NULL;
}

void rt_carriers_interrupt(void)
{
    for (struct carrier *k = at_load_acq(&spares.made); k != NULL; k = k->next_made) {
        port_carrier_interrupt(k); /* ORDER(carrier) */
    }
}

static void call_take(struct cpu *cpu, uint32_t ticket)
{
    struct carrier *k = spare_take();
    if (k == NULL) {
        return;
    }
    if (at_cas_acq(&cpu->call, &ticket, 0u)) { /* ORDER(call) */
        carrier_give(k, cpu);
    } else {
        spare_put(k);
    }
}

#if PORT_CALLS_BLOCK
bool rt_cpu_sleeps_in_call(const struct cpu *cpu)
{
    return call_is_asleep(at_load_acq(&cpu->call)); /* ORDER(call) */
}
#endif

/* Of a call that needs its CPU no more than to come back to it; 0: there is none. */
static uint32_t call_ticket(struct cpu *cpu)
{
    uint32_t ticket = at_load_rlx(&cpu->call);
    return call_is_asleep(ticket) ? 0 : ticket;
}

/* Does work wait for a CPU whose thread is in a call? */
static bool calls_hold_work(void)
{
    for (unsigned i = 0; i < rt.ncpu; i++) {
        if (call_ticket(rt.cpus[i]) != 0 && rt_has_work(rt.cpus[i])) {
            return true;
        }
    }
    return false;
}

/* The port stops watching. From now on whoever makes a thread ready must tell it (rt_calls_tell).
 * False: a thread waits already, so the port must go on. */
static bool calls_leave(void)
{
    at_or_acq_rel(&rt.idle_word, RT_CALLS); /* ORDER(call-watch) */
    sleeper_fence();                        /* ORDER(idle-wake) */
    if (!MUTANT(CALL_BLIND) && calls_hold_work()) {
        at_and_acq_rel(&rt.idle_word, ~RT_CALLS);
        return false;
    }
    return true;
}

bool rt_calls_scan(void)
{
    bool any = at_xchg_acq(&calls.begun, 0u) != 0, again = false;
    unsigned long irq = port_irq_save();
    sleeper_fence(); /* ORDER(call-watch) */
    for (unsigned i = 0; i < rt.ncpu; i++) {
        struct cpu *cpu = rt.cpus[i];
        uint32_t ticket = call_ticket(cpu);
        bool work = ticket != 0 && rt_has_work(cpu);
        if (work && ticket == calls.seen[i]) {
            call_take(cpu, ticket);
        }
        calls.seen[i] = ticket;
        any |= ticket != 0;
        again |= work;
    }
    again = again || (any && !calls_leave());
    port_irq_restore(irq);
    return again;
}

void rt_call_look(struct cpu *cpu)
{
    unsigned long irq = port_irq_save();
    uint32_t ticket = call_ticket(cpu);
    RT_ASSERT(cpu->id < rt.ncpu && port_cpu_self() == NULL);
    if (ticket != 0 && ticket == calls.looked[cpu->id]) {
        call_take(cpu, ticket);
    }
    calls.looked[cpu->id] = ticket;
    port_irq_restore(irq);
}

void carrier_reset(void)
{
    struct carrier *k = at_load_rlx(&spares.made);
    while (k != NULL) {
        struct carrier *next = k->next_made;
        port_table_free(k, sizeof(struct carrier));
        k = next;
    }
    carrier_forked();
}

void carrier_forked(void)
{
    spares.first = spares.unstarted = NULL;
    at_init(&spares.made, (struct carrier *)NULL);
    spares.idle = spares.extra = 0;
    spares.asked = false;
    at_init(&spares.lock.word, 0u);
    memset(&calls, 0, sizeof(calls));
}
