/* SPDX-License-Identifier: MIT */
/*
 * placement.c - task affinity step by step: where a consumer that wakes is put, and who runs it.
 * The operations of a decorated policy are called as CPUs would, one at a time.
 *
 * The situations are those of the thesis in docs/STATUS.md, section A: Figure 3.14 (the old rule
 * makes the mixers bounce between CPUs), Figure 3.23 (a consumer goes to the head), section 3.5
 * (the waking CPU first; pushed if it is preceded), Figures 4.5 and 4.12 (one sample of the wave
 * and mixer benchmark).
 *
 * Length: the situations share the CPUs and threads that they are made of.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/sched/affinity_queue.h"
#include "../../src/sched/built_in.h"
#include "../../src/sync/sync.h"
#include "mutant.h"

enum { CPUS = 4, WAVES = 4, MIXERS = 3 };

static struct cpu cpus[CPUS];
static struct id_slot slots[64];
static struct thread *made[64];
static unsigned nmade;
static struct pirn_policy table;
static const struct pirn_policy *const policy = &table;
static const char *policy_name, *where;
static int failures;

static void expect(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "FAILED %s, %s: %s\n", policy_name, where, what);
        failures++;
    }
}

static struct thread *fresh(unsigned priority)
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

static void begin(const char *what)
{
    where = what;
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
    if (policy->init(CPUS) != 0) {
        fprintf(stderr, "init\n");
        exit(1);
    }
}

static void depends(struct thread *consumer, struct thread *producer)
{
    expect(rt_producer_add(consumer, producer) == 0, "a dependency is refused");
}

/* t becomes ready: `by` wakes it (-1: a foreign thread does). The kick. */
static int wakes(int by, struct thread *t)
{
    at_store_rlx(&t->state, (uint32_t)THREAD_READY);
    return policy->enqueue(by >= 0 ? &cpus[by] : NULL, t, PIRN_WHY_WAKE).cpu;
}

/* CPU `id` leaves what it runs, which blocks, and takes the next thread; NULL: it has none. */
static struct thread *next(unsigned id)
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

/* t runs on CPU `id` from now on, with whatever rule: as the CPU's last thread it is a producer. */
static void runs(unsigned id, struct thread *t)
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

/* ---- section 3.5 ---- */

static void test_consumer_runs_after_its_producer(void)
{
    begin("a consumer runs next on its producer's CPU");
    struct thread *producer = fresh(0), *consumer = fresh(0), *other = fresh(0);
    depends(consumer, producer);
    runs(2, producer);
    runs(1, other);
    wakes(1, consumer);
    expect(next(1) != consumer, "not on the waking CPU, which runs another thread");
    expect(next(2) == consumer, "on the producer's");
}

static void test_waking_cpu_is_first(void)
{
    begin("the waking CPU is the first choice");
    struct thread *a = fresh(0), *b = fresh(0), *consumer = fresh(0);
    depends(consumer, a);
    depends(consumer, b);
    runs(0, a);
    runs(3, b);
    wakes(3, consumer);
    expect(next(0) != consumer && next(3) == consumer,
           "though another producer was declared first");
}

static void test_idle_cpu_counts_by_its_last_thread(void)
{
    begin("an idle CPU counts by its last thread");
    struct thread *producer = fresh(0), *consumer = fresh(0);
    depends(consumer, producer);
    runs(2, producer);
    expect(next(2) == NULL, "the producer blocks, and its CPU is idle");
    expect(wakes(-1, consumer) == 2, "its CPU is kicked");
    expect(next(2) == consumer, "and runs the consumer");
}

static void test_cpu_that_ran_another_thread_since_is_none(void)
{
    begin("a CPU that has run another thread since is no choice");
    struct thread *producer = fresh(0), *consumer = fresh(0), *other = fresh(0), *waker = fresh(0);
    depends(consumer, producer);
    runs(2, producer);
    runs(2, other);
    runs(0, waker);
    wakes(0, consumer);
    expect(at_load_rlx(&affinity.cpus[2].length) == 0, "it does not get the consumer");
    expect(affinity.cpus[0].counts.standard == 1, "which is placed by the standard rule");
}

