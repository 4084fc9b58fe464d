/* SPDX-License-Identifier: MIT */
/*
 * Suite poll: pollers (<pirn/poll.h>). A "device", which is a kernel thread that is no worker or a
 * thread that never waits, completes requests and tells nobody. The oracles: each request is found
 * once, and the test ends at all: a request that no look finds is a deadlock in the simulator.
 * Some waits have a label (<pirn/label.h>), and some are one step with telling (pirn_poller_wait).
 */
#include <pirn/label.h>
#include <pirn/poll.h>

#include "sync_tests.h"

enum { MOST = 5, ROUNDS = 3 };

/* The longest pause between two looks: pollers.c. */
#define LONGEST (test_simulated() ? PIRN_POLL_MOST_NS / 10 : PIRN_POLL_MOST_NS)

enum { FREE, WANTED, COMPLETE, FOUND }; /* a request */

struct device {
    pirn_poller_t poller;
    pirn_sem_t found[MOST];
    int request[MOST];
    int looks, left, inside;
    int completes_at; /* this look */
    bool says_done;   /* when a look completes the only request that is outstanding */
};

static enum pirn_poll looks(void *arg)
{
    struct device *d = arg;
    unsigned found = 0, pending = 0, last = 0;
    CHECK(TEST_ADD(&d->inside, 1) == 1);
    int n = TEST_ADD(&d->looks, 1);
    for (unsigned i = 0; i < MOST; i++) {
        int state = TEST_GET(&d->request[i]);
        if (state == COMPLETE || (state == WANTED && n == d->completes_at)) {
            TEST_SET(&d->request[i], FOUND);
            if (found++ != 0) {
                pirn_sem_post(&d->found[last]);
            }
            last = i;
        } else if (state == WANTED) {
            pending++;
        }
    }
    TEST_ADD(&d->inside, -1);
    if (found == 0) {
        return pending != 0 ? PIRN_POLL_PENDING : PIRN_POLL_NONE;
    }
    if (found == 1 && pending == 0 && d->says_done) {
        return pirn_poller_done(&d->poller, &d->found[last]);
    }
    pirn_sem_post(&d->found[last]);
    return PIRN_POLL_FOUND;
}

static void device_init(struct device *d)
{
    memset((void *)d, 0, sizeof(*d));
    d->says_done = test_random(2) != 0;
    CHECK(pirn_poller_add(&d->poller, NULL, looks, d) == 0);
}

static void wait_for(struct device *d, unsigned i)
{
    pirn_label_t label = {"request", "number", {i}};
    TEST_SET(&d->request[i], WANTED);
    if (i == 0) {
        pirn_poller_tell(&d->poller);
        pirn_sem_wait(&d->found[i]);
    } else if (i == 1) {
        pirn_poller_tell(&d->poller);
        pirn_sem_wait_as(&d->found[i], &label);
    } else {
        pirn_poller_wait(&d->poller, &d->found[i], i % 2 == 0 ? NULL : &label);
    }
    CHECK(TEST_GET(&d->request[i]) == FOUND && pirn_sem_value(&d->found[i]) == 0);
    TEST_SET(&d->request[i], FREE);
}

/* Completes so many requests, one at a time, wherever there are some. */
static void complete(struct device *d, unsigned n)
{
    for (unsigned i = 0; n != 0; i = (i + 1) % MOST) {
        if (TEST_GET(&d->request[i]) == WANTED) {
            TEST_SET(&d->request[i], COMPLETE);
            n--;
        }
        test_pause();
    }
}

struct waiter {
    struct device *device;
    unsigned i;
};

static void *waits(void *arg)
{
    struct waiter *w = arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        wait_for(w->device, w->i);
    }
    return NULL;
}

static void waits_outside(void *arg)
{
    struct waiter *w = arg;
    waits(w);
    TEST_ADD(&w->device->left, -1);
}

static void completes_outside(void *arg)
{
    struct device *d = arg;
    complete(d, MOST * ROUNDS);
    TEST_ADD(&d->left, -1);
}

/* The first `foreign` of them are kernel threads. */
static void all_wait(struct device *d, struct waiter *w, pirn_thread_t *t, unsigned foreign)
{
    for (unsigned i = 0; i < MOST; i++) {
        w[i] = (struct waiter){d, i};
        if (i < foreign) {
            test_foreign(waits_outside, &w[i]);
        } else {
            t[i] = test_spawn(waits, &w[i]);
        }
    }
}

static void all_end(struct device *d, pirn_thread_t *t, unsigned foreign)
{
    for (unsigned i = foreign; i < MOST; i++) {
        test_end(t[i]);
    }
    test_await_zero(&d->left);
    pirn_poller_remove(&d->poller);
    for (unsigned i = 0; i < MOST; i++) {
        CHECK(d->request[i] == FREE);
    }
}

