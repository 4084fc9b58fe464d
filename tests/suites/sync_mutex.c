/* SPDX-License-Identifier: MIT */
/* Suite sync: mutex. */
#include <pirn/policy.h>

#include "sync_tests.h"

struct shared {
    pirn_mutex_t mutex;
    struct room room;
    uint64_t deadline;
    int timeouts, left;
    int got, go;
};

static void shared_init(struct shared *s)
{
    memset((void *)s, 0, sizeof(*s));
    pirn_mutex_init(&s->mutex);
}

/* Lock in one of the three ways. */
static bool lock_somehow(struct shared *s)
{
    switch (test_random(4)) {
    case 0:
        return pirn_mutex_trylock(&s->mutex) == 0;
    case 1: {
        int error = pirn_mutex_lock_until(&s->mutex, test_after(test_random(600)));
        CHECK(error == 0 || error == -ETIMEDOUT);
        return error == 0;
    }
    default:
        pirn_mutex_lock(&s->mutex);
        return true;
    }
}

static void visit_some(struct shared *s)
{
    for (int i = 0; i < 3; i++) {
        if (lock_somehow(s)) {
            room_visit(&s->room);
            pirn_mutex_unlock(&s->mutex);
        } else {
            TEST_ADD(&s->timeouts, 1);
        }
    }
}

static void *visitor(void *arg)
{
    visit_some(arg);
    return NULL;
}

static void visitor_foreign(void *arg)
{
    struct shared *s = arg;
    visit_some(s);
    TEST_ADD(&s->left, -1);
}

void test_mutex_excludes_when_contended(void *unused)
{
    (void)unused;
    struct shared s;
    pirn_thread_t t[4];
    unsigned n = 2 + test_random(3);
    shared_init(&s);
    for (unsigned i = 0; i < n; i++) {
        t[i] = test_spawn(visitor, &s);
    }
    for (unsigned i = 0; i < n; i++) {
        test_end(t[i]);
    }
    CHECK(s.room.visits + s.timeouts == (int)n * 3);
    CHECK(pirn_mutex_trylock(&s.mutex) == 0);
}

void test_mutex_excludes_when_foreign_threads_lock(void *unused)
{
    (void)unused;
    struct shared s;
    shared_init(&s);
    s.left = 2;
    pirn_thread_t t = test_spawn(visitor, &s);
    test_foreign(visitor_foreign, &s);
    test_foreign(visitor_foreign, &s);
    visit_some(&s);
    test_end(t);
    test_await_zero(&s.left);
    CHECK(s.room.visits + s.timeouts == 12);
    CHECK(pirn_mutex_trylock(&s.mutex) == 0);
}

static void *tries(void *arg)
{
    struct shared *s = arg;
    CHECK(pirn_mutex_trylock(&s->mutex) == -EBUSY);
    return NULL;
}

void test_mutex_trylock_is_refused_when_held(void *unused)
{
    (void)unused;
    struct shared s;
    shared_init(&s);
    CHECK(pirn_mutex_trylock(&s.mutex) == 0);
    test_end(test_spawn(tries, &s));
    pirn_mutex_unlock(&s.mutex);
    CHECK(pirn_mutex_trylock(&s.mutex) == 0);
    pirn_mutex_unlock(&s.mutex);
}

/* Locks with s->deadline; counts successes in got. */
static int lock_once(struct shared *s)
{
    int error = pirn_mutex_lock_until(&s->mutex, s->deadline);
    if (error == 0) {
        room_visit(&s->room);
        TEST_ADD(&s->got, 1);
        pirn_mutex_unlock(&s->mutex);
    } else {
        CHECK(error == -ETIMEDOUT || error == -ECANCELED);
        CHECK(error != -ETIMEDOUT || pirn_now() >= s->deadline);
        TEST_ADD(&s->timeouts, 1);
    }
    return error;
}

static void *locks_once(void *arg)
{
    return lock_once(arg) == 0 ? arg : NULL;
}

static void lock_once_foreign(void *arg)
{
    struct shared *s = arg;
    lock_once(s);
    TEST_ADD(&s->left, -1);
}

