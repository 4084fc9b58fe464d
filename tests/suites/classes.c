/* SPDX-License-Identifier: MIT */
/*
 * Suite classes: scheduling classes and priorities (disciplines posix and shmac), under each
 * policy.
 *
 * On one CPU the order is guaranteed; on several, only the order of threads on each CPU: the log
 * keeps a sequence for each CPU. To have all threads of a test ready before the first of them runs,
 * main runs at the highest priority, and so does a blocker on every other CPU, until the gate opens
 * (not under policies with private queues, where a CPU without a thread of its own may get any).
 *
 * Slices need ticks: classes_ticks.c.
 */
#include <errno.h>
#include <pirn/policy.h>
#include <string.h>

#include "classes_tests.h"

enum { THREADS = 10 };

struct classes_log classes_log;

void classes_log_clear(void)
{
    memset(&classes_log, 0, sizeof(classes_log));
    TEST_SET(&classes_log.gate, 0);
    TEST_SET(&classes_log.started, 0);
    TEST_SET(&classes_log.used, 0);
    for (int i = 0; i < CLASSES_CPUS; i++) {
        TEST_SET(&classes_log.busy[i], 0);
    }
}

bool classes_shmac(void)
{
    return strstr(test_sched(), "discipline=shmac") != NULL;
}

static bool has_classes(void)
{
    return classes_shmac() || strstr(test_sched(), "discipline=posix") != NULL;
}

/* The test itself causes every event: no other CPU, and no ticks except test_tick's. */
bool classes_one_cpu(void)
{
    return pirn_cpu_count() == 1 && !test_preempts();
}

/* True if the policy makes promises across CPUs. */
static bool across_cpus(void)
{
    return pirn_cpu_count() > 1 && !pirn_sched_pinned() && !pirn_sched_private_queues();
}

void classes_sched_self(enum pirn_class class, unsigned priority, unsigned weight)
{
    pirn_sched_t s = {class, priority, weight};
    CHECK(pirn_set_sched(pirn_self(), &s) == 0);
}

pirn_thread_t classes_spawn(enum pirn_class class, unsigned priority, unsigned weight,
                            void *(*fn)(void *), void *arg)
{
    pirn_thread_t t;
    pirn_sched_t s = {class, priority, weight};
    pirn_attr_t attr = {.sched = &s};
    CHECK(pirn_create(&t, &attr, fn, arg) == 0);
    return t;
}

void classes_note(int what)
{
    int i = TEST_ADD(&classes_log.used, 1) - 1;
    CHECK(i < CLASSES_LOG);
    classes_log.cpu[i] = pirn_cpu_self();
    TEST_SET(&classes_log.what[i], what);
}

static void *blocks_cpu(void *unused)
{
    TEST_ADD(&classes_log.started, 1);
    while (TEST_GET(&classes_log.gate) == 0) {
        TEST_SET(&classes_log.busy[pirn_cpu_self()], 1);
        pirn_yield();
    }
    return unused;
}

static pirn_thread_t blockers[CLASSES_CPUS];

static bool all_busy(void)
{
    int n = (int)pirn_cpu_count(), busy = 0;
    TEST_SET(&classes_log.busy[pirn_cpu_self()], 1);
    for (int i = 0; i < n; i++) {
        busy += TEST_GET(&classes_log.busy[i]);
    }
    return TEST_GET(&classes_log.started) == n && (busy == n || pirn_sched_private_queues());
}

/* From here on no thread below CLASSES_TOP runs; from gate_open on they do. */
void classes_gate_close(void)
{
    classes_log_clear();
    classes_sched_self(PIRN_CLASS_FIFO, CLASSES_TOP, 0);
    int n = (int)pirn_cpu_count();
    for (int i = 0; i < n; i++) {
        blockers[i] = classes_spawn(PIRN_CLASS_FIFO, CLASSES_TOP, 0, blocks_cpu, NULL);
    }
    while (!all_busy()) {
        pirn_yield();
    }
}

void classes_gate_open(void)
{
    TEST_SET(&classes_log.gate, 1);
    for (unsigned i = 0; i < pirn_cpu_count(); i++) {
        CHECK(pirn_join(blockers[i], NULL) == 0);
    }
}

