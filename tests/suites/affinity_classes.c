/* SPDX-License-Identifier: MIT */
/*
 * Suite affinity-classes: consumers with priorities (src/sched/affinity.c), under the disciplines
 * with classes. What can go wrong: a consumer that waits is lost, or keeps its place, when its
 * priority changes; a thread waits for a CPU that runs a less urgent one.
 *
 * The CPUs of a test look for more urgent threads only in calls of the runtime: where the test is
 * about that, a thread makes such calls until it is stopped, and a lost preemption hangs the run.
 */
#include <string.h>

#include "classes_tests.h"

#ifdef PIRN_SIM
#include "../../src/sync/omutex.h"
#include "prio.h"
#endif

enum { ROUNDS = 6, CONSUMERS = 4, PRODUCERS = 2, CHANGERS = 3, RAISED = 6 };

/* Else there is nothing to test. */
static bool has_affinity(void)
{
    return strstr(test_sched(), "affinity=") != NULL;
}

/* Makes a call that ends with a look for a more urgent thread. */
static void calls(void)
{
    pirn_barrier_t alone;
    CHECK(pirn_barrier_init(&alone, 1) == 0);
    test_pause();
    pirn_barrier_wait(&alone);
}

static void works_a_moment(void)
{
    for (uint32_t i = test_random(4); i > 0; i--) {
        test_pause();
    }
}

/* ---- priorities that change ---- */

struct changing {
    pirn_sem_t go, data[CONSUMERS], change;
    pirn_thread_t consumers[CONSUMERS];
    int ended;
};

struct number {
    struct changing *x;
    int number;
};

static void *consumes(void *arg)
{
    struct number *n = arg;
    for (int i = 0; i < ROUNDS; i++) {
        pirn_sem_wait(&n->x->data[n->number]);
    }
    return NULL;
}

/* Each consumer gets its data from one of them. While they wait behind it for its CPU it makes
 * threads ready that change their priorities, and are more urgent. */
static void *produces(void *arg)
{
    struct number *n = arg;
    pirn_sem_wait(&n->x->go);
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = n->number; k < CONSUMERS; k += PRODUCERS) {
            pirn_sem_post(&n->x->data[k]);
        }
        pirn_sem_post(&n->x->change);
        if (test_random(2) != 0) {
            pirn_yield();
        }
    }
    return NULL;
}

static void change_one(struct changing *x)
{
    pirn_sched_t s = {PIRN_CLASS_FIFO, 1 + test_random(12), 0};
    if (test_random(6) == 0) {
        s = (pirn_sched_t){PIRN_CLASS_OTHER, 0, 0};
    }
    CHECK(pirn_set_sched(x->consumers[test_random(CONSUMERS)], &s) == 0);
}

static void *changes(void *arg)
{
    struct changing *x = arg;
    for (int i = 0; i < ROUNDS * PRODUCERS / CHANGERS; i++) {
        pirn_sem_wait(&x->change);
        change_one(x);
    }
    return NULL;
}

static void foreign_changes(void *arg)
{
    struct changing *x = arg;
    change_one(x);
    TEST_SET(&x->ended, 1);
}

static void test_consumers_run_when_their_priorities_change(void *unused)
{
    (void)unused;
    struct changing x;
    struct number numbers[CONSUMERS];
    pirn_thread_t producers[PRODUCERS], changers[CHANGERS];
    if (!has_affinity()) {
        return;
    }
    TEST_SET(&x.ended, 0);
    pirn_sem_init(&x.go, 0);
    pirn_sem_init(&x.change, 0);
    classes_sched_self(PIRN_CLASS_FIFO, CLASSES_TOP, 0);
    for (int i = 0; i < CONSUMERS; i++) {
        numbers[i] = (struct number){&x, i};
        pirn_sem_init(&x.data[i], 0);
        x.consumers[i] =
            classes_spawn(PIRN_CLASS_FIFO, 1 + test_random(6), 0, consumes, &numbers[i]);
    }
    for (int i = 0; i < PRODUCERS; i++) {
        producers[i] = classes_spawn(PIRN_CLASS_FIFO, 10, 0, produces, &numbers[i]);
    }
    for (int i = 0; i < CONSUMERS; i++) {
        CHECK(pirn_affinity_add_to(x.consumers[i], producers[i % PRODUCERS]) == 0);
    }
    for (int i = 0; i < CHANGERS; i++) {
        changers[i] = classes_spawn(PIRN_CLASS_FIFO, 7 + test_random(6), 0, changes, &x);
    }
    for (int i = 0; i < PRODUCERS; i++) {
        pirn_sem_post(&x.go);
    }
    test_foreign(foreign_changes, &x);
    while (TEST_GET(&x.ended) == 0) {
        pirn_sleep(20);
    }
    classes_end(x.consumers, CONSUMERS);
    classes_end(producers, PRODUCERS);
    classes_end(changers, CHANGERS);
}

