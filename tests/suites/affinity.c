/* SPDX-License-Identifier: MIT */
/*
 * Suite affinity: threads that depend on producers (pirn_affinity_add). Everywhere: the errors, and
 * that threads run whatever they depend on. Where the policy has the option affinity: where they
 * run.
 */
#include <errno.h>
#include <string.h>

#include "suite.h"

enum { SAMPLES = 4, WAVES = 4, MIXERS = 3, CHANGES = 6 };

/* Does a consumer stay with its producer's CPU until that has time for it? */
static bool test_stays(void)
{
    return strstr(test_sched(), "affinity=declared") != NULL &&
           (pirn_sched_pinned() || strstr(test_sched(), "affinity-idle=1000000") != NULL);
}

static void *waits(void *arg)
{
    pirn_sem_wait(arg);
    return NULL;
}

/* ---- errors ---- */

static void test_bad_dependencies_are_refused(void *unused)
{
    (void)unused;
    pirn_sem_t sem;
    pirn_thread_t t[4], self = pirn_self();
    pirn_sem_init(&sem, 0);
    for (int i = 0; i < 4; i++) {
        t[i] = test_spawn(waits, &sem);
    }
    CHECK(pirn_affinity_add(NULL) == -ESRCH);
    CHECK(pirn_affinity_add_to(NULL, t[0]) == -ESRCH);
    CHECK(pirn_affinity_add(self) == -EINVAL);
    CHECK(pirn_affinity_add_to(t[0], t[0]) == -EINVAL);
    CHECK(pirn_affinity_del(t[0]) == -ENOENT);
    CHECK(pirn_affinity_add(t[0]) == 0);
    CHECK(pirn_affinity_add(t[0]) == 0);
    CHECK(pirn_affinity_add_to(t[0], self) == -ELOOP);
    CHECK(pirn_affinity_add_to(t[0], t[1]) == 0);
    CHECK(pirn_affinity_add_to(t[0], t[2]) == 0);
    CHECK(pirn_affinity_add_to(t[2], t[3]) == 0);
    CHECK(pirn_affinity_add_to(t[3], self) == -ELOOP);
    CHECK(pirn_affinity_add_to(t[3], t[1]) == 0);
    CHECK(pirn_affinity_del_from(t[0], t[2]) == 0);
    CHECK(pirn_affinity_del_from(t[0], t[2]) == -ENOENT);
    CHECK(pirn_affinity_add_to(t[3], self) == 0);
    CHECK(pirn_affinity_del(t[0]) == 0);
    for (int i = 0; i < 4; i++) {
        pirn_sem_post(&sem);
    }
    for (int i = 0; i < 4; i++) {
        test_end(t[i]);
    }
}

static void test_too_many_producers_are_refused_unless_some_have_ended(void *unused)
{
    (void)unused;
    pirn_sem_t sem;
    pirn_thread_t t[PIRN_PRODUCERS_MAX + 1];
    pirn_sem_init(&sem, 0);
    for (unsigned i = 0; i <= PIRN_PRODUCERS_MAX; i++) {
        t[i] = test_spawn(waits, &sem);
        CHECK(pirn_affinity_add(t[i]) == (i < PIRN_PRODUCERS_MAX ? 0 : -ENOSPC));
    }
    for (unsigned i = 0; i <= PIRN_PRODUCERS_MAX; i++) {
        pirn_sem_post(&sem);
    }
    for (unsigned i = 0; i <= PIRN_PRODUCERS_MAX; i++) {
        test_end(t[i]);
    }
    pirn_thread_t fresh = test_spawn(waits, &sem);
    CHECK(pirn_affinity_add(fresh) == 0);
    pirn_sem_post(&sem);
    test_end(fresh);
}

/* ---- where consumers run ---- */

struct pair {
    pirn_mutex_t mutex;
    pirn_cond_t cond;
    pirn_sem_t done;
    bool waiting, posted; /* (mutex) */
    int cpu;              /* where the producer signals */
};

static void consume(struct pair *pair)
{
    pirn_mutex_lock(&pair->mutex);
    pair->waiting = true;
    while (!pair->posted) {
        pirn_cond_wait(&pair->cond, &pair->mutex);
    }
    int cpu = pirn_cpu_self();
    pair->posted = false;
    if (test_stays() && !test_preempts()) {
        CHECK(cpu == pair->cpu);
    }
    pirn_mutex_unlock(&pair->mutex);
    pirn_sem_post(&pair->done);
}