/* Figure 3.23: another thread was queued there first. */
static void test_consumer_goes_to_the_head(void)
{
    begin("a consumer goes to the head of the queue");
    struct thread *producer = fresh(0), *consumer = fresh(0), *before = fresh(0);
    depends(consumer, producer);
    runs(1, producer);
    wakes(1, before);
    wakes(1, consumer);
    expect(next(1) == consumer, "it runs before a thread that was there");
    expect(next(1) == before || table.pinned, "which runs next");
}

static void test_latest_consumer_is_first(void)
{
    begin("of two consumers of a CPU the latest is first");
    struct thread *producer = fresh(0), *first = fresh(0), *second = fresh(0);
    depends(first, producer);
    depends(second, producer);
    runs(1, producer);
    wakes(1, first);
    wakes(1, second);
    expect(next(1) == second && next(1) == first, "it goes to the head");
}

static void test_ended_producer_has_no_effect(void)
{
    begin("a producer that has ended has no effect");
    struct thread *producer = fresh(0), *consumer = fresh(0), *later = fresh(0);
    depends(consumer, producer);
    runs(1, producer);
    producer->generation++; /* the slot's next life */
    runs(1, producer);
    runs(0, later);
    wakes(0, consumer);
    expect(at_load_rlx(&affinity.cpus[1].length) == 0, "its slot's next life is another thread");
    at_store_rlx(&producer->state, (uint32_t)THREAD_EXITED);
    expect(rt_producer_add(consumer, producer) == -ESRCH, "and it cannot be declared");
}

static void test_consumer_is_taken_late(void)
{
    begin("only a CPU that has been idle for long takes a consumer");
    struct thread *producer = fresh(0), *consumer = fresh(0), *other = fresh(0);
    depends(consumer, producer);
    runs(1, producer);
    runs(3, other);
    expect(next(3) == NULL, "CPU 3 becomes idle");
    wakes(1, consumer);
    affinity.cpus[3].idle_since = UINT64_MAX / 2; /* not before then */
    affinity.idle_ns = UINT64_MAX / 4;
    bool shares = affinity.shares;
    expect(policy->has_work(&cpus[3]) == shares, "it stays awake for it where threads are shared");
    affinity.cpus[3].idle_since = port_now();
    expect(policy->search(&cpus[3]) == NULL, "it does not take it yet");
    affinity.idle_ns = 0;
    expect(policy->search(&cpus[3]) == (shares ? consumer : NULL), "but later");
    expect(affinity.cpus[3].counts.late == (shares ? 1 : 0), "counted");
}

static void test_cpu_of_a_producer_pulls_at_once(void)
{
    begin("a CPU whose last thread is a producer takes the consumer at once");
    struct thread *a = fresh(0), *b = fresh(0), *consumer = fresh(0);
    depends(consumer, a);
    depends(consumer, b);
    runs(1, a);
    runs(3, b);
    wakes(1, consumer);
    affinity.idle_ns = UINT64_MAX / 4;
    expect(next(3) == NULL, "CPU 3 becomes idle");
    expect(policy->search(&cpus[3]) == (affinity.shares ? consumer : NULL), "and takes it");
    expect(affinity.cpus[3].counts.pulls == (affinity.shares ? 1 : 0), "counted");
}

/* ---- priorities ---- */

static void test_consumer_is_pushed_when_preceded(void)
{
    begin("a consumer that is preceded is pushed to another producer's CPU");
    struct thread *a = fresh(9), *b = fresh(9), *first = fresh(8), *urgent = fresh(7);
    struct thread *low = fresh(2);
    depends(first, a);
    depends(low, a);
    depends(low, b);
    (void)urgent;
    runs(1, a);
    runs(2, b);
    wakes(1, first);
    wakes(1, low);
    expect(affinity.cpus[1].counts.pushes == 1, "counted");
    expect(at_load_rlx(&affinity.cpus[1].length) == 1, "the first CPU has the urgent one");
    expect(next(2) == low, "the other one runs the consumer");
}

static void test_consumer_is_pushed_by_the_standard_rule(void)
{
    begin("a consumer that is preceded everywhere is placed by the policy");
    struct thread *a = fresh(9), *first = fresh(8), *low = fresh(2);
    depends(first, a);
    depends(low, a);
    runs(1, a);
    wakes(1, first);
    wakes(1, low);
    expect(affinity.cpus[1].counts.pushes == 1 && affinity.cpus[1].counts.standard == 1, "counted");
    expect(at_load_rlx(&affinity.cpus[1].length) == 1, "not among the consumers");
    expect(next(1) == first, "the urgent one runs first");
}

