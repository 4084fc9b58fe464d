/* SPDX-License-Identifier: MIT */
/*
 * placement.c - task affinity step by step: where a consumer that wakes is put, and who runs it.
 * After section 3.5 of the thesis in docs/STATUS.md, section A: the waking CPU first; pushed if it
 * is preceded. placement_figures.c has the situations of its figures.
 */
#include <errno.h>
#include <string.h>

#include "../../src/sync/sync.h"
#include "placement_steps.h"

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
    expect(waiting(2) == 0, "it does not get the consumer");
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
    expect(waiting(1) == 0, "its slot's next life is another thread");
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
    expect(waiting(1) == 1, "the first CPU has the urgent one");
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
    expect(waiting(1) == 1, "not among the consumers");
    expect(next(1) == first, "the urgent one runs first");
}

static void test_threads_of_the_same_priority_do_not_precede(void)
{
    begin("threads of the same priority do not precede a consumer");
    struct thread *producer = fresh(5), *first = fresh(5), *second = fresh(5);
    struct thread *other = fresh_for(1, 5);
    depends(first, producer);
    depends(second, producer);
    runs(1, producer);
    wakes(1, other);
    wakes(1, first);
    wakes(1, second);
    expect(affinity.cpus[1].counts.pushes == 0, "none is pushed");
    expect(next(1) == second && next(1) == first && next(1) == other, "the latest is first");
}

/* After a consumer was queued a more urgent thread becomes ready, and goes first. Under steal and
 * single it may run on any CPU, so it precedes the consumer on all of them. */
static void test_consumer_is_pushed_when_it_was_to_run(void)
{
    begin("a consumer that is preceded later is pushed to another producer's CPU");
    struct thread *a = fresh(9), *b = fresh(9), *low = fresh(5), *urgent = fresh_for(1, 8);
    depends(low, a);
    depends(low, b);
    runs(1, a);
    runs(2, b);
    wakes(1, low);
    expect(waiting(1) == 1, "it waits for the waking CPU");
    wakes(1, urgent);
    expect(next(1) == urgent, "that runs the urgent thread");
    expect(waiting(1) == 0 && waiting(2) == (table.pinned ? 1 : 0), "the consumer goes to CPU 2");
    expect(affinity.cpus[1].counts.there == (table.pinned ? 1 : 0) &&
               affinity.cpus[1].counts.standard == (table.pinned ? 0 : 1) &&
               affinity.cpus[1].counts.pushes == (table.pinned ? 1 : 2),
           "counted");
    expect(next(2) == low, "which runs it");
}

static void test_consumer_is_pushed_by_the_standard_rule_when_it_was_to_run(void)
{
    begin("a consumer that is preceded later, with one producer, is placed by the policy");
    struct thread *producer = fresh(9), *low = fresh_for(3, 5), *urgent = fresh_for(1, 8);
    depends(low, producer);
    runs(1, producer);
    wakes(1, low);
    wakes(1, urgent);
    expect(next(1) == urgent, "the urgent thread runs");
    expect(affinity.cpus[1].counts.pushes == 1 && affinity.cpus[1].counts.standard == 1, "counted");
    for (unsigned i = 0; i < CPUS; i++) {
        expect(waiting(i) == 0, "not among the consumers");
    }
    expect(next(3) == low, "the policy has it");
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
    expect(waiting(2) == 0, "it is no longer among the consumers");
}

/* The same on the CPU to which the consumer belongs: the policy's queue is the caller's own. */
static void test_consumer_of_this_cpu_is_pushed_when_it_was_to_run(void)
{
    begin("a consumer that is preceded later on its own CPU is placed by the policy");
    struct thread *producer = fresh(9), *low = fresh_for(1, 5), *urgent = fresh_for(1, 8);
    depends(low, producer);
    runs(1, producer);
    wakes(1, low);
    wakes(1, urgent);
    calls_from(1);
    expect(next(1) == urgent, "the urgent thread runs");
    expect(waiting(1) == 0, "the consumer is no longer among the consumers");
    expect(next(1) == low, "the policy has it");
}