static void *consumes(void *arg)
{
    for (int i = 0; i < SAMPLES; i++) {
        consume(arg);
    }
    return NULL;
}

/* The consumer waits in the condition when it is signalled. */
static void produce(struct pair *pair)
{
    for (;;) {
        pirn_mutex_lock(&pair->mutex);
        if (pair->waiting) {
            break;
        }
        pirn_mutex_unlock(&pair->mutex);
        pirn_yield();
    }
    pair->waiting = false;
    pair->posted = true;
    pirn_mutex_unlock(&pair->mutex);
    pair->cpu = pirn_cpu_self();
    pirn_cond_signal(&pair->cond);
    pirn_sem_wait(&pair->done);
}

static void test_consumer_runs_where_its_producer_signals(void *unused)
{
    (void)unused;
    struct pair pair = {.cpu = -1};
    pirn_mutex_init(&pair.mutex);
    pirn_cond_init(&pair.cond);
    pirn_sem_init(&pair.done, 0);
    pirn_thread_t t = test_spawn(consumes, &pair);
    CHECK(pirn_affinity_add_to(t, pirn_self()) == 0);
    test_places();
    for (int i = 0; i < SAMPLES; i++) {
        produce(&pair);
    }
    test_end(t);
}

struct reader {
    pirn_sem_t data, *ready;
};

static void *reads(void *arg)
{
    struct reader *reader = arg;
    for (int i = 0; i < SAMPLES; i++) {
        pirn_sem_post(reader->ready);
        pirn_sem_wait(&reader->data);
    }
    return NULL;
}

/* Two of them may wait for the CPU of their producer at once. */
static void test_consumers_go_to_the_head_when_one_thread_wakes_two(void *unused)
{
    (void)unused;
    pirn_sem_t ready;
    struct reader readers[2];
    pirn_thread_t t[2];
    pirn_sem_init(&ready, 0);
    for (int i = 0; i < 2; i++) {
        readers[i].ready = &ready;
        pirn_sem_init(&readers[i].data, 0);
        t[i] = test_spawn(reads, &readers[i]);
        CHECK(pirn_affinity_add_to(t[i], pirn_self()) == 0);
    }
    test_places();
    for (int i = 0; i < SAMPLES; i++) {
        pirn_sem_wait(&ready);
        pirn_sem_wait(&ready);
        pirn_sem_post(&readers[0].data);
        pirn_sem_post(&readers[1].data);
    }
    test_end(t[0]);
    test_end(t[1]);
}

/* ---- waves and mixers ---- */

/* Each has one buffer, `result`, and waits until its reader has read it (room). */
struct node {
    struct graph *graph;
    int number, result;
    pirn_sem_t go, room;
};

struct graph {
    struct node wave[WAVES], mixer[MIXERS];
    pirn_thread_t waves[WAVES], mixers[MIXERS];
    pirn_sem_t done;
};

static void *wave(void *arg)
{
    struct node *node = arg;
    pirn_sem_wait(&node->go);
    for (int i = 0; i < SAMPLES; i++) {
        pirn_sem_wait(&node->room);
        node->result = (i + 1) * (node->number + 1);
        pirn_sem_post(&node->graph->mixer[node->number / 2].go);
    }
    return NULL;
}

static void *mixer(void *arg)
{
    struct node *node = arg;
    struct graph *g = node->graph;
    for (int i = 0; i < SAMPLES; i++) {
        pirn_sem_wait(&node->go);
        pirn_sem_wait(&node->go);
        pirn_sem_wait(&node->room);
        struct node *from = node->number == 2 ? &g->mixer[0] : &g->wave[2 * node->number];
        node->result = from[0].result + from[1].result;
        pirn_sem_post(&from[0].room);
        pirn_sem_post(&from[1].room);
        pirn_sem_post(node->number == 2 ? &g->done : &g->mixer[2].go);
    }
    return NULL;
}

static void node_begin(struct graph *g, struct node *node, int number)
{
    *node = (struct node){.graph = g, .number = number};
    pirn_sem_init(&node->go, 0);
    pirn_sem_init(&node->room, 1);
}