/* ---- a consumer that waits ---- */

static void *waits_then_notes(void *sem)
{
    pirn_sem_wait(sem);
    classes_note(1);
    return NULL;
}

static void test_consumer_runs_before_its_equals_when_they_were_ready_before(void *unused)
{
    (void)unused;
    pirn_sem_t data;
    pirn_thread_t t[3];
    if (!classes_one_cpu() || !has_affinity()) {
        return;
    }
    pirn_sem_init(&data, 0);
    classes_log_clear();
    classes_sched_self(PIRN_CLASS_FIFO, 9, 0);
    t[0] = classes_spawn(PIRN_CLASS_FIFO, 5, 0, waits_then_notes, &data);
    CHECK(pirn_affinity_add_to(t[0], pirn_self()) == 0);
    pirn_sleep(1000); /* it waits */
    t[1] = classes_spawn(PIRN_CLASS_FIFO, 5, 0, classes_notes, (void *)2);
    t[2] = classes_spawn(PIRN_CLASS_FIFO, 5, 0, classes_notes, (void *)3);
    pirn_sem_post(&data);
    classes_end(t, 3);
    bool old = strstr(test_sched(), "affinity=old") != NULL; /* every second pick */
    CHECK(old || classes_log.what[0] == 1);
}

/* ---- a consumer that runs ---- */

struct falls {
    pirn_sem_t go, data, began;
    int posts;       /* 0: the producer waits for 1; 2: it has posted the data, and ends */
    int others, ran; /* threads that the consumer keeps from running; have run */
    pirn_thread_t t[2 + CLASSES_CPUS];
};

static void *posts_once(void *arg)
{
    struct falls *x = arg;
    pirn_sem_wait(&x->go);
    pirn_sem_post(&x->began);
    while (TEST_GET(&x->posts) == 0) {
        calls();
    }
    pirn_sem_post(&x->data);
    TEST_SET(&x->posts, 2);
    return NULL;
}

static void *consumes_until_others_ran(void *arg)
{
    struct falls *x = arg;
    pirn_sem_wait(&x->data);
    pirn_sem_post(&x->began);
    while (TEST_GET(&x->ran) < x->others) {
        calls();
    }
    return NULL;
}

static void *runs_once(void *arg)
{
    struct falls *x = arg;
    TEST_ADD(&x->ran, 1);
    return NULL;
}

/* The producer runs. */
static void falls_begin(struct falls *x)
{
    x->others = (int)pirn_cpu_count();
    TEST_SET(&x->posts, 0);
    TEST_SET(&x->ran, 0);
    pirn_sem_init(&x->go, 0);
    pirn_sem_init(&x->data, 0);
    pirn_sem_init(&x->began, 0);
    classes_sched_self(PIRN_CLASS_FIFO, CLASSES_TOP, 0);
    x->t[0] = classes_spawn(PIRN_CLASS_FIFO, 20, 0, consumes_until_others_ran, x);
    x->t[1] = classes_spawn(PIRN_CLASS_FIFO, 30, 0, posts_once, x);
    CHECK(pirn_affinity_add_to(x->t[0], x->t[1]) == 0);
    pirn_sem_post(&x->go);
    pirn_sem_wait(&x->began);
}

/* Threads of lower priority: under a pinned policy one of them belongs to the producer's CPU, where
 * the consumer runs next, away from its own. */
static void others_begin(struct falls *x)
{
    for (int i = 0; i < x->others; i++) {
        x->t[2 + i] = classes_spawn(PIRN_CLASS_FIFO, 10, 0, runs_once, x);
    }
}

static void test_consumer_makes_room_when_its_priority_falls(void *unused)
{
    (void)unused;
    struct falls x;
    if (!has_affinity()) {
        return;
    }
    falls_begin(&x);
    TEST_SET(&x.posts, 1);
    pirn_sem_wait(&x.began);
    others_begin(&x);
    CHECK(pirn_set_priority(x.t[0], 5) == 0);
    classes_end(x.t, 2 + x.others);
}

static void test_consumer_makes_room_when_its_priority_falls_as_it_begins(void *unused)
{
    (void)unused;
    for (int round = 0; round < ROUNDS && has_affinity(); round++) {
        struct falls x;
        falls_begin(&x);
        others_begin(&x);
        TEST_SET(&x.posts, 1);
        for (int i = 0; i < 100 && TEST_GET(&x.posts) == 1; i++) {
            test_pause(); /* the producer may be waiting for this CPU */
        }
        works_a_moment();
        CHECK(pirn_set_priority(x.t[0], 5) == 0);
        classes_end(x.t, 2 + x.others);
    }
}

/* ---- a consumer that wakes ---- */

