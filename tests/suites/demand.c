/* SPDX-License-Identifier: MIT */
/*
 * Suite demand: what threads demand (pirn_set_demand), periodic jobs, and the policies that
 * schedule by it, gate and groups: working sets fit, every thread runs, groups stay at home. Under
 * other policies demands change nothing.
 */
#include <errno.h>
#include <string.h>

#include "suite.h"

enum { THREADS = 6, ROUNDS = 4, CACHE = 4, GROUPS = 3 };

/* Does the policy keep the running working sets within CACHE? */
static bool test_gates(void)
{
    return strncmp(test_sched(), "gate:", 5) == 0 && strstr(test_sched(), "cache=4") != NULL;
}

static bool test_homes(void)
{
    return strncmp(test_sched(), "groups", 6) == 0 && strstr(test_sched(), "home=none") == NULL;
}

static void *waits(void *arg)
{
    pirn_sem_wait(arg);
    return NULL;
}

/* ---- values ---- */

static void test_bad_demands_are_refused(void *unused)
{
    (void)unused;
    pirn_demand_t demand = {.period_ns = 10, .cost_ns = 10, .working_set = 5, .group = 7}, got;
    pirn_thread_t self = pirn_self();
    CHECK(pirn_get_demand(self, &got) == 0 && got.working_set == 0 && got.period_ns == 0);
    CHECK(pirn_job_wait() == -EINVAL);
    CHECK(pirn_set_demand(NULL, &demand) == -ESRCH);
    CHECK(pirn_get_demand(NULL, &got) == -ESRCH);
    CHECK(pirn_set_demand(self, NULL) == -EINVAL);
    CHECK(pirn_get_demand(self, NULL) == -EINVAL);
    CHECK(pirn_set_demand(self, &(pirn_demand_t){.period_ns = 10, .cost_ns = 11}) == -EINVAL);
    CHECK(pirn_set_demand(self, &(pirn_demand_t){.period_ns = UINT64_MAX}) == -EINVAL);
    CHECK(pirn_set_demand(self, &demand) == 0);
    CHECK(pirn_get_demand(self, &got) == 0 && memcmp(&got, &demand, sizeof(got)) == 0);
    CHECK(pirn_set_demand(self, &(pirn_demand_t){.cost_ns = 11}) == 0);
    CHECK(pirn_job_wait() == -EINVAL);
    CHECK(pirn_set_demand(self, &(pirn_demand_t){0}) == 0);
}

/* Slices alone, which fair has, are no classes. */
static void test_classes_are_refused_when_the_policy_has_none(void *unused)
{
    (void)unused;
    bool classes = strstr(test_sched(), "discipline=posix") != NULL ||
                   strstr(test_sched(), "discipline=shmac") != NULL;
    pirn_sched_t fifo = {.sched_class = PIRN_CLASS_FIFO, .priority = 3}, before;
    pirn_get_sched(pirn_self(), &before);
    CHECK(pirn_set_sched(pirn_self(), &fifo) == (classes ? 0 : -ENOTSUP));
    CHECK(pirn_set_sched(pirn_self(), &before) == 0);
}

static void test_demands_end_when_the_thread_ends(void *unused)
{
    (void)unused;
    pirn_sem_t sem;
    pirn_demand_t got;
    pirn_sem_init(&sem, 0);
    for (int i = 0; i < ROUNDS; i++) {
        pirn_thread_t t = test_spawn(waits, &sem);
        CHECK(pirn_get_demand(t, &got) == 0 && got.working_set == 0 && got.group == 0);
        CHECK(pirn_set_demand(t, &(pirn_demand_t){.working_set = 1, .group = 1}) == 0);
        CHECK(pirn_get_demand(t, &got) == 0 && got.working_set == 1 && got.group == 1);
        pirn_sem_post(&sem);
        test_end(t);
    }
}

/* ---- jobs ---- */

static void test_job_waits_for_its_release_when_it_is_in_time(void *unused)
{
    (void)unused;
    uint64_t period = test_simulated() ? 100000 : 20000000, began = pirn_now();
    CHECK(pirn_set_demand(pirn_self(), &(pirn_demand_t){.period_ns = period}) == 0);
    for (uint64_t job = 1; job <= 3; job++) {
        if (pirn_job_wait() == 0) { /* else this machine was too slow */
            CHECK(pirn_now() >= began + job * period);
        }
    }
    CHECK(pirn_set_demand(pirn_self(), &(pirn_demand_t){0}) == 0);
}

