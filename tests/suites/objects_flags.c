/* SPDX-License-Identifier: MIT */
/* Suite objects: event flags. */
#include "objects_tests.h"

#define A 1u
#define B 2u
#define C 0x80000000u
#define ALL PIRN_FLAGS_ALL
#define CLEAR PIRN_FLAGS_CLEAR

void test_flags_keep_word_when_nobody_waits(void *unused)
{
    pirn_flags_t f = PIRN_FLAGS_INIT;
    uint32_t got = 77;
    (void)unused;
    CHECK(pirn_flags_get(&f) == 0 && pirn_flags_set(&f, A | C) == 0);
    CHECK(pirn_flags_set(&f, B) == (A | C) && pirn_flags_get(&f) == (A | B | C));
    CHECK(pirn_flags_clear(&f, A | 4u) == (A | B | C) && pirn_flags_get(&f) == (B | C));
    CHECK(pirn_flags_trywait(&f, A, 0, &got) == -EAGAIN && got == 77);
    CHECK(pirn_flags_trywait(&f, A | B, ALL | CLEAR, &got) == -EAGAIN && got == 77);
    CHECK(pirn_flags_trywait(&f, A | B, 0, &got) == 0 && got == (B | C));
    CHECK(pirn_flags_wait(&f, B | C, ALL, NULL) == 0 && pirn_flags_get(&f) == (B | C));
    CHECK(pirn_flags_wait(&f, A | B, CLEAR, &got) == 0 && got == (B | C));
    CHECK(pirn_flags_get(&f) == C);
    CHECK(pirn_flags_wait_until(&f, C, ALL | CLEAR, NULL, 0) == 0); /* it is there: no wait */
    CHECK(pirn_flags_set(&f, 0) == 0 && pirn_flags_get(&f) == 0);
    CHECK(pirn_flags_set(&f, UINT32_MAX) == 0);
    pirn_flags_init(&f);
    CHECK(pirn_flags_get(&f) == 0);
}

void test_flags_refuse_when_arguments_are_bad(void *unused)
{
    pirn_flags_t f = PIRN_FLAGS_INIT;
    uint32_t got = 77;
    (void)unused;
    pirn_flags_set(&f, UINT32_MAX);
    CHECK(pirn_flags_wait(&f, 0, 0, &got) == -EINVAL);
    CHECK(pirn_flags_trywait(&f, 0, ALL, &got) == -EINVAL);
    CHECK(pirn_flags_wait_until(&f, 0, CLEAR, &got, PIRN_FOREVER) == -EINVAL);
    CHECK(pirn_flags_wait(&f, A, 4, &got) == -EINVAL);
    CHECK(pirn_flags_trywait(&f, A, 0x101, &got) == -EINVAL);
    CHECK(pirn_flags_wait_until(&f, A, UINT32_MAX, &got, 0) == -EINVAL);
    CHECK(got == 77 && pirn_flags_get(&f) == UINT32_MAX);
}

struct events {
    pirn_flags_t flags;
    uint64_t deadline;
    uint32_t got;
    int result, done, left, turns;
};

static void events_init(struct events *e)
{
    memset((void *)e, 0, sizeof(*e));
    pirn_flags_init(&e->flags);
}

static void *waits_in_time(void *arg)
{
    struct events *e = arg;
    uint32_t got = 77;
    int error = pirn_flags_wait_until(&e->flags, A | B, ALL | CLEAR, &got, e->deadline);
    CHECK(error == 0 || error == -ETIMEDOUT);
    CHECK(error == 0 ? got == (A | B) : got == 77 && pirn_now() >= e->deadline);
    return error == 0 ? arg : NULL;
}

void test_flags_time_out_when_bits_do_not_come(void *unused)
{
    struct events e;
    (void)unused;
    events_init(&e);
    e.deadline = test_after(test_random(800));
    pirn_thread_t t = test_spawn(waits_in_time, &e);
    pirn_flags_set(&e.flags, B);
    CHECK(waits_in_time(&e) == NULL && test_end(t) == NULL);
    CHECK(pirn_flags_set(&e.flags, A) == B); /* finds the stale waiters */
    CHECK(pirn_flags_get(&e.flags) == (A | B));
}

void test_flags_end_once_when_set_races_timeout(void *unused)
{
    struct events e;
    (void)unused;
    events_init(&e);
    pirn_flags_set(&e.flags, A);
    e.deadline = test_after(200 + test_random(400));
    pirn_thread_t t = test_spawn(waits_in_time, &e);
    pirn_sleep_until(e.deadline - test_ns(test_random(150)));
    CHECK(pirn_flags_set(&e.flags, B) == A);
    bool got = test_end(t) != NULL;
    CHECK(pirn_flags_get(&e.flags) == (got ? 0 : (A | B)));
}