struct raised {
    pirn_thread_t t;
    pirn_sem_t data;
    int runs, ended;
};

static void *tells_when_woken(void *arg)
{
    struct raised *x = arg;
    pirn_sem_wait(&x->data);
    TEST_SET(&x->runs, 1);
    return NULL;
}

/* The policy is told once, as when a priority is inherited; by pirn_set_priority it is told twice.
 */
static void raise_to(pirn_thread_t t, unsigned priority)
{
#ifdef PIRN_SIM
    rt_thread_set_base(t, priority);
#else
    CHECK(pirn_set_priority(t, priority) == 0);
#endif
}

static void foreign_raises(void *arg)
{
    struct raised *x = arg;
    raise_to(x->t, 9);
    TEST_SET(&x->ended, 1);
}

/* One CPU, which main, the producer, does not give up unless it must. It declares the dependency at
 * the last moment: a thread that has no record yet may be about to get one when its priority
 * changes. */
static void test_consumer_runs_when_it_becomes_urgent_meanwhile(void *unused)
{
    (void)unused;
    struct raised x[RAISED];
    pirn_thread_t t[RAISED];
    if (!classes_one_cpu() || !has_affinity()) {
        return;
    }
    classes_sched_self(PIRN_CLASS_FIFO, 5, 0);
    for (int i = 0; i < RAISED; i++) {
        TEST_SET(&x[i].runs, 0);
        TEST_SET(&x[i].ended, 0);
        pirn_sem_init(&x[i].data, 0);
        t[i] = x[i].t = classes_spawn(PIRN_CLASS_FIFO, 2, 0, tells_when_woken, &x[i]);
    }
    pirn_sleep(1000); /* they wait */
    for (int i = 0; i < RAISED; i++) {
        test_foreign(foreign_raises, &x[i]);
        for (uint32_t k = test_random(30); k > 0; k--) {
            test_pause();
        }
        CHECK(pirn_affinity_add_to(t[i], pirn_self()) == 0);
        pirn_sem_post(&x[i].data);
        while (TEST_GET(&x[i].runs) == 0) {
            calls();
        }
    }
    for (int i = 0; i < RAISED; i++) {
        while (TEST_GET(&x[i].ended) == 0) {
            pirn_sleep(20);
        }
    }
    classes_end(t, RAISED);
}

/* ---- a CPU that changes threads ---- */

struct between {
    int stop, round, others;
    pirn_sem_t data[CLASSES_CPUS], consumer;
};

struct producer {
    struct between *x;
    int number;
};

static void *calls_until_stopped(void *arg)
{
    struct between *x = arg;
    while (TEST_GET(&x->stop) == 0) {
        calls();
    }
    return NULL;
}

static void *works_when_posted(void *arg)
{
    struct producer *p = arg;
    for (int i = 0; i < ROUNDS; i++) {
        pirn_sem_wait(&p->x->data[p->number]);
        works_a_moment();
    }
    return NULL;
}

static void *tells_each_round(void *arg)
{
    struct between *x = arg;
    for (int i = 1; i <= ROUNDS; i++) {
        pirn_sem_wait(&x->consumer);
        TEST_SET(&x->round, i);
    }
    return NULL;
}

/* While a CPU goes from a producer to a thread of class OTHER, which never stops, a consumer
 * between the two wakes. Whether it goes to that CPU or not, it must run. Main, at the top, keeps
 * its own CPU. Not under pinned policies: the consumer may belong to main's CPU. */
static void test_consumer_does_not_wait_for_a_thread_that_has_just_begun(void *unused)
{
    (void)unused;
    pirn_thread_t t[2 * CLASSES_CPUS + 1];
    struct producer producers[CLASSES_CPUS];
    struct between x;
    int n = (int)pirn_cpu_count() - 1;
    if (n == 0 || pirn_sched_pinned() || strstr(test_sched(), "affinity=declared") == NULL) {
        return;
    }
    TEST_SET(&x.stop, 0);
    TEST_SET(&x.round, 0);
    pirn_sem_init(&x.consumer, 0);
    classes_sched_self(PIRN_CLASS_FIFO, CLASSES_TOP, 0);
    t[2 * n] = classes_spawn(PIRN_CLASS_FIFO, 5, 0, tells_each_round, &x);
    for (int i = 0; i < n; i++) {
        pirn_sem_init(&x.data[i], 0);
        producers[i] = (struct producer){&x, i};
        t[i] = classes_spawn(PIRN_CLASS_OTHER, 0, 0, calls_until_stopped, &x);
        t[n + i] = classes_spawn(PIRN_CLASS_FIFO, 10, 0, works_when_posted, &producers[i]);
        CHECK(pirn_affinity_add_to(t[2 * n], t[n + i]) == 0);
    }
    for (int round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < n; i++) {
            pirn_sem_post(&x.data[i]);
        }
        works_a_moment();
        pirn_sem_post(&x.consumer);
        while (TEST_GET(&x.round) < round) {
            test_pause();
        }
    }
    TEST_SET(&x.stop, 1);
    classes_end(t, 2 * n + 1);
}

