/* SPDX-License-Identifier: MIT */
/* Suite policy: the guarantees of every policy, and additional ones of some. */
#include <errno.h>
#include <pirn/policy.h>
#include <string.h>

#include "suite.h"

enum { MANY = 24 };

static int ran;

static void *yields_then_counts(void *arg)
{
    for (uintptr_t i = 0; i < (uintptr_t)arg; i++) {
        pirn_yield();
    }
    TEST_ADD(&ran, 1);
    return NULL;
}

static void test_spawned_threads_all_run_when_there_are_many(void *unused)
{
    (void)unused;
    pirn_thread_t t[MANY];
    TEST_SET(&ran, 0);
    for (uintptr_t i = 0; i < MANY; i++) {
        CHECK(pirn_create(&t[i], NULL, yields_then_counts, (void *)(i % 4)) == 0);
    }
    for (int i = MANY - 1; i >= 0; i--) {
        CHECK(pirn_join(t[i], NULL) == 0);
    }
    CHECK(TEST_GET(&ran) == MANY);
}

static void *spawns_more(void *arg)
{
    uintptr_t depth = (uintptr_t)arg;
    pirn_thread_t t[2];
    for (int i = 0; depth != 0 && i < 2; i++) {
        CHECK(pirn_create(&t[i], NULL, spawns_more, (void *)(depth - 1)) == 0);
    }
    TEST_ADD(&ran, 1);
    for (int i = 0; depth != 0 && i < 2; i++) {
        CHECK(pirn_join(t[i], NULL) == 0);
    }
    return NULL;
}

static void test_spawned_threads_all_run_when_threads_spawn_threads(void *unused)
{
    (void)unused;
    TEST_SET(&ran, 0);
    spawns_more((void *)(uintptr_t)3);
    CHECK(TEST_GET(&ran) == 15);
}

enum { PINNED = 6 };

struct homes {
    pirn_sem_t begun, go, sem;
};

static void *stays_home(void *arg)
{
    int home = pirn_cpu_self();
    struct homes *homes = arg;
    pirn_sem_post(&homes->begun);
    pirn_sem_wait(&homes->go);
    for (int i = 0; i < 4; i++) {
        pirn_yield();
        CHECK(pirn_cpu_self() == home);
        pirn_sem_post(&homes->sem);
        pirn_sem_wait(&homes->sem);
        CHECK(pirn_cpu_self() == home);
        pirn_sleep(100);
        CHECK(pirn_cpu_self() == home);
    }
    return NULL;
}

static uint64_t migrations(void)
{
    struct pirn_counters stats;
    pirn_stats(&stats);
    return stats.migrations;
}

/* A policy may place a new thread by the kick of its first enqueue, which counts as a migration. */
static void test_pinned_thread_never_moves_after_placement(void *unused)
{
    (void)unused;
    if (!pirn_sched_pinned()) {
        return; /* the policy does not guarantee it */
    }
    struct homes homes;
    pirn_thread_t t[PINNED];
    pirn_sem_init(&homes.begun, 0);
    pirn_sem_init(&homes.go, 0);
    pirn_sem_init(&homes.sem, 0);
    for (int i = 0; i < PINNED; i++) {
        t[i] = test_spawn(stays_home, &homes);
    }
    for (int i = 0; i < PINNED; i++) {
        pirn_sem_wait(&homes.begun);
    }
    uint64_t before = migrations();
    for (int i = 0; i < PINNED; i++) {
        pirn_sem_post(&homes.go);
    }
    for (int i = 0; i < PINNED; i++) {
        test_end(t[i]);
    }
    CHECK(migrations() == before);
}

static unsigned unbound; /* threads that could not be bound */
static pirn_mutex_t visited = PIRN_MUTEX_INIT;

static void stays_bound(int cpu)
{
    CHECK(pirn_bind(cpu) == 0);
    for (uint32_t n = 2 + test_random(4); n != 0; n--) {
        CHECK(pirn_cpu_self() == cpu && pirn_bound(NULL) == cpu);
        if (n % 2 == 0) {
            pirn_yield();
        } else {
            pirn_mutex_lock(&visited);
            pirn_yield();
            pirn_mutex_unlock(&visited);
        }
        test_slice();
    }
    CHECK(pirn_cpu_self() == cpu);
}

