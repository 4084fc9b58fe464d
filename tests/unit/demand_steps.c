/* SPDX-License-Identifier: MIT */
/*
 * demand_steps.c - the policies gate and groups step by step: which thread a CPU takes, and when it
 * takes none. Their operations are called as CPUs would, one at a time.
 *
 * The task set of gate's first tests is the example of the thesis in docs/STATUS.md, section A:
 * Table 2.1 and Figure 2.4.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/sched/built_in.h"
#include "../../src/sched/cache.h"
#include "../../src/sched/classes.h"
#include "mutant.h"

#ifdef PIRN_SIM
#include "../../port/env/sim/sim_internal.h"
#endif

enum { CPUS = 4, THREADS = 16 };

static struct cpu cpus[CPUS];
static struct thread *idle[CPUS], *made[THREADS];
static struct id_slot slots[THREADS];
static unsigned nmade;
static struct pirn_policy table;
static const struct pirn_policy *const policy = &table;
static const char *where = "start";
static int failures;

static void expect(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "FAILED %s: %s\n", where, what);
        failures++;
    }
}

static void must(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "demand steps: %s\n", what);
        exit(1);
    }
}

static struct thread *blank(uint32_t flags)
{
    struct thread *t = aligned_alloc(RT_CACHELINE, (sizeof(*t) + 63) & ~(size_t)63);
    must(t != NULL, "no memory");
    memset((void *)t, 0, sizeof(*t));
    t->flags = flags;
    return t;
}

/* A blocked thread of this priority (0: class OTHER). */
static struct thread *fresh(unsigned priority, uint64_t working_set, uint32_t group)
{
    struct thread *t = blank(0);
    must(nmade < THREADS, "too many threads");
    memset((void *)&slots[nmade], 0, sizeof(slots[0]));
    t->id_slot = &slots[nmade];
    t->index = nmade;
    t->generation = 1;
    at_init(&t->state, (uint32_t)THREAD_BLOCKED);
    at_init(&t->priority, priority);
    at_init(&t->base_priority, priority);
    at_init(&t->sched.attr, priority != 0 ? (uint32_t)SCHED_CLASS_FIFO : 0u);
    made[nmade++] = t;
    must(policy->thread_init == NULL || policy->thread_init(t, NULL) == 0, "thread_init");
    struct rt_demand demand = {.working_set = working_set, .group = group};
    must(rt_demand_set(t, &demand) == 0, "demand");
    return t;
}

static void set(const struct sched_built_in *built_in, const char *name, const char *value)
{
    const char *why = NULL;
    const struct pirn_policy_option *o = built_in->policy.options;
    while (strcmp(o->name, name) != 0) {
        o++;
    }
    must(o->set(value, &why) == 0, name);
}

static void begin(const struct sched_built_in *built_in, const char *option, const char *value,
                  unsigned ncpu, const char *what)
{
    where = what;
    while (nmade != 0) {
        free(made[--nmade]);
    }
    demands_reset();
    set(built_in, option, value);
    set(built_in, "cache", "4");
    sched_use(&table, &built_in->policy);
    sched_settle(&table, false);
    rt.ncpu = ncpu;
    rt.slice_ticks = 1;
    rt.policy = table;
    for (unsigned i = 0; i < ncpu; i++) {
        memset((void *)&cpus[i], 0, sizeof(cpus[i]));
        cpus[i].id = i;
        cpus[i].current = idle[i];
        rt.cpus[i] = &cpus[i];
    }
    must(policy->init(ncpu) == 0, "init");
}

/* t becomes ready: a foreign thread wakes it. */
static struct pirn_kick wakes(struct thread *t)
{
    at_store_rlx(&t->state, (uint32_t)THREAD_READY);
    return policy->enqueue(NULL, t, PIRN_WHY_WAKE);
}

/* CPU `id` leaves what it runs, which blocks, and takes the next thread; NULL: it has none. */
static struct thread *next(unsigned id)
{
    struct cpu *cpu = &cpus[id];
    if (at_load_rlx(&cpu->current->state) == THREAD_RUNNING) {
        at_store_rlx(&cpu->current->state, (uint32_t)THREAD_BLOCKED);
    }
    struct thread *t = policy->pick(cpu);
    cpu->current = t != NULL ? t : idle[id];
    if (t != NULL) {
        at_store_rlx(&t->state, (uint32_t)THREAD_RUNNING);
    }
    bool gated = policy->held == NULL || at_load_rlx(&cache.used) <= cache.size;
    expect(gated, "the working sets that run fit");
    if (gated) {
        policy->check();
    }
    return t;
}

static unsigned held(void)
{
    return policy->held();
}