struct setter {
    struct events *events;
    uint32_t bit;
};

static void *sets_one(void *arg)
{
    struct setter *s = arg;
    TEST_ADD(&s->events->done, 1);
    pirn_flags_set(&s->events->flags, s->bit);
    return NULL;
}

void test_flags_wait_for_all_when_bits_come_apart(void *unused)
{
    static const uint32_t bits[3] = {A, B, C};
    struct events e;
    struct setter s[3];
    pirn_thread_t t[3];
    uint32_t got;
    (void)unused;
    events_init(&e);
    for (unsigned i = 0; i < 3; i++) {
        s[i] = (struct setter){&e, bits[i]};
        t[i] = test_spawn(sets_one, &s[i]);
    }
    CHECK(pirn_flags_wait(&e.flags, A | B | C, ALL, &got) == 0);
    CHECK(got == (A | B | C) && TEST_GET(&e.done) == 3);
    for (unsigned i = 0; i < 3; i++) {
        test_end(t[i]);
    }
}

static void *waits_for_any(void *arg)
{
    struct events *e = arg;
    uint32_t got;
    CHECK(pirn_flags_wait(&e->flags, B | C, 0, &got) == 0 && got == (A | C));
    TEST_ADD(&e->done, 1);
    return NULL;
}

void test_flags_wake_all_when_set_once(void *unused)
{
    struct events e;
    pirn_thread_t t[4];
    (void)unused;
    events_init(&e);
    pirn_flags_set(&e.flags, A);
    for (unsigned i = 0; i < 4; i++) {
        t[i] = test_spawn(waits_for_any, &e);
    }
    pirn_flags_set(&e.flags, C);
    for (unsigned i = 0; i < 4; i++) {
        test_end(t[i]);
    }
    CHECK(e.done == 4 && pirn_flags_get(&e.flags) == (A | C));
}

/* At least one waiter takes what is set. */
static void *takes_until_told(void *arg)
{
    struct events *e = arg;
    uint32_t got;
    for (;;) {
        CHECK(pirn_flags_wait(&e->flags, A | B, CLEAR, &got) == 0 && (got & (A | B)) != 0);
        if (got & B) {
            pirn_flags_set(&e->flags, B); /* for the others */
            return NULL;
        }
        TEST_ADD(&e->turns, 1);
    }
}

void test_flags_go_to_one_when_cleared_by_waiters(void *unused)
{
    struct events e;
    pirn_thread_t t[3];
    (void)unused;
    events_init(&e);
    for (unsigned i = 0; i < 3; i++) {
        t[i] = test_spawn(takes_until_told, &e);
    }
    for (unsigned i = 0; i < 3; i++) {
        pirn_flags_set(&e.flags, A);
        while (pirn_flags_get(&e.flags) & A) {
            pirn_sleep(test_ns(100));
        }
    }
    pirn_flags_set(&e.flags, B);
    for (unsigned i = 0; i < 3; i++) {
        test_end(t[i]);
    }
    CHECK(e.turns >= 3);
}

static void answer(struct events *e)
{
    for (int i = 0; i < 4; i++) {
        CHECK(pirn_flags_wait(&e->flags, A, CLEAR, NULL) == 0);
        CHECK(TEST_ADD(&e->turns, 1) == 2 * i + 2);
        CHECK((pirn_flags_set(&e->flags, B) & (A | B)) == 0);
    }
}

static void ask(struct events *e)
{
    for (int i = 0; i < 4; i++) {
        CHECK(TEST_ADD(&e->turns, 1) == 2 * i + 1);
        CHECK((pirn_flags_set(&e->flags, A) & (A | B)) == 0);
        CHECK(pirn_flags_wait_until(&e->flags, B, ALL | CLEAR, NULL, test_far()) == 0);
    }
}

static void *answers(void *arg)
{
    answer(arg);
    return NULL;
}

void test_flags_pass_turns_when_two_threads_alternate(void *unused)
{
    struct events e;
    (void)unused;
    events_init(&e);
    pirn_thread_t t = test_spawn(answers, &e);
    ask(&e);
    test_end(t);
    CHECK(e.turns == 8 && pirn_flags_get(&e.flags) == 0);
}