static void *is_born_bound(void *cpu)
{
    CHECK(pirn_bound(NULL) == (int)(uintptr_t)cpu && pirn_cpu_self() == (int)(uintptr_t)cpu);
    return NULL;
}

static void *goes_round(void *arg)
{
    unsigned cpus = pirn_cpu_count(), first = (unsigned)(uintptr_t)arg;
    CHECK(pirn_bound(NULL) == -1 && pirn_bind(-1) == 0);
    CHECK(pirn_bind((int)cpus) == -EINVAL && pirn_bind(-2) == -EINVAL);
    int error = pirn_bind((int)(first % cpus));
    CHECK(error == 0 || error == -ENOTSUP);
    if (error != 0) {
        TEST_ADD(&unbound, 1);
        return NULL;
    }
    for (unsigned i = 0; i < cpus; i++) {
        stays_bound((int)((first + i) % cpus));
    }
    test_end(test_spawn(is_born_bound, (void *)(uintptr_t)pirn_bound(NULL)));
    CHECK(pirn_bind(-1) == 0 && pirn_bound(NULL) == -1);
    return NULL;
}

/* The library's policies that can; policies of a program cannot. */
static bool binds(void)
{
    const char *sched = test_sched();
    bool known = strncmp(sched, "dist", 4) == 0 || strncmp(sched, "central", 7) == 0;
    return known && strstr(sched, "affinity=") == NULL;
}

static void test_bound_thread_runs_on_its_cpu_when_others_are_bound_elsewhere(void *unused)
{
    (void)unused;
    pirn_thread_t t[PINNED];
    unbound = 0;
    for (uintptr_t i = 0; i < PINNED; i++) {
        t[i] = test_spawn(goes_round, (void *)i);
    }
    for (uint32_t n = test_random(8); n != 0; n--) {
        pirn_sched_t sched = {.sched_class = PIRN_CLASS_RR, .priority = 1 + test_random(3)};
        int error = pirn_set_sched(t[test_random(PINNED)], &sched);
        CHECK(error == 0 || error == -ENOTSUP); /* perhaps on its way to another CPU */
        pirn_yield();
    }
    for (int i = 0; i < PINNED; i++) {
        test_end(t[i]);
    }
    CHECK(unbound == 0 || unbound == PINNED);
    CHECK(unbound == 0 || !binds());
}

static int order[4], ordered;

static void *notes_order(void *arg)
{
    order[ordered++] = (int)(uintptr_t)arg;
    return NULL;
}

static bool threads_run_in_order(void)
{
    bool lifo = strstr(test_sched(), "lifo") != NULL;
    pirn_attr_t attr = {.detached = true};
    pirn_thread_t t;
    ordered = 0;
    for (uintptr_t i = 0; i < 4; i++) {
        CHECK(pirn_create(&t, &attr, notes_order, (void *)i) == 0);
    }
    while (ordered != 4) {
        pirn_yield();
    }
    for (int i = 0; i < 4; i++) {
        if (order[i] != (lifo ? 3 - i : i)) {
            return false;
        }
    }
    return true;
}

/* LIFO gives away the oldest thread now and then (RT_LIFO_OLDEST), but not twice in a row. */
static void test_ready_threads_run_in_the_discipline_s_order(void *unused)
{
    (void)unused;
    bool lifo = strstr(test_sched(), "lifo") != NULL;
    CHECK(pirn_cpu_count() != 1 || test_preempts() /* then no order is defined */ ||
          threads_run_in_order() || (lifo && threads_run_in_order()));
}

static pirn_sem_t handed;

static void *waits_for_unit(void *arg)
{
    pirn_sem_wait(&handed);
    order[ordered++] = (int)(uintptr_t)arg;
    return NULL;
}