static void test_priority_change_moves_a_consumer_to_the_callers_cpu(void)
{
    begin("a consumer whose priority is changed by its own CPU is placed by the policy");
    struct thread *producer = fresh(9), *consumer = fresh_for(1, 5), *caller = fresh_for(1, 7);
    depends(consumer, producer);
    runs(2, producer);
    wakes(2, consumer);
    runs(1, caller);
    calls_from(1);
    at_store_rlx(&consumer->priority, 6u);
    policy->requeue(consumer);
    expect(waiting(2) == 0, "it is no longer among the consumers");
    expect((at_load_rlx(&cpus[1].pending) & RT_PENDING_RESCHED) == 0, "nor more urgent");
    expect(next(1) == consumer, "the caller's CPU runs it");
}

/* Under dist the consumer belongs to CPU 3, and the thread that waits to CPU 2. */
static void test_consumer_makes_room_when_its_priority_falls(void)
{
    begin("a consumer that runs, and whose priority falls, makes room");
    struct thread *producer = fresh(9), *consumer = fresh_for(3, 8), *other = fresh_for(2, 6);
    depends(consumer, producer);
    runs(2, producer);
    wakes(2, consumer);
    expect(next(2) == consumer, "it runs on its producer's CPU");
    wakes(2, other);
    at_store_rlx(&cpus[2].pending, 0u);
    at_store_rlx(&consumer->priority, 5u);
    policy->requeue(consumer);
    expect((at_load_rlx(&cpus[2].pending) & RT_PENDING_RESCHED) != 0, "that CPU looks again");
    if (policy->poll != NULL) {
        policy->poll(&cpus[2]);
    }
    expect(policy->preempt(&cpus[2], consumer, PIRN_WHY_PREEMPT) == other, "and runs the other");
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
    bool there = waiting(3) == 1;
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
        struct thread *t = waiting(1) != 0 ? policy->search(&cpus[2]) : next(1);
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

/* ---- off ---- */

/* Does the policy's table stay as it is under this rule? */
static bool changes_nothing(enum affinity_rule rule)
{
    struct pirn_policy plain;
    memcpy(&plain, &affinity.base, sizeof(plain));
    affinity.rule = rule;
    bool decorated = affinity_decorate(&plain);
    return !decorated && memcmp(&plain, &affinity.base, sizeof(plain)) == 0;
}

static void test_off_changes_no_operation(void)
{
    enum affinity_rule rule = affinity.rule;
    begin("where affinity is off the policy's own operations run");
    expect(memcmp(&table, &affinity.base, sizeof(table)) != 0, "others run where it is on");
    expect(changes_nothing(AFFINITY_OFF), "off");
    expect(changes_nothing(AFFINITY_DEFAULT), "default, where no threads are named");
    affinity.rule = rule;
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
    if (sched_has_classes()) {
        test_consumer_is_pushed_when_preceded();
        test_consumer_is_pushed_by_the_standard_rule();
        test_threads_of_the_same_priority_do_not_precede();
        test_consumer_is_pushed_when_it_was_to_run();
        test_consumer_is_pushed_by_the_standard_rule_when_it_was_to_run();
        test_urgent_consumer_preempts();
        test_priority_change_moves_a_consumer();
        test_consumer_of_this_cpu_is_pushed_when_it_was_to_run();
        test_priority_change_moves_a_consumer_to_the_callers_cpu();
        test_consumer_makes_room_when_its_priority_falls();
    }
}

static void tests(void)
{
    test_off_changes_no_operation();
    if (affinity.rule != AFFINITY_OLD) {
        declared();
    }
    if (affinity.rule == AFFINITY_AUTO) {
        learning();
    }
}

int main(int argc, char **argv)
{
    return steps_main(argc, argv, "placement", tests);
}
