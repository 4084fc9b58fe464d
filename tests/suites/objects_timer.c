/* SPDX-License-Identifier: MIT */
/* Suite objects: software timers. Each test stops its timers before it returns. */
#include "objects_tests.h"

struct clock {
    pirn_timer_t timer;
    pirn_sem_t rang;
    uint64_t first, period;
    uint64_t expiries; /* calls, and expiries that they stood for */
    unsigned calls, most, inside, late;
    bool restarted;
};

static void clock_init(struct clock *c, void (*fn)(void *))
{
    memset((void *)c, 0, sizeof(*c));
    CHECK(pirn_sem_init(&c->rang, 0) == 0);
    CHECK(pirn_timer_init(&c->timer, fn, c) == 0);
    CHECK(pirn_timer_deadline(&c->timer) == PIRN_FOREVER);
}

static void rings_once(void *arg)
{
    struct clock *c = arg;
    CHECK(pirn_now() >= c->first && pirn_timer_overruns(&c->timer) == 0);
    CHECK(pirn_timer_deadline(&c->timer) == PIRN_FOREVER);
    TEST_ADD(&c->calls, 1u);
    pirn_sem_post(&c->rang);
}

void test_timer_rings_once_when_it_has_no_period(void *unused)
{
    struct clock c;
    (void)unused;
    clock_init(&c, rings_once);
    CHECK(!pirn_timer_stop(&c.timer));
    c.first = test_after(test_random(600));
    CHECK(pirn_timer_start(&c.timer, c.first, 0) == 0);
    pirn_sem_wait(&c.rang);
    CHECK(!pirn_timer_stop(&c.timer) && !pirn_timer_stop_sync(&c.timer));
    CHECK(pirn_timer_start(&c.timer, 0, 0) == 0); /* has passed: at once */
    pirn_sem_wait(&c.rang);
    pirn_sleep(test_ns(300));
    CHECK(TEST_GET(&c.calls) == 2);
    CHECK(pirn_timer_start(&c.timer, PIRN_FOREVER, 0) == 0);
    CHECK(!pirn_timer_stop_sync(&c.timer));
}

void test_timer_refuses_when_arguments_are_bad(void *unused)
{
    struct clock c;
    pirn_timer_t none = {{0}};
    pirn_attr_t attr = {.stack_size = 1};
    (void)unused;
    CHECK(pirn_timer_init(&none, NULL, NULL) == -EINVAL);
    CHECK(pirn_timer_start(&none, 0, 0) == -EINVAL);
    CHECK(!pirn_timer_stop(&none) && pirn_timer_deadline(&none) == PIRN_FOREVER);
    int error = pirn_timer_setup(&attr); /* on Linux and boards an earlier test has created it */
    CHECK(error == -EINVAL || (error == -EBUSY && !test_simulated()));
    clock_init(&c, rings_once);
    CHECK(pirn_timer_setup(NULL) == -EBUSY && pirn_timer_setup(&attr) == -EBUSY);
    CHECK(pirn_timer_start(&c.timer, PIRN_FOREVER, (1ull << 62) + 1) == -EINVAL);
    CHECK(pirn_timer_start(&c.timer, PIRN_FOREVER - 1, 1ull << 62) == 0);
    CHECK(pirn_timer_deadline(&c.timer) == PIRN_FOREVER - 1);
    CHECK(pirn_timer_stop_sync(&c.timer) && pirn_timer_deadline(&c.timer) == PIRN_FOREVER);
    CHECK(c.calls == 0);
}

/* The next expiry is always a whole number of periods after the first one. */
static void rings_in_time(void *arg)
{
    struct clock *c = arg;
    c->expiries += 1 + (uint64_t)pirn_timer_overruns(&c->timer);
    c->late += pirn_timer_overruns(&c->timer);
    CHECK(pirn_now() >= c->first + (c->expiries - 1) * c->period);
    CHECK(pirn_timer_deadline(&c->timer) == c->first + c->expiries * c->period);
    if (++c->calls == 2) {
        pirn_sleep(3 * c->period);
    } else if (c->calls == 6) {
        CHECK(pirn_timer_stop(&c->timer));
        pirn_sem_post(&c->rang);
    }
}