void classes_end(pirn_thread_t *t, int n)
{
    for (int i = 0; i < n; i++) {
        CHECK(pirn_join(t[i], NULL) == 0);
    }
    classes_sched_self(PIRN_CLASS_OTHER, 0, 0);
}

/* The identity of thread i of THREADS as one number: level * THREADS + position among equals. */
void *classes_notes(void *arg)
{
    classes_note((int)(intptr_t)arg);
    return NULL;
}

/* On each CPU: by falling level, and among equals in the order of creation. */
static void check_order(void)
{
    int last[CLASSES_CPUS];
    memset(last, 0x7f, sizeof(last));
    if (pirn_cpu_count() != 1 && (pirn_sched_private_queues() || test_preempts())) {
        return; /* a thread that is preempted before it notes may note elsewhere */
    }
    for (int i = 0; i < TEST_GET(&classes_log.used); i++) {
        CHECK(classes_log.what[i] < last[classes_log.cpu[i]]);
        last[classes_log.cpu[i]] = classes_log.what[i];
    }
}

static void test_threads_run_by_priority_when_all_are_ready(void *unused)
{
    (void)unused;
    pirn_thread_t t[THREADS];
    classes_gate_close();
    for (int i = 0; i < THREADS; i++) {
        int level = 1 + (int)test_random(4);
        enum pirn_class class = !classes_shmac() && !test_preempts() && test_random(2)
                                    ? PIRN_CLASS_RR
                                    : PIRN_CLASS_FIFO;
        intptr_t place = level * THREADS + THREADS - 1 - i;
        t[i] = classes_spawn(class, (unsigned)level, 0, classes_notes, (void *)place);
    }
    classes_gate_open();
    classes_end(t, THREADS);
    check_order();
    CHECK(TEST_GET(&classes_log.used) == THREADS);
}

static void test_threads_change_places_when_priorities_change(void *unused)
{
    (void)unused;
    pirn_thread_t t[THREADS];
    classes_gate_close();
    for (int i = 0; i < THREADS; i++) {
        int level = (i * 7) % THREADS + 1; /* its future level: all different */
        t[i] = classes_spawn(PIRN_CLASS_FIFO, 1 + test_random(20), 0, classes_notes,
                             (void *)(intptr_t)level);
    }
    for (int i = 0; i < THREADS; i++) {
        pirn_sched_t s = {PIRN_CLASS_FIFO, (unsigned)((i * 7) % THREADS + 1), 0};
        if (test_random(2)) {
            CHECK(pirn_set_sched(t[i], &s) == 0);
        } else {
            CHECK(pirn_set_priority(t[i], s.priority) == 0);
        }
        pirn_get_sched(t[i], &s);
        CHECK(s.priority == (unsigned)((i * 7) % THREADS + 1));
    }
    classes_gate_open();
    classes_end(t, THREADS);
    check_order();
}

static void *notes_and_yields(void *arg)
{
    for (int round = 0; round < 3; round++) {
        classes_note((int)(intptr_t)arg);
        pirn_yield();
    }
    return NULL;
}

static void test_yield_goes_to_the_tail_of_its_level(void *unused)
{
    (void)unused;
    pirn_thread_t t[4];
    classes_gate_close();
    for (intptr_t i = 0; i < 3; i++) {
        t[i] = classes_spawn(i == 1 && !classes_shmac() ? PIRN_CLASS_RR : PIRN_CLASS_FIFO, 5, 0,
                             notes_and_yields, (void *)i);
    }
    t[3] = classes_spawn(PIRN_CLASS_FIFO, 4, 0, notes_and_yields, (void *)3);
    classes_gate_open();
    classes_end(t, 4);
    if (classes_one_cpu() &&
        !classes_shmac()) { /* under shmac a thread keeps its position: its time of creation */
        for (int i = 0; i < 9; i++) {
            CHECK(classes_log.what[i] == i % 3);
        }
    }
    for (int i = 9; classes_one_cpu() && i < 12; i++) {
        CHECK(classes_log.what[i] == 3);
    }
}