static void answers_outside(void *arg)
{
    struct events *e = arg;
    answer(e);
    TEST_ADD(&e->left, -1);
}

void test_flags_pass_turns_when_foreign_thread_alternates(void *unused)
{
    struct events e;
    (void)unused;
    events_init(&e);
    e.left = 1;
    test_foreign(answers_outside, &e);
    ask(&e);
    test_await_zero(&e.left);
    CHECK(e.turns == 8);
}

/* The waiter owns the memory as soon as its wait ends. */
static void *sets_pointer(void *arg)
{
    pirn_flags_set(arg, A);
    return NULL;
}

void test_flags_are_not_touched_when_freed_after_wait(void *unused)
{
    pirn_flags_t f = PIRN_FLAGS_INIT;
    (void)unused;
    pirn_thread_t t = test_spawn(sets_pointer, &f);
    if (pirn_flags_wait_until(&f, A, CLEAR, NULL, test_after(test_random(200))) != 0) {
        CHECK(pirn_flags_wait(&f, A, CLEAR, NULL) == 0);
    }
    memset((void *)&f, 0x5a, sizeof(f));
    test_end(t);
    for (size_t i = 0; i < sizeof(f); i++) {
        CHECK(((unsigned char *)&f)[i] == 0x5a);
    }
}

#ifdef PIRN_SIM
struct waiter {
    struct events *events;
    uint32_t bits, got;
    unsigned how;
    int result;
};

static void *waits_as_told(void *arg)
{
    struct waiter *w = arg;
    w->result =
        pirn_flags_wait_until(&w->events->flags, w->bits, w->how, &w->got, w->events->deadline);
    TEST_ADD(&w->events->done, 1);
    return NULL;
}

static pirn_thread_t spawn_waiter(struct waiter *w, struct events *e, uint32_t bits, unsigned how)
{
    *w = (struct waiter){.events = e, .bits = bits, .how = how};
    pirn_thread_t t = test_spawn(waits_as_told, w);
    test_await_blocked(t);
    return t;
}

void test_flags_give_all_the_same_word_when_one_clears(void *unused)
{
    struct events e;
    struct waiter w[4];
    pirn_thread_t t[4];
    (void)unused;
    events_init(&e);
    e.deadline = test_random(2) != 0 ? PIRN_FOREVER : test_far();
    t[0] = spawn_waiter(&w[0], &e, A | C, CLEAR);
    t[1] = spawn_waiter(&w[1], &e, A | B, ALL);
    t[2] = spawn_waiter(&w[2], &e, C, ALL | CLEAR);
    t[3] = spawn_waiter(&w[3], &e, A, CLEAR);
    CHECK(pirn_flags_set(&e.flags, A | B) == 0);
    CHECK(pirn_flags_get(&e.flags) == B);
    test_end(t[0]);
    test_end(t[1]);
    test_end(t[3]);
    CHECK(w[0].got == (A | B) && w[1].got == (A | B) && w[3].got == (A | B));
    CHECK(e.done == 3);
    CHECK(pirn_flags_set(&e.flags, C) == B);
    test_end(t[2]);
    CHECK(w[2].got == (B | C) && pirn_flags_get(&e.flags) == B);
}

void test_flags_wake_nobody_when_bits_are_missing(void *unused)
{
    struct events e;
    struct waiter w;
    (void)unused;
    events_init(&e);
    e.deadline = test_random(2) != 0 ? PIRN_FOREVER : test_far();
    pirn_thread_t t = spawn_waiter(&w, &e, A | B, ALL | CLEAR);
    pirn_flags_set(&e.flags, A | C);
    pirn_flags_clear(&e.flags, A);
    pirn_flags_set(&e.flags, B);
    pirn_sleep(test_ns(200));
    CHECK(TEST_GET(&e.done) == 0 && pirn_flags_get(&e.flags) == (B | C));
    pirn_flags_set(&e.flags, A);
    test_end(t);
    CHECK(w.result == 0 && w.got == (A | B | C) && pirn_flags_get(&e.flags) == C);
}

void test_flags_clear_nothing_when_waiter_is_removed(void *unused)
{
    struct events e;
    struct waiter w;
    (void)unused;
    events_init(&e);
    e.deadline = test_far();
    pirn_thread_t t = spawn_waiter(&w, &e, A, CLEAR);
    bool removed = test_remove(t);
    pirn_flags_set(&e.flags, A);
    test_end(t);
    CHECK(w.result == (removed ? -ECANCELED : 0));
    CHECK(pirn_flags_get(&e.flags) == (removed ? A : 0));
}
#endif