void test_timer_does_not_drift_when_function_is_late(void *unused)
{
    struct clock c;
    (void)unused;
    clock_init(&c, rings_in_time);
    c.period = test_ns(150 + test_random(200));
    c.first = test_after(test_random(200));
    CHECK(pirn_timer_start(&c.timer, c.first, c.period) == 0);
    pirn_sem_wait(&c.rang);
    CHECK(!pirn_timer_stop_sync(&c.timer));
    CHECK(c.calls == 6 && c.late >= 2);
}

static void rings(void *arg)
{
    struct clock *c = arg;
    TEST_ADD(&c->calls, 1u);
}

/* A call that had begun ends before stop_sync returns; none begins afterwards. */
void test_timer_rings_no_more_when_stopped(void *unused)
{
    struct clock c;
    (void)unused;
    clock_init(&c, rings);
    for (unsigned i = 0; i < 4; i++) {
        uint64_t due = test_after(100 + test_random(200));
        uint64_t period = test_random(2) != 0 ? test_ns(100) : 0;
        CHECK(pirn_timer_start(&c.timer, due, period) == 0);
        pirn_sleep_until(due + test_ns(50) - test_ns(test_random(100)));
        bool started = pirn_timer_stop_sync(&c.timer);
        unsigned calls = TEST_GET(&c.calls);
        CHECK(started || calls != 0);
        pirn_sleep(test_ns(300));
        CHECK(TEST_GET(&c.calls) == calls);
    }
}

void test_timer_has_the_last_start_when_started_again(void *unused)
{
    struct clock c;
    (void)unused;
    clock_init(&c, rings_once);
    CHECK(pirn_timer_start(&c.timer, test_far(), 1000) == 0);
    c.first = test_after(test_random(400));
    CHECK(pirn_timer_start(&c.timer, c.first, 0) == 0);
    pirn_sem_wait(&c.rang);
    CHECK(pirn_timer_start(&c.timer, test_far(), 0) == 0);
    CHECK(pirn_timer_start(&c.timer, PIRN_FOREVER, 0) == 0); /* stops it */
    CHECK(!pirn_timer_stop_sync(&c.timer) && c.calls == 1);
}

static void starts_itself(void *arg)
{
    struct clock *c = arg;
    if (++c->calls < 3) {
        CHECK(pirn_timer_start(&c->timer, pirn_now() + c->period, 0) == 0);
    } else {
        CHECK(!pirn_timer_stop_sync(&c->timer)); /* by its own function: does not wait */
        pirn_sem_post(&c->rang);
    }
}

void test_timer_rings_again_when_function_starts_it(void *unused)
{
    struct clock c;
    (void)unused;
    clock_init(&c, starts_itself);
    c.period = test_ns(test_random(100));
    CHECK(pirn_timer_start(&c.timer, test_after(test_random(100)), 0) == 0);
    pirn_sem_wait(&c.rang);
    CHECK(!pirn_timer_stop_sync(&c.timer) && c.calls == 3);
}

static void stays_inside(void *arg)
{
    struct clock *c = arg;
    TEST_SET(&c->inside, 1u);
    pirn_sem_post(&c->rang);
    pirn_sleep(c->period);
    if (c->restarted) {
        CHECK(pirn_timer_start(&c->timer, pirn_now(), 0) == 0);
    }
    TEST_ADD(&c->calls, 1u);
    TEST_SET(&c->inside, 0u);
}

static void *stops(void *arg)
{
    struct clock *c = arg;
    pirn_timer_stop_sync(&c->timer);
    unsigned calls = TEST_GET(&c->calls);
    CHECK(TEST_GET(&c->inside) == 0 && calls >= 1);
    pirn_sleep(test_ns(200));
    CHECK(TEST_GET(&c->inside) == 0 && TEST_GET(&c->calls) == calls);
    return NULL;
}

void test_timer_stop_waits_when_function_runs(void *unused)
{
    struct clock c;
    (void)unused;
    clock_init(&c, stays_inside);
    c.period = test_ns(100 + test_random(200));
    c.restarted = test_random(2) != 0;
    CHECK(pirn_timer_start(&c.timer, pirn_now(), 0) == 0);
    pirn_sem_wait(&c.rang);
    pirn_thread_t t = test_spawn(stops, &c);
    stops(&c);
    test_end(t);
    CHECK(c.restarted || c.calls == 1);
}

