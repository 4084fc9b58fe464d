/* SPDX-License-Identifier: MIT */
/*
 * Suite sync: mutexes that know their owner (src/sync/omutex.h): their behaviour as mutexes, and
 * the fate of robust ones when their owner ends. In the simulator only: the native API has none.
 */
#include "sync_tests.h"

#ifdef PIRN_SIM
#include "../../src/sync/omutex.h"

struct shared {
    struct rt_omutex mutex;
    struct rt_cond cond;
    struct room room;
    uint64_t deadline;
    int got, timeouts, died, lost, deaths, left, go;
};

static const uint32_t kinds[] = {OM_ROBUST, OM_INHERIT, OM_PROTECT, OM_ROBUST | OM_INHERIT,
                                 OM_ROBUST | OM_PROTECT};

/* One of the kinds; with `must` among its bits. */
static uint32_t some_kind(uint32_t must)
{
    uint32_t kind;
    do {
        kind = kinds[test_random(5)];
    } while ((kind & must) != must);
    return kind;
}

static void shared_init(struct shared *s, uint32_t must)
{
    memset((void *)s, 0, sizeof(*s));
    rt_omutex_init(&s->mutex, some_kind(must), 1 + test_random(99));
    rt_cond_init(&s->cond);
    s->deadline = test_far();
}

static void shared_fini(struct shared *s)
{
    CHECK(rt_omutex_trylock(&s->mutex) == 0);
    CHECK(rt_omutex_destroy(&s->mutex) == -EBUSY);
    rt_omutex_unlock(&s->mutex);
    CHECK(rt_omutex_destroy(&s->mutex) == 0);
    CHECK(rt_thread_priority(rt_self()) == 0);
}

/* After an attempt to lock: visit the room, unlock. Repairs the state after a dead owner. */
static int visit(struct shared *s, int error)
{
    if (error == 0 || error == -EOWNERDEAD) {
        CHECK(rt_omutex_is_mine(&s->mutex, rt_self()));
        room_visit(&s->room);
        TEST_ADD(error == 0 ? &s->got : &s->died, 1);
        if (error == -EOWNERDEAD) {
            CHECK(rt_omutex_consistent(&s->mutex) == 0);
        }
        CHECK(rt_omutex_consistent(&s->mutex) == -EINVAL);
        rt_omutex_unlock(&s->mutex);
    } else if (error == -ENOTRECOVERABLE) {
        TEST_ADD(&s->lost, 1);
    } else {
        CHECK(error == -ETIMEDOUT || error == -ECANCELED || error == -EBUSY);
        CHECK(error != -ETIMEDOUT || pirn_now() >= s->deadline);
        TEST_ADD(&s->timeouts, 1);
    }
    CHECK(!rt_omutex_is_mine(&s->mutex, rt_self()));
    return error;
}

static int lock_once(struct shared *s)
{
    return visit(s, rt_omutex_lock_until(&s->mutex, s->deadline));
}

static void *locks_once(void *arg)
{
    lock_once(arg);
    return NULL;
}

static void locks_once_foreign(void *arg)
{
    struct shared *s = arg;
    lock_once(s);
    TEST_ADD(&s->left, -1);
}

static void *visits(void *arg)
{
    struct shared *s = arg;
    for (int i = 0; i < 3; i++) {
        if (test_random(4) == 0) {
            visit(s, rt_omutex_trylock(&s->mutex));
        } else {
            lock_once(s);
        }
    }
    return NULL;
}

static void visits_foreign(void *arg)
{
    struct shared *s = arg;
    visits(s);
    TEST_ADD(&s->left, -1);
}

void test_omutex_excludes_when_contended(void *unused)
{
    (void)unused;
    struct shared s;
    pirn_thread_t t[4];
    unsigned n = 2 + test_random(3);
    shared_init(&s, 0);
    s.deadline = test_random(2) ? test_far() : test_after(test_random(1500));
    for (unsigned i = 0; i < n; i++) {
        t[i] = test_spawn(visits, &s);
    }
    for (unsigned i = 0; i < n; i++) {
        test_end(t[i]);
    }
    CHECK(s.got + s.timeouts == (int)n * 3 && s.room.visits == s.got);
    shared_fini(&s);
}

void test_omutex_excludes_when_foreign_threads_lock(void *unused)
{
    (void)unused;
    struct shared s;
    shared_init(&s, 0);
    s.left = 2;
    pirn_thread_t t = test_spawn(visits, &s);
    test_foreign(visits_foreign, &s);
    test_foreign(visits_foreign, &s);
    visits(&s);
    test_end(t);
    test_await_zero(&s.left);
    CHECK(s.got + s.timeouts == 12 && s.room.visits == s.got);
    shared_fini(&s);
}

