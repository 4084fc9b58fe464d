/* SPDX-License-Identifier: MIT */
/*
 * cancel.c - see cancel.h.
 */
#include "cancel.h"
#include "carrier.h"
#include "id.h"

#include "mutant.h"
#include "port_calls.h"
#include "port_signals.h"
#include "spinlock.h"
#include "wake.h"

#if PORT_SIGNALS
bool rt_signals;
#endif

uint32_t rt_cancel_set(struct thread *self, uint32_t set, uint32_t clear)
{
    uint32_t word = at_load_rlx(&self->cancel);
    while (!at_cas_acq_rel(&self->cancel, &word, (word & ~clear) | set)) { /* ORDER(cancel) */
    }
    return word;
}

/* Under t's join lock. */
static void cancel_locked(struct thread *t)
{
    uint32_t word = at_load_rlx(&t->cancel), next;
    do {
        if (word & (CANCEL_REQUESTED | CANCEL_ENDING)) {
            return;
        }
        next = word | CANCEL_REQUESTED;
        next |= (word & (CANCEL_CALL | CANCEL_DISABLED)) == CANCEL_CALL ? CANCEL_NOTIFIED : 0;
    } while (!at_cas_acq_rel(&t->cancel, &word, next)); /* ORDER(cancel) */
    if (next & CANCEL_NOTIFIED) {
        if (!(word & CANCEL_NOTIFIED)) {
            port_carrier_interrupt(t->carrier);
        }
        return;
    }
    if (!(word & CANCEL_DISABLED)) {
        id_join_clear(t); /* a join that ends closes no cycle */
        at_fence_heavy(); /* ORDER(cancel) */
        waitq_cancel(t);
        if (word & CANCEL_ASYNC) {
            port_thread_interrupt(t);
        }
    }
}

void rt_thread_cancel(struct thread *t)
{
    unsigned long irq;
    rt_self();
    rt_enter(&irq);
    state_lock(&t->join.lock, RANK_JOIN);
    if (!(t->join_flags & JOIN_DONE)) {
        cancel_locked(t);
    }
    state_unlock(&t->join.lock, RANK_JOIN);
    rt_leave_woken(irq);
}

void rt_thread_signal(struct thread *t)
{
    unsigned long irq;
    rt_enter(&irq);
    uint32_t word = at_load_rlx(&t->cancel), next;
    do {
        next = (word & ~(uint32_t)CANCEL_TOLD) | CANCEL_SIGNALLED;
        next |= word & CANCEL_CALL ? (uint32_t)CANCEL_NOTIFIED : 0;
    } while (!at_cas_acq_rel(&t->cancel, &word, next)); /* ORDER(cancel) */
    if (next & CANCEL_NOTIFIED) {
        if (!(word & CANCEL_NOTIFIED)) {
            port_carrier_interrupt(t->carrier);
        }
    } else {
        at_fence_heavy(); /* ORDER(cancel) */
        waitq_interrupt(t);
        if (!carrier_interrupt_left(t)) {
            port_thread_interrupt(t);
        }
    }
    rt_leave(irq); /* the caller may hold a lock */
}

bool rt_cancel_call_begin(struct thread *self)
{
    struct cpu *cpu = port_cpu_self();
    if (cpu != NULL) {
        self->carrier = cpu->carrier; /* there are no spares: it keeps its CPU */
    }
    uint32_t word = rt_cancel_set(self, CANCEL_CALL, 0);
    if (!cancel_is_due(word) && !(word & CANCEL_SIGNALLED)) {
        return true;
    }
    rt_cancel_call_end(self);
    return false;
}

void rt_cancel_call_end(struct thread *self)
{
    uint32_t word = rt_cancel_set(self, 0, CANCEL_CALL);
    for (unsigned round = 0; (word & CANCEL_NOTIFIED) && !MUTANT(CANCEL_LEAVES); round++) {
        port_interrupt_accept();
        port_relax(round);
        word = at_load_acq(&self->cancel); /* ORDER(cancel) */
    }
}

static struct thread *running(void)
{
    struct cpu *cpu = port_cpu_self();
    return cpu != NULL ? cpu->current : port_left_self();
}

enum rt_notice rt_cancel_notice(bool at_call)
{
    struct thread *self = running();
    const uint32_t both = CANCEL_CALL | CANCEL_NOTIFIED;
    if (self == NULL) {
        return RT_NOTICE_NONE;
    }
    if (!at_call && (at_load_rlx(&self->cancel) & both) == both) {
        return RT_NOTICE_LATER;
    }
    uint32_t told = at_load_rlx(&self->cancel) & CANCEL_SIGNALLED ? (uint32_t)CANCEL_TOLD : 0;
    uint32_t word = rt_cancel_set(self, told, CANCEL_NOTIFIED);
    return cancel_is_due(word)       ? RT_NOTICE_STOP
           : word & CANCEL_SIGNALLED ? RT_NOTICE_SIGNAL
                                     : RT_NOTICE_NONE;
}

bool rt_thread_ends(void)
{
    struct thread *self = running();
    return self != NULL && (at_load_rlx(&self->cancel) & CANCEL_ENDING) != 0;
}

bool rt_signalled(void)
{
    struct thread *self = running();
    bool in_call = port_cpu_self() == NULL && self != NULL && self->wait_reason == WAIT_CALL;
    return self != NULL && !in_call && (at_load_rlx(&self->cancel) & CANCEL_SIGNALLED);
}

void rt_signals_left(void)
{
    if (rt_signalled() && rt_personality.signals_act != NULL) {
        rt_signals_act();
    }
}

bool rt_cancel_async_due(void)
{
    struct cpu *cpu = port_cpu_self();
    uint32_t word = cpu != NULL ? at_load_rlx(&cpu->current->cancel) : 0;
    return cancel_is_due(word) && (word & CANCEL_ASYNC) && rt_personality.cancel_act != NULL;
}

void rt_cancel_async(void)
{
    if (rt_cancel_async_due()) {
        rt_personality.cancel_act();
    }
}