static void test_urgent_consumer_preempts(void)
{
    begin("a consumer that is more urgent than its producer preempts it");
    struct thread *producer = fresh(3), *consumer = fresh(5);
    depends(consumer, producer);
    runs(2, producer);
    at_store_rlx(&consumer->state, (uint32_t)THREAD_READY);
    struct pirn_kick kick = policy->enqueue(NULL, consumer, PIRN_WHY_WAKE);
    expect(kick.cpu == 2 && kick.preempt, "its CPU is interrupted");
    expect(policy->preempt(&cpus[2], producer, PIRN_WHY_PREEMPT) == consumer, "and runs it");
}

static void test_priority_change_moves_a_consumer(void)
{
    begin("a consumer whose priority changes is placed by the policy");
    struct thread *producer = fresh(9), *consumer = fresh(5);
    depends(consumer, producer);
    runs(2, producer);
    wakes(2, consumer);
    at_store_rlx(&consumer->priority, 8u);
    policy->requeue(consumer);
    expect(at_load_rlx(&affinity.cpus[2].length) == 0, "it is no longer among the consumers");
}

/* ---- Figures 3.14, 4.5 and 4.12: waves and mixers ---- */

struct sample {
    struct thread *wave[WAVES], *mixer[MIXERS];
};

static struct sample waves_and_mixers(void)
{
    struct sample s;
    for (unsigned i = 0; i < WAVES; i++) {
        s.wave[i] = fresh(0);
    }
    for (unsigned i = 0; i < MIXERS; i++) {
        s.mixer[i] = fresh(0);
    }
    depends(s.mixer[0], s.wave[0]);
    depends(s.mixer[0], s.wave[1]);
    depends(s.mixer[1], s.wave[2]);
    depends(s.mixer[1], s.wave[3]);
    depends(s.mixer[2], s.mixer[0]);
    depends(s.mixer[2], s.mixer[1]);
    return s;
}

/* The figure counts CPUs from 1; here the waves run on 1, 3, 2, 0. Old rule. */
static void test_old_rule_makes_mixers_bounce(void)
{
    begin("Figure 3.14: under the old rule mixer0 leaves the CPU that mixer2 has taken");
    struct sample s = waves_and_mixers();
    runs(3, s.wave[1]);
    runs(1, s.wave[0]);
    runs(2, s.wave[2]);
    runs(0, s.wave[3]);
    expect(next(3) == NULL, "step A: CPU 3 is the least loaded of wave0's and wave1's");
    expect(wakes(1, s.mixer[0]) == 3 && next(3) == s.mixer[0], "mixer0 goes there");
    runs(2, s.mixer[1]);
    expect(next(3) == NULL && next(2) == NULL, "both mixers have ended their part");
    expect(wakes(2, s.mixer[2]) == 3 && next(3) == s.mixer[2],
           "step B: mixer2 takes the first CPU of its list, CPU 3");
    expect(next(1) == NULL, "the waves of the next sample have run on the same CPUs");
    wakes(1, s.mixer[0]);
    expect(next(1) == s.mixer[0], "step C: CPU 3 is taken, and mixer0 bounces to CPU 1");
}

/* The new rule: each mixer runs where the last of its producers has just run. */
static void test_sample_follows_its_data(void)
{
    begin("Figures 4.5, 4.12: a sample follows its data");
    struct sample s = waves_and_mixers();
    for (unsigned i = 0; i < WAVES; i++) {
        runs(i, s.wave[i]);
    }
    expect(next(0) == NULL, "wave0 has ended its part");
    wakes(1, s.mixer[0]);
    expect(next(1) == s.mixer[0], "wave1 wakes mixer0, which runs on wave1's CPU");
    expect(next(3) == NULL, "wave3 has ended its part");
    wakes(2, s.mixer[1]);
    expect(next(2) == s.mixer[1], "wave2 wakes mixer1, which runs on wave2's CPU");
    expect(next(1) == NULL, "mixer0 is ready first");
    wakes(2, s.mixer[2]);
    expect(next(2) == s.mixer[2], "mixer1 wakes mixer2, which runs on mixer1's CPU");
    expect(affinity.cpus[1].counts.here + affinity.cpus[2].counts.here == 3, "three times here");
}

/* ---- affinity=auto ---- */

