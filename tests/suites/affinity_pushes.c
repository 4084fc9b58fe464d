/* SPDX-License-Identifier: MIT */
/*
 * The part of suite affinity-classes about a consumer that was about to run, and was preceded: it
 * is pushed to another producer's CPU (src/sched/affinity_place.c).
 *
 * Under dist, where no other CPU takes a thread: so it is known where each of them is ready. Main's
 * CPU has the first producer, the consumer, and a thread of higher priority; another one the second
 * producer.
 */
#include <string.h>

#include "classes_tests.h"

enum role { IDLER, PRODUCER, CONSUMER, URGENT, OTHER_PRODUCER, ROLES };
enum { THREADS = 3 * CLASSES_CPUS };

struct player {
    struct play *play;
    pirn_sem_t go;
    int cpu;
    enum role role;
};

struct play {
    pirn_sem_t ready;
    struct player players[THREADS];
    pirn_thread_t t[THREADS];
    int by_role[ROLES]; /* of `players` */
    int ran_on;         /* the consumer's CPU, 1 more; 0: it has not run */
};

static void post_to(struct play *x, enum role role)
{
    pirn_sem_post(&x->players[x->by_role[role]].go);
}

static void makes_calls_until_consumed(struct play *x)
{
    pirn_barrier_t alone;
    CHECK(pirn_barrier_init(&alone, 1) == 0);
    pirn_sem_post(&x->ready);
    while (TEST_GET(&x->ran_on) == 0) {
        pirn_barrier_wait(&alone);
        test_pause();
    }
}

static void *plays(void *arg)
{
    struct player *p = arg;
    p->cpu = pirn_cpu_self();
    pirn_sem_post(&p->play->ready);
    pirn_sem_wait(&p->go);
    switch (p->role) {
    case PRODUCER:
        post_to(p->play, CONSUMER);
        post_to(p->play, URGENT);
        break;
    case CONSUMER:
        TEST_SET(&p->play->ran_on, pirn_cpu_self() + 1);
        break;
    case OTHER_PRODUCER:
        makes_calls_until_consumed(p->play);
        break;
    default:
        break;
    }
    return NULL;
}

/* The first thread on main's CPU, or on another one, that has no role yet gets it. */
static void cast(struct play *x, int n, enum role role, bool here, unsigned priority)
{
    pirn_sched_t s = {PIRN_CLASS_FIFO, priority, 0};
    int i = 0;
    while (i < n &&
           (x->players[i].role != IDLER || (x->players[i].cpu == pirn_cpu_self()) != here)) {
        i++;
    }
    CHECK(i < n);
    x->players[i].role = role;
    x->by_role[role] = i;
    CHECK(pirn_set_sched(x->t[i], &s) == 0);
}

static void play_begin(struct play *x, int n)
{
    memset(x, 0, sizeof(*x));
    pirn_sem_init(&x->ready, 0);
    classes_sched_self(PIRN_CLASS_FIFO, CLASSES_TOP, 0);
    for (int i = 0; i < n; i++) {
        x->players[i].play = x;
        pirn_sem_init(&x->players[i].go, 0);
        x->t[i] = classes_spawn(PIRN_CLASS_FIFO, 1, 0, plays, &x->players[i]);
    }
    for (int i = 0; i < n; i++) {
        pirn_sem_wait(&x->ready);
    }
    cast(x, n, PRODUCER, true, 30);
    cast(x, n, CONSUMER, true, 5);
    cast(x, n, URGENT, true, 8);
    cast(x, n, OTHER_PRODUCER, false, 3);
    CHECK(pirn_affinity_add_to(x->t[x->by_role[CONSUMER]], x->t[x->by_role[PRODUCER]]) == 0);
    CHECK(pirn_affinity_add_to(x->t[x->by_role[CONSUMER]], x->t[x->by_role[OTHER_PRODUCER]]) == 0);
}

/* The first producer wakes the consumer, and then the thread that precedes it there. When the
 * producer ends, the consumer must go to the CPU where the second one runs. A tick in the meantime
 * would give the CPU's other threads a turn. */
void test_preceded_consumer_goes_to_another_producers_cpu(void *unused)
{
    (void)unused;
    static struct play x;
    int n = 3 * (int)pirn_cpu_count();
    if (pirn_cpu_count() < 2 || n > THREADS || test_unequal() ||
        strcmp(test_sched(), "dist:discipline=posix,affinity=declared") != 0) {
        return;
    }
    play_begin(&x, n);
    for (int i = 0; i < n; i++) {
        if (x.players[i].role == IDLER) {
            pirn_sem_post(&x.players[i].go);
            CHECK(pirn_join(x.t[i], NULL) == 0);
        }
    }
    post_to(&x, OTHER_PRODUCER);
    pirn_sem_wait(&x.ready);
    post_to(&x, PRODUCER);
    for (int i = 0; i < n; i++) {
        if (x.players[i].role != IDLER) {
            CHECK(pirn_join(x.t[i], NULL) == 0);
        }
    }
    int there = x.players[x.by_role[OTHER_PRODUCER]].cpu;
    CHECK(x.ran_on == there + 1 || test_preempts());
    classes_sched_self(PIRN_CLASS_OTHER, 0, 0);
}