/* ---- priorities that are inherited ---- */

#ifdef PIRN_SIM
struct inherits {
    struct rt_omutex m;
    pirn_sem_t declared, begin, data, locked, go;
    int passed; /* rounds in which the urgent thread has had the mutex */
};

static void own_lock(struct rt_omutex *m)
{
    CHECK(rt_omutex_lock_until(m, UINT64_MAX) == 0);
}

static void *consumes_with_mutex(void *arg)
{
    struct inherits *x = arg;
    for (int i = 0; i < ROUNDS; i++) {
        pirn_sem_wait(&x->begin);
        own_lock(&x->m);
        pirn_sem_post(&x->locked);
        pirn_sem_wait(&x->data);
        rt_omutex_unlock(&x->m);
    }
    return NULL;
}

static void *wants_mutex(void *arg)
{
    struct inherits *x = arg;
    for (int i = 1; i <= ROUNDS; i++) {
        pirn_sem_wait(&x->go);
        own_lock(&x->m);
        TEST_SET(&x->passed, i);
        rt_omutex_unlock(&x->m);
    }
    return NULL;
}

static void *produces_until_mutex_passed(void *arg)
{
    struct inherits *x = arg;
    pirn_sem_wait(&x->declared);
    for (int i = 1; i <= ROUNDS; i++) {
        pirn_sem_post(&x->begin);
        pirn_sem_wait(&x->locked);
        pirn_sem_post(&x->go);
        pirn_sem_post(&x->data);
        while (TEST_GET(&x->passed) < i) {
            calls();
        }
    }
    return NULL;
}

/* The consumer is less urgent than its producer, which does not stop until a third thread has had
 * the mutex that the consumer holds: it must inherit that one's priority wherever it waits. */
static void test_consumer_runs_when_it_inherits(void *unused)
{
    (void)unused;
    struct inherits x;
    pirn_thread_t t[3];
    rt_omutex_init(&x.m, OM_INHERIT, 0);
    TEST_SET(&x.passed, 0);
    pirn_sem_init(&x.declared, 0);
    pirn_sem_init(&x.begin, 0);
    pirn_sem_init(&x.data, 0);
    pirn_sem_init(&x.locked, 0);
    pirn_sem_init(&x.go, 0);
    classes_sched_self(PIRN_CLASS_FIFO, CLASSES_TOP, 0);
    t[0] = classes_spawn(PIRN_CLASS_FIFO, 2, 0, consumes_with_mutex, &x);
    t[1] = classes_spawn(PIRN_CLASS_FIFO, 10, 0, produces_until_mutex_passed, &x);
    t[2] = classes_spawn(PIRN_CLASS_FIFO, 20, 0, wants_mutex, &x);
    CHECK(pirn_affinity_add_to(t[0], t[1]) == 0);
    pirn_sem_post(&x.declared);
    classes_end(t, 3);
}
#endif

#define TEST(name)                                                                                 \
    {                                                                                              \
#name, test_##name, 0                                                                      \
    }

static const struct test tests[] = {
    TEST(consumers_run_when_their_priorities_change),
    TEST(consumer_runs_before_its_equals_when_they_were_ready_before),
    TEST(consumer_makes_room_when_its_priority_falls),
    TEST(consumer_makes_room_when_its_priority_falls_as_it_begins),
    TEST(consumer_runs_when_it_becomes_urgent_meanwhile),
    TEST(consumer_does_not_wait_for_a_thread_that_has_just_begun),
    TEST(preceded_consumer_goes_to_another_producers_cpu),
    TEST(woken_thread_runs_when_it_becomes_urgent_meanwhile),
    TEST(woken_thread_runs_when_its_cpu_makes_it_urgent_meanwhile),
    TEST(urgent_thread_does_not_wait_for_main_that_has_just_gone_on),
#ifdef PIRN_SIM
    TEST(consumer_runs_when_it_inherits),
#endif
    {0}};

static const char *const scheds[] = {"steal:discipline=posix,affinity=declared",
                                     "steal:discipline=posix,affinity=declared,affinity-idle=0",
                                     "steal:discipline=shmac,affinity=declared",
                                     "single:discipline=posix,affinity=declared",
                                     "single:discipline=posix,affinity=auto",
                                     "dist:discipline=posix,affinity=declared",
                                     "dist:discipline=posix,affinity=old",
                                     "dist:discipline=shmac,affinity=auto",
                                     NULL};

const struct suite suite_affinity_classes = {"affinity-classes", tests, scheds, true};