static struct rt_sem data, room = {.first = 1};
static bool of_room; /* semaphores that threads wait for are of room */

/* t waits for such an object; for a semaphore of data, if it is one. */
static void waits_for(struct thread *t, enum wait_reason reason)
{
    t->wait_reason = (uint8_t)reason;
    t->wait_object = &data;
}

/* The waker, which runs on CPU `by`, wakes t from such a wait so many times; t runs, and blocks. */
static void wakes_often(unsigned by, struct thread *waker, struct thread *t,
                        enum wait_reason reason, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        runs(by, waker);
        waits_for(t, reason);
        if (of_room) {
            t->wait_object = &room;
        }
        wakes((int)by, t);
        for (unsigned cpu = 0; cpu < CPUS && at_load_rlx(&t->state) == THREAD_READY; cpu++) {
            next((by + cpu) % CPUS);
        }
        expect(at_load_rlx(&t->state) == THREAD_RUNNING, "it runs");
        at_store_rlx(&t->state, (uint32_t)THREAD_BLOCKED);
        for (unsigned cpu = 0; cpu < CPUS; cpu++) {
            cpus[cpu].current = cpus[cpu].current == t ? NULL : cpus[cpu].current;
        }
    }
}

/* Is `producer` taken for a producer of t? CPU 3 ran it last; a foreign thread wakes t. */
static bool learned(struct thread *t, struct thread *producer)
{
    runs(3, producer);
    cpus[3].current = NULL;
    waits_for(t, WAIT_SEM);
    wakes(-1, t);
    bool there = at_load_rlx(&affinity.cpus[3].length) == 1;
    for (unsigned cpu = 0; cpu < CPUS && at_load_rlx(&t->state) == THREAD_READY; cpu++) {
        next(cpu);
    }
    at_store_rlx(&t->state, (uint32_t)THREAD_BLOCKED);
    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        cpus[cpu].current = NULL;
    }
    return there;
}

static void test_frequent_waker_is_learned(void)
{
    begin("a thread that wakes another one often is learned");
    struct thread *producer = fresh(0), *consumer = fresh(0), *rare = fresh(0);
    wakes_often(1, producer, consumer, WAIT_SEM, 3);
    expect(!learned(consumer, producer), "not at once");
    wakes_often(2, rare, consumer, WAIT_COND, 1);
    wakes_often(1, producer, consumer, WAIT_COND, 3);
    expect(learned(consumer, producer), "after some times");
    expect(!learned(consumer, rare), "a rare waker is not");
}

static void test_unlocking_is_not_producing(void)
{
    begin("a thread that unlocks what another one waits for is no producer");
    struct thread *holder = fresh(0), *waiter = fresh(0);
    wakes_often(1, holder, waiter, WAIT_MUTEX, 20);
    expect(!learned(waiter, holder), "of a mutex");
    wakes_often(1, holder, waiter, WAIT_FE_EMPTY, 20);
    expect(!learned(waiter, holder), "nor one that empties a word");
    of_room = true;
    wakes_often(1, holder, waiter, WAIT_SEM, 20);
    of_room = false;
    expect(!learned(waiter, holder), "nor one that gives room");
    wakes_often(1, holder, waiter, WAIT_FE_FULL, 8);
    expect(learned(waiter, holder), "but one that fills it");
}

static void test_one_direction_is_learned(void)
{
    begin("of two threads that wake each other one is the producer");
    struct thread *producer = fresh(0), *consumer = fresh(0);
    for (unsigned i = 0; i < 20; i++) {
        wakes_often(1, producer, consumer, WAIT_SEM, 1);
        wakes_often(2, consumer, producer, WAIT_SEM, 1);
    }
    expect(learned(consumer, producer), "the one that began");
    expect(!learned(producer, consumer), "and not the other");
}

static void test_producers_are_forgotten(void)
{
    begin("a producer is forgotten when others wake the thread");
    struct thread *first = fresh(0), *consumer = fresh(0), *others[6];
    wakes_often(1, first, consumer, WAIT_SEM, 8);
    expect(learned(consumer, first), "it was learned");
    for (unsigned i = 0; i < 6; i++) {
        others[i] = fresh(0);
    }
    for (unsigned i = 0; i < 120; i++) {
        wakes_often(1, others[i % 6], consumer, WAIT_SEM, 1);
    }
    expect(!learned(consumer, first), "and is forgotten");
}