static bool posted_thread_runs_first(void)
{
    pirn_thread_t waiter, other;
    pirn_sem_init(&handed, 0);
    ordered = 0;
    CHECK(pirn_create(&waiter, NULL, waits_for_unit, (void *)1) == 0);
    pirn_yield();
    CHECK(pirn_create(&other, NULL, notes_order, (void *)2) == 0);
    CHECK(pirn_sem_post(&handed) == 0);
    CHECK(pirn_sem_value(&handed) == 0);
    pirn_yield();
    CHECK(ordered >= 1);
    bool first = order[0] == 1;
    CHECK(pirn_join(waiter, NULL) == 0 && pirn_join(other, NULL) == 0);
    return first;
}

/* One of RT_BYPASS_LIMIT goes to the tail. */
static void test_posted_thread_runs_first_when_poster_yields(void *unused)
{
    (void)unused;
    CHECK(pirn_cpu_count() != 1 || test_preempts() || posted_thread_runs_first() ||
          posted_thread_runs_first());
}

static void test_ready_thread_is_run_elsewhere_when_its_creator_computes(void *unused)
{
    (void)unused;
    if (pirn_cpu_count() == 1 || pirn_sched_pinned() || pirn_sched_private_queues()) {
        return; /* no other CPU can take it */
    }
    pirn_thread_t t;
    TEST_SET(&ran, 0);
    CHECK(pirn_create(&t, NULL, yields_then_counts, NULL) == 0);
    while (TEST_GET(&ran) == 0) {
        test_pause();
    }
    CHECK(pirn_join(t, NULL) == 0);
}

static int foreign_done;

static void foreign_creates(void *arg)
{
    pirn_thread_t t;
    (void)arg;
    CHECK(pirn_create(&t, NULL, yields_then_counts, (void *)1) == 0);
    CHECK(pirn_join(t, NULL) == 0);
    TEST_ADD(&foreign_done, 1);
}

static void test_threads_of_foreign_kernel_threads_run(void *unused)
{
    (void)unused;
    TEST_SET(&ran, 0);
    TEST_SET(&foreign_done, 0);
    test_foreign(foreign_creates, NULL);
    test_foreign(foreign_creates, NULL);
    while (TEST_GET(&foreign_done) != 2) {
        pirn_sleep(test_simulated() ? 500 : 100000);
    }
    CHECK(TEST_GET(&ran) == 2);
}

/* ---- no thread starves ----
 *
 * Busy threads keep every CPU at work in one way; a thread that is ready for one reason must run. A
 * random number of yields comes first, because a policy may look outside at every n-th pick. */

static struct {
    pirn_sem_t outside, turn[2];
    int posted;
} busy;

static void foreign_posts(void *arg)
{
    (void)arg;
    CHECK(pirn_sem_post(&busy.outside) == 0);
    TEST_SET(&busy.posted, 1);
}

static void *counts(void *arg)
{
    (void)arg;
    TEST_ADD(&ran, 1);
    return NULL;
}

static void *waits_then_counts(void *arg)
{
    pirn_sem_wait(&busy.outside);
    return counts(arg);
}

static void *sleeps_then_counts(void *arg)
{
    pirn_sleep(test_simulated() ? 500 : 100000);
    return counts(arg);
}

static void *busy_yields(void *unused)
{
    (void)unused;
    while (TEST_GET(&ran) == 0) {
        pirn_yield();
    }
    return NULL;
}

static void *busy_passes_units(void *arg)
{
    uintptr_t me = (uintptr_t)arg % 2;
    while (TEST_GET(&ran) == 0) {
        CHECK(pirn_sem_post(&busy.turn[me]) == 0);
        pirn_sem_wait(&busy.turn[1 - me]);
    }
    CHECK(pirn_sem_post(&busy.turn[me]) == 0);
    return NULL;
}

static void *busy_spins(void *unused)
{
    (void)unused;
    while (TEST_GET(&ran) == 0) {
        test_spin();
    }
    return NULL;
}

static void *returns_at_once(void *arg)
{
    return arg;
}