static void test_poller_finds_all_when_device_is_outside(void *unused)
{
    struct device d;
    struct waiter w[MOST];
    pirn_thread_t t[MOST];
    (void)unused;
    device_init(&d);
    d.left = 1;
    test_foreign(completes_outside, &d);
    all_wait(&d, w, t, 0);
    all_end(&d, t, 0);
}

static void test_poller_finds_all_when_foreign_threads_wait(void *unused)
{
    struct device d;
    struct waiter w[MOST];
    pirn_thread_t t[MOST];
    (void)unused;
    device_init(&d);
    d.left = 1 + 2;
    test_foreign(completes_outside, &d);
    all_wait(&d, w, t, 2);
    all_end(&d, t, 2);
}

/* No CPU is ever without work. */
static void *keeps_busy(void *arg)
{
    struct device *d = arg;
    while (TEST_GET(&d->left) != 0) {
        test_pause();
        pirn_yield();
    }
    return NULL;
}

static void test_poller_finds_all_when_all_cpus_are_busy(void *unused)
{
    struct device d;
    struct waiter w[MOST];
    pirn_thread_t t[MOST], busy[8];
    unsigned n = pirn_cpu_count() < 8 ? pirn_cpu_count() : 8;
    (void)unused;
    device_init(&d);
    d.left = 1;
    for (unsigned i = 0; i < n; i++) {
        busy[i] = test_spawn(keeps_busy, &d);
    }
    all_wait(&d, w, t, 0);
    test_foreign(completes_outside, &d);
    for (unsigned i = 0; i < n; i++) {
        test_end(busy[i]);
    }
    all_end(&d, t, 0);
}

static void test_poller_rests_when_nothing_is_outstanding(void *unused)
{
    struct device d;
    (void)unused;
    device_init(&d);
    d.completes_at = (int)test_random(4) + 2; /* this one finds something */
    wait_for(&d, 0);
    pirn_sleep(4 * LONGEST);
    int before = TEST_GET(&d.looks);
    CHECK(before >= d.completes_at + !d.says_done);
    pirn_sleep(4 * LONGEST);
    CHECK(TEST_GET(&d.looks) == before);
    pirn_poller_remove(&d.poller);
}

static void test_poller_is_not_touched_when_removed(void *unused)
{
    struct device d;
    (void)unused;
    device_init(&d);
    CHECK(pirn_poller_add(&d.poller, NULL, NULL, NULL) == -EINVAL);
    if (test_random(2) != 0) {
        TEST_SET(&d.request[0], WANTED); /* it is never complete */
        pirn_poller_tell(&d.poller);
        pirn_sleep(test_ns(test_random(400)));
    }
    pirn_poller_remove(&d.poller);
    memset((void *)&d, 0x5a, sizeof(d));
    pirn_sleep(4 * LONGEST);
    for (size_t i = 0; i < sizeof(d); i++) {
        CHECK(((unsigned char *)&d)[i] == 0x5a);
    }
}

#ifdef PIRN_SIM
/* By deadlines alone the fifth look would come after 300 us; the first five take about 30. */
static void test_poller_looks_at_once_when_cpus_are_idle(void *unused)
{
    struct device d;
    (void)unused;
    device_init(&d);
    pirn_sleep(10 * LONGEST); /* it rests */
    d.completes_at = TEST_GET(&d.looks) + 5;
    uint64_t from = pirn_now();
    wait_for(&d, 0);
    CHECK(pirn_now() - from < (1 + 2 + 4 + 8) * PIRN_POLL_LEAST_NS);
    pirn_poller_remove(&d.poller);
}

/* And after a while it looks less often: looks in vain are at most those of a busy CPU in the eager
 * time, and then one for each pause. */
static void test_poller_looks_less_often_when_nothing_comes(void *unused)
{
    struct device d;
    (void)unused;
    device_init(&d);
    TEST_SET(&d.request[0], WANTED);
    pirn_poller_tell(&d.poller);
    pirn_sleep(5 * LONGEST);
    int before = TEST_GET(&d.looks);
    pirn_sleep(20 * LONGEST);
    int late = TEST_GET(&d.looks) - before;
    CHECK(late >= 10 && late <= 21);
    pirn_poller_remove(&d.poller);
}
#define SIMULATED                                                                                  \
    {"poller_looks_at_once_when_cpus_are_idle", test_poller_looks_at_once_when_cpus_are_idle, 0},  \
        {"poller_looks_less_often_when_nothing_comes",                                             \
         test_poller_looks_less_often_when_nothing_comes, 0},
#else
#define SIMULATED
#endif