void test_omutex_times_out_when_held(void *unused)
{
    (void)unused;
    struct shared s;
    shared_init(&s, 0);
    s.deadline = test_after(test_random(1000));
    CHECK(rt_omutex_lock_until(&s.mutex, UINT64_MAX) == 0);
    pirn_thread_t a = test_spawn(locks_once, &s);
    pirn_thread_t b = test_spawn(locks_once, &s);
    test_end(a);
    test_end(b);
    CHECK(s.timeouts == 2);
    rt_omutex_unlock(&s.mutex);
    shared_fini(&s);
}

void test_omutex_ends_once_when_unlock_races_timeout(void *unused)
{
    (void)unused;
    struct shared s;
    pirn_thread_t t[2];
    shared_init(&s, 0);
    s.left = 1;
    s.deadline = test_after(200 + test_random(600));
    CHECK(rt_omutex_lock_until(&s.mutex, UINT64_MAX) == 0);
    t[0] = test_spawn(locks_once, &s);
    t[1] = test_spawn(locks_once, &s);
    test_foreign(locks_once_foreign, &s);
    pirn_sleep_until(s.deadline - test_random(200));
    rt_omutex_unlock(&s.mutex);
    test_end(t[0]);
    test_end(t[1]);
    test_await_zero(&s.left);
    CHECK(s.got + s.timeouts == 3 && s.room.visits == s.got);
    shared_fini(&s);
}

void test_omutex_hands_over_when_first_is_removed(void *unused)
{
    (void)unused;
    struct shared s;
    shared_init(&s, 0);
    CHECK(rt_omutex_lock_until(&s.mutex, UINT64_MAX) == 0);
    pirn_thread_t first = test_spawn(locks_once, &s);
    test_await_blocked(first);
    pirn_thread_t next = test_spawn(locks_once, &s);
    bool removed = test_random(2) != 0;
    if (removed) {
        test_remove_surely(first);
    }
    rt_omutex_unlock(&s.mutex);
    if (!removed) {
        removed = test_remove(first);
    }
    test_end(next);
    test_end(first);
    CHECK(s.timeouts == removed && s.got == 2 - removed);
    shared_fini(&s);
}

struct counted {
    struct rt_omutex mutex;
    int references;
};

static void drop(struct counted *c)
{
    for (unsigned i = test_random(40); i > 0; i--) {
        test_pause();
    }
    CHECK(rt_omutex_lock_until(&c->mutex, UINT64_MAX) == 0);
    if (test_random(2) != 0) {
        pirn_yield();
    }
    bool last = --c->references == 0;
    rt_omutex_unlock(&c->mutex);
    if (last) {
        memset((void *)c, 0x5a, sizeof(*c));
    }
}

static void *drops(void *arg)
{
    drop(arg);
    return NULL;
}

void test_omutex_is_not_touched_when_freed_after_unlock(void *unused)
{
    (void)unused;
    struct counted c;
    pirn_thread_t t[3];
    rt_omutex_init(&c.mutex, some_kind(0), 7);
    c.references = 4;
    for (int i = 0; i < 3; i++) {
        t[i] = test_spawn(drops, &c);
    }
    drop(&c);
    for (int i = 0; i < 3; i++) {
        test_end(t[i]);
    }
    for (size_t i = 0; i < sizeof(c); i++) {
        CHECK(((const unsigned char *)&c)[i] == 0x5a);
    }
}

/* ---- the owner ends ---- */

/* Ends while it holds the mutex. */
static void *dies(void *arg)
{
    struct shared *s = arg;
    int error = rt_omutex_lock_until(&s->mutex, UINT64_MAX);
    if (error == -EOWNERDEAD) {
        TEST_ADD(&s->died, 1);
        CHECK(rt_omutex_consistent(&s->mutex) == 0);
    } else {
        CHECK(error == 0);
    }
    room_visit(&s->room);
    TEST_ADD(&s->deaths, 1);
    TEST_SET(&s->go, 1);
    if (test_random(2) != 0) {
        pirn_sleep(test_random(400));
    }
    return NULL;
}

static void await_go(struct shared *s)
{
    while (TEST_GET(&s->go) == 0) {
        pirn_sleep(20);
    }
}

void test_robust_is_handed_over_when_owner_ends(void *unused)
{
    (void)unused;
    struct shared s;
    shared_init(&s, OM_ROBUST);
    pirn_thread_t owner = test_spawn(dies, &s);
    await_go(&s);
    pirn_thread_t a = test_spawn(locks_once, &s);
    pirn_thread_t b = test_spawn(locks_once, &s);
    test_end(owner);
    test_end(a);
    test_end(b);
    CHECK(s.died == 1 && s.got == 1 && s.lost == 0);
    shared_fini(&s);
}