static void *busy_creates(void *unused)
{
    (void)unused;
    while (TEST_GET(&ran) == 0) {
        pirn_thread_t t;
        CHECK(pirn_create(&t, NULL, returns_at_once, NULL) == 0);
        CHECK(pirn_join(t, NULL) == 0);
    }
    return NULL;
}

static void *(*const busy_ways[])(void *) = {busy_yields, busy_passes_units, busy_creates,
                                             busy_spins};
static void *(*const ready_ways[])(void *) = {counts, sleeps_then_counts, waits_then_counts};

static void test_ready_thread_runs_when_others_stay_busy_for_ever(void *unused)
{
    (void)unused;
    enum { BUSY = 4 };
    pirn_thread_t ready, t[BUSY];
    void *(*way)(void *) = busy_ways[test_random(test_preempts() ? 4 : 3)];
    TEST_SET(&ran, 0);
    TEST_SET(&busy.posted, 0);
    CHECK(pirn_sem_init(&busy.outside, 0) == 0);
    CHECK(pirn_sem_init(&busy.turn[0], 0) == 0 && pirn_sem_init(&busy.turn[1], 0) == 0);
    for (uint32_t n = test_random(4); n != 0; n--) {
        pirn_yield();
    }
    for (uintptr_t i = 0; i < BUSY; i++) {
        CHECK(pirn_create(&t[i], NULL, way, (void *)i) == 0);
    }
    CHECK(pirn_create(&ready, NULL, ready_ways[test_random(3)], NULL) == 0);
    test_foreign(foreign_posts, NULL);
    for (int i = 0; i < BUSY; i++) {
        CHECK(pirn_join(t[i], NULL) == 0);
    }
    CHECK(pirn_join(ready, NULL) == 0);
    while (TEST_GET(&busy.posted) == 0) { /* it is done with the semaphore */
        pirn_yield();
    }
}

/* Threads that never yield, at each tick. */
static int ticks;

static void *busy_until_ticks(void *unused)
{
    (void)unused;
    while (TEST_GET(&ran) == 0) {
        if (TEST_GET(&busy.posted) != 0) {
            TEST_ADD(&ticks, 1);
        }
        test_slice();
    }
    return NULL;
}

/* A thread that a foreign thread made ready waits for a few ticks at most. With several CPUs the
 * simulator may delay the CPU that should run it as long as it likes, so they are not counted
 * then. */
static void test_foreign_wakes_are_served_at_ticks_when_threads_never_yield(void *unused)
{
    (void)unused;
    enum { BUSY = 5, TICKS_MAX = 8 * BUSY };
    pirn_thread_t waiter, t[BUSY];
    TEST_SET(&ran, 0);
    TEST_SET(&ticks, 0);
    TEST_SET(&busy.posted, 0);
    CHECK(pirn_sem_init(&busy.outside, 0) == 0);
    CHECK(pirn_create(&waiter, NULL, waits_then_counts, NULL) == 0);
    pirn_yield(); /* most often it waits then */
    for (int i = 0; i < BUSY; i++) {
        CHECK(pirn_create(&t[i], NULL, busy_until_ticks, NULL) == 0);
    }
    test_foreign(foreign_posts, NULL);
    for (int i = 0; i < BUSY; i++) {
        CHECK(pirn_join(t[i], NULL) == 0);
    }
    CHECK(pirn_join(waiter, NULL) == 0);
    while (TEST_GET(&busy.posted) == 0) {
        pirn_yield();
    }
    CHECK(!test_simulated() || pirn_cpu_count() > 1 || TEST_GET(&ticks) <= TICKS_MAX);
}

/* Threads that create threads, each of which runs for a part of a tick, and join them. A ready
 * thread of their CPU waits for a few ticks at most, not for RT_BYPASS_LIMIT such threads. */

static void *runs_for_a_part(void *unused)
{
    (void)unused;
    TEST_ADD(&ticks, 1);
    test_part();
    return NULL;
}

static void *busy_creates_parts(void *unused)
{
    (void)unused;
    while (TEST_GET(&ran) == 0) {
        test_end(test_spawn(runs_for_a_part, NULL));
    }
    return NULL;
}