/* ---- gate, order=priority: Table 2.1 ---- */

static const struct {
    unsigned period, cost, working_set;
} tasks[] = {{3, 2, 1}, {4, 3, 2}, {5, 3, 2}, {8, 3, 1}};
enum { TASKS = 4, UNTIL = 9 };

/* Which tasks run from each moment on, worked out by hand: bit i is T(i + 1). Of Figure 2.4 the
 * text tells the first moment: J4 waits, because J3 is before it and does not fit. */
static const unsigned expected[UNTIL] = {0x3, 0x3, 0x6, 0xd, 0xd, 0xa, 0x3, 0x3, 0x6};

static void test_lower_priority_does_not_overtake(void)
{
    begin(&sched_gate, "order", "priority", CPUS, "T1 to T4 are released");
    struct thread *t[TASKS];
    for (unsigned i = 0; i < TASKS; i++) {
        t[i] = fresh(50 - i, tasks[i].working_set, 0);
    }
    expect(wakes(t[3]).cpu == PIRN_KICK_ANY, "J4 alone fits");
    expect(wakes(t[2]).cpu == PIRN_KICK_ANY && wakes(t[1]).cpu == PIRN_KICK_ANY &&
               wakes(t[0]).cpu == PIRN_KICK_ANY,
           "and whichever is first");
    expect(next(0) == t[0] && next(1) == t[1], "J1 and J2 run");
    expect(next(2) == NULL, "J3 does not fit, and J4 does not overtake it");
    expect(!policy->has_work(&cpus[2]) && !policy->has_work(&cpus[3]), "idle CPUs may sleep");
    expect(held() == 2, "two threads are held back");
    struct pirn_kick kick = wakes(fresh(1, 1, 0));
    expect(kick.cpu == PIRN_KICK_NONE && kick.later, "nor does a new one");
    expect(policy->has_work(&cpus[0]), "J1's CPU may run J3, if J1 stops");
    expect(next(0) == t[2], "J1 has finished: J3 runs");
    expect(next(1) == t[3], "J2 has finished: J4 runs");
    expect(next(2) == made[TASKS], "and the new one");
}

/* The jobs that run have run for a unit of time. Bit i: CPU i's job has finished, and blocks. */
static unsigned time_passes(struct thread *const t[TASKS], unsigned left[TASKS])
{
    unsigned ended = 0;
    for (unsigned id = 0; id < rt.ncpu; id++) {
        for (unsigned i = 0; i < TASKS; i++) {
            if (cpus[id].current == t[i] && --left[i] == 0) {
                at_store_rlx(&t[i]->state, (uint32_t)THREAD_BLOCKED);
                ended |= 1u << id;
            }
        }
    }
    return ended;
}

/* CPUs whose job has finished pick, then those without work that have some. Bit i: T(i + 1)
 * runs. */
static unsigned cpus_look(struct thread *const t[TASKS], unsigned ended)
{
    unsigned runs = 0;
    for (unsigned id = 0; id < rt.ncpu; id++) {
        if (ended & 1u << id) {
            next(id);
        }
    }
    for (unsigned id = 0; id < rt.ncpu; id++) {
        if (cpus[id].current == idle[id] && policy->has_work(&cpus[id])) {
            next(id);
        }
        for (unsigned i = 0; i < TASKS; i++) {
            runs |= (unsigned)(cpus[id].current == t[i]) << i;
        }
    }
    return runs;
}

static void test_task_set_is_scheduled_as_by_hand(unsigned ncpu)
{
    begin(&sched_gate, "order", "priority", ncpu, "the schedule of Table 2.1");
    struct thread *t[TASKS];
    unsigned left[TASKS] = {0};
    for (unsigned i = 0; i < TASKS; i++) {
        t[i] = fresh(50 - i, tasks[i].working_set, 0);
    }
    for (unsigned now = 0; now < UNTIL; now++) {
        unsigned ended = time_passes(t, left);
        for (unsigned i = 0; i < TASKS; i++) {
            if (now % tasks[i].period == 0) {
                must(left[i] == 0, "a job is late");
                left[i] = tasks[i].cost;
                wakes(t[i]);
            }
        }
        char text[64];
        unsigned runs = cpus_look(t, ended);
        snprintf(text, sizeof(text), "at time %u: 0x%x runs, not 0x%x", now, runs, expected[now]);
        expect(runs == expected[now], text);
    }
}