void test_robust_tells_next_when_owner_has_ended(void *unused)
{
    (void)unused;
    struct shared s;
    shared_init(&s, OM_ROBUST);
    test_end(test_spawn(dies, &s));
    if (test_random(2) != 0) {
        CHECK(rt_omutex_trylock(&s.mutex) == -EOWNERDEAD);
        CHECK(rt_omutex_trylock(&s.mutex) == -EBUSY);
        CHECK(rt_omutex_consistent(&s.mutex) == 0);
        rt_omutex_unlock(&s.mutex);
    } else {
        test_end(test_spawn(dies, &s));
        lock_once(&s);
        CHECK(s.died == 2);
    }
    lock_once(&s);
    CHECK(s.got == 1);
    shared_fini(&s);
}

static void *unlocks_unrepaired(void *arg)
{
    struct shared *s = arg;
    CHECK(rt_omutex_lock_until(&s->mutex, UINT64_MAX) == -EOWNERDEAD);
    TEST_SET(&s->go, 2);
    pirn_sleep(test_random(400));
    rt_omutex_unlock(&s->mutex);
    return NULL;
}

void test_robust_is_lost_when_not_repaired(void *unused)
{
    (void)unused;
    struct shared s;
    pirn_thread_t t[3];
    shared_init(&s, OM_ROBUST);
    s.left = 1;
    s.deadline = test_random(2) ? test_far() : test_after(300 + test_random(300));
    test_end(test_spawn(dies, &s));
    pirn_thread_t owner = test_spawn(unlocks_unrepaired, &s);
    while (TEST_GET(&s.go) != 2) {
        pirn_sleep(20);
    }
    for (int i = 0; i < 3; i++) {
        t[i] = test_spawn(locks_once, &s);
    }
    test_foreign(locks_once_foreign, &s);
    test_end(owner);
    for (int i = 0; i < 3; i++) {
        test_end(t[i]);
    }
    test_await_zero(&s.left);
    CHECK(s.lost + s.timeouts == 4 && s.got == 0);
    CHECK(rt_omutex_trylock(&s.mutex) == -ENOTRECOVERABLE);
    CHECK(rt_omutex_lock_until(&s.mutex, s.deadline) == -ENOTRECOVERABLE);
    CHECK(rt_omutex_consistent(&s.mutex) == -EINVAL);
    CHECK(rt_omutex_destroy(&s.mutex) == 0);
    CHECK(rt_thread_priority(rt_self()) == 0);
}

void test_robust_ends_once_when_owner_end_races_timeout(void *unused)
{
    (void)unused;
    struct shared s;
    pirn_thread_t t[2];
    shared_init(&s, OM_ROBUST);
    s.left = 1;
    pirn_thread_t owner = test_spawn(dies, &s);
    await_go(&s);
    s.deadline = test_after(test_random(500));
    t[0] = test_spawn(locks_once, &s);
    t[1] = test_spawn(locks_once, &s);
    test_foreign(locks_once_foreign, &s);
    if (test_random(2) != 0) {
        test_remove(t[0]);
    }
    test_end(owner);
    test_end(t[0]);
    test_end(t[1]);
    test_await_zero(&s.left);
    CHECK(s.got + s.died + s.timeouts == 3 && s.died <= 1);
    s.deadline = test_far();
    lock_once(&s);
    CHECK(s.died == 1);
    shared_fini(&s);
}

/* Some repair and unlock, some end inside: each death is reported exactly once. */
static void *dies_or_visits(void *arg)
{
    return test_random(2) != 0 ? dies(arg) : visits(arg);
}

void test_robust_tells_each_death_once_when_many_end(void *unused)
{
    (void)unused;
    struct shared s;
    pirn_thread_t t[5];
    shared_init(&s, OM_ROBUST);
    for (int i = 0; i < 5; i++) {
        t[i] = test_spawn(dies_or_visits, &s);
    }
    for (int i = 0; i < 5; i++) {
        test_end(t[i]);
    }
    lock_once(&s);
    CHECK(s.died == s.deaths);
    shared_fini(&s);
}

/* The others are the thread's own: it holds several, and all of them are given up. */
static void *dies_with_three(void *arg)
{
    struct rt_omutex *m = arg;
    for (int i = 0; i < 3; i++) {
        CHECK(rt_omutex_lock_until(&m[i], UINT64_MAX) == 0);
    }
    rt_omutex_unlock(&m[test_random(3)]);
    return NULL;
}