static void *makes_a_higher_one(void *arg)
{
    intptr_t id = (intptr_t)arg;
    classes_note((int)id);
    pirn_thread_t t = classes_spawn(PIRN_CLASS_FIFO, 20, 0, classes_notes, (void *)(id + 1));
    classes_note((int)id + 2);
    CHECK(pirn_join(t, NULL) == 0);
    return NULL;
}

static void test_preempted_thread_goes_to_the_head_of_its_level(void *unused)
{
    (void)unused;
    pirn_thread_t t[2];
    classes_gate_close();
    t[0] = classes_spawn(PIRN_CLASS_FIFO, 5, 0, makes_a_higher_one, (void *)0);
    t[1] = classes_spawn(PIRN_CLASS_FIFO, 5, 0, makes_a_higher_one, (void *)10);
    classes_gate_open();
    classes_end(t, 2);
    static const int want[] = {0, 1, 2, 10, 11, 12};
    for (int i = 0; classes_one_cpu() && i < 6; i++) {
        CHECK(classes_log.what[i] == want[i]);
    }
}

static void *waits_then_notes(void *sem)
{
    pirn_sem_wait(sem);
    classes_note(1);
    return NULL;
}

static void test_woken_thread_runs_at_once_when_it_is_more_urgent(void *unused)
{
    (void)unused;
    pirn_sem_t sem = PIRN_SEM_INIT(0);
    pirn_thread_t t;
    classes_log_clear();
    classes_sched_self(PIRN_CLASS_FIFO, 5, 0);
    t = classes_spawn(PIRN_CLASS_FIFO, 6, 0, waits_then_notes, &sem);
    pirn_sem_post(&sem);
    classes_note(2);
    classes_end(&t, 1);
    CHECK(!classes_one_cpu() || (classes_log.what[0] == 1 && classes_log.what[1] == 2));
}

/* A woken thread goes to the tail of its level, whichever thread wakes it. */
static void test_woken_thread_goes_to_the_tail_of_its_level(void *unused)
{
    (void)unused;
    pirn_sem_t sem = PIRN_SEM_INIT(0);
    pirn_thread_t t[2];
    classes_log_clear();
    classes_sched_self(PIRN_CLASS_FIFO, 5, 0);
    t[0] = classes_spawn(PIRN_CLASS_FIFO, 6, 0, waits_then_notes, &sem);
    CHECK(pirn_set_priority(t[0], 5) == 0);
    t[1] = classes_spawn(PIRN_CLASS_FIFO, 5, 0, classes_notes, (void *)2);
    pirn_sem_post(&sem);
    classes_end(t, 2);
    CHECK(!classes_one_cpu() || classes_shmac() ||
          (classes_log.what[0] == 2 && classes_log.what[1] == 1));
}

static void test_caller_that_sets_its_class_lets_its_equals_run(void *unused)
{
    (void)unused;
    pirn_thread_t t;
    classes_log_clear();
    classes_sched_self(PIRN_CLASS_FIFO, 6, 0);
    t = classes_spawn(PIRN_CLASS_FIFO, 5, 0, classes_notes, (void *)1);
    classes_sched_self(PIRN_CLASS_FIFO, 5, 0);
    classes_note(2);
    classes_end(&t, 1);
    CHECK(!classes_one_cpu() || classes_shmac() ||
          (classes_log.what[0] == 1 && classes_log.what[1] == 2));
}

static void *runs_until_stopped(void *stop)
{
    TEST_ADD(&classes_log.started, 1);
    while (TEST_GET((int *)stop) == 0) {
        test_pause();
        pirn_sem_t sem = PIRN_SEM_INIT(0);
        pirn_sem_post(&sem);
        pirn_yield();
    }
    return NULL;
}

/* Every CPU is busy with threads of different levels. A thread more urgent than the lowest of them
 * gets that one's CPU, though main, at the top, never gives up its own. */