/* Each job that is late is done all the same, until none is. */
static void test_late_jobs_are_counted_and_done(void *unused)
{
    (void)unused;
    uint64_t period = test_simulated() ? 100000 : 2000000;
    CHECK(pirn_set_demand(pirn_self(), &(pirn_demand_t){.period_ns = period}) == 0);
    pirn_sleep(7 * period / 2);
    int missed = pirn_job_wait();
    CHECK(missed >= 3);
    while (missed > 0) {
        int next = pirn_job_wait();
        CHECK(next >= missed - 1);
        missed = next;
    }
    CHECK(pirn_set_demand(pirn_self(), &(pirn_demand_t){0}) == 0);
}

/* ---- working sets ---- */

struct load {
    pirn_sem_t go[THREADS];
    pirn_sem_t done;
    uint32_t running; /* working sets of those that run */
    uint32_t turns;
    bool checked, homes;
};

struct loaded {
    struct load *load;
    unsigned number, working_set, group;
    int cpu;
};

static void run_a_moment(const struct loaded *l)
{
    if (l->load->checked) {
        CHECK(TEST_ADD(&l->load->running, l->working_set) <= CACHE);
    }
    for (uint32_t i = test_random(3); i > 0; i--) {
        test_spin();
    }
    if (l->load->checked) {
        TEST_ADD(&l->load->running, 0u - l->working_set);
    }
    TEST_ADD(&l->load->turns, 1);
}

static void *loaded_main(void *arg)
{
    struct loaded *l = arg;
    pirn_demand_t demand = {.working_set = l->working_set, .group = l->group};
    CHECK(pirn_set_demand(pirn_self(), &demand) == 0);
    pirn_sleep(1); /* they count from the next time when it becomes ready */
    for (int round = 0; round < ROUNDS; round++) {
        pirn_sem_wait(&l->load->go[l->number]);
        run_a_moment(l);
        if (l->group != 0 && l->load->homes) {
            int cpu = pirn_cpu_self(); /* -1: it has lost its CPU, and goes on without */
            CHECK(l->cpu == -1 || cpu == -1 || l->cpu == cpu);
            l->cpu = cpu != -1 ? cpu : l->cpu;
        }
        pirn_yield();
        run_a_moment(l);
        pirn_sem_post(&l->load->done);
    }
    return NULL;
}

/* Threads with these working sets and groups: all run, as often as they are asked to. */
static void loads_run(struct loaded loaded[THREADS])
{
    struct load load = {.checked = test_gates() && !test_preempts(), .homes = test_homes()};
    pirn_thread_t t[THREADS];
    pirn_sem_init(&load.done, 0);
    for (unsigned i = 0; i < THREADS; i++) {
        pirn_sem_init(&load.go[i], 0);
        loaded[i].load = &load;
        loaded[i].number = i;
        loaded[i].cpu = -1;
        t[i] = test_spawn(loaded_main, &loaded[i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < THREADS; i++) {
            pirn_sem_post(&load.go[i]);
        }
        for (unsigned i = 0; i < THREADS; i++) {
            pirn_sem_wait(&load.done);
        }
    }
    for (unsigned i = 0; i < THREADS; i++) {
        test_end(t[i]);
    }
    CHECK(TEST_GET(&load.turns) == 2 * THREADS * ROUNDS);
}

static void test_working_sets_fit_when_all_threads_demand_some(void *unused)
{
    (void)unused;
    struct loaded loaded[THREADS] = {{0}};
    for (unsigned i = 0; i < THREADS; i++) {
        loaded[i].working_set = 1 + test_random(CACHE);
    }
    loads_run(loaded);
}

static void test_every_thread_runs_when_some_demand_the_whole_cache(void *unused)
{
    (void)unused;
    struct loaded loaded[THREADS] = {{0}};
    for (unsigned i = 0; i < THREADS; i++) {
        loaded[i].working_set = i % 2 != 0 ? CACHE : 0;
    }
    loads_run(loaded);
}

static void test_groups_stay_at_home_when_their_threads_wake(void *unused)
{
    (void)unused;
    struct loaded loaded[THREADS] = {{0}};
    for (unsigned i = 0; i < THREADS; i++) {
        loaded[i].working_set = 1;
        loaded[i].group = 1 + i % GROUPS;
    }
    loads_run(loaded);
}

/* ---- jobs under load ---- */

struct job {
    pirn_demand_t demand;
    uint32_t *done;
};

static void *job_main(void *arg)
{
    const struct job *job = arg;
    CHECK(pirn_set_demand(pirn_self(), &job->demand) == 0);
    for (int i = 0; i < ROUNDS; i++) {
        TEST_ADD(job->done, 1);
        CHECK(pirn_job_wait() >= 0);
    }
    return NULL;
}

static void test_periodic_threads_all_do_their_jobs(void *unused)
{
    (void)unused;
    uint32_t done = 0;
    struct job jobs[THREADS];
    pirn_thread_t t[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        jobs[i].demand = (pirn_demand_t){.period_ns = (i + 1) * (test_simulated() ? 300 : 100000),
                                         .working_set = i % (CACHE + 2)};
        jobs[i].done = &done;
        t[i] = test_spawn(job_main, &jobs[i]);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        test_end(t[i]);
    }
    CHECK(TEST_GET(&done) == THREADS * ROUNDS);
}

/* ---- measured working sets ---- */

enum { LINE = 64, JOBS = 6 };

static bool test_measures(void)
{
    return strstr(test_sched(), "working-set=measure") != NULL;
}

struct misser {
    uint32_t lines; /* that each job misses */
};

/* What the others miss meanwhile, and where each part of a job runs, changes nothing. What a thread
 * misses when it has lost its CPU is not counted. */
static void *misser_main(void *arg)
{
    const struct misser *m = arg;
    CHECK(pirn_set_demand(pirn_self(), &(pirn_demand_t){.period_ns = 300}) == 0);
    bool counted = true;
    for (int job = 0; job < JOBS; job++) {
        counted = test_misses(m->lines / 2, 100) && counted;
        pirn_yield();
        test_spin();
        counted = test_misses(m->lines - m->lines / 2, 100) && counted;
        CHECK(pirn_job_wait() >= 0);
        CHECK(test_measured() <= (uint64_t)m->lines * LINE);
        CHECK(!counted || test_measured() == (uint64_t)m->lines * LINE);
    }
    return NULL;
}

static void *misses_without_jobs(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        test_misses(1000, 1);
        pirn_yield();
    }
    return NULL;
}