void test_robust_all_are_given_up_when_owner_holds_several(void *unused)
{
    (void)unused;
    struct rt_omutex m[3];
    int died = 0, free = 0;
    for (int i = 0; i < 3; i++) {
        rt_omutex_init(&m[i], some_kind(OM_ROBUST), 1 + test_random(99));
    }
    test_end(test_spawn(dies_with_three, m));
    for (int i = 0; i < 3; i++) {
        int error = rt_omutex_trylock(&m[i]);
        died += error == -EOWNERDEAD;
        free += error == 0;
        if (error == -EOWNERDEAD) {
            CHECK(rt_omutex_consistent(&m[i]) == 0);
        }
        rt_omutex_unlock(&m[i]);
    }
    CHECK(died == 2 && free == 1);
    CHECK(rt_thread_priority(rt_self()) == 0);
}

/* A mutex that is not robust stays locked, and its waiters work without an owner. */
void test_omutex_stays_locked_when_owner_ends(void *unused)
{
    (void)unused;
    struct shared s;
    shared_init(&s, 0);
    rt_omutex_init(&s.mutex, test_random(2) ? OM_INHERIT : OM_PROTECT, 9);
    s.deadline = test_after(400 + test_random(400));
    pirn_thread_t owner = test_spawn(dies, &s);
    await_go(&s);
    pirn_thread_t a = test_spawn(locks_once, &s);
    test_end(owner);
    pirn_thread_t b = test_spawn(locks_once, &s);
    test_end(a);
    test_end(b);
    CHECK(s.timeouts == 2);
    CHECK(rt_omutex_trylock(&s.mutex) == -EBUSY);
    CHECK(rt_omutex_destroy(&s.mutex) == -EBUSY);
}

/* ---- condition variable ---- */

static void *waits(void *arg)
{
    struct shared *s = arg;
    CHECK(rt_omutex_lock_until(&s->mutex, UINT64_MAX) == 0);
    int error = 0;
    TEST_ADD(&s->left, 1);
    while (error == 0 && TEST_GET(&s->go) == 0) {
        error = rt_cond_wait_omutex(&s->cond, &s->mutex, s->deadline);
    }
    if (error == -ENOTRECOVERABLE) {
        TEST_ADD(&s->lost, 1);
        return NULL;
    }
    CHECK(rt_omutex_is_mine(&s->mutex, rt_self()));
    room_visit(&s->room);
    TEST_ADD(error == -EOWNERDEAD ? &s->died : error == -ETIMEDOUT ? &s->timeouts : &s->got, 1);
    if (error == -EOWNERDEAD && TEST_GET(&s->go) != 3) {
        CHECK(rt_omutex_consistent(&s->mutex) == 0);
    }
    rt_omutex_unlock(&s->mutex);
    return NULL;
}

/* Wakes all who wait, and ends with the mutex. */
static void *signals_and_dies(void *arg)
{
    struct shared *s = arg;
    CHECK(rt_omutex_lock_until(&s->mutex, UINT64_MAX) == 0);
    TEST_SET(&s->go, 1 + 2 * (int)test_random(2));
    rt_cond_broadcast(&s->cond);
    return NULL;
}

void test_cond_tells_death_when_owner_ends(void *unused)
{
    (void)unused;
    struct shared s;
    pirn_thread_t t[2];
    shared_init(&s, OM_ROBUST);
    t[0] = test_spawn(waits, &s);
    t[1] = test_spawn(waits, &s);
    while (TEST_GET(&s.left) != 2) {
        pirn_sleep(20);
    }
    test_end(test_spawn(signals_and_dies, &s));
    test_end(t[0]);
    test_end(t[1]);
    CHECK(s.died == 1);
    CHECK(s.go == 3 ? s.lost == 1 : s.got == 1);
}

void test_cond_passes_when_mutex_has_owner(void *unused)
{
    (void)unused;
    struct shared s;
    pirn_thread_t t[3];
    shared_init(&s, 0);
    s.deadline = test_after(500 + test_random(500));
    for (int i = 0; i < 3; i++) {
        t[i] = test_spawn(waits, &s);
    }
    pirn_sleep(test_random(900));
    CHECK(rt_omutex_lock_until(&s.mutex, UINT64_MAX) == 0);
    TEST_SET(&s.go, 1);
    rt_cond_broadcast(&s.cond);
    rt_omutex_unlock(&s.mutex);
    for (int i = 0; i < 3; i++) {
        test_end(t[i]);
    }
    CHECK(s.got + s.timeouts == 3 && s.room.visits == 3);
    CHECK(rt_cond_destroy(&s.cond) == 0);
    shared_fini(&s);
}
#endif