static void graph_begin(struct graph *g)
{
    pirn_sem_init(&g->done, 0);
    for (int i = 0; i < WAVES; i++) {
        node_begin(g, &g->wave[i], i);
    }
    for (int i = 0; i < MIXERS; i++) {
        node_begin(g, &g->mixer[i], i);
    }
    for (int i = 0; i < WAVES; i++) {
        g->waves[i] = test_spawn(wave, &g->wave[i]);
    }
    for (int i = 0; i < MIXERS; i++) {
        g->mixers[i] = test_spawn(mixer, &g->mixer[i]);
    }
}

static void declare(struct graph *g)
{
    for (int i = 0; i < 2; i++) {
        CHECK(pirn_affinity_add_to(g->mixers[i], g->waves[2 * i]) == 0);
        CHECK(pirn_affinity_add_to(g->mixers[i], g->waves[2 * i + 1]) == 0);
        CHECK(pirn_affinity_add_to(g->mixers[2], g->mixers[i]) == 0);
    }
}

static void samples(struct graph *g)
{
    for (int k = 0; k < WAVES; k++) {
        pirn_sem_post(&g->wave[k].go);
    }
    for (int i = 0; i < SAMPLES; i++) {
        pirn_sem_wait(&g->done);
        CHECK(g->mixer[2].result == (i + 1) * 10);
        pirn_sem_post(&g->mixer[2].room);
    }
}

static void graph_end(struct graph *g)
{
    for (int i = 0; i < WAVES; i++) {
        test_end(g->waves[i]);
    }
    for (int i = 0; i < MIXERS; i++) {
        test_end(g->mixers[i]);
    }
}

static void test_samples_are_mixed_when_mixers_depend_on_waves(void *unused)
{
    (void)unused;
    struct graph g;
    graph_begin(&g);
    declare(&g);
    test_places();
    samples(&g);
    graph_end(&g);
}

/* Only threads that have not been joined are named. */
static void *changes(void *arg)
{
    struct graph *g = arg;
    for (int i = 0; i < CHANGES; i++) {
        unsigned mixer = test_random(MIXERS);
        pirn_thread_t producer =
            mixer == 2 ? g->mixers[test_random(2)] : g->waves[test_random(WAVES)];
        int error = test_random(2) == 0 ? pirn_affinity_add_to(g->mixers[mixer], producer)
                                        : pirn_affinity_del_from(g->mixers[mixer], producer);
        CHECK(error == 0 || error == -ENOENT || error == -ESRCH);
        pirn_yield();
    }
    return NULL;
}

static void test_samples_are_mixed_when_dependencies_change_meanwhile(void *unused)
{
    (void)unused;
    struct graph g;
    graph_begin(&g);
    pirn_thread_t t = test_spawn(changes, &g);
    samples(&g);
    test_end(t);
    graph_end(&g);
}

/* ---- producers that end, wakers that are no CPUs, producers that go on ---- */

static void *posts_and_ends(void *arg)
{
    pirn_sem_post(arg);
    return NULL;
}

static void *outlives_producers(void *arg)
{
    pirn_sem_t *sem = arg;
    for (int i = 0; i < CHANGES; i++) {
        pirn_thread_t producer = test_spawn(posts_and_ends, sem);
        int error = pirn_affinity_add(producer);
        CHECK(error == 0 || error == -ESRCH);
        pirn_sem_wait(sem);
        if (i % 2 == 0) {
            error = pirn_affinity_del(producer);
            CHECK(error == 0 || error == -ESRCH || error == -ENOENT);
        }
        test_end(producer);
    }
    return NULL;
}

static void test_consumers_run_when_their_producers_end(void *unused)
{
    (void)unused;
    pirn_sem_t sem[2];
    pirn_thread_t t[2];
    for (int i = 0; i < 2; i++) {
        pirn_sem_init(&sem[i], 0);
        t[i] = test_spawn(outlives_producers, &sem[i]);
    }
    test_end(t[0]);
    test_end(t[1]);
}

static void foreign_posts(void *sem)
{
    pirn_sem_post(sem);
}

static void *waits_with_producer(void *arg)
{
    pirn_sem_wait(arg);
    pirn_sem_wait(arg);
    return NULL;
}