static void test_working_set_is_what_the_thread_s_own_jobs_miss(void *unused)
{
    (void)unused;
    struct misser missers[3];
    pirn_thread_t t[3], others[2];
    if (!test_measures() || strstr(test_sched(), "cache=64K") == NULL) {
        return;
    }
    for (unsigned i = 0; i < 3; i++) {
        missers[i].lines = 10 + 7 * i;
        t[i] = test_spawn(misser_main, &missers[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        others[i] = test_spawn(misses_without_jobs, NULL);
    }
    for (unsigned i = 0; i < 3; i++) {
        test_end(t[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        test_end(others[i]);
    }
}

/* A thread that waits, and the one that runs leaves the cache to it only by ending. */
static void *ends_soon(void *arg)
{
    pirn_demand_t demand = {.working_set = CACHE};
    CHECK(pirn_set_demand(pirn_self(), &demand) == 0);
    pirn_sleep(1);
    TEST_ADD((uint32_t *)arg, 1);
    return NULL;
}

static void test_cache_is_given_on_when_a_thread_ends(void *unused)
{
    (void)unused;
    uint32_t ended = 0;
    pirn_thread_t t[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        t[i] = test_spawn(ends_soon, &ended);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        test_end(t[i]);
    }
    CHECK(TEST_GET(&ended) == THREADS);
}

#define TEST(test)                                                                                 \
    {                                                                                              \
#test, test_##test, 0                                                                      \
    }

static const struct test tests[] = {TEST(bad_demands_are_refused),
                                    TEST(classes_are_refused_when_the_policy_has_none),
                                    TEST(demands_end_when_the_thread_ends),
                                    TEST(job_waits_for_its_release_when_it_is_in_time),
                                    TEST(late_jobs_are_counted_and_done),
                                    TEST(working_sets_fit_when_all_threads_demand_some),
                                    TEST(every_thread_runs_when_some_demand_the_whole_cache),
                                    TEST(groups_stay_at_home_when_their_threads_wake),
                                    TEST(periodic_threads_all_do_their_jobs),
                                    TEST(working_set_is_what_the_thread_s_own_jobs_miss),
                                    TEST(cache_is_given_on_when_a_thread_ends),
                                    {0}};

static const char *const scheds[] = {"gate:cache=4",
                                     "gate:cache=4,discipline=posix",
                                     "gate:cache=4,discipline=shmac",
                                     "gate:cache=4,order=edf",
                                     "gate:cache=64K,working-set=measure",
                                     "gate:cache=64K,order=edf,working-set=measure",
                                     "groups:cache=4",
                                     "groups:cache=4,home=none",
                                     "fair",
                                     "gate",
                                     "steal",
                                     NULL};

const struct suite suite_demand = {"demand", tests, scheds, false};
