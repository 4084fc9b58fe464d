/* SPDX-License-Identifier: MIT */
/*
 * classes_ticks.c - suite classes: slices, shares and inheritance, in the simulator, where
 * test_tick determines how long a thread has run.
 */
#include "classes_tests.h"

#ifdef PIRN_SIM
#include <string.h>

#include "../../src/sync/omutex.h"

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

/* Uses ticks until those of the test are used up. */
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
                    classes_spawn(PIRN_CLASS_OTHER, 0, s->child->weight, uses_ticks, s->child);
            }
        }
        test_tick();
    }
    return NULL;
}

void test_other_threads_share_by_weight(void *unused)
{
    (void)unused;
    enum { N = 4, TICKS = 240 };
    struct share s[N];
    pirn_thread_t t[N];
    int left = 0;
    unsigned sum = 0;
    TEST_SET(&left, TICKS);
    if (!classes_one_cpu()) {
        return;
    }
    classes_sched_self(PIRN_CLASS_FIFO, CLASSES_TOP, 0);
    for (int i = 0; i < N; i++) {
        s[i] =
            (struct share){.ticks_left = &left, .weight = i == 0 ? 10 : 5 * (1 + test_random(8))};
        sum += s[i].weight;
        t[i] = classes_spawn(PIRN_CLASS_OTHER, 0, s[i].weight, uses_ticks, &s[i]);
    }
    classes_end(t, N);
    for (int i = 0; i < N; i++) {
        int fair = TICKS * (int)s[i].weight / (int)sum;
        CHECK(s[i].ticks >= fair - 9 && s[i].ticks <= fair + 9);
    }
}

/* Figures 3.5 and 3.6 of the thesis: a thread that starts late, beside one that has run for a long
 * time. */
void test_late_thread_starts_at_its_creators_time(void *unused)
{
    (void)unused;
    int left = 0;
    TEST_SET(&left, 100);
    if (!classes_one_cpu()) {
        return;
    }
    struct share late = {.ticks_left = &left, .weight = 10};
    struct share early = {.ticks_left = &left, .weight = 10, .child = &late, .spawn_after = 60};
    classes_sched_self(PIRN_CLASS_FIFO, CLASSES_TOP, 0);
    pirn_thread_t t = classes_spawn(PIRN_CLASS_OTHER, 0, 10, uses_ticks, &early);
    classes_end(&t, 1);
    CHECK(pirn_join(early.child_thread, NULL) == 0);
    if (strstr(test_sched(), "shmac,start=zero") != NULL) {
        CHECK(late.ticks >= 38); /* Figure 3.5: it runs alone until it has caught up */
    } else {
        CHECK(late.ticks >= 18 && late.ticks <= 22); /* Figure 3.6: they share at once */
    }
}

void test_sleeper_has_bounded_credit(void *unused)
{
    (void)unused;
    int left = 0;
    TEST_SET(&left, 100);
    if (!classes_one_cpu() || classes_shmac()) {
        return; /* the thesis gives no bound */
    }
    struct share late = {.ticks_left = &left, .weight = 10, .sleeper = true};
    struct share early = {.ticks_left = &left, .weight = 10, .child = &late, .spawn_after = 60};
    classes_sched_self(PIRN_CLASS_FIFO, CLASSES_TOP, 0);
    pirn_thread_t t[2];
    t[1] = classes_spawn(PIRN_CLASS_OTHER, 0, 10, uses_ticks, &late);
    t[0] = classes_spawn(PIRN_CLASS_OTHER, 0, 10, uses_ticks, &early);
    classes_end(t, 2);
    CHECK(late.ticks >= 18 && late.ticks <= 23);
}

enum { COMPUTE = 6, WAIT = 5 };

static struct {
    pirn_mutex_t mutex;
    pirn_cond_t start;
    int left;  /* ticks that are to be used */
    int ticks; /* used */
    int posted_at, woken, last_at;
} calm;

static void *computes(void *first)
{
    while (TEST_GET(&calm.left) > 0) {
        TEST_ADD(&calm.left, -1);
        TEST_ADD(&calm.ticks, 1);
        if (first != NULL && TEST_GET(&calm.posted_at) == 0 && TEST_GET(&calm.ticks) > 40) {
            TEST_SET(&calm.posted_at, TEST_GET(&calm.ticks));
            pirn_cond_broadcast(&calm.start);
        }
        test_tick();
    }
    return NULL;
}