static void is_text(const pirn_label_t *label, const char *expected)
{
    char text[PIRN_LABEL_TEXT_MAX], cut[6];
    CHECK(pirn_label_text(label, text, sizeof(text)) == strlen(expected));
    CHECK(strcmp(text, expected) == 0);
    CHECK(pirn_label_text(label, cut, sizeof(cut)) == strlen(expected));
    CHECK(strlen(cut) == 5 && strncmp(cut, expected, 5) == 0);
    CHECK(pirn_label_text(label, NULL, 0) == strlen(expected));
}

static void test_label_is_text_when_fields_differ(void *unused)
{
    (void)unused;
    pirn_label_t label = {"receive", NULL, {0}};
    is_text(&label, "receive");
    label.fields = "source tag comm:s comm:x";
    label.values[0] = -1;
    label.values[1] = PIRN_LABEL_ANY;
    label.values[2] = 0;
    label.values[3] = 255;
    is_text(&label, "receive source=-1 tag=any comm=0xff");
    label.values[0] = PIRN_LABEL_NONE;
    label.values[2] = (int64_t)(uintptr_t) "world";
    label.values[3] = PIRN_LABEL_NONE;
    is_text(&label, "receive tag=any comm=world");
    label.fields = "a b c:s d e f g h";
    label.values[3] = label.values[4] = INT64_MAX;
    label.values[5] = 1;
    is_text(&label, "receive b=any c=world d=9223372036854775807 e=9223372036854775807 f=1");
}

struct going {
    pirn_sem_t go;
    int begun, end;
};

static void *goes_on(void *arg)
{
    struct going *going = arg;
    pirn_sem_wait(&going->go);
    TEST_ADD(&going->begun, 1);
    while (!TEST_GET(&going->end)) {
        pirn_yield();
    }
    return NULL;
}

/* A switch that is under way may be counted either way, so each number is waited for. */
static void test_running_threads_are_counted_when_others_wait(void *unused)
{
    struct going going = {0};
    pirn_thread_t t[2];
    (void)unused;
    for (int i = 0; i < 2; i++) {
        CHECK(pirn_create(&t[i], NULL, goes_on, &going) == 0);
    }
    while (pirn_threads_running() != 0) {
        pirn_yield();
    }
    for (unsigned i = 1; i <= 2; i++) {
        pirn_sem_post(&going.go);
        while (TEST_GET(&going.begun) != (int)i || pirn_threads_running() != i) {
            pirn_yield();
        }
    }
    TEST_SET(&going.end, 1);
    for (int i = 0; i < 2; i++) {
        CHECK(pirn_join(t[i], NULL) == 0);
    }
    CHECK(pirn_threads_running() == 0);
}

enum { PAUSES = 20 };

/* The threads take turns: each waits until the other has had one. */
static void *pauses(void *arg)
{
    int *turns = arg;
    int parity = TEST_ADD(&turns[1], 1) % 2;
    for (int i = 0; i < PAUSES; i++) {
        while (TEST_GET(&turns[0]) % 2 != parity) {
            pirn_poll_pause(i % 4 == 0);
        }
        TEST_ADD(&turns[0], 1);
    }
    return NULL;
}

static void test_pause_runs_others_when_they_are_ready(void *unused)
{
    int turns[2] = {0, 0}; /* turns, threads that have begun */
    pirn_thread_t t[2];
    (void)unused;
    for (int i = 0; i < 2; i++) {
        CHECK(pirn_create(&t[i], NULL, pauses, turns) == 0);
    }
    for (int i = 0; i < 2; i++) {
        CHECK(pirn_join(t[i], NULL) == 0);
    }
    CHECK(TEST_GET(&turns[0]) == 2 * PAUSES);
}

static const struct test tests[] = {
    {"pause_runs_others_when_they_are_ready", test_pause_runs_others_when_they_are_ready, 0},
    {"running_threads_are_counted_when_others_wait",
     test_running_threads_are_counted_when_others_wait, 0},
    {"label_is_text_when_fields_differ", test_label_is_text_when_fields_differ, 0},
    {"poller_finds_all_when_device_is_outside", test_poller_finds_all_when_device_is_outside, 0},
    {"poller_finds_all_when_foreign_threads_wait", test_poller_finds_all_when_foreign_threads_wait,
     0},
    {"poller_finds_all_when_all_cpus_are_busy", test_poller_finds_all_when_all_cpus_are_busy, 0},
    {"poller_rests_when_nothing_is_outstanding", test_poller_rests_when_nothing_is_outstanding, 0},
    {"poller_is_not_touched_when_removed", test_poller_is_not_touched_when_removed, 0},
    SIMULATED{NULL, NULL, 0}};

const struct suite suite_poll = {"poll", tests, NULL, false};
