/* SPDX-License-Identifier: MIT */
/* Suite sync: barrier and once. */
#include "sync_tests.h"

#define ROUNDS 3

struct meeting {
    pirn_barrier_t barrier;
    int size, left;
    int arrived[ROUNDS], serial[ROUNDS];
};

static void meeting_init(struct meeting *m, int size)
{
    memset((void *)m, 0, sizeof(*m));
    m->size = size;
    CHECK(pirn_barrier_init(&m->barrier, (unsigned)size) == 0);
}

static void arrive(struct meeting *m, int round)
{
    TEST_ADD(&m->arrived[round], 1);
    if (pirn_barrier_wait(&m->barrier)) {
        TEST_ADD(&m->serial[round], 1);
    }
    CHECK(TEST_GET(&m->arrived[round]) == m->size);
}

static void *arrives(void *arg)
{
    for (int round = 0; round < ROUNDS; round++) {
        arrive(arg, round);
    }
    return NULL;
}

static void *arrives_once(void *arg)
{
    arrive(arg, 0);
    return NULL;
}

static void meet(struct meeting *m, void *(*fn)(void *), int user_threads)
{
    pirn_thread_t t[4];
    for (int i = 0; i < user_threads; i++) {
        t[i] = test_spawn(fn, m);
    }
    fn(m);
    for (int i = 0; i < user_threads; i++) {
        test_end(t[i]);
    }
}

void test_barrier_opens_when_all_have_arrived(void *unused)
{
    (void)unused;
    struct meeting m;
    int size = 1 + (int)test_random(4);
    meeting_init(&m, size);
    meet(&m, arrives_once, size - 1);
    CHECK(m.serial[0] == 1);
}

void test_barrier_is_reused_when_rounds_follow(void *unused)
{
    (void)unused;
    struct meeting m;
    int size = 2 + (int)test_random(3);
    meeting_init(&m, size);
    meet(&m, arrives, size - 1);
    for (int round = 0; round < ROUNDS; round++) {
        CHECK(m.serial[round] == 1);
    }
}

static void arrive_foreign(void *arg)
{
    struct meeting *m = arg;
    arrives(m);
    TEST_ADD(&m->left, -1);
}

void test_barrier_opens_when_foreign_thread_arrives(void *unused)
{
    (void)unused;
    struct meeting m;
    int foreign = 1 + (int)test_random(2);
    meeting_init(&m, 2 + foreign);
    m.left = foreign;
    for (int i = 0; i < foreign; i++) {
        test_foreign(arrive_foreign, &m);
    }
    meet(&m, arrives, 1);
    test_await_zero(&m.left);
    for (int round = 0; round < ROUNDS; round++) {
        CHECK(m.serial[round] == 1);
    }
}

void test_barrier_refuses_when_count_is_zero(void *unused)
{
    (void)unused;
    pirn_barrier_t barrier;
    CHECK(pirn_barrier_init(&barrier, 0) == -EINVAL);
    CHECK(pirn_barrier_init(&barrier, 1) == 0);
    CHECK(pirn_barrier_wait(&barrier) && pirn_barrier_wait(&barrier));
}

/* As soon as one waiter has returned, the object may be given a new use. */
static void *arrives_then_resets(void *arg)
{
    struct meeting *m = arg;
    if (pirn_barrier_wait(&m->barrier)) {
        memset((void *)&m->barrier, 0x5a, sizeof(m->barrier));
    }
    return NULL;
}

void test_barrier_is_not_touched_when_reset_by_serial_thread(void *unused)
{
    (void)unused;
    struct meeting m;
    meeting_init(&m, 3);
    meet(&m, arrives_then_resets, 2);
    for (size_t i = 0; i < sizeof(m.barrier); i++) {
        CHECK(((unsigned char *)&m.barrier)[i] == 0x5a);
    }
}

static pirn_once_t once[2] __attribute__((aligned(8))); /* neighbours share a wait queue */
static int runs[2], done[2], left;

static void slow(int i)
{
    CHECK(TEST_ADD(&runs[i], 1) == 1);
    for (unsigned n = test_random(3); n > 0; n--) {
        pirn_yield();
    }
    pirn_sleep(test_ns(test_random(200)));
    TEST_SET(&done[i], 1);
}

static void slow_first(void)
{
    slow(0);
}

static void slow_second(void)
{
    slow(1);
}

static void nested(void)
{
    pirn_once(&once[1], slow_second);
    slow(0);
}

static void once_reset(void)
{
    for (int i = 0; i < 2; i++) {
        once[i] = (pirn_once_t)PIRN_ONCE_INIT;
        runs[i] = done[i] = 0;
    }
}

static void *calls_first(void *arg)
{
    pirn_once(&once[0], slow_first);
    CHECK(TEST_GET(&done[0]) == 1);
    return arg;
}

static void *calls_second(void *arg)
{
    pirn_once(&once[1], slow_second);
    CHECK(TEST_GET(&done[1]) == 1);
    return arg;
}

static void *calls_nested(void *arg)
{
    pirn_once(&once[0], nested);
    CHECK(TEST_GET(&done[0]) == 1 && TEST_GET(&done[1]) == 1);
    return arg;
}

static void call(void *(*a)(void *), void *(*b)(void *))
{
    pirn_thread_t t[4];
    for (int i = 0; i < 4; i++) {
        t[i] = test_spawn(i % 2 != 0 ? a : b, NULL);
    }
    for (int i = 0; i < 4; i++) {
        test_end(t[i]);
    }
}

void test_once_runs_once_when_contended(void *unused)
{
    (void)unused;
    once_reset();
    call(calls_first, calls_first);
    CHECK(runs[0] == 1);
}

void test_once_wakes_all_when_words_share_a_queue(void *unused)
{
    (void)unused;
    once_reset();
    call(calls_first, calls_second);
    CHECK(runs[0] == 1 && runs[1] == 1);
}

void test_once_runs_once_when_nested(void *unused)
{
    (void)unused;
    once_reset();
    call(calls_nested, calls_second);
    CHECK(runs[0] == 1 && runs[1] == 1);
}

static void call_foreign(void *arg)
{
    calls_first(arg);
    TEST_ADD(&left, -1);
}

void test_once_runs_once_when_foreign_threads_call(void *unused)
{
    (void)unused;
    once_reset();
    left = 2;
    test_foreign(call_foreign, NULL);
    test_foreign(call_foreign, NULL);
    pirn_thread_t t = test_spawn(calls_first, NULL);
    calls_first(NULL);
    test_end(t);
    test_await_zero(&left);
    CHECK(runs[0] == 1);
}