static void test_yield_leaves_the_cache_if_the_next_thread_fits(void)
{
    begin(&sched_gate, "order", "edf", CPUS, "a thread yields");
    struct thread *large = fresh(0, 3, 0), *small = fresh(0, 1, 0), *third = fresh(0, 2, 0);
    wakes(large);
    expect(next(0) == large, "one runs");
    wakes(small);
    expect(next(1) == small, "another beside it");
    wakes(third);
    expect(next(2) == NULL, "a third does not fit");
    expect(policy->pick(&cpus[1]) == NULL, "nor if the small one yields, which goes on");
    expect(at_load_rlx(&cache.used) == 4, "with its working set");
    expect(policy->pick(&cpus[0]) == third, "if the large one yields, the third runs");
    expect(at_load_rlx(&cache.used) == 3, "with its own working set");
}

static void test_working_set_above_the_cache_runs_alone(void)
{
    begin(&sched_gate, "order", "priority", CPUS, "a working set is larger than the cache");
    struct thread *large = fresh(2, 100, 0), *other = fresh(1, 1, 0), *plain = fresh(3, 0, 0);
    wakes(large);
    expect(next(0) == large, "it runs");
    wakes(other);
    expect(next(1) == NULL, "alone");
    wakes(plain);
    expect(next(1) == plain, "but for threads without demands");
}

/* ---- measured working sets ---- */

/* A cache of 100 lines of 64 bytes. Each result is worked out by hand from core/misses.h. */
static void test_measure_is_smoothed_and_bounded(void)
{
    struct measured m = {0};
    where = "a working set is measured";
    measuring = (struct measuring){.on = true, .cache = 6400, .line = 64};
    misses_measure(&m, 10);
    expect(m.bytes == 640, "the first job counts as it is");
    misses_measure(&m, 20);
    expect(m.bytes == 960, "a larger one by half: 640 + (1280 - 640) / 2");
    misses_measure(&m, 5);
    expect(m.bytes == 880, "a smaller one by an eighth: 960 - (960 - 320) / 8");
    misses_measure(&m, 0);
    expect(m.bytes == 778, "at least a line: 880 - (880 - 64) / 8");
    measuring.on = false;
    misses_measure(&m, 100);
    expect(m.bytes == 778, "nothing if nobody measures");
}

static void test_jobs_that_thrash_are_dropped(void)
{
    struct measured m = {0};
    where = "jobs thrash";
    measuring = (struct measuring){.on = true, .cache = 6400, .line = 64};
    misses_measure(&m, 10);
    misses_measure(&m, 101);
    expect(m.bytes == 640, "one that misses more than the cache holds");
    misses_measure(&m, 100);
    expect(m.bytes == 3520, "one that misses as much counts: 640 + (6400 - 640) / 2");
    for (unsigned i = 1; i < MISSES_THRASH_MOST; i++) {
        misses_measure(&m, 1000);
    }
    expect(m.bytes == 3520, "seven in a row");
    misses_measure(&m, 1000);
    expect(m.bytes == 6400, "the eighth: it needs the whole cache");
    misses_measure(&m, 20);
    expect(m.bytes == 5760, "and falls, when it has it: 6400 - (6400 - 1280) / 8");
}

static void test_measured_working_set_counts(void)
{
    begin(&sched_gate, "order", "priority", CPUS, "a measured working set");
    struct thread *declares = fresh(0, 1, 0), *measured = fresh(0, 1, 0);
    demand_of(measured)->measured.bytes = 4;
    wakes(declares);
    wakes(measured);
    expect(next(0) == declares && next(1) == NULL, "counts in place of the declared one");
    expect(next(0) == measured, "it runs alone");
}

/* ---- gate, order=edf ---- */

/* Its job's deadline was at `deadline`, long ago. */
static void is_late(struct thread *t, uint64_t deadline)
{
    struct demand *d = demand_of(t);
    d->values.period_ns = deadline;
    d->release = 0;
}

static void test_smallest_is_promoted(void)
{
    begin(&sched_gate, "order", "edf", CPUS, "nobody is late");
    struct thread *three = fresh(0, 3, 0), *one = fresh(0, 1, 0), *two = fresh(0, 2, 0);
    wakes(three);
    wakes(one);
    wakes(two);
    expect(next(0) == one && next(1) == two, "the smallest working sets go first");
    expect(next(2) == NULL && held() == 1, "the core stays idle if the next does not fit");
    expect(next(0) == NULL, "nor beside the second alone");
    expect(next(1) == three, "but when that has finished, too");
}

static void test_late_threads_go_first(void)
{
    begin(&sched_gate, "order", "edf", CPUS, "threads are late");
    struct thread *small = fresh(0, 1, 0), *late = fresh(0, 2, 0), *later = fresh(0, 2, 0);
    is_late(later, 1);
    is_late(late, 2);
    wakes(small);
    wakes(late);
    wakes(later);
    expect(next(0) == later && next(1) == late, "first of all, by their deadlines");
    expect(next(2) == NULL, "the small one does not fit beside them");
    expect(next(0) == small, "then it runs");
}

