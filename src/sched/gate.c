/* SPDX-License-Identifier: MIT */
/*
 * gate.c - policy "gate": threads run only while the working sets of all that run fit into the
 * cache that the CPUs share. So none of them evicts what another one uses, and the time that each
 * takes depends less on the others. The policy is not work conserving: a CPU may be without work
 * although threads are ready.
 *
 * A CPU takes the next thread if its working set and those of the threads on the other CPUs fit. If
 * it does not fit, no other thread overtakes it. Which one is next says the option order:
 *
 *   priority  The one of highest priority (under the disciplines fifo: the first). So it is
 *             scheduled if it has the highest priority of all that wait, a CPU is idle, and enough
 *             of the cache is free: Guan, Stigge, Yi and Yu, "Cache-aware scheduling and analysis
 *             for multicores", 2009. There threads are not preempted. Here they are where the
 *             discipline does it: a CPU with a thread of lower priority counts as idle, if the next
 *             thread fits when that one leaves. Only the CPU with the lowest priority is asked.
 *   edf       gate_edf.c: late ones by deadline, then the others by the size of their working sets.
 *
 * A thread that yields, or whose turn is over, leaves the cache to the next one, if that fits then;
 * else it goes on. So threads that wait for a thread that does not fit beside them must block:
 * two that only yield in a loop may keep it out for ever.
 *
 * With working-set=measure the working set of a thread with jobs is measured (core/misses.h). Each
 * operation that may end a thread's turn on a CPU takes the CPU's count of misses before it takes
 * the next thread; so the count is that thread's.
 *
 * No wake-up is lost. A thread that becomes ready and is next, and fits, is announced like any
 * other (PIRN_KICK_ANY); else enqueue answers `later`. An operation that ends with a next thread
 * that fits, and began with none or with one that did not fit, kicks a CPU. From there on the rules
 * of core/wake.h hold: the CPU that takes the thread looks whether there is more (has_work).
 *
 * Lock: cache.lock (RANK_RUNQ), for the queue and the charges.
 */
#include "gate.h"

#include <errno.h>

#include "mutant.h"
#include "runq.h"
#include "wake.h"

enum { ORDER_PRIORITY, ORDER_EDF };

static struct {
    bool edf;     /* (C) option order */
    bool measure; /* (C) option working-set */
    const struct gate_order *order;
    struct runq q; /* (lock) order=priority */
} gate;

static int gate_set_order(const char *value, const char **why)
{
    (void)why;
    gate.edf = sched_choice("priority|edf", value) == ORDER_EDF;
    return 0;
}

static int gate_set_working_set(const char *value, const char **why)
{
    (void)why;
    gate.measure = sched_choice("declared|measure", value) == 1;
    return 0;
}

static bool gate_classless(void)
{
    return gate.edf;
}

/* ---- order=priority ---- */

static void priority_init(void)
{
    ready_init(&gate.q, 0);
}

static void priority_push(struct thread *t, enum pirn_why why, const struct demand_now *now)
{
    (void)now;
    ready_push_locked(&gate.q, t, why);
}

static struct thread *priority_first(void)
{
    return ready_peek_locked(&gate.q);
}

static void priority_take(struct cpu *self, struct thread *t)
{
    struct thread *taken = ready_pop_locked(self, &gate.q);
    RT_ASSERT(taken == t);
    (void)taken;
    (void)t;
}

static unsigned priority_length(void)
{
    return runq_estimate(&gate.q);
}

static void priority_check(void)
{
    ready_check_locked(&gate.q);
}

static const struct gate_order gate_priority = {
    .init = priority_init,
    .push = priority_push,
    .first = priority_first,
    .take = priority_take,
    .length = priority_length,
    .check = priority_check,
};

/* ---- the policy ---- */

static int gate_init(unsigned ncpu)
{
    if (!gate.edf && sched_chosen.discipline == DISCIPLINE_LIFO) {
        rt_refuse(
            "pirn: option sched: policy gate has no discipline lifo. Valid disciplines: auto, "
            "fifo, posix, shmac\n");
    }
    gate.order = gate.edf ? &gate_edf : &gate_priority;
    int error = gate.edf ? 0 : classes_init(1);
    cache_init(ncpu);
    const char *refusal = gate.measure ? misses_start(cache.size) : NULL;
    if (refusal != NULL) {
        rt_refuse("pirn: option sched: policy gate cannot measure working sets: %s. Valid here: "
                  "working-set=declared\n",
                  refusal);
    }
    if (error == 0) {
        gate.order->init();
    }
    return error;
}

