/* SPDX-License-Identifier: MIT */
/*
 * sim_oracle.c - finds CPUs that sleep although they have work. It looks when a context leaves the
 * runtime, nobody else is inside, and no wake-up is on its way. It asks the policy (has_work), and
 * a record of the ready threads that is kept here.
 *
 * The core tells the record when it hands a thread to the policy and when it takes one back
 * (core/handed.h). The policy is not asked. By the record a run fails when
 *   1. an operation returns a thread that is not ready, or that is bound to another CPU;
 *   2. a CPU switches to a thread that the policy still has, or, if the policy is pinned, to one
 *      that has run on another CPU before and never had a producer (task affinity moves those);
 *   3. enqueue names a CPU that does not exist, or answers PIRN_KICK_NONE to a caller that has
 *      none (except with `later`), or `later` though the policy holds nothing back;
 *   4. a CPU sleeps, and may run a thread that is ready. Which ones no CPU may run the policy tells
 *      (held): as many fewer have to run;
 *   5. the run is over, and the policy still has a thread.
 *
 * The answer of enqueue says which CPUs may run a thread. PIRN_KICK_ANY: all. If the policy is
 * pinned, a number: that CPU; PIRN_KICK_NONE: the caller. If it is not pinned, a number or NONE
 * means that a CPU keeps a thread for itself for the moment. Which one that is may change inside
 * the policy, the number of them does not. So each CPU that is awake may keep as many ready threads
 * as the policy has been seen to keep for one CPU, and may first do what was posted to it.
 *
 * Nothing here is a scheduling point: a seed's run is the same with and without.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../src/core/call_sleep.h"
#include "../../../src/core/carrier.h"
#include "../../../src/core/handed.h"
#include "../../../src/core/id.h"
#include "../../../src/core/wake.h"
#include "sim_internal.h"

enum { FREE = -1 }; /* in place of a CPU: any, none yet */

/* By the thread's index. A stay is the time from an enqueue, or a move, to its end. */
struct entry {
    uint32_t generation, stay;
    bool known, ready;
    int bound;    /* may run on this CPU only; FREE */
    int home;     /* pinned: runs there, unless it chooses another; FREE: has not run yet */
    int taken_by; /* CPU that ended the stay */
    int from;     /* CPU that began it; FREE: a kernel thread that is none */
    uint64_t since;
    char name[RT_NAME_MAX];
};

static struct {
    struct entry *entries;
    uint32_t room, used;
    unsigned ready, bound[RT_MAX_CPUS];
    unsigned kept; /* most that were bound to one CPU at a time */
} with_policy;

void sim_ready_begin(void)
{
    memset(with_policy.entries, 0, with_policy.used * sizeof(struct entry));
    memset(with_policy.bound, 0, sizeof(with_policy.bound));
    with_policy.used = with_policy.ready = with_policy.kept = 0;
}

static struct entry *entry_at(uint32_t index)
{
    if (index >= with_policy.room) {
        uint32_t room = (index + 64) * 2;
        struct entry *entries = realloc(with_policy.entries, room * sizeof(struct entry));
        if (entries == NULL) {
            abort();
        }
        memset(entries + with_policy.room, 0, (room - with_policy.room) * sizeof(struct entry));
        with_policy.entries = entries;
        with_policy.room = room;
    }
    with_policy.used = index >= with_policy.used ? index + 1 : with_policy.used;
    return &with_policy.entries[index];
}

/* "3", "3 main". */
static const char *label(const struct entry *e)
{
    static char text[RT_NAME_MAX + 16];
    snprintf(text, sizeof(text), "%u%s%.*s", (unsigned)(e - with_policy.entries),
             e->name[0] != '\0' ? " " : "", (int)sizeof(e->name), e->name);
    return text;
}

/* Of a thread that exists: the entry of its present life. */
static struct entry *entry_of(const struct thread *t)
{
    struct entry *e = entry_at(t->index);
    if (!e->known || e->generation != t->generation) {
        if (e->ready) {
            sim_fail("oracle: thread %s has ended, and the policy still has it", label(e));
        }
        *e = (struct entry){.known = true,
                            .generation = t->generation,
                            .stay = e->stay,
                            .bound = FREE,
                            .home = FREE};
    }
    memcpy(e->name, t->name, sizeof(e->name));
    return e;
}

static int cpu_id(const struct cpu *cpu)
{
    return cpu != NULL ? (int)cpu->id : FREE;
}

static void bind(struct entry *e, int cpu)
{
    e->bound = cpu;
    if (cpu != FREE) {
        unsigned n = ++with_policy.bound[cpu];
        with_policy.kept = n > with_policy.kept ? n : with_policy.kept;
    }
}

static void unbind(struct entry *e)
{
    if (e->bound != FREE) {
        with_policy.bound[e->bound]--;
        e->bound = FREE;
    }
}