static void test_lowest_running_thread_makes_room_for_a_more_urgent_one(void *unused)
{
    (void)unused;
    pirn_thread_t t[CLASSES_CPUS + 1];
    int stop = 0, n = (int)pirn_cpu_count();
    classes_log_clear();
    TEST_SET(&stop, 0);
    if (!across_cpus()) {
        return;
    }
    classes_sched_self(PIRN_CLASS_FIFO, CLASSES_TOP, 0);
    for (int i = 0; i < n - 1; i++) {
        t[i] = classes_spawn(PIRN_CLASS_FIFO, 10 + (unsigned)i, 0, runs_until_stopped, &stop);
    }
    while (TEST_GET(&classes_log.started) < n - 1) {
        test_pause();
    }
    t[n - 1] = classes_spawn(PIRN_CLASS_FIFO, 50, 0, classes_notes, (void *)7);
    while (TEST_GET(&classes_log.used) == 0) {
        test_pause();
    }
    TEST_SET(&stop, 1);
    classes_end(t, n);
}

enum { ROUNDS = 8 };

struct between {
    int stop, round;
    pirn_sem_t high[CLASSES_CPUS], middle;
};

/* Makes calls that end with a check for a more urgent ready thread, until it is asked to stop. */
static void *calls_until_stopped(void *arg)
{
    struct between *x = arg;
    pirn_barrier_t alone;
    CHECK(pirn_barrier_init(&alone, 1) == 0);
    while (TEST_GET(&x->stop) == 0) {
        test_pause();
        pirn_barrier_wait(&alone);
    }
    return NULL;
}

static void works_a_moment(void)
{
    for (unsigned i = test_random(4); i > 0; i--) {
        test_pause();
    }
}

static void *works_when_posted(void *sem)
{
    for (int i = 0; i < ROUNDS; i++) {
        pirn_sem_wait(sem);
        works_a_moment();
    }
    return NULL;
}

static void *tells_when_posted(void *arg)
{
    struct between *x = arg;
    for (int i = 1; i <= ROUNDS; i++) {
        pirn_sem_wait(&x->middle);
        TEST_SET(&x->round, i);
    }
    return NULL;
}

/* While a CPU switches from an urgent thread to one of class OTHER, a thread between them becomes
 * ready. It must not wait for the latter, which never stops. */
static void test_urgent_thread_does_not_wait_for_one_that_has_just_begun(void *unused)
{
    (void)unused;
    pirn_thread_t t[2 * CLASSES_CPUS + 1];
    struct between x;
    int n = (int)pirn_cpu_count() - 1;
    if (!across_cpus()) {
        return;
    }
    TEST_SET(&x.stop, 0);
    TEST_SET(&x.round, 0);
    pirn_sem_init(&x.middle, 0);
    classes_sched_self(PIRN_CLASS_FIFO, CLASSES_TOP, 0);
    for (int i = 0; i < n; i++) {
        pirn_sem_init(&x.high[i], 0);
        t[i] = classes_spawn(PIRN_CLASS_OTHER, 0, 0, calls_until_stopped, &x);
        t[n + i] = classes_spawn(PIRN_CLASS_FIFO, 10, 0, works_when_posted, &x.high[i]);
    }
    t[2 * n] = classes_spawn(PIRN_CLASS_FIFO, 5, 0, tells_when_posted, &x);
    for (int round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < n; i++) {
            pirn_sem_post(&x.high[i]);
        }
        works_a_moment();
        pirn_sem_post(&x.middle);
        while (TEST_GET(&x.round) < round) {
            test_pause();
        }
    }
    TEST_SET(&x.stop, 1);
    classes_end(t, 2 * n + 1);
}

static int changes_ended;

static void foreign_changes(void *t)
{
    static const pirn_sched_t urgent = {PIRN_CLASS_FIFO, 5, 0}, other = {PIRN_CLASS_OTHER, 0, 0};
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(pirn_set_sched(t, &urgent) == 0);
        CHECK(pirn_set_sched(t, &other) == 0);
    }
    TEST_SET(&changes_ended, 1);
}

/* No other thread can run: the CPU goes to sleep while its thread changes queues, if it does. */
static void test_ready_thread_runs_when_foreign_thread_makes_it_urgent(void *unused)
{
    (void)unused;
    TEST_SET(&changes_ended, 0);
    test_foreign(foreign_changes, pirn_self());
    while (TEST_GET(&changes_ended) == 0) {
        pirn_sleep(test_random(40));
    }
}