static void test_late_thread_is_not_overtaken(void)
{
    begin(&sched_gate, "order", "edf", CPUS, "a late thread does not fit");
    struct thread *runs = fresh(0, 2, 0), *late = fresh(0, 3, 0), *small = fresh(0, 1, 0);
    wakes(runs);
    expect(next(0) == runs, "one runs");
    is_late(late, 1);
    wakes(late);
    wakes(small);
    expect(next(1) == NULL && held() == 2, "the small one does not overtake it");
    expect(next(0) == late && next(1) == small,
           "it runs when it fits, and the small one beside it");
}

#ifdef PIRN_SIM
/* Three tasks on two CPUs, and which run from each moment on, worked out by hand: bit i is task i.
 * At 5 the third is late, and does not fit beside the second: nothing runs beside that. At 6 it
 * does, and the first fits beside it. At 8 the second is late, and goes before the third; at 10 the
 * third goes first, whose job has the same deadline and has waited for longer; at 12 the second and
 * the first are late. A time here is 1,000 ns. */
static const struct {
    unsigned period, cost, working_set;
} due[] = {{2, 1, 1}, {2, 2, 2}, {5, 2, 3}};
enum { DUE = 3, DUE_UNTIL = 14 };
static const unsigned due_expected[DUE_UNTIL] = {0x3, 0x2, 0x3, 0x2, 0x3, 0x2, 0x5,
                                                 0x4, 0x3, 0x2, 0x4, 0x4, 0x3, 0x3};

/* The next job of task i, if one was released and none is under way. */
static void job_begins(struct thread *t, unsigned i, unsigned *released, unsigned *begun,
                       unsigned *left)
{
    if (*left != 0 || *begun == *released) {
        return;
    }
    struct demand *d = demand_of(t);
    d->values.period_ns = 1000 * due[i].period;
    d->release = 1000 * due[i].period * (*begun)++;
    *left = due[i].cost;
    wakes(t);
}

static void test_late_jobs_are_scheduled_as_by_hand(void)
{
    begin(&sched_gate, "order", "edf", 2, "a schedule with late jobs");
    struct thread *t[TASKS] = {NULL};
    unsigned left[TASKS] = {0}, released[DUE] = {0}, begun[DUE] = {0};
    uint64_t before = sim.now;
    for (unsigned i = 0; i < DUE; i++) {
        t[i] = fresh(0, due[i].working_set, 0);
    }
    for (unsigned now = 0; now < DUE_UNTIL; now++) {
        char text[64];
        sim.now = 1000 * now + 1; /* past the deadlines of this moment */
        unsigned ended = time_passes(t, left);
        for (unsigned i = 0; i < DUE; i++) {
            released[i] += now % due[i].period == 0;
            job_begins(t[i], i, &released[i], &begun[i], &left[i]);
        }
        unsigned runs = cpus_look(t, ended);
        snprintf(text, sizeof(text), "at time %u: 0x%x runs, not 0x%x", now, runs,
                 due_expected[now]);
        expect(runs == due_expected[now], text);
    }
    sim.now = before;
}
#else
static void test_late_jobs_are_scheduled_as_by_hand(void) {} /* needs a clock that stands still */
#endif

/* ---- groups ---- */

static void test_groups_differ(void)
{
    begin(&sched_groups, "home", "none", CPUS, "rule 2");
    struct thread *a1 = fresh(0, 1, 1), *a2 = fresh(0, 1, 1), *b = fresh(0, 1, 2);
    wakes(a1);
    expect(next(0) == a1, "group 1 runs");
    wakes(a2);
    wakes(b);
    expect(next(1) == b, "another CPU takes another group");
    expect(next(2) == a2, "or, if there is none, the same");
}

static void test_group_follows_itself(void)
{
    begin(&sched_groups, "home", "none", CPUS, "rule 3");
    struct thread *a1 = fresh(0, 1, 1), *a2 = fresh(0, 1, 1), *b = fresh(0, 1, 2);
    wakes(a1);
    expect(next(0) == a1, "group 1 runs");
    wakes(b);
    wakes(a2);
    expect(next(0) == a2, "and then its next thread, though group 2 has waited for longer");
    expect(next(0) == b, "then group 2");
}

