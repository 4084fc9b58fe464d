/* SPDX-License-Identifier: MIT */
/*
 * Suite classes: scheduling classes and priorities (disciplines posix and shmac), under each
 * organization.
 *
 * Order is promised on one CPU everywhere, and on several by what every CPU runs after another: the
 * log keeps a sequence for each CPU. To have all threads of a test ready before the first of them
 * runs, main runs at the highest priority, and so does a blocker on every other CPU, until the gate
 * opens (not under "request": there a CPU without a thread of its own may take any).
 *
 * Slices need ticks. They are delivered in the simulator, by test_tick.
 */
#include <errno.h>
#include <string.h>

#include "suite.h"

#ifdef PIRN_SIM
#include "../../src/sync/omutex.h"
#endif

enum { TOP = 99, THREADS = 10, CPUS = 64, LOG = 600 };

static struct {
    int gate, started, used;
    int busy[CPUS]; /* by CPU: it has run a blocker, or main, and so does so for ever */
    int what[LOG], cpu[LOG];
} log_;

static bool shmac(void)
{
    return strstr(test_sched(), "discipline=shmac") != NULL;
}

static bool has_classes(void)
{
    return shmac() || strstr(test_sched(), "discipline=posix") != NULL;
}

static bool is_request(void)
{
    return strncmp(test_sched(), "request", 7) == 0;
}

/* Everything that happens is the test's own doing: no other CPU, and no ticks but test_tick's. */
static bool one_cpu(void)
{
    return pirn_cpu_count() == 1 && !test_preempts();
}

static void sched_self(enum pirn_class class, unsigned priority, unsigned weight)
{
    pirn_sched_t s = {class, priority, weight};
    CHECK(pirn_set_sched(pirn_self(), &s) == 0);
}

static pirn_thread_t spawn_at(enum pirn_class class, unsigned priority, unsigned weight,
                              void *(*fn)(void *), void *arg)
{
    pirn_thread_t t;
    pirn_sched_t s = {class, priority, weight};
    pirn_attr_t attr = {.sched = &s};
    CHECK(pirn_create(&t, &attr, fn, arg) == 0);
    return t;
}

static void note(int what)
{
    int i = TEST_ADD(&log_.used, 1) - 1;
    CHECK(i < LOG);
    log_.cpu[i] = pirn_cpu_self();
    TEST_SET(&log_.what[i], what);
}

static void *blocks_cpu(void *unused)
{
    TEST_ADD(&log_.started, 1);
    while (TEST_GET(&log_.gate) == 0) {
        TEST_SET(&log_.busy[pirn_cpu_self()], 1);
        pirn_yield();
    }
    return unused;
}

static pirn_thread_t blockers[CPUS];

static bool all_busy(void)
{
    int n = (int)pirn_cpu_count(), busy = 0;
    TEST_SET(&log_.busy[pirn_cpu_self()], 1);
    for (int i = 0; i < n; i++) {
        busy += TEST_GET(&log_.busy[i]);
    }
    return TEST_GET(&log_.started) == n && (busy == n || is_request());
}

/* Nobody below TOP runs from here on; from gate_open on they do. */
static void gate_close(void)
{
    memset(&log_, 0, sizeof(log_));
    TEST_SET(&log_.gate, 0);
    TEST_SET(&log_.started, 0);
    for (int i = 0; i < CPUS; i++) {
        TEST_SET(&log_.busy[i], 0);
    }
    TEST_SET(&log_.used, 0);
    sched_self(PIRN_CLASS_FIFO, TOP, 0);
    int n = (int)pirn_cpu_count();
    for (int i = 0; i < n; i++) {
        blockers[i] = spawn_at(PIRN_CLASS_FIFO, TOP, 0, blocks_cpu, NULL);
    }
    while (!all_busy()) {
        pirn_yield();
    }
}