static void test_consumer_runs_when_a_foreign_thread_posts(void *unused)
{
    (void)unused;
    pirn_sem_t sem;
    pirn_sem_init(&sem, 0);
    pirn_thread_t t = test_spawn(waits_with_producer, &sem);
    CHECK(pirn_affinity_add_to(t, pirn_self()) == 0);
    test_foreign(foreign_posts, &sem);
    pirn_yield();
    test_foreign(foreign_posts, &sem);
    test_end(t);
}

struct busy {
    pirn_sem_t data, ready;
    uint32_t seen;
};

static void *sees(void *arg)
{
    struct busy *busy = arg;
    pirn_sem_post(&busy->ready);
    pirn_sem_wait(&busy->data);
    TEST_SET(&busy->seen, 1);
    return NULL;
}

static void spin_until_seen(struct busy *busy)
{
    while (TEST_GET(&busy->seen) == 0) {
        test_pause();
    }
}

/* May another CPU take a thread that waits for its producer's CPU? */
static bool others_take(unsigned cpus)
{
    return pirn_policy_cpu_count() >= cpus && !pirn_sched_pinned() &&
           !pirn_sched_private_queues() && strstr(test_sched(), "affinity=old") == NULL &&
           !test_stays();
}

static void busy_begin(struct busy *busy)
{
    *busy = (struct busy){.seen = 0};
    pirn_sem_init(&busy->data, 0);
    pirn_sem_init(&busy->ready, 0);
}

/* The producer does not let go of its CPU: another one takes the consumer. */
static void test_consumer_is_taken_when_its_producer_goes_on(void *unused)
{
    (void)unused;
    struct busy busy;
    if (!others_take(2)) {
        return;
    }
    busy_begin(&busy);
    pirn_thread_t t = test_spawn(sees, &busy);
    CHECK(pirn_affinity_add_to(t, pirn_self()) == 0);
    pirn_sem_wait(&busy.ready);
    pirn_sem_post(&busy.data);
    spin_until_seen(&busy);
    test_end(t);
}

static void *spins(void *arg)
{
    struct busy *busy = arg;
    pirn_sem_post(&busy->ready);
    spin_until_seen(busy);
    return NULL;
}

/* Nor does the thread that wakes the consumer: a third CPU must be awake for it. */
static void test_consumer_is_taken_when_producer_and_waker_go_on(void *unused)
{
    (void)unused;
    struct busy busy;
    if (!others_take(3)) {
        return;
    }
    busy_begin(&busy);
    pirn_thread_t t = test_spawn(sees, &busy);
    pirn_sem_wait(&busy.ready);
    pirn_thread_t producer = test_spawn(spins, &busy);
    CHECK(pirn_affinity_add_to(t, producer) == 0);
    pirn_sem_wait(&busy.ready);
    pirn_sem_post(&busy.data);
    spin_until_seen(&busy);
    test_end(t);
    test_end(producer);
}

#define TEST(test)                                                                                 \
    {                                                                                              \
#test, test_##test, 0                                                                      \
    }

static const struct test tests[] = {TEST(bad_dependencies_are_refused),
                                    TEST(too_many_producers_are_refused_unless_some_have_ended),
                                    TEST(consumer_runs_where_its_producer_signals),
                                    TEST(consumers_go_to_the_head_when_one_thread_wakes_two),
                                    TEST(samples_are_mixed_when_mixers_depend_on_waves),
                                    TEST(samples_are_mixed_when_dependencies_change_meanwhile),
                                    TEST(consumers_run_when_their_producers_end),
                                    TEST(consumer_runs_when_a_foreign_thread_posts),
                                    TEST(consumer_is_taken_when_its_producer_goes_on),
                                    TEST(consumer_is_taken_when_producer_and_waker_go_on),
                                    {0}};

static const char *const scheds[] = {"steal:affinity=declared",
                                     "steal:affinity=declared,affinity-idle=0",
                                     "steal:affinity=declared,affinity-idle=1000000",
                                     "steal:discipline=posix,affinity=declared",
                                     "steal:affinity=auto",
                                     "steal:affinity=old",
                                     "single:affinity=declared",
                                     "single:discipline=posix,affinity=declared,affinity-idle=0",
                                     "dist:affinity=declared",
                                     "dist:affinity=auto",
                                     "dist:discipline=shmac,affinity=declared",
                                     "dist:affinity=old",
                                     "steal",
                                     NULL};

const struct suite suite_affinity = {"affinity", tests, scheds, false};