static bool gate_has_classes(void)
{
    return !gate.edf && RUNQ_CLASSES(&gate.q) != NULL;
}

/* Another thread is next, perhaps. Returns it. */
static struct thread *next_locked(void)
{
    struct thread *next = gate.order->first();
    cache_next_locked(next);
    return next;
}

static struct pirn_kick gate_enqueue(struct cpu *self, struct thread *t, enum pirn_why why)
{
    struct demand_now now = cache_enters(t);
    spin_lock(&cache.lock, RANK_RUNQ);
    gate.order->push(t, why, &now);
    next_locked();
    bool fits = cache_next_fits(0) && !MUTANT(GATE_LATER);
    bool classes = gate_has_classes();
    uint32_t urgency = classes ? classq_urgency(RUNQ_CLASSES(&gate.q), t) : URGENCY_OTHER;
    spin_unlock(&cache.lock, RANK_RUNQ);
    struct pirn_kick kick = {.cpu = PIRN_KICK_ANY};
    if (classes) {
        kick = classes_kick_lowest(self, urgency);
    }
    if (!fits && !kick.preempt) {
        kick = (struct pirn_kick){.cpu = PIRN_KICK_NONE, .later = true};
    }
    return kick;
}

/* A thread that has waited for free cache is next, and fits. */
static void gate_opens(struct cpu *self, uint32_t urgency)
{
    if (!MUTANT(GATE_QUIET)) {
        rt_kick(self, gate_has_classes() ? classes_kick_lowest(self, urgency)
                                         : (struct pirn_kick){.cpu = PIRN_KICK_ANY});
    }
}

/* A fault: the second thread is taken where the first one does not fit. */
static struct thread *overtake_locked(struct cpu *self, struct classq *q)
{
    struct thread *first = classq_take(q), *t = classq_peek(q);
    if (t != NULL && cache_fits(cache_charge(self), cache_working_set(t))) {
        t = classes_take(self, q, classq_pop(q));
        runq_add_length_locked(&gate.q, -1);
        cache_charge_locked(self, cache_working_set(t));
    } else {
        t = NULL;
    }
    classq_push(q, first, PIRN_WHY_PREEMPT);
    return t;
}

/* The first thread is taken, if it fits beside those of the other CPUs. */
static struct thread *take_locked(struct cpu *self)
{
    struct thread *t = gate.order->first();
    if (t != NULL && !cache_fits(cache_charge(self), cache_working_set(t)) && !MUTANT(GATE_FULL)) {
        STAT_INC(&cache_of(self)->refused);
        if (MUTANT(GATE_OVERTAKES) && gate_has_classes()) {
            return overtake_locked(self, RUNQ_CLASSES(&gate.q));
        }
        t = NULL;
    }
    if (t != NULL) {
        gate.order->take(self, t);
        cache_charge_locked(self, cache_working_set(t));
    }
    return t;
}

/* The CPU is about to take another thread, perhaps. */
static void measure(struct cpu *self)
{
    if (unlikely(gate.measure) && !MUTANT(MISSES_ASTRAY)) {
        misses_charge(self);
    }
}

static struct thread *gate_pick(struct cpu *self)
{
    measure(self);
    bool stops = cache_stops(self);
    if (at_load_rlx(&cache.need) == 0 && (!stops || cache_charge(self) == 0)) {
        cache_of(self)->ends = false;
        if (gate_has_classes()) {
            classes_take(self, RUNQ_CLASSES(&gate.q), NULL);
        }
        return NULL;
    }
    spin_lock(&cache.lock, RANK_RUNQ);
    bool fitted = cache_next_fits(0);
    if (stops) {
        cache_charge_locked(self, 0);
    }
    struct thread *t = take_locked(self);
    if (t == NULL && gate_has_classes()) {
        classes_take(self, RUNQ_CLASSES(&gate.q), NULL);
    }
    struct thread *next = next_locked();
    bool opens = !fitted && cache_next_fits(0);
    uint32_t urgency = opens && gate_has_classes() ? classq_urgency(RUNQ_CLASSES(&gate.q), next)
                                                   : (uint32_t)URGENCY_OTHER;
    spin_unlock(&cache.lock, RANK_RUNQ);
    if (unlikely(opens)) {
        gate_opens(self, urgency);
    }
    return t;
}