static void test_late_consumer_is_unlearned(void)
{
    begin("a placement that kept the consumer waiting is unlearned");
    struct thread *producer = fresh(0), *consumer = fresh(0);
    if (!affinity.shares) {
        return;
    }
    wakes_often(1, producer, consumer, WAIT_SEM, 6);
    expect(learned(consumer, producer), "it was learned");
    for (unsigned i = 0; i < 3; i++) {
        runs(1, producer);
        waits_for(consumer, WAIT_SEM);
        wakes(1, consumer);
        affinity.idle_ns = 0;
        struct thread *t =
            at_load_rlx(&affinity.cpus[1].length) != 0 ? policy->search(&cpus[2]) : next(1);
        expect(t == consumer, "an idle CPU takes it");
        at_store_rlx(&consumer->state, (uint32_t)THREAD_BLOCKED);
        cpus[1].current = NULL;
    }
    expect(!learned(consumer, producer), "and it is no longer placed there");
}

static void learning(void)
{
    test_frequent_waker_is_learned();
    test_unlocking_is_not_producing();
    test_one_direction_is_learned();
    test_producers_are_forgotten();
    test_late_consumer_is_unlearned();
}

/* ---- all ---- */

static void declared(void)
{
    test_consumer_runs_after_its_producer();
    test_waking_cpu_is_first();
    test_idle_cpu_counts_by_its_last_thread();
    test_cpu_that_ran_another_thread_since_is_none();
    test_consumer_goes_to_the_head();
    test_latest_consumer_is_first();
    test_ended_producer_has_no_effect();
    test_consumer_is_taken_late();
    test_cpu_of_a_producer_pulls_at_once();
    test_sample_follows_its_data();
    if (sched_has_classes()) {
        test_consumer_is_pushed_when_preceded();
        test_consumer_is_pushed_by_the_standard_rule();
        test_urgent_consumer_preempts();
        test_priority_change_moves_a_consumer();
    }
}

static void under(const struct sched_built_in *built_in, enum discipline discipline,
                  enum affinity_rule rule, const char *name)
{
    policy_name = name;
    sched_chosen.discipline = discipline;
    affinity.rule = rule;
    affinity.idle_ns = 0;
    sched_use(&table, &built_in->policy);
    sched_settle(&table, false);
    if (rule == AFFINITY_OLD) {
        test_old_rule_makes_mixers_bounce();
    } else {
        declared();
    }
    if (rule == AFFINITY_AUTO) {
        learning();
    }
}

/* In the simulator: a fault that the test must find. */
static void choose_mutant(int argc, char **argv)
{
#ifdef PIRN_SIM
    static const struct {
        const char *name;
        enum mutant mutant;
    } mutants[] = {{"affinity-stale", MUTANT_AFFINITY_STALE},
                   {"affinity-away", MUTANT_AFFINITY_AWAY},
                   {"affinity-tail", MUTANT_AFFINITY_TAIL},
                   {"learn-both", MUTANT_LEARN_BOTH}};
    for (unsigned i = 0; argc == 2 && i < sizeof(mutants) / sizeof(mutants[0]); i++) {
        if (strcmp(argv[1], mutants[i].name) == 0) {
            sim_mutant = mutants[i].mutant;
            return;
        }
    }
#endif
    if (argc != 1) {
        fprintf(stderr, "placement: \"%s\" is no fault that it knows\n", argv[1]);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    choose_mutant(argc, argv);
    static const struct {
        const struct sched_built_in *policy;
        const char *name;
    } all[] = {{&sched_steal, "steal"}, {&sched_single, "single"}, {&sched_dist, "dist"}};
    static const enum discipline disciplines[] = {DISCIPLINE_FIFO, DISCIPLINE_LIFO,
                                                  DISCIPLINE_POSIX, DISCIPLINE_SHMAC};
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        for (unsigned k = 0; k < sizeof(disciplines) / sizeof(disciplines[0]); k++) {
            under(all[i].policy, disciplines[k], AFFINITY_DECLARED, all[i].name);
            under(all[i].policy, disciplines[k], AFFINITY_AUTO, all[i].name);
            under(all[i].policy, disciplines[k], AFFINITY_OLD, all[i].name);
        }
    }
    printf("placement: %s\n", failures == 0 ? "done" : "failed");
    return failures != 0;
}