static void test_group_that_fits_goes_first(void)
{
    begin(&sched_groups, "home", "none", CPUS, "rule 1");
    struct thread *a1 = fresh(0, 3, 1), *a2 = fresh(0, 1, 1), *b = fresh(0, 2, 2);
    wakes(a1);
    expect(next(0) == a1, "group 1 runs");
    wakes(b);
    wakes(a2);
    expect(next(1) == a2, "group 2 does not fit beside it, so group 1 runs on both CPUs");
    expect(next(2) == b, "nothing that fits is ready: no CPU is idle for that");
}

static void test_smallest_runs_if_none_fits(void)
{
    begin(&sched_groups, "home", "none", CPUS, "no group fits");
    struct thread *a1 = fresh(0, 4, 1), *a2 = fresh(0, 1, 1), *b = fresh(0, 3, 2),
                  *c = fresh(0, 2, 3);
    wakes(a1);
    expect(next(0) == a1, "group 1 runs, and fills the cache");
    wakes(a2);
    wakes(b);
    wakes(c);
    expect(next(1) == c, "of the other groups the one with the smallest working set");
    expect(next(2) == b, "then the other one, though group 1 is smaller");
    expect(next(3) == a2, "then group 1");
}

static void test_group_has_a_home(void)
{
    begin(&sched_groups, "home", "cpu", 2, "groups have homes");
    struct thread *a1 = fresh(0, 1, 1), *a2 = fresh(0, 1, 1), *b = fresh(0, 1, 2),
                  *any = fresh(0, 1, 0);
    int a = wakes(a1).cpu;
    expect(a >= 0 && wakes(a2).cpu == a && wakes(b).cpu == 1 - a, "one each");
    if (a < 0) {
        return;
    }
    expect(next((unsigned)a) == a1 && next((unsigned)(1 - a)) == b, "where they run");
    expect(!policy->has_work(&cpus[1 - a]) && next((unsigned)(1 - a)) == NULL, "and nowhere else");
    expect(wakes(any).cpu == PIRN_KICK_ANY && next((unsigned)(1 - a)) == any,
           "a thread without group runs anywhere");
    expect(next((unsigned)a) == a2, "the group's next thread at home");
}

#ifdef PIRN_SIM
/* A fault that the test must find; and its time, which no run moves. */
static void in_simulator(int argc, char **argv)
{
    static const struct {
        const char *name;
        enum mutant mutant;
    } mutants[] = {{"gate-full", MUTANT_GATE_FULL},
                   {"gate-overtakes", MUTANT_GATE_OVERTAKES},
                   {"gate-blind", MUTANT_GATE_BLIND},
                   {"edf-patient", MUTANT_EDF_PATIENT},
                   {"edf-largest", MUTANT_EDF_LARGEST},
                   {"groups-astray", MUTANT_GROUPS_ASTRAY},
                   {"groups-full", MUTANT_GROUPS_FULL},
                   {"groups-alike", MUTANT_GROUPS_ALIKE},
                   {"groups-forget", MUTANT_GROUPS_FORGET},
                   {"job-thrashes", MUTANT_JOB_THRASHES},
                   {"measured-unused", MUTANT_MEASURED_UNUSED}};
    sim.now = 1000;
    for (unsigned i = 0; argc == 2 && i < sizeof(mutants) / sizeof(mutants[0]); i++) {
        if (strcmp(argv[1], mutants[i].name) == 0) {
            sim_mutant = mutants[i].mutant;
            return;
        }
    }
    must(argc == 1, "the argument is no fault that it knows");
}
#else
static void in_simulator(int argc, char **argv)
{
    (void)argv;
    must(argc == 1, "faults can be planted in the simulator only");
}
#endif

int main(int argc, char **argv)
{
    in_simulator(argc, argv);
    for (unsigned i = 0; i < CPUS; i++) {
        idle[i] = blank(THREAD_IDLE);
    }
    sched_chosen.discipline = DISCIPLINE_POSIX;
    test_lower_priority_does_not_overtake();
    test_task_set_is_scheduled_as_by_hand(3);
    test_task_set_is_scheduled_as_by_hand(CPUS);
    test_yield_leaves_the_cache_if_the_next_thread_fits();
    test_working_set_above_the_cache_runs_alone();
    test_measure_is_smoothed_and_bounded();
    test_jobs_that_thrash_are_dropped();
    test_measured_working_set_counts();
    test_smallest_is_promoted();
    test_late_threads_go_first();
    test_late_thread_is_not_overtaken();
    test_late_jobs_are_scheduled_as_by_hand();
    test_groups_differ();
    test_group_follows_itself();
    test_group_that_fits_goes_first();
    test_smallest_runs_if_none_fits();
    test_group_has_a_home();
    printf("demand steps: %s\n", failures == 0 ? "done" : "failed");
    return failures != 0;
}