static void leaves(struct entry *e)
{
    e->ready = false;
    with_policy.ready--;
    unbind(e);
}

/* ---- core/handed.h ---- */

uint64_t ready_give(struct cpu *self, struct thread *t)
{
    struct entry *e = entry_of(t);
    if (e->ready) {
        sim_fail("oracle: thread %s becomes ready, and has been since step %llu", label(e),
                 (unsigned long long)e->since);
    }
    e->ready = true;
    e->stay++;
    e->from = cpu_id(self);
    e->bound = FREE;
    e->since = sim.steps;
    with_policy.ready++;
    return (uint64_t)t->index << 32 | e->stay;
}

/* Not in the step tests of a policy, which call its operations and keep no record. */
static bool is_kept(void)
{
    return at_peek(&rt.started) != 0;
}

uint64_t ready_move(const struct thread *t)
{
    if (!is_kept()) {
        return 0;
    }
    struct entry *e = entry_of(t);
    if (!e->ready) {
        sim_fail("oracle: thread %s goes to another CPU, and is not ready", label(e));
    }
    unbind(e);
    e->stay++;
    return (uint64_t)t->index << 32 | e->stay;
}

/* FREE: any. */
static int bound_by(struct cpu *self, struct pirn_kick kick)
{
    if (kick.cpu == PIRN_KICK_ANY || kick.later || (kick.preempt && !rt.policy.pinned)) {
        return FREE;
    }
    return kick.cpu == PIRN_KICK_NONE ? cpu_id(self) : kick.cpu;
}

void ready_given(struct cpu *self, uint64_t ticket, struct pirn_kick kick)
{
    if (!is_kept()) {
        return;
    }
    struct entry *e = entry_at((uint32_t)(ticket >> 32));
    if (kick.cpu < PIRN_KICK_ANY || kick.cpu >= (int)rt.ncpu ||
        (kick.cpu == PIRN_KICK_NONE && self == NULL && !kick.later) ||
        (kick.later && (kick.cpu != PIRN_KICK_NONE || rt.policy.held == NULL))) {
        sim_fail("oracle: enqueue of thread %s answers %d to %s, of %u CPUs: nobody may run it",
                 label(e), kick.cpu, self != NULL ? "a CPU" : "a kernel thread that is no CPU",
                 rt.ncpu);
    }
    int bound = bound_by(self, kick);
    if (e->stay != (uint32_t)ticket) {
        return; /* it has come and gone */
    }
    if (e->ready) {
        bind(e, bound);
    } else if (rt.policy.pinned && bound != FREE && e->taken_by != bound) {
        sim_fail("oracle: CPU %d has taken thread %s, which CPU %d alone may run", e->taken_by,
                 label(e), bound);
    }
}

void ready_keep(uint64_t ticket)
{
    struct entry *e = entry_at((uint32_t)(ticket >> 32));
    if (!e->ready || e->stay != (uint32_t)ticket) {
        sim_fail("oracle: rotate answers NULL, and another CPU has taken thread %s", label(e));
    }
    leaves(e);
}

struct thread *ready_take(struct cpu *cpu, struct thread *t, const char *by)
{
    if (t == NULL) {
        return NULL;
    }
    struct entry *e = entry_of(t);
    if (!e->ready) {
        sim_fail("oracle: %s of CPU %d returns thread %s, which is not ready", by, cpu_id(cpu),
                 label(e));
    }
    if (cpu != NULL && t == cpu->current) {
        sim_fail("oracle: %s of CPU %d returns thread %s, which runs", by, cpu_id(cpu), label(e));
    }
    if (rt.policy.pinned && e->bound != FREE && cpu != NULL && e->bound != cpu_id(cpu)) {
        sim_fail("oracle: %s of CPU %d returns thread %s, which CPU %d alone may run", by,
                 cpu_id(cpu), label(e), e->bound);
    }
    leaves(e);
    e->taken_by = cpu_id(cpu);
    if (cpu != NULL) {
        sim_placing_takes(cpu, t, by);
    }
    return t;
}

void ready_run(struct cpu *cpu, struct thread *t)
{
    if (t->flags & THREAD_IDLE) {
        return;
    }
    struct entry *e = entry_of(t);
    if (e->ready) {
        sim_fail("oracle: CPU %d switches to thread %s, which the policy still has", cpu_id(cpu),
                 label(e));
    }
    bool follows = t->id_slot->consumer != NULL; /* it has had producers */
    if (rt.policy.pinned && !follows && e->home != FREE && e->home != cpu_id(cpu)) {
        sim_fail("oracle: CPU %d runs thread %s of a pinned policy, which has run on CPU %d",
                 cpu_id(cpu), label(e), e->home);
    }
    e->home = cpu_id(cpu);
    sim_placing_runs(cpu, t);
}

void ready_bound(const struct thread *t)
{
    entry_of(t)->home = FREE;
}

