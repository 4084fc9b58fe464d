/* SPDX-License-Identifier: MIT */
/*
 * waits.c - how long threads waited, for what, and where. Called by the hooks of the event trace
 * (core/observe.c) and, before a call that blocks without a word, by the port.
 *
 * A thread's descriptor has when it stopped and when it was woken; when it goes on, the difference
 * is added to the histogram's place for its stack. That is the stack of its saved context, which
 * the CPU that is about to run it walks along. A thread that keeps its kernel thread while it waits
 * (calls, and what waits without a CPU) walks along its own when it is back.
 *
 * Invariants:
 *   1. t->stop_at and stop_why are written when the thread stops, by itself or by the CPU that
 *      leaves it, before anybody can find it; stop_woken by the waker that has unlinked it; all
 *      are read by the CPU that runs it next. So they are ordered as its saved context is.
 *   2. stop_at 0, or before waits.since: nothing is known of this stop.
 *   3. As in sample.c nobody waits, and a place that two make at once is there twice.
 *
 * Walking costs more than most waits take. So of waits shorter than waits.every_ns only some are
 * recorded, by chance, the more of them the longer they are, and count for the others: sums stay
 * right on average, and a stack is looked at once in every_ns of waiting, or less often.
 */
#include "waits.h"

struct waits waits;

#ifndef PIRN_WITHOUT_WAITS

#include <errno.h>
#include <pirn/policy.h>

#include "../trace/trace.h"
#include "cpu.h"
#include "mutant.h"
#include "port_calls.h"
#include "port_prof.h"
#include "runtime.h"
#include "sample.h"
#include "tree.h"

#define PROBES 64u
#define FRAMES_MAX 128u

/* Reasons to stop beside enum wait_reason: the thread stays ready. */
enum { OFF_YIELD = WAIT_REASONS, OFF_PREEMPT, OFF_REASONS };

const char *waits_reason_name(uint32_t reason)
{
    return reason == OFF_YIELD     ? "yield"
           : reason == OFF_PREEMPT ? "preempt"
                                   : thread_wait_name(reason);
}

int waits_make(uint32_t places, uint32_t every_ns)
{
    size_t size = places * sizeof(struct prof_wait);
    waits = (struct waits){.mask = places - 1, .every_ns = every_ns};
    waits.places = port_table_alloc(size);
    if (waits.places == NULL) {
        return -ENOMEM;
    }
    prof_touch(waits.places, size);
    return 0;
}

void waits_drop(void)
{
    waits_set_on(false);
    if (waits.places != NULL) {
        port_table_free(waits.places, ((size_t)waits.mask + 1) * sizeof(struct prof_wait));
        waits.places = NULL;
    }
}

void waits_set_on(bool on)
{
    if (waits.places != NULL) {
        at_store_rlx(&waits.since, (uintptr_t)port_now());
        trace_listen(TRACE_TO_WAITS, on);
    }
}

/* The histogram. */

static bool same(const struct prof_wait_key *a, const struct prof_wait_key *b)
{
    return a->pc == b->pc && a->node == b->node && a->object == b->object &&
           a->reason == b->reason && a->kind == b->kind;
}

static bool place_make(struct prof_wait *w, const struct prof_wait_key *key)
{
    uint32_t state = NODE_FREE;
    if (!at_cas_acq(&w->state, &state, (uint32_t)NODE_MAKING)) {
        return false;
    }
    w->key = *key;
    at_store_rel(&w->state, (uint32_t)NODE_MADE); /* ORDER(prof-node) */
    return true;
}

static struct prof_wait *place_get(const struct prof_wait_key *key)
{
    uint64_t mix = ((uint64_t)key->pc ^ (uint64_t)key->object << 20 ^ (uint64_t)key->node << 40 ^
                    (uint64_t)(key->reason << 1 | key->kind) << 56) *
                   UINT64_C(0xd6e8feb86659fd93);
    uint32_t at = (uint32_t)(mix >> 32) & waits.mask;
    for (uint32_t i = 0; i < PROBES; i++, at = (at + 1) & waits.mask) {
        struct prof_wait *w = &waits.places[at];
        uint32_t state = at_load_acq(&w->state); /* ORDER(prof-node) */
        if ((state == NODE_MADE && same(&w->key, key)) ||
            (state == NODE_FREE && place_make(w, key))) {
            return w;
        }
    }
    return NULL;
}

/* One wait, or what it stands for. */
struct span {
    uint64_t count, waited, ready, longest;
};

