/* SPDX-License-Identifier: MIT */
/* placement_steps.c - see placement_steps.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/sched/built_in.h"
#include "../../src/sched/place.h"
#include "mutant.h"
#include "placement_steps.h"
#ifdef PIRN_SIM
#include "sim_internal.h"
#endif

struct cpu cpus[CPUS];
static struct id_slot slots[64];
static struct thread *made[64];
static unsigned nmade;
struct pirn_policy table;
const struct pirn_policy *const policy = &table;
static const char *policy_name, *where;
static int failures;

void expect(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "FAILED %s, %s: %s\n", policy_name, where, what);
        failures++;
    }
}

struct thread *fresh(unsigned priority)
{
    struct thread *t = aligned_alloc(RT_CACHELINE, (sizeof(*t) + 63) & ~(size_t)63);
    if (t == NULL || nmade == sizeof(made) / sizeof(made[0])) {
        perror("thread");
        exit(1);
    }
    memset((void *)t, 0, sizeof(*t));
    memset((void *)&slots[nmade], 0, sizeof(slots[0]));
    t->index = nmade;
    t->generation = 1;
    t->id_slot = &slots[nmade];
    at_init(&t->state, (uint32_t)THREAD_BLOCKED);
    at_init(&t->priority, priority);
    at_init(&t->base_priority, priority);
    at_init(&t->sched.attr, priority != 0 ? (uint32_t)SCHED_CLASS_FIFO : 0u);
    made[nmade++] = t;
    if (policy->thread_init != NULL && policy->thread_init(t, NULL) != 0) {
        fprintf(stderr, "thread_init\n");
        exit(1);
    }
    return t;
}

struct thread *fresh_for(unsigned id, unsigned priority)
{
    struct thread *t = fresh(priority);
    while (table.pinned && pinned_of(t)->home != id) {
        t = fresh(priority);
    }
    return t;
}

#ifdef PIRN_SIM
static void caller_is(struct cpu *cpu)
{
    sim.contexts[sim_current].cpu = cpu;
}
#else
static void caller_is(struct cpu *cpu)
{
    port_tls_self = cpu;
}
#endif

void calls_from(int id)
{
    caller_is(id >= 0 ? &cpus[id] : NULL);
}

void begin(const char *what)
{
    where = what;
    calls_from(-1);
    while (nmade != 0) {
        free(made[--nmade]);
    }
    producers_reset();
    rt.ncpu = CPUS;
    rt.slice_ticks = 1;
    rt.policy = table;
    for (unsigned i = 0; i < CPUS; i++) {
        memset((void *)&cpus[i], 0, sizeof(cpus[i]));
        cpus[i].id = i;
        rt.cpus[i] = &cpus[i];
    }
    if (policy->fini != NULL) {
        policy->fini();
    }
    if (policy->init(CPUS) != 0) {
        fprintf(stderr, "init\n");
        exit(1);
    }
}

void depends(struct thread *consumer, struct thread *producer)
{
    expect(rt_producer_add(consumer, producer) == 0, "a dependency is refused");
}

int wakes(int by, struct thread *t)
{
    at_store_rlx(&t->state, (uint32_t)THREAD_READY);
    return policy->enqueue(by >= 0 ? &cpus[by] : NULL, t, PIRN_WHY_WAKE).cpu;
}

struct thread *next(unsigned id)
{
    struct cpu *cpu = &cpus[id];
    if (cpu->current != NULL) {
        at_store_rlx(&cpu->current->state, (uint32_t)THREAD_BLOCKED);
    }
    if (policy->poll != NULL) {
        policy->poll(cpu);
    }
    cpu->current = policy->pick(cpu);
    if (cpu->current == NULL && policy->idle_enter != NULL) {
        policy->idle_enter(cpu);
    } else if (cpu->current != NULL) {
        at_store_rlx(&cpu->current->state, (uint32_t)THREAD_RUNNING);
    }
    return cpu->current;
}

void runs(unsigned id, struct thread *t)
{
    struct affinity_cpu *q = &affinity.cpus[id];
    at_store_rlx(&q->idle, 0u);
    at_store_rlx(&q->last, t->id_slot);
    at_store_rlx(&q->last_life, t->generation);
    at_store_rlx(&t->id_slot->ran_on, id + 1);
    at_store_rlx(&t->state, (uint32_t)THREAD_RUNNING);
    cpus[id].current = t;
    if (sched_has_classes()) {
        classes_take(&cpus[id], classes_queue(0), t);
    }
}

unsigned waiting(unsigned id)
{
    return at_load_rlx(&affinity.cpus[id].length);
}

static void under(const struct sched_built_in *built_in, enum discipline discipline,
                  enum affinity_rule rule, void (*tests)(void))
{
    sched_chosen.discipline = discipline;
    affinity.rule = rule;
    affinity.idle_ns = 0;
    sched_use(&table, &built_in->policy);
    policy_name = table.name;
    sched_settle(&table, false);
    tests();
}

/* In the simulator: a fault that the test must find. */
static void choose_mutant(int argc, char **argv, const char *name)
{
#ifdef PIRN_SIM
    static const struct {
        const char *name;
        enum mutant mutant;
    } mutants[] = {
        {"affinity-stale", MUTANT_AFFINITY_STALE}, {"affinity-away", MUTANT_AFFINITY_AWAY},
        {"affinity-tail", MUTANT_AFFINITY_TAIL},   {"affinity-behind", MUTANT_AFFINITY_BEHIND},
        {"affinity-left", MUTANT_AFFINITY_LEFT},   {"learn-both", MUTANT_LEARN_BOTH}};
    for (unsigned i = 0; argc == 2 && i < sizeof(mutants) / sizeof(mutants[0]); i++) {
        if (strcmp(argv[1], mutants[i].name) == 0) {
            sim_mutant = mutants[i].mutant;
            return;
        }
    }
#endif
    if (argc != 1) {
        fprintf(stderr, "%s: \"%s\" is no fault that it knows\n", name, argv[1]);
        exit(2);
    }
}

int steps_main(int argc, char **argv, const char *name, void (*tests)(void))
{
    choose_mutant(argc, argv, name);
    static const struct sched_built_in *const all[] = {&sched_steal, &sched_single, &sched_dist};
    static const enum discipline disciplines[] = {DISCIPLINE_FIFO, DISCIPLINE_LIFO,
                                                  DISCIPLINE_POSIX, DISCIPLINE_SHMAC};
    static const enum affinity_rule rules[] = {AFFINITY_DECLARED, AFFINITY_AUTO, AFFINITY_OLD};
    for (unsigned i = 0; i < ARRAY_SIZE(all); i++) {
        for (unsigned k = 0; k < ARRAY_SIZE(disciplines); k++) {
            for (unsigned n = 0; n < ARRAY_SIZE(rules); n++) {
                under(all[i], disciplines[k], rules[n], tests);
            }
        }
    }
    printf("%s: %s\n", name, failures == 0 ? "done" : "failed");
    return failures != 0;
}