static void *tells_its_class(void *out)
{
    pirn_get_sched(pirn_self(), out);
    return NULL;
}

static void test_class_is_inherited_and_refused_when_it_is_wrong(void *unused)
{
    (void)unused;
    pirn_thread_t t;
    pirn_sched_t got;
    classes_sched_self(PIRN_CLASS_RR, 7, 3);
    CHECK(pirn_create(&t, NULL, tells_its_class, &got) == 0);
    CHECK(pirn_join(t, NULL) == 0);
    CHECK(got.sched_class == PIRN_CLASS_RR && got.priority == 7 && got.weight == 3);
    static const pirn_sched_t bad[] = {{PIRN_CLASS_OTHER, 1, 0},
                                       {PIRN_CLASS_FIFO, 0, 0},
                                       {PIRN_CLASS_RR, 100, 0},
                                       {PIRN_CLASS_OTHER, 0, 101},
                                       {(enum pirn_class)3, 1, 0}};
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        pirn_attr_t attr = {.sched = &bad[i]};
        CHECK(pirn_set_sched(pirn_self(), &bad[i]) == -EINVAL);
        CHECK(pirn_create(&t, &attr, tells_its_class, &got) == -EINVAL);
    }
    CHECK(pirn_set_priority(pirn_self(), 0) == -EINVAL);
    classes_sched_self(PIRN_CLASS_OTHER, 0, 0);
    CHECK(pirn_set_priority(pirn_self(), 1) == -EINVAL);
    pirn_get_sched(pirn_self(), &got);
    CHECK(got.weight == PIRN_WEIGHT_DEFAULT);
}

static const char *const scheds[] = {"single:discipline=posix",
                                     "single:discipline=posix,queue=heap",
                                     "single:discipline=shmac",
                                     "central:discipline=posix",
                                     "central:discipline=shmac",
                                     "dist:discipline=posix",
                                     "dist:discipline=shmac",
                                     "steal:discipline=posix",
                                     "steal:discipline=posix,queue=heap",
                                     "steal:discipline=shmac",
                                     "steal:discipline=shmac,start=zero",
                                     "request:discipline=posix",
                                     "request:discipline=shmac",
                                     NULL};

#define TEST(name)                                                                                 \
    {                                                                                              \
#name, test_##name, 0                                                                      \
    }

static void test_discipline_has_classes(void *unused)
{
    (void)unused;
    CHECK(has_classes());
}

static const struct test tests[] = {
    TEST(discipline_has_classes),
    TEST(threads_run_by_priority_when_all_are_ready),
    TEST(threads_change_places_when_priorities_change),
    TEST(yield_goes_to_the_tail_of_its_level),
    TEST(preempted_thread_goes_to_the_head_of_its_level),
    TEST(woken_thread_runs_at_once_when_it_is_more_urgent),
    TEST(woken_thread_goes_to_the_tail_of_its_level),
    TEST(caller_that_sets_its_class_lets_its_equals_run),
    TEST(urgent_thread_does_not_wait_for_one_that_has_just_begun),
    TEST(lowest_running_thread_makes_room_for_a_more_urgent_one),
    TEST(ready_thread_runs_when_foreign_thread_makes_it_urgent),
    TEST(woken_thread_runs_when_it_becomes_urgent_meanwhile),
    TEST(woken_thread_runs_when_its_cpu_makes_it_urgent_meanwhile),
    TEST(urgent_thread_does_not_wait_for_main_that_has_just_gone_on),
    TEST(class_is_inherited_and_refused_when_it_is_wrong),
#ifdef PIRN_SIM
    TEST(other_threads_share_by_weight),
    TEST(late_thread_starts_at_its_creators_time),
    TEST(sleeper_has_bounded_credit),
    TEST(rr_rotates_at_each_slice_and_fifo_does_not),
    TEST(woken_threads_are_before_those_who_compute),
    TEST(holder_runs_before_others_when_it_inherits),
#endif
    {0}};

const struct suite suite_classes = {"classes", tests, scheds, true};