static void gate_open(void)
{
    TEST_SET(&log_.gate, 1);
    for (unsigned i = 0; i < pirn_cpu_count(); i++) {
        CHECK(pirn_join(blockers[i], NULL) == 0);
    }
}

static void end_main(pirn_thread_t *t, int n)
{
    for (int i = 0; i < n; i++) {
        CHECK(pirn_join(t[i], NULL) == 0);
    }
    sched_self(PIRN_CLASS_OTHER, 0, 0);
}

/* What thread i of THREADS is, as one number: level * THREADS + place among equals. */
static void *notes_its_place(void *arg)
{
    note((int)(intptr_t)arg);
    return NULL;
}

/* On each CPU: by falling level, and among equals in the order of creation. */
static void check_order(void)
{
    int last[CPUS];
    memset(last, 0x7f, sizeof(last));
    if (pirn_cpu_count() != 1 && (is_request() || test_preempts())) {
        return; /* or: who is preempted before it notes, notes elsewhere */
    }
    for (int i = 0; i < TEST_GET(&log_.used); i++) {
        CHECK(log_.what[i] < last[log_.cpu[i]]);
        last[log_.cpu[i]] = log_.what[i];
    }
}

static void test_threads_run_by_priority_when_all_are_ready(void *unused)
{
    (void)unused;
    pirn_thread_t t[THREADS];
    gate_close();
    for (int i = 0; i < THREADS; i++) {
        int level = 1 + (int)test_random(4);
        enum pirn_class class =
            !shmac() && !test_preempts() && test_random(2) ? PIRN_CLASS_RR : PIRN_CLASS_FIFO;
        intptr_t place = level * THREADS + THREADS - 1 - i;
        t[i] = spawn_at(class, (unsigned)level, 0, notes_its_place, (void *)place);
    }
    gate_open();
    end_main(t, THREADS);
    check_order();
    CHECK(TEST_GET(&log_.used) == THREADS);
}