static void *waits(void *unused)
{
    pirn_mutex_lock(&calm.mutex);
    pirn_cond_wait(&calm.start, &calm.mutex);
    calm.woken++;
    calm.last_at = TEST_GET(&calm.ticks);
    pirn_mutex_unlock(&calm.mutex);
    return unused;
}

void test_woken_threads_are_before_those_who_compute(void *unused)
{
    (void)unused;
    pirn_thread_t t[WAIT + COMPUTE];
    if (!classes_one_cpu() || classes_shmac()) {
        return;
    }
    memset((void *)&calm, 0, sizeof(calm));
    TEST_SET(&calm.left, 100);
    classes_sched_self(PIRN_CLASS_FIFO, CLASSES_TOP, 0);
    for (int i = 0; i < WAIT; i++) {
        t[i] = classes_spawn(PIRN_CLASS_OTHER, 0, 10, waits, NULL);
    }
    for (int i = WAIT; i < WAIT + COMPUTE; i++) {
        t[i] = classes_spawn(PIRN_CLASS_OTHER, 0, 10, computes, i == WAIT ? &calm : NULL);
    }
    classes_end(t, WAIT + COMPUTE);
    CHECK(calm.woken == WAIT);
    CHECK(calm.last_at - calm.posted_at <= 2); /* the rest of one slice */
}

static void *notes_each_tick(void *arg)
{
    for (int i = 0; i < 4; i++) {
        classes_note((int)(intptr_t)arg);
        test_tick();
    }
    return NULL;
}

void test_rr_rotates_at_each_slice_and_fifo_does_not(void *unused)
{
    (void)unused;
    pirn_thread_t t[3];
    classes_gate_close();
    t[0] = classes_spawn(PIRN_CLASS_RR, 5, 0, notes_each_tick, (void *)0);
    t[1] = classes_spawn(PIRN_CLASS_RR, 5, 0, notes_each_tick, (void *)1);
    t[2] = classes_spawn(PIRN_CLASS_FIFO, 5, 0, notes_each_tick, (void *)2);
    classes_gate_open();
    classes_end(t, 3);
    static const int posix[] = {0, 1, 2, 2, 2, 2, 0, 1, 0, 1, 0, 1};
    static const int thesis[] = {2, 2, 2, 2, 0, 1, 0, 1, 0, 1, 0, 1};
    for (int i = 0; classes_one_cpu() && i < 12; i++) {
        CHECK(classes_log.what[i] == (classes_shmac() ? thesis[i] : posix[i]));
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
    classes_note(1);
    rt_omutex_unlock(&x->m);
    classes_note(2);
    return NULL;
}

static void *wants_and_notes(void *arg)
{
    struct inherits *x = arg;
    CHECK(rt_omutex_lock_until(&x->m, UINT64_MAX) == 0);
    classes_note(3);
    rt_omutex_unlock(&x->m);
    return NULL;
}

/* The holder, of class OTHER and ready, overtakes the threads between as soon as an urgent thread
 * wants its mutex; it falls back at the unlock. */
void test_holder_runs_before_others_when_it_inherits(void *unused)
{
    (void)unused;
    struct inherits x;
    pirn_thread_t t[3];
    rt_omutex_init(&x.m, OM_INHERIT, 0);
    TEST_SET(&x.have, 0);
    classes_log_clear();
    t[0] = classes_spawn(PIRN_CLASS_OTHER, 0, 0, holds_and_notes, &x);
    while (TEST_GET(&x.have) == 0) {
        pirn_yield();
    }
    classes_sched_self(PIRN_CLASS_FIFO, CLASSES_TOP, 0);
    t[1] = classes_spawn(PIRN_CLASS_FIFO, 10, 0, classes_notes, (void *)4);
    t[2] = classes_spawn(PIRN_CLASS_FIFO, 20, 0, wants_and_notes, &x);
    classes_end(t, 3);
    static const int want[] = {1, 3, 4, 2};
    for (int i = 0; classes_one_cpu() && classes_log.what[0] == 1 && i < 4; i++) {
        CHECK(classes_log.what[i] == want[i]);
    }
    CHECK(TEST_GET(&classes_log.used) == 4);
}
#endif