static void test_ready_thread_waits_for_few_ticks_when_others_join(void *unused)
{
    (void)unused;
    enum { BUSY = 3, TICKS_MAX = 4 * BUSY };
    pirn_thread_t t[BUSY];
    TEST_SET(&ran, 0);
    TEST_SET(&ticks, 0);
    for (int i = 0; i < BUSY; i++) {
        t[i] = test_spawn(busy_creates_parts, NULL);
    }
    pirn_thread_t ready = test_spawn(counts, NULL);
    for (int i = 0; i < BUSY; i++) {
        test_end(t[i]);
    }
    test_end(ready);
    bool counted = test_simulated() && !test_preempts() && pirn_cpu_count() == 1 &&
                   strstr(test_sched(), "lifo") == NULL;
    CHECK(!counted || TEST_GET(&ticks) <= TICKS_MAX);
}

/* Where the policy uses the capacities of CPUs, and they differ: a thread that runs alone, and
 * never waits, is taken over by a CPU that is faster, until there is none. */
static unsigned fastest(void)
{
    unsigned most = 0;
    for (unsigned i = 0; i < pirn_policy_cpu_count(); i++) {
        unsigned capacity = pirn_policy_cpu_capacity(i);
        most = capacity > most ? capacity : most;
    }
    return most;
}

static void *runs_until_fast(void *unused)
{
    (void)unused;
    for (;;) {
        int cpu = pirn_policy_thread_cpu(pirn_self());
        if (9 * pirn_policy_cpu_capacity((unsigned)cpu) >= 8 * fastest()) {
            return NULL;
        }
        test_slice();
    }
}

static void test_running_thread_moves_when_a_faster_cpu_is_idle(void *unused)
{
    (void)unused;
    if (strncmp(test_sched(), "steal", 5) != 0 || strstr(test_sched(), "capacity=on") == NULL) {
        return;
    }
    pirn_thread_t t = test_spawn(runs_until_fast, NULL);
    for (uint32_t n = test_random(4); n != 0; n--) {
        pirn_yield();
    }
    test_end(t);
    runs_until_fast(NULL);
}

static const struct test tests[] = {
    {"spawned_threads_all_run_when_there_are_many",
     test_spawned_threads_all_run_when_there_are_many, 0},
    {"spawned_threads_all_run_when_threads_spawn_threads",
     test_spawned_threads_all_run_when_threads_spawn_threads, 0},
    {"pinned_thread_never_moves_after_placement", test_pinned_thread_never_moves_after_placement,
     0},
    {"bound_thread_runs_on_its_cpu_when_others_are_bound_elsewhere",
     test_bound_thread_runs_on_its_cpu_when_others_are_bound_elsewhere, 0},
    {"ready_threads_run_in_the_discipline_s_order",
     test_ready_threads_run_in_the_discipline_s_order, 0},
    {"posted_thread_runs_first_when_poster_yields",
     test_posted_thread_runs_first_when_poster_yields, 0},
    {"ready_thread_is_run_elsewhere_when_its_creator_computes",
     test_ready_thread_is_run_elsewhere_when_its_creator_computes, 0},
    {"threads_of_foreign_kernel_threads_run", test_threads_of_foreign_kernel_threads_run, 0},
    {"ready_thread_runs_when_others_stay_busy_for_ever",
     test_ready_thread_runs_when_others_stay_busy_for_ever, 0},
    {"foreign_wakes_are_served_at_ticks_when_threads_never_yield",
     test_foreign_wakes_are_served_at_ticks_when_threads_never_yield, 0},
    {"ready_thread_waits_for_few_ticks_when_others_join",
     test_ready_thread_waits_for_few_ticks_when_others_join, 0},
    {"running_thread_moves_when_a_faster_cpu_is_idle",
     test_running_thread_moves_when_a_faster_cpu_is_idle, 0},
    {NULL, NULL, 0},
};

const struct suite suite_policy = {"policy", tests, NULL, false};