static void place_add(const struct prof_wait_key *key, const struct span *span)
{
    struct prof_wait *w = place_get(key);
    if (w == NULL) {
        at_add_rlx(&waits.lost, (uintptr_t)span->count);
        return;
    }
    at_add_rlx(&w->count, (uintptr_t)span->count);
    at_add_rlx(&w->waited, (uintptr_t)span->waited);
    at_add_rlx(&w->ready, (uintptr_t)span->ready);
    uintptr_t longest = at_load_rlx(&w->longest);
    while (longest < span->longest &&
           !at_cas_rlx(&w->longest, &longest, (uintptr_t)span->longest)) {
    }
}

/* Which waits are recorded. */

/* Of a time that nobody can foresee to the nanosecond. */
static uint64_t chance(uint64_t now, uint32_t index)
{
    uint64_t x = (now ^ (uint64_t)index << 40) * UINT64_C(0xd6e8feb86659fd93);
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

/* Shall a wait of `waited` and `ready` be recorded, and for how much does it stand? */
static bool span_is(struct span *span, uint64_t waited, uint64_t ready, uint64_t random)
{
    uint64_t whole = waited + ready, every = waits.every_ns;
    *span = (struct span){1, waited, ready, whole};
    whole += whole == 0;
    if (whole >= every) {
        return true;
    }
    if (random % every >= whole) {
        return false;
    }
    span->count = (every + (random >> 32) % whole) / whole;
    span->waited = waited * every / whole;
    span->ready = ready * every / whole;
    return true;
}

/* Where a thread is. */

static bool walks(const struct prof_thread *p, const struct thread *t, uintptr_t *low,
                  uintptr_t *high)
{
    return sample.frames && p->node == p->root && tree_stack(t, low, high);
}

static uint32_t node_stopped(const struct prof_thread *p, const struct thread *t, uintptr_t *pc)
{
    uintptr_t frames[FRAMES_MAX], low, high;
    if (!walks(p, t, &low, &high)) {
        return p->node;
    }
    unsigned n = port_prof_stopped(&t->ctx, low, high, pc, frames, FRAMES_MAX);
    return n != 0 ? tree_frames(p->node, frames, n) : p->node;
}

static uint32_t node_here(const struct prof_thread *p, const struct thread *t, uintptr_t *pc)
{
    uintptr_t frames[FRAMES_MAX], low, high;
    if (!walks(p, t, &low, &high)) {
        return p->node;
    }
    unsigned n = port_prof_here(low, high, pc, frames, FRAMES_MAX);
    return n != 0 ? tree_frames(p->node, frames, n) : p->node;
}

/* Objects that others know by their addresses, for as long as a profile lasts. */
static uintptr_t object_of(const struct thread *t, uint32_t reason)
{
    switch (reason) {
    case WAIT_MUTEX:
    case WAIT_COND:
    case WAIT_SEM:
    case WAIT_RDLOCK:
    case WAIT_WRLOCK:
    case WAIT_BARRIER:
    case WAIT_ONCE:
    case WAIT_FE_FULL:
    case WAIT_FE_EMPTY:
    case WAIT_FUTEX:
    case WAIT_FLAGS:
    case WAIT_MESSAGE:
    case WAIT_ROOM:
        return (uintptr_t)t->wait_object;
    default:
        return 0;
    }
}

/* t goes on; the caller is t, or the CPU that is about to run it. */
static void goes_on(struct thread *t, uint64_t now, bool stopped)
{
    uint64_t from = t->stop_at, woken = t->stop_woken, end = now > from ? now : from;
    uint32_t reason = t->stop_why, known = t->stop_node;
    struct span span;
    t->stop_at = 0;
    t->stop_node = 0;
    if (from == 0 || from < at_load_rlx(&waits.since)) {
        return;
    }
    uint64_t waited = woken > from && woken < end ? woken - from
                      : reason >= WAIT_REASONS    ? 0
                                                  : end - from;
    if (!span_is(&span, waited, end - from - waited, chance(now, t->index))) {
        return;
    }
    struct thread *self;
    const struct prof_thread *p = tree_self(&self);
    struct prof_wait_key key = {PROF_WAITED, reason, object_of(t, reason), known, 0};
    if (p == NULL) {
        at_add_rlx(&waits.lost, (uintptr_t)span.count);
        return;
    }
    if (known == 0) {
        key.node = stopped ? node_stopped(p, self, &key.pc) : node_here(p, self, &key.pc);
    }
    place_add(&key, &span);
}

static uint32_t stop_reason(const struct thread *t, unsigned post)
{
    switch ((enum post_action)post) {
    case POST_UNLOCK: /* a look at the state that is no scheduling point of the simulator */
        return *(const uint32_t *)&t->state == THREAD_BLOCKED ? t->wait_reason
                                                              : (uint32_t)OFF_YIELD;
    case POST_PARK:
    case POST_LINE:
        return t->wait_reason;
    case POST_PREEMPT:
    case POST_GIVE:
        return OFF_PREEMPT;
    case POST_OFFER:
        return WAIT_IO;
    default:
        return OFF_YIELD;
    }
}

void prof_waits_switch(const struct cpu *cpu, struct thread *prev, unsigned post)
{
    if (cpu->id == RT_NO_CPU) {
        return; /* a thread is back from a call, and becomes ready: prof_waits_called has seen it */
    }
    struct thread *next = cpu->current;
    uint64_t now = port_now();
    if (!(prev->flags & THREAD_IDLE)) {
        prev->stop_at = post == POST_EXIT ? 0 : now;
        prev->stop_woken = 0;
        prev->stop_node = 0;
        prev->stop_why = (uint8_t)stop_reason(prev, post);
    }
    if (!(next->flags & THREAD_IDLE)) {
        goes_on(next, now, true);
    }
}

/* Those that somebody has to release. */
static bool is_lock(uint32_t reason)
{
    return reason == WAIT_MUTEX || reason == WAIT_RDLOCK || reason == WAIT_WRLOCK;
}

/* The caller makes t ready, which has waited for a lock since `from`. */
static void releases(const struct thread *t, uint64_t from, uint64_t now)
{
    struct span span;
    struct thread *self;
    uint64_t waited = now > from ? now - from : 0;
    if (!span_is(&span, waited, 0, chance(now, ~t->index))) {
        return;
    }
    const struct prof_thread *p = tree_self(&self);
    struct prof_wait_key key = {PROF_RELEASED, t->stop_why, object_of(t, t->stop_why), 0, 0};
    if (p == NULL) {
        at_add_rlx(&waits.lost, (uintptr_t)span.count);
        return;
    }
    key.node = node_here(p, self, &key.pc);
    place_add(&key, &span);
}

void prof_waits_wake(const struct cpu *cpu, struct thread *t, unsigned why)
{
    uint64_t from = t->stop_at;
    if (why == PIRN_WHY_YIELD || why == PIRN_WHY_PREEMPT || from == 0 ||
        from < at_load_rlx(&waits.since)) {
        return;
    }
    uint64_t now = port_now();
    bool ended = t->claimable && at_load_rlx(&t->park) != PARK_WOKEN && /* by a timer, a request */
                 !MUTANT(WAITS_TIMER);
    t->stop_woken = now;
    if (is_lock(t->stop_why) && !ended && cpu != NULL && cpu->id != RT_NO_CPU &&
        !(cpu->current->flags & THREAD_IDLE)) {
        releases(t, from, now);
    }
}

void prof_waits_call(struct thread *t)
{
    t->stop_at = port_now();
    t->stop_woken = 0;
    t->stop_why = WAIT_CALL;
}

/* It was not in a call, and goes on without a CPU. */
void prof_waits_left(struct thread *t)
{
    t->stop_at = 0;
}

void prof_waits_called(const struct cpu *cpu, struct thread *t)
{
    if (cpu != NULL) {
        goes_on(t, port_now(), false);
        return;
    }
    t->stop_woken = port_now();
    if (t->stop_at == 0) {
        t->stop_at = t->stop_woken;
        t->stop_why = OFF_PREEMPT;
    }
}

void prof_waits_park(struct thread *t, bool in)
{
    if (!in) {
        goes_on(t, port_now(), false);
        return;
    }
    t->stop_at = port_now();
    t->stop_woken = 0;
    t->stop_why = t->wait_reason;
}

void prof_waits_blocked(const void *context)
{
    struct thread *self;
    uintptr_t low, high, frames[FRAMES_MAX];
    struct prof_thread *p = trace_listeners() & TRACE_TO_WAITS ? tree_self(&self) : NULL;
    if (p == NULL || self == NULL) {
        return;
    }
    self->stop_node = p->node;
    if (walks(p, self, &low, &high)) {
        unsigned n = port_prof_frames(context, low, high, frames, FRAMES_MAX);
        self->stop_node = tree_frames(p->node, frames, n);
    }
}

#endif