static struct thread *gate_preempt(struct cpu *self, struct thread *running, enum pirn_why why)
{
    measure(self);
    spin_lock(&cache.lock, RANK_RUNQ);
    bool fitted = cache_next_fits(0);
    struct thread *t = gate.order->first();
    if (t == NULL || cache_fits(cache_charge(self), cache_working_set(t))) {
        t = ready_preempt_locked(self, &gate.q, running, why);
    } else {
        classq_keep(RUNQ_CLASSES(&gate.q), running);
        classes_take(self, RUNQ_CLASSES(&gate.q), running);
        t = NULL;
    }
    if (t != NULL) {
        cache_charge_locked(self, cache_working_set(t));
    }
    struct thread *next = next_locked();
    bool opens = !fitted && cache_next_fits(0);
    uint32_t urgency = opens ? classq_urgency(RUNQ_CLASSES(&gate.q), next) : 0;
    spin_unlock(&cache.lock, RANK_RUNQ);
    if (opens) {
        gate_opens(self, urgency);
    }
    return t;
}

/* See single_requeue. A thread that was not the next one may be it now, and fit. */
static void gate_requeue(struct thread *t)
{
    spin_lock(&cache.lock, RANK_RUNQ);
    bool fitted = cache_next_fits(0);
    bool queued = classq_queued(t);
    if (queued) {
        classq_requeue(RUNQ_CLASSES(&gate.q), t);
    }
    next_locked();
    bool opens = !fitted && cache_next_fits(0);
    uint32_t urgency = classq_urgency(RUNQ_CLASSES(&gate.q), t);
    spin_unlock(&cache.lock, RANK_RUNQ);
    if (opens) {
        gate_opens(port_cpu_self(), urgency);
    } else if (queued) {
        classes_preempt_lowest(urgency);
    } else {
        classes_look_again(t);
    }
}

static bool gate_has_work(struct cpu *self)
{
    return cache_next_fits(cache_charge(self)) && !MUTANT(GATE_BLIND); /* ORDER(idle-wake) */
}

static unsigned gate_held(void)
{
    spin_lock(&cache.lock, RANK_RUNQ);
    unsigned held = cache_next_fits(0) ? 0 : gate.order->length();
    spin_unlock(&cache.lock, RANK_RUNQ);
    return held;
}

static void gate_check(void)
{
    spin_lock(&cache.lock, RANK_RUNQ);
    gate.order->check();
    cache_check_locked();
    RT_VERIFY(at_load_rlx(&cache.used) <= cache.size);
    RT_VERIFY((at_load_rlx(&cache.need) != 0) == (gate.order->length() != 0));
    spin_unlock(&cache.lock, RANK_RUNQ);
}

static const struct pirn_policy_option gate_options[] = {
    {.name = "order",
     .values = "priority|edf",
     .deflt = "priority",
     .help =
         "the next thread: of highest priority; edf: late ones by deadline, then by the size of "
         "the working set (without classes and disciplines)",
     .set = gate_set_order},
    {.name = "working-set",
     .values = "declared|measure",
     .deflt = "declared",
     .help = "of a thread with a period: as it declares; measure: by the cache misses of its jobs, "
             "as declared until the first job has ended",
     .set = gate_set_working_set},
    CACHE_OPTION,
    DISCIPLINE_OPTIONS,
    {0}};

const struct sched_built_in sched_gate = {
    .policy =
        {
            .name = "gate",
            .help = "threads run while their working sets fit into the shared cache; not work "
                    "conserving",
            .options = SCHED_OPTIONS_OF(gate_options),
            .init = gate_init,
            .fini = FOR_TESTS(classes_fini),
            .enqueue = gate_enqueue,
            .pick = gate_pick,
            .has_work = gate_has_work,
            .thread_exit = cache_thread_exit,
            .stat = cache_stat,
            .held = FOR_TESTS(gate_held),
            .check = FOR_TESTS(gate_check),
        },
    .classes = SCHED_CLASSES(.thread_init = classes_thread_init, .preempt = gate_preempt,
                             .requeue = gate_requeue, .charge = classes_charge),
    .classless = gate_classless,
};