/* The function owns the memory of a timer that does not ring again. */
static void frees_itself(void *arg)
{
    struct clock *c = arg;
    c->calls++;
    pirn_sem_t *rang = &c->rang;
    pirn_timer_stop(&c->timer);
    memset((void *)&c->timer, 0x5a, sizeof(c->timer));
    pirn_sem_post(rang);
}

void test_timer_is_not_touched_when_freed_by_function(void *unused)
{
    struct clock c;
    (void)unused;
    clock_init(&c, frees_itself);
    CHECK(pirn_timer_start(&c.timer, test_after(test_random(100)), test_ns(50)) == 0);
    pirn_sem_wait(&c.rang);
    pirn_sleep(test_ns(200));
    for (size_t i = 0; i < sizeof(c.timer); i++) {
        CHECK(((unsigned char *)&c.timer)[i] == 0x5a);
    }
    CHECK(c.calls == 1);
}

enum { MANY = 6 };

struct row {
    pirn_sem_t rang;
    uint64_t due[MANY], rung[MANY];
    unsigned n;
};

struct place {
    pirn_timer_t timer;
    struct row *row;
    unsigned i;
};

static void notes_its_turn(void *arg)
{
    struct place *p = arg;
    CHECK(pirn_now() >= p->row->due[p->i]);
    p->row->rung[p->row->n++] = p->row->due[p->i];
    pirn_sem_post(&p->row->rang);
}

void test_timers_ring_in_order_when_deadlines_differ(void *unused)
{
    struct row row;
    struct place p[MANY];
    (void)unused;
    memset((void *)&row, 0, sizeof(row));
    uint64_t begin = test_after(3000);
    for (unsigned i = 0; i < MANY; i++) {
        p[i].row = &row;
        p[i].i = i;
        CHECK(pirn_timer_init(&p[i].timer, notes_its_turn, &p[i]) == 0);
        row.due[i] = begin + test_ns(test_random(500));
        CHECK(pirn_timer_start(&p[i].timer, row.due[i], 0) == 0);
    }
    unsigned stopped = test_random(MANY + 1), most = MANY;
    if (stopped < MANY && pirn_timer_stop(&p[stopped].timer)) {
        most--;
    }
    bool all_in_time = pirn_now() < begin;
    for (unsigned i = 0; i < most; i++) {
        pirn_sem_wait(&row.rang);
    }
    for (unsigned i = 0; i < MANY; i++) {
        pirn_timer_stop_sync(&p[i].timer);
    }
    CHECK(row.n == most);
    for (unsigned i = 1; all_in_time && i < most; i++) {
        CHECK(row.rung[i - 1] <= row.rung[i]);
    }
}

struct outside {
    struct clock clock;
    int left;
};

static void starts_outside(void *arg)
{
    struct outside *o = arg;
    CHECK(pirn_timer_start(&o->clock.timer, o->clock.first, 0) == 0);
    pirn_sem_wait(&o->clock.rang);
    CHECK(!pirn_timer_stop_sync(&o->clock.timer));
    TEST_ADD(&o->left, -1);
}

void test_timer_rings_when_foreign_thread_starts_it(void *unused)
{
    struct outside o;
    (void)unused;
    clock_init(&o.clock, rings_once);
    o.clock.first = test_after(test_random(300));
    o.left = 1;
    test_foreign(starts_outside, &o);
    test_await_zero(&o.left);
    CHECK(o.clock.calls == 1);
}

static void *makes_one(void *arg)
{
    struct clock *c = arg;
    clock_init(c, rings_once);
    CHECK(pirn_timer_start(&c->timer, 0, 0) == 0);
    pirn_sem_wait(&c->rang);
    CHECK(!pirn_timer_stop_sync(&c->timer));
    return NULL;
}

void test_timers_have_one_thread_when_first_ones_race(void *unused)
{
    struct clock c[3];
    pirn_thread_t t[3];
    (void)unused;
    for (unsigned i = 0; i < 3; i++) {
        t[i] = test_spawn(makes_one, &c[i]);
    }
    for (unsigned i = 0; i < 3; i++) {
        test_end(t[i]);
        CHECK(c[i].calls == 1);
    }
}