void test_mutex_times_out_when_held(void *unused)
{
    (void)unused;
    struct shared s;
    shared_init(&s);
    s.deadline = test_after(test_random(1000));
    pirn_mutex_lock(&s.mutex);
    pirn_thread_t a = test_spawn(locks_once, &s);
    pirn_thread_t b = test_spawn(locks_once, &s);
    CHECK(test_end(a) == NULL && test_end(b) == NULL);
    CHECK(s.timeouts == 2 && s.got == 0);
    pirn_mutex_unlock(&s.mutex);
    CHECK(pirn_mutex_trylock(&s.mutex) == 0);
}

void test_mutex_is_locked_in_time_when_released(void *unused)
{
    (void)unused;
    struct shared s;
    shared_init(&s);
    s.deadline = test_far();
    pirn_mutex_lock(&s.mutex);
    pirn_thread_t a = test_spawn(locks_once, &s);
    pirn_thread_t b = test_spawn(locks_once, &s);
    pirn_sleep(test_ns(test_random(400)));
    pirn_mutex_unlock(&s.mutex);
    CHECK(test_end(a) != NULL && test_end(b) != NULL);
}

void test_mutex_ends_once_when_unlock_races_timeout(void *unused)
{
    (void)unused;
    struct shared s;
    pirn_thread_t t[3];
    shared_init(&s);
    s.deadline = test_after(200 + test_random(600));
    pirn_mutex_lock(&s.mutex);
    for (int i = 0; i < 3; i++) {
        t[i] = test_spawn(locks_once, &s);
    }
    pirn_sleep_until(s.deadline - test_ns(test_random(200)));
    pirn_mutex_unlock(&s.mutex);
    for (int i = 0; i < 3; i++) {
        test_end(t[i]);
    }
    CHECK(s.got + s.timeouts == 3 && s.room.visits == s.got);
    CHECK(pirn_mutex_trylock(&s.mutex) == 0);
}

void test_mutex_ends_once_when_foreign_times_out(void *unused)
{
    (void)unused;
    struct shared s;
    shared_init(&s);
    s.left = 2;
    s.deadline = test_after(200 + test_random(600));
    pirn_mutex_lock(&s.mutex);
    test_foreign(lock_once_foreign, &s);
    test_foreign(lock_once_foreign, &s);
    pirn_thread_t t = test_spawn(locks_once, &s);
    pirn_sleep_until(s.deadline - test_ns(test_random(200)));
    pirn_mutex_unlock(&s.mutex);
    test_end(t);
    test_await_zero(&s.left);
    CHECK(s.got + s.timeouts == 3 && s.room.visits == s.got);
    CHECK(pirn_mutex_trylock(&s.mutex) == 0);
}

static void *visits_untimed(void *arg)
{
    struct shared *s = arg;
    pirn_mutex_lock(&s->mutex);
    room_visit(&s->room);
    pirn_mutex_unlock(&s->mutex);
    return arg;
}

void test_mutex_wakes_next_when_first_times_out(void *unused)
{
    (void)unused;
    struct shared s;
    shared_init(&s);
    s.deadline = test_after(100 + test_random(500));
    pirn_mutex_lock(&s.mutex);
    pirn_thread_t timed = test_spawn(locks_once, &s);
    pirn_thread_t a = test_spawn(visits_untimed, &s);
    pirn_thread_t b = test_spawn(visits_untimed, &s);
    pirn_sleep_until(s.deadline - test_ns(test_random(100)));
    pirn_mutex_unlock(&s.mutex);
    test_end(a);
    test_end(b);
    test_end(timed);
    CHECK(s.room.visits == 2 + s.got);
}

/* The thread that drops the last reference destroys the object while holding nothing: POSIX
 * promises that this is safe as soon as the mutex is unlocked. */
struct counted {
    pirn_mutex_t mutex;
    int references;
};

static void drop(struct counted *c)
{
    for (unsigned i = test_random(40); i > 0; i--) {
        test_pause();
    }
    pirn_mutex_lock(&c->mutex);
    if (test_random(2) != 0) {
        pirn_yield();
    }
    bool last = --c->references == 0;
    pirn_mutex_unlock(&c->mutex);
    if (last) {
        memset((void *)c, 0x5a, sizeof(*c));
    }
}