/* ---- the oracle ---- */

/* In the idle loop, and in no call; or in a call, as it has nothing to run. */
static bool asleep(unsigned i)
{
    const struct cpu *cpu = rt.cpus[i];
    const struct context *c = &sim.contexts[cpu->carrier->port.context];
    uint32_t ticket = at_load_rlx(&rt.cpus[i]->call);
    if (call_is_asleep(ticket)) {
        return true;
    }
    return ticket == 0 && c->cpu == cpu && c->state == CTX_WAITING &&
           (cpu->current->flags & THREAD_IDLE) != 0;
}

/* That has been ready for longest, of those bound to a CPU (FREE: of all). */
static const struct entry *oldest(int bound)
{
    const struct entry *found = NULL;
    for (uint32_t i = 0; i < with_policy.used; i++) {
        const struct entry *e = &with_policy.entries[i];
        if (e->ready && (bound == FREE || e->bound == bound) &&
            (found == NULL || e->since < found->since)) {
            found = e;
        }
    }
    return found;
}

static NORETURN void sleeps_beside(unsigned cpu, const struct entry *e)
{
    char from[32] = "a kernel thread that is no CPU";
    if (e->from != FREE) {
        snprintf(from, sizeof(from), "CPU %d", e->from);
    }
    sim_fail("oracle: CPU %u sleeps, and may run thread %s, which %s made ready at step %llu", cpu,
             label(e), from, (unsigned long long)e->since);
}

/* Has a CPU that is awake something to do first? */
static bool posted(void)
{
    for (unsigned i = 0; i < rt.ncpu; i++) {
        if (!asleep(i) && at_load_rlx(&rt.cpus[i]->pending) != 0) {
            return true;
        }
    }
    return false;
}

/* Ready threads that each CPU which is awake may keep while others sleep: SPARE of request.c less
 * one; of another policy as many as have been seen. */
static unsigned keeps(void)
{
    return strcmp(rt.policy.name, "request") == 0 ? 1 : with_policy.kept;
}

/* The record's answer. */
static void ready_check(void)
{
    unsigned sleepers = 0, sleeper = 0, bound = 0;
    unsigned held = rt.policy.held != NULL ? rt.policy.held() : 0;
    if (held > with_policy.ready) {
        sim_fail("oracle: the policy holds %u threads back, and %u are ready", held,
                 with_policy.ready);
    }
    if (with_policy.ready == held) {
        return;
    }
    for (unsigned i = 0; i < rt.ncpu; i++) {
        if (!asleep(i)) {
            bound += with_policy.bound[i];
            continue;
        }
        if (rt.policy.pinned && with_policy.bound[i] != 0) {
            sleeps_beside(i, oldest((int)i));
        }
        sleepers++;
        sleeper = i;
    }
    unsigned kept = rt.policy.pinned ? bound : (rt.ncpu - sleepers) * keeps();
    if (sleepers != 0 && with_policy.ready - held > kept && (keeps() == 0 || !posted())) {
        sleeps_beside(sleeper, oldest(FREE));
    }
}

/* No CPU is inside the runtime, and no permit is on its way. */
static bool quiet(void)
{
    for (unsigned i = 0; i < sim_ncontexts; i++) {
        const struct context *c = &sim.contexts[i];
        if (c->permit || (c->state == CTX_RUNNABLE && (i == DEVICE || c->irq_off != 0))) {
            return false;
        }
    }
    return true;
}

static void oracle(void)
{
    for (unsigned i = 0; i < rt.ncpu; i++) {
        uint32_t ticket = at_load_rlx(&rt.cpus[i]->call);
        bool in_call = ticket != 0 && !call_is_asleep(ticket);
        if (in_call && !sim.watch && !(at_peek(&rt.idle_word) & RT_CALLS)) {
            sim_fail("oracle: CPU %u is in a call, and nobody watches it, or will", i);
        }
        if (in_call && !sim.watch && rt_has_work(rt.cpus[i])) {
            sim_fail("oracle: work waits for CPU %u, which is in a call that nobody watches", i);
        }
        if (asleep(i) && rt.policy.has_work(rt.cpus[i])) {
            sim_fail("oracle: CPU %u sleeps while work it may run exists", i);
        }
    }
    ready_check();
    if (rt.policy.check != NULL) {
        rt.policy.check();
    }
}

void sim_oracle(void)
{
    if (at_load_rlx(&rt.started) != 2) {
        return;
    }
    sim_quiet = true;
    if (quiet()) {
        oracle();
    }
    sim_quiet = false;
}

const char *sim_ready_left(void)
{
    static char text[128];
    const struct entry *e = oldest(FREE);
    if (e == NULL) {
        return NULL;
    }
    snprintf(text, sizeof(text), "oracle: thread %s has been with the policy since step %llu",
             label(e), (unsigned long long)e->since);
    return text;
}