static void test_threads_change_places_when_priorities_change(void *unused)
{
    (void)unused;
    pirn_thread_t t[THREADS];
    gate_close();
    for (int i = 0; i < THREADS; i++) {
        int level = (i * 7) % THREADS + 1; /* what it will be: all different */
        t[i] = spawn_at(PIRN_CLASS_FIFO, 1 + test_random(20), 0, notes_its_place,
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
    gate_open();
    end_main(t, THREADS);
    check_order();
}

static void *notes_and_yields(void *arg)
{
    for (int round = 0; round < 3; round++) {
        note((int)(intptr_t)arg);
        pirn_yield();
    }
    return NULL;
}

static void test_yield_goes_to_the_tail_of_its_level(void *unused)
{
    (void)unused;
    pirn_thread_t t[4];
    gate_close();
    for (intptr_t i = 0; i < 3; i++) {
        t[i] = spawn_at(i == 1 && !shmac() ? PIRN_CLASS_RR : PIRN_CLASS_FIFO, 5, 0,
                        notes_and_yields, (void *)i);
    }
    t[3] = spawn_at(PIRN_CLASS_FIFO, 4, 0, notes_and_yields, (void *)3);
    gate_open();
    end_main(t, 4);
    if (one_cpu() && !shmac()) { /* there a thread keeps its place: its time of creation */
        for (int i = 0; i < 9; i++) {
            CHECK(log_.what[i] == i % 3);
        }
    }
    for (int i = 9; one_cpu() && i < 12; i++) {
        CHECK(log_.what[i] == 3);
    }
}

static void *makes_a_higher_one(void *arg)
{
    intptr_t id = (intptr_t)arg;
    note((int)id);
    pirn_thread_t t = spawn_at(PIRN_CLASS_FIFO, 20, 0, notes_its_place, (void *)(id + 1));
    note((int)id + 2);
    CHECK(pirn_join(t, NULL) == 0);
    return NULL;
}

static void test_preempted_thread_goes_to_the_head_of_its_level(void *unused)
{
    (void)unused;
    pirn_thread_t t[2];
    gate_close();
    t[0] = spawn_at(PIRN_CLASS_FIFO, 5, 0, makes_a_higher_one, (void *)0);
    t[1] = spawn_at(PIRN_CLASS_FIFO, 5, 0, makes_a_higher_one, (void *)10);
    gate_open();
    end_main(t, 2);
    static const int want[] = {0, 1, 2, 10, 11, 12};
    for (int i = 0; one_cpu() && i < 6; i++) {
        CHECK(log_.what[i] == want[i]);
    }
}

static void *waits_then_notes(void *sem)
{
    pirn_sem_wait(sem);
    note(1);
    return NULL;
}

static void test_woken_thread_runs_at_once_when_it_is_more_urgent(void *unused)
{
    (void)unused;
    pirn_sem_t sem = PIRN_SEM_INIT(0);
    pirn_thread_t t;
    memset(&log_, 0, sizeof(log_));
    TEST_SET(&log_.used, 0);
    sched_self(PIRN_CLASS_FIFO, 5, 0);
    t = spawn_at(PIRN_CLASS_FIFO, 6, 0, waits_then_notes, &sem);
    pirn_sem_post(&sem);
    note(2);
    end_main(&t, 1);
    CHECK(!one_cpu() || (log_.what[0] == 1 && log_.what[1] == 2));
}

static void *runs_until_told(void *stop)
{
    TEST_ADD(&log_.started, 1);
    while (TEST_GET((int *)stop) == 0) {
        test_pause();
        pirn_sem_t sem = PIRN_SEM_INIT(0);
        pirn_sem_post(&sem);
        pirn_yield();
    }
    return NULL;
}

/* Every CPU is busy with threads of different levels: who is more urgent than the lowest of them
 * gets its CPU, though main, at the top, never gives up its own. */
static void test_lowest_running_thread_makes_room_for_a_more_urgent_one(void *unused)
{
    (void)unused;
    pirn_thread_t t[CPUS + 1];
    int stop = 0, n = (int)pirn_cpu_count();
    bool pins = strncmp(test_sched(), "central", 7) == 0 || strncmp(test_sched(), "dist", 4) == 0;
    memset(&log_, 0, sizeof(log_));
    TEST_SET(&log_.started, 0);
    TEST_SET(&log_.used, 0);
    TEST_SET(&stop, 0);
    if (n == 1 || pins || is_request()) {
        return; /* no promise across CPUs */
    }
    sched_self(PIRN_CLASS_FIFO, TOP, 0);
    for (int i = 0; i < n - 1; i++) {
        t[i] = spawn_at(PIRN_CLASS_FIFO, 10 + (unsigned)i, 0, runs_until_told, &stop);
    }
    while (TEST_GET(&log_.started) < n - 1) {
        test_pause();
    }
    t[n - 1] = spawn_at(PIRN_CLASS_FIFO, 50, 0, notes_its_place, (void *)7);
    while (TEST_GET(&log_.used) == 0) {
        test_pause();
    }
    TEST_SET(&stop, 1);
    end_main(t, n);
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
    sched_self(PIRN_CLASS_RR, 7, 3);
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
    sched_self(PIRN_CLASS_OTHER, 0, 0);
    CHECK(pirn_set_priority(pirn_self(), 1) == -EINVAL);
    pirn_get_sched(pirn_self(), &got);
    CHECK(got.weight == PIRN_WEIGHT_DEFAULT);
}

#ifdef PIRN_SIM

struct share {
    int stop, *ticks_left;
    int ticks;
    unsigned weight;
    struct share *child; /* made after `spawn_after` ticks */
    int spawn_after;
    pirn_thread_t child_thread;
    pirn_sem_t sleep; /* waits for it first, if it is a sleeper */
    bool sleeper;
};

/* Uses ticks until all that the test has to give are used. */
static void *uses_ticks(void *arg)
{
    struct share *s = arg;
    if (s->sleeper) {
        pirn_sem_wait(&s->sleep);
    }
    while (TEST_GET(s->ticks_left) > 0) {
        TEST_ADD(s->ticks_left, -1);
        s->ticks++;
        if (s->child != NULL && s->ticks == s->spawn_after) {
            if (s->child->sleeper) {
                pirn_sem_post(&s->child->sleep);
            } else {
                s->child_thread =
                    spawn_at(PIRN_CLASS_OTHER, 0, s->child->weight, uses_ticks, s->child);
            }
        }
        test_tick();
    }
    return NULL;
}

static void test_other_threads_share_by_weight(void *unused)
{
    (void)unused;
    enum { N = 4, TICKS = 240 };
    struct share s[N];
    pirn_thread_t t[N];
    int left = 0;
    unsigned sum = 0;
    TEST_SET(&left, TICKS);
    if (!one_cpu()) {
        return;
    }
    sched_self(PIRN_CLASS_FIFO, TOP, 0);
    for (int i = 0; i < N; i++) {
        s[i] = (struct share){.ticks_left = &left, .weight = 5 * (1 + test_random(8))};
        sum += s[i].weight;
        t[i] = spawn_at(PIRN_CLASS_OTHER, 0, s[i].weight, uses_ticks, &s[i]);
    }
    end_main(t, N);
    for (int i = 0; i < N; i++) {
        int fair = TICKS * (int)s[i].weight / (int)sum;
        CHECK(s[i].ticks >= fair - 9 && s[i].ticks <= fair + 9);
    }
}

/* Figures 3.5 and 3.6 of the thesis: a thread that starts late, beside one that has run for long.
 */
static void test_late_thread_starts_at_its_creators_time(void *unused)
{
    (void)unused;
    int left = 0;
    TEST_SET(&left, 100);
    if (!one_cpu()) {
        return;
    }
    struct share late = {.ticks_left = &left, .weight = 10};
    struct share early = {.ticks_left = &left, .weight = 10, .child = &late, .spawn_after = 60};
    sched_self(PIRN_CLASS_FIFO, TOP, 0);
    pirn_thread_t t = spawn_at(PIRN_CLASS_OTHER, 0, 10, uses_ticks, &early);
    end_main(&t, 1);
    CHECK(pirn_join(early.child_thread, NULL) == 0);
    if (strstr(test_sched(), "shmac,start=zero") != NULL) {
        CHECK(late.ticks >= 38); /* Figure 3.5: it runs alone until it has caught up */
    } else {
        CHECK(late.ticks >= 18 && late.ticks <= 22); /* Figure 3.6: they share at once */
    }
}

static void test_sleeper_has_bounded_credit(void *unused)
{
    (void)unused;
    int left = 0;
    TEST_SET(&left, 100);
    if (!one_cpu() || shmac()) {
        return; /* the thesis bounds nothing */
    }
    struct share late = {.ticks_left = &left, .weight = 10, .sleeper = true};
    struct share early = {.ticks_left = &left, .weight = 10, .child = &late, .spawn_after = 60};
    sched_self(PIRN_CLASS_FIFO, TOP, 0);
    pirn_thread_t t[2];
    t[1] = spawn_at(PIRN_CLASS_OTHER, 0, 10, uses_ticks, &late);
    t[0] = spawn_at(PIRN_CLASS_OTHER, 0, 10, uses_ticks, &early);
    end_main(t, 2);
    CHECK(late.ticks >= 18 && late.ticks <= 23);
}

static void *notes_each_tick(void *arg)
{
    for (int i = 0; i < 4; i++) {
        note((int)(intptr_t)arg);
        test_tick();
    }
    return NULL;
}

static void test_rr_rotates_at_each_slice_and_fifo_does_not(void *unused)
{
    (void)unused;
    pirn_thread_t t[3];
    gate_close();
    t[0] = spawn_at(PIRN_CLASS_RR, 5, 0, notes_each_tick, (void *)0);
    t[1] = spawn_at(PIRN_CLASS_RR, 5, 0, notes_each_tick, (void *)1);
    t[2] = spawn_at(PIRN_CLASS_FIFO, 5, 0, notes_each_tick, (void *)2);
    gate_open();
    end_main(t, 3);
    static const int posix[] = {0, 1, 2, 2, 2, 2, 0, 1, 0, 1, 0, 1};
    static const int thesis[] = {2, 2, 2, 2, 0, 1, 0, 1, 0, 1, 0, 1};
    for (int i = 0; one_cpu() && i < 12; i++) {
        CHECK(log_.what[i] == (shmac() ? thesis[i] : posix[i]));
    }
}

struct inherits {
    struct rt_omutex m;
    int have;
};

static void *holds_and_notes(void *arg)
{
    struct inherits *x = arg;
    CHECK(rt_omutex_lock_until(&x->m, UINT64_MAX) == 0);
    TEST_SET(&x->have, 1);
    pirn_yield();
    note(1);
    rt_omutex_unlock(&x->m);
    note(2);
    return NULL;
}

static void *wants_and_notes(void *arg)
{
    struct inherits *x = arg;
    CHECK(rt_omutex_lock_until(&x->m, UINT64_MAX) == 0);
    note(3);
    rt_omutex_unlock(&x->m);
    return NULL;
}

/* The holder, of class OTHER and ready, gets ahead of the threads between as soon as somebody
 * urgent wants its mutex; and falls back at the unlock. */
static void test_holder_runs_before_others_when_it_inherits(void *unused)
{
    (void)unused;
    struct inherits x;
    pirn_thread_t t[3];
    rt_omutex_init(&x.m, OM_INHERIT, 0);
    TEST_SET(&x.have, 0);
    memset(&log_, 0, sizeof(log_));
    TEST_SET(&log_.used, 0);
    t[0] = spawn_at(PIRN_CLASS_OTHER, 0, 0, holds_and_notes, &x);
    while (TEST_GET(&x.have) == 0) {
        pirn_yield();
    }
    sched_self(PIRN_CLASS_FIFO, TOP, 0);
    t[1] = spawn_at(PIRN_CLASS_FIFO, 10, 0, notes_its_place, (void *)4);
    t[2] = spawn_at(PIRN_CLASS_FIFO, 20, 0, wants_and_notes, &x);
    end_main(t, 3);
    static const int want[] = {1, 3, 4, 2};
    for (int i = 0; one_cpu() && log_.what[0] == 1 && i < 4; i++) {
        CHECK(log_.what[i] == want[i]);
    }
    CHECK(TEST_GET(&log_.used) == 4);
}
#endif

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

static const struct test tests[] = {TEST(discipline_has_classes),
                                    TEST(threads_run_by_priority_when_all_are_ready),
                                    TEST(threads_change_places_when_priorities_change),
                                    TEST(yield_goes_to_the_tail_of_its_level),
                                    TEST(preempted_thread_goes_to_the_head_of_its_level),
                                    TEST(woken_thread_runs_at_once_when_it_is_more_urgent),
                                    TEST(lowest_running_thread_makes_room_for_a_more_urgent_one),
                                    TEST(class_is_inherited_and_refused_when_it_is_wrong),
#ifdef PIRN_SIM
                                    TEST(other_threads_share_by_weight),
                                    TEST(late_thread_starts_at_its_creators_time),
                                    TEST(sleeper_has_bounded_credit),
                                    TEST(rr_rotates_at_each_slice_and_fifo_does_not),
                                    TEST(holder_runs_before_others_when_it_inherits),
#endif
                                    {0}};

const struct suite suite_classes = {"classes", tests, scheds};