static void *drops(void *arg)
{
    drop(arg);
    return NULL;
}

static void check_poisoned(const void *object, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        CHECK(((const unsigned char *)object)[i] == 0x5a);
    }
}

void test_mutex_is_not_touched_when_freed_after_unlock(void *unused)
{
    (void)unused;
    struct counted c;
    pirn_thread_t t[3];
    pirn_mutex_init(&c.mutex);
    c.references = 4;
    for (int i = 0; i < 3; i++) {
        t[i] = test_spawn(drops, &c);
    }
    drop(&c);
    for (int i = 0; i < 3; i++) {
        test_end(t[i]);
    }
    check_poisoned(&c, sizeof(c));
}

static void *hogs(void *arg)
{
    struct shared *s = arg;
    int rounds = 0;
    while (TEST_GET(&s->got) == 0) {
        pirn_mutex_lock(&s->mutex);
        TEST_SET(&s->go, 1);
        pirn_sleep(400000);
        pirn_mutex_unlock(&s->mutex);
        rounds++;
    }
    return (void *)(uintptr_t)rounds;
}

void test_mutex_is_handed_over_when_waiter_loses_long(void *unused)
{
    (void)unused;
    struct shared s;
    shared_init(&s);
    s.deadline = PIRN_FOREVER;
    pirn_thread_t hog = test_spawn(hogs, &s);
    while (TEST_GET(&s.go) == 0) {
        pirn_sleep(test_ns(100));
    }
    lock_once(&s);
    uintptr_t rounds = (uintptr_t)test_end(hog);
    CHECK(!test_simulated() || rounds <= 7);
}

static void *visits_until_another_did(void *arg)
{
    struct shared *s = arg;
    pirn_mutex_lock(&s->mutex);
    TEST_SET(&s->go, 1);
    test_await_zero(&s->left); /* the creator of the others may belong to this CPU as well */
    pirn_sleep(test_ns(1000));
    pirn_mutex_unlock(&s->mutex);
    while (TEST_GET(&s->got) == 0) {
        pirn_mutex_lock(&s->mutex);
        test_spin();
        pirn_mutex_unlock(&s->mutex);
        test_spin();
    }
    return NULL;
}

/* The first thread to be woken may belong to the CPU of the thread that unlocks and never leaves
 * it. */
void test_mutex_wakes_another_when_woken_one_cannot_run(void *unused)
{
    (void)unused;
    enum { WAITERS = 6 };
    struct shared s;
    pirn_thread_t t[WAITERS];
    if (pirn_cpu_count() == 1 || pirn_sched_private_queues() ||
        (pirn_sched_pinned() && test_unequal())) {
        return; /* no other CPU can take a waiter while this one's thread runs */
    }
    shared_init(&s);
    s.deadline = PIRN_FOREVER;
    s.left = WAITERS;
    pirn_thread_t busy = test_spawn(visits_until_another_did, &s);
    while (TEST_GET(&s.go) == 0) {
        pirn_sleep(test_ns(100));
    }
    for (int i = 0; i < WAITERS; i++) {
        t[i] = test_spawn(locks_once, &s);
        TEST_ADD(&s.left, -1);
    }
    test_end(busy);
    for (int i = 0; i < WAITERS; i++) {
        test_end(t[i]);
    }
    CHECK(s.got == WAITERS);
}

#ifdef PIRN_SIM
void test_mutex_wakes_next_when_first_is_removed(void *unused)
{
    (void)unused;
    struct shared s;
    shared_init(&s);
    s.deadline = test_far();
    pirn_mutex_lock(&s.mutex);
    pirn_thread_t timed = test_spawn(locks_once, &s);
    test_await_blocked(timed);
    pirn_thread_t next = test_spawn(visits_untimed, &s);
    bool removed = test_random(2) != 0;
    if (removed) {
        test_remove_surely(timed);
    }
    pirn_mutex_unlock(&s.mutex);
    if (!removed) {
        removed = test_remove(timed);
    }
    test_end(next);
    CHECK((test_end(timed) == NULL) == removed);
    CHECK(s.got + s.timeouts == 1 && s.room.visits == 1 + s.got);
}
#endif
