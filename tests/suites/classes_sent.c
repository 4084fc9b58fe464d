/* SPDX-License-Identifier: MIT */
/*
 * The part of suite classes about threads that a kernel thread without a CPU makes ready: under
 * policies with a queue for each CPU they are sent there.
 *
 * One CPU, which main does not give up unless it must: it calls the runtime, where it gives way to
 * a more urgent thread, until that has run. A lost preemption hangs the run.
 */
#include <string.h>

#include "classes_tests.h"

enum { ROUNDS = 4 };

struct sent {
    pirn_thread_t t;
    pirn_sem_t go, first;
    int ran, ended;
};

static void calls_until(const int *ran, int n)
{
    pirn_barrier_t alone;
    CHECK(pirn_barrier_init(&alone, 1) == 0);
    while (TEST_GET(ran) < n) {
        test_pause();
        pirn_barrier_wait(&alone);
    }
}

static void *tells_when_woken(void *arg)
{
    struct sent *x = arg;
    pirn_sem_wait(&x->go);
    TEST_SET(&x->ran, 1);
    return NULL;
}

static void foreign_wakes(void *arg)
{
    struct sent *x = arg;
    pirn_sem_post(&x->go);
    TEST_ADD(&x->ended, 1);
}

static void foreign_raises(void *arg)
{
    struct sent *x = arg;
    static const pirn_sched_t urgent = {PIRN_CLASS_FIFO, 5, 0};
    CHECK(pirn_set_sched(x->t, &urgent) == 0);
    TEST_ADD(&x->ended, 1);
}

static void wait_for_foreign(const struct sent *x, int n)
{
    while (TEST_GET(&x->ended) != n) {
        pirn_sleep(20);
    }
}

/* Under task affinity it may depend on main, which runs, or on a thread that does not. */
static void may_depend(pirn_thread_t t, pirn_thread_t other)
{
    uint32_t on = strstr(test_sched(), "affinity=") != NULL ? test_random(3) : 0;
    if (on != 0) {
        CHECK(pirn_affinity_add_to(t, on == 1 ? pirn_self() : other) == 0);
    }
}

static void *waits_once(void *sem)
{
    pirn_sem_wait(sem);
    return NULL;
}

static void sent_begin(struct sent *x, pirn_thread_t *other)
{
    pirn_sem_init(&x->go, 0);
    pirn_sem_init(&x->first, 0);
    *other = classes_spawn(PIRN_CLASS_OTHER, 0, 0, waits_once, &x->first);
    x->t = classes_spawn(PIRN_CLASS_OTHER, 0, 0, tells_when_woken, x);
    pirn_yield();
    may_depend(x->t, *other);
}

static void sent_end(struct sent *x, pirn_thread_t other)
{
    calls_until(&x->ran, 1);
    wait_for_foreign(x, 2);
    pirn_sem_post(&x->first);
    CHECK(pirn_join(x->t, NULL) == 0);
    CHECK(pirn_join(other, NULL) == 0);
}

/* Whichever acts second, the waker or the thread that raises the priority, must make it run. */
void test_woken_thread_runs_when_it_becomes_urgent_meanwhile(void *unused)
{
    (void)unused;
    struct sent x = {.ran = 0};
    pirn_thread_t other;
    if (!classes_one_cpu()) {
        return;
    }
    sent_begin(&x, &other);
    test_foreign(foreign_raises, &x);
    test_foreign(foreign_wakes, &x);
    sent_end(&x, other);
}

/* The same when the CPU itself raises it. */
void test_woken_thread_runs_when_its_cpu_makes_it_urgent_meanwhile(void *unused)
{
    (void)unused;
    struct sent x = {.ran = 0};
    pirn_thread_t other;
    if (!classes_one_cpu()) {
        return;
    }
    sent_begin(&x, &other);
    test_foreign(foreign_wakes, &x);
    for (uint32_t i = test_random(30); i > 0; i--) {
        test_pause();
    }
    foreign_raises(&x);
    sent_end(&x, other);
}

static void *waits_each_round(void *arg)
{
    struct sent *x = arg;
    for (int i = 0; i < ROUNDS; i++) {
        pirn_sem_wait(&x->first);
    }
    return NULL;
}

static void *tells_each_round(void *arg)
{
    struct sent *x = arg;
    for (int i = 1; i <= ROUNDS; i++) {
        pirn_sem_wait(&x->go);
        TEST_SET(&x->ran, i);
    }
    return NULL;
}

/* The CPU goes from a thread at 9 back to main, at 5, while one at 7 is woken. */
void test_urgent_thread_does_not_wait_for_main_that_has_just_gone_on(void *unused)
{
    (void)unused;
    struct sent x = {.ran = 0};
    pirn_thread_t t[2];
    if (!classes_one_cpu()) {
        return;
    }
    pirn_sem_init(&x.go, 0);
    pirn_sem_init(&x.first, 0);
    classes_sched_self(PIRN_CLASS_FIFO, 5, 0);
    t[0] = classes_spawn(PIRN_CLASS_FIFO, 9, 0, waits_each_round, &x);
    t[1] = classes_spawn(PIRN_CLASS_FIFO, 7, 0, tells_each_round, &x);
    may_depend(t[1], t[0]);
    for (int i = 1; i <= ROUNDS; i++) {
        test_foreign(foreign_wakes, &x);
        for (uint32_t k = test_random(40); k > 0; k--) {
            test_pause();
        }
        pirn_sem_post(&x.first);
        calls_until(&x.ran, i);
    }
    wait_for_foreign(&x, ROUNDS);
    classes_end(t, 2);
}
