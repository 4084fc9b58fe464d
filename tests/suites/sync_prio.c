/* SPDX-License-Identifier: MIT */
/*
 * Suite sync: priority inheritance and ceilings (src/core/prio.h). Priorities are set directly; no
 * policy reads them yet. In the simulator only: the native API has none.
 *
 * The oracle is the effective priority of every thread at moments when no thread changes anything.
 * At the end of each test every thread has its own priority again.
 */
#include "sync_tests.h"

#ifdef PIRN_SIM
#include "../../src/sync/omutex.h"
#include "runtime.h"

#define LINKS 4

struct link {
    struct rt_omutex *own, *wants; /* holds the first, waits for the second; NULL: none */
    unsigned base;
    uint64_t deadline;
    struct thread *self;
    int ready, go, *order;
    int place, error;
};

static void link_begin(struct link *l, struct rt_omutex *own, struct rt_omutex *wants,
                       unsigned base)
{
    *l = (struct link){.own = own, .wants = wants, .base = base, .deadline = test_far()};
}

static void own_lock(struct rt_omutex *m)
{
    CHECK(rt_omutex_lock_until(m, UINT64_MAX) == 0);
}

/* Takes its own mutex, and waits for the next, or for l->go; releases all. */
static void *link_runs(void *arg)
{
    struct link *l = arg;
    struct thread *self = rt_self();
    rt_thread_set_base(self, l->base);
    if (l->own != NULL) {
        own_lock(l->own);
    }
    TEST_SET(&l->ready, 1);
    if (l->wants != NULL) {
        l->error = rt_omutex_lock_until(l->wants, l->deadline);
        CHECK(l->error == 0 || l->error == -ETIMEDOUT || l->error == -ECANCELED);
        if (l->error == 0) {
            if (l->order != NULL) {
                l->place = TEST_ADD(l->order, 1);
            }
            rt_omutex_unlock(l->wants);
        }
    } else {
        while (TEST_GET(&l->go) == 0) {
            pirn_sleep(20);
        }
    }
    if (l->own != NULL) {
        rt_omutex_unlock(l->own);
    }
    CHECK(rt_thread_priority(self) == l->base);
    return NULL;
}

static pirn_thread_t link_spawn(struct link *l)
{
    pirn_thread_t t = test_spawn(link_runs, l);
    l->self = t;
    while (TEST_GET(&l->ready) == 0) {
        pirn_sleep(20);
    }
    if (l->wants != NULL) {
        test_await_blocked(t);
    }
    return t;
}

static void mutexes_init(struct rt_omutex *m, int n)
{
    for (int i = 0; i < n; i++) {
        rt_omutex_init(&m[i], OM_INHERIT | (test_random(2) ? OM_ROBUST : 0), 0);
    }
}

/* t's priority becomes p, at the latest when the thread that changes it is done. */
static void await_priority(const struct thread *t, unsigned p)
{
    for (int i = 0; rt_thread_priority(t) != p; i++) {
        CHECK(i < 20000);
        pirn_sleep(20);
    }
}

/* Threads 0..n-1 in a chain: i holds mutex i and waits for mutex i-1. */
static int chain_build(struct rt_omutex *m, struct link *l, pirn_thread_t *t)
{
    int n = 2 + (int)test_random(LINKS - 1);
    mutexes_init(m, n);
    for (int i = 0; i < n; i++) {
        link_begin(&l[i], &m[i], i > 0 ? &m[i - 1] : NULL, 1 + test_random(8));
        t[i] = link_spawn(&l[i]);
    }
    return n;
}

static unsigned chain_highest(const struct link *l, int from, int n)
{
    unsigned highest = 0;
    for (int i = from; i < n; i++) {
        highest = l[i].base > highest ? l[i].base : highest;
    }
    return highest;
}

static void chain_check(const struct link *l, int n, unsigned last)
{
    for (int i = 0; i < n; i++) {
        unsigned highest = chain_highest(l, i, n);
        await_priority(l[i].self, highest > last ? highest : last);
    }
}

void test_prio_passes_along_chain_when_owners_wait(void *unused)
{
    (void)unused;
    struct rt_omutex m[LINKS];
    struct link l[LINKS];
    pirn_thread_t t[LINKS];
    int n = chain_build(m, l, t);
    chain_check(l, n, 0);
    TEST_SET(&l[0].go, 1);
    for (int i = 0; i < n; i++) {
        test_end(t[i]);
    }
}

void test_prio_is_undone_along_chain_when_last_gives_up(void *unused)
{
    (void)unused;
    struct rt_omutex m[LINKS];
    struct link l[LINKS], urgent;
    pirn_thread_t t[LINKS];
    int n = chain_build(m, l, t);
    link_begin(&urgent, NULL, &m[n - 1], 50);
    bool removed = test_random(2) != 0;
    if (!removed) {
        urgent.deadline = test_after(test_random(2000));
    }
    pirn_thread_t u = removed ? link_spawn(&urgent) : test_spawn(link_runs, &urgent);
    if (removed) {
        chain_check(l, n, 50);
        test_remove_surely(u);
    }
    test_end(u);
    CHECK(urgent.error == (removed ? -ECANCELED : -ETIMEDOUT));
    chain_check(l, n, 0);
    TEST_SET(&l[0].go, 1);
    for (int i = 0; i < n; i++) {
        test_end(t[i]);
    }
}

void test_prio_follows_when_base_changes_in_chain(void *unused)
{
    (void)unused;
    struct rt_omutex m[LINKS];
    struct link l[LINKS];
    pirn_thread_t t[LINKS];
    int n = chain_build(m, l, t);
    for (int round = 0; round < 3; round++) {
        int i = (int)test_random((uint32_t)n);
        l[i].base = test_random(60);
        rt_thread_set_base(l[i].self, l[i].base);
        chain_check(l, n, 0);
    }
    TEST_SET(&l[0].go, 1);
    for (int i = 0; i < n; i++) {
        test_end(t[i]);
    }
}

void test_prio_moves_to_next_owner_when_handed_over(void *unused)
{
    (void)unused;
    struct rt_omutex m, other;
    struct link high, low, second;
    mutexes_init(&m, 1);
    mutexes_init(&other, 1);
    own_lock(&other);
    own_lock(&m);
    /* `high` gets m first and holds it while it waits for `other`. */
    link_begin(&high, &m, &other, 9);
    pirn_thread_t a = test_spawn(link_runs, &high);
    test_await_blocked(a);
    await_priority(rt_self(), 9);
    link_begin(&low, NULL, &m, 3);
    link_begin(&second, NULL, &m, 5);
    pirn_thread_t b = link_spawn(&low);
    pirn_thread_t c = link_spawn(&second);
    rt_omutex_unlock(&m);
    CHECK(rt_thread_priority(rt_self()) == 0 || rt_thread_priority(rt_self()) == 9);
    await_priority(rt_self(), 9); /* by `other` now */
    rt_thread_set_base(a, high.base = 1);
    await_priority(a, 5);
    await_priority(rt_self(), 5);
    rt_omutex_unlock(&other);
    CHECK(rt_thread_priority(rt_self()) == 0);
    test_end(a);
    test_end(b);
    test_end(c);
}

/* A waiter that is boosted overtakes others in the queue. */
void test_prio_reorders_queue_when_waiter_is_boosted(void *unused)
{
    (void)unused;
    struct rt_omutex m, held;
    struct link waiter[3], urgent;
    pirn_thread_t t[3];
    int order = 0;
    mutexes_init(&m, 1);
    mutexes_init(&held, 1);
    own_lock(&m);
    for (int i = 0; i < 3; i++) {
        link_begin(&waiter[i], i == 2 ? &held : NULL, &m, 10 - (unsigned)i);
        waiter[i].order = &order;
        t[i] = link_spawn(&waiter[i]);
    }
    link_begin(&urgent, NULL, &held, 20);
    pirn_thread_t u = link_spawn(&urgent);
    await_priority(t[2], 20);
    await_priority(rt_self(), 20);
    rt_thread_set_base(t[0], waiter[0].base = 5);
    rt_omutex_unlock(&m);
    for (int i = 0; i < 3; i++) {
        test_end(t[i]);
    }
    test_end(u);
    CHECK(waiter[2].place == 1 && waiter[1].place == 2 && waiter[0].place == 3);
    CHECK(rt_thread_priority(rt_self()) == 0);
}

/* A thread holds several mutexes: each adds its boost, and removes it again. */
void test_prio_is_highest_of_all_when_several_are_held(void *unused)
{
    (void)unused;
    struct rt_omutex m[3];
    struct link l[3];
    pirn_thread_t t[3];
    bool held[3] = {true, true, true};
    mutexes_init(m, 3);
    for (int i = 0; i < 3; i++) {
        own_lock(&m[i]);
    }
    for (int i = 0; i < 3; i++) {
        link_begin(&l[i], NULL, &m[i], 1 + test_random(9));
        t[i] = link_spawn(&l[i]);
    }
    for (int left = 3; left > 0; left--) {
        unsigned highest = 0;
        int i = (int)test_random(3);
        for (int k = 0; k < 3; k++) {
            highest = held[k] && l[k].base > highest ? l[k].base : highest;
        }
        await_priority(rt_self(), highest);
        while (!held[i]) {
            i = (i + 1) % 3;
        }
        held[i] = false;
        rt_omutex_unlock(&m[i]);
    }
    CHECK(rt_thread_priority(rt_self()) == 0);
    for (int i = 0; i < 3; i++) {
        test_end(t[i]);
    }
}

/* Everything at once: bases that change, waits that time out, owners that end. */
struct storm {
    struct rt_omutex m[3];
    struct room room[3];
};

static void storm_visit(struct storm *s, int i)
{
    int error =
        rt_omutex_lock_until(&s->m[i], test_random(2) ? test_far() : test_after(test_random(900)));
    if (error == -ETIMEDOUT) {
        return;
    }
    CHECK(error == 0 || error == -EOWNERDEAD);
    if (error != 0) {
        CHECK(rt_omutex_consistent(&s->m[i]) == 0);
    }
    room_visit(&s->room[i]);
    if (i < 2 && test_random(2) != 0) {
        storm_visit(s, i + 1);
    }
    rt_omutex_unlock(&s->m[i]);
}

static void *storm_runs(void *arg)
{
    struct storm *s = arg;
    struct thread *self = rt_self();
    unsigned base = 0;
    for (int i = 0; i < 3; i++) {
        base = test_random(10);
        rt_thread_set_base(self, base);
        storm_visit(s, (int)test_random(3));
    }
    CHECK(rt_thread_priority(self) == base);
    if (test_random(3) == 0) {
        int i = (int)test_random(3);
        if (rt_omutex_trylock(&s->m[i]) == -EOWNERDEAD) {
            CHECK(rt_omutex_consistent(&s->m[i]) == 0);
        }
    }
    return NULL;
}

void test_prio_ends_as_it_began_when_all_races(void *unused)
{
    (void)unused;
    struct storm s;
    pirn_thread_t t[4];
    memset((void *)&s, 0, sizeof(s));
    for (int i = 0; i < 3; i++) {
        rt_omutex_init(&s.m[i], OM_ROBUST | OM_INHERIT, 0);
    }
    for (int i = 0; i < 4; i++) {
        t[i] = test_spawn(storm_runs, &s);
    }
    for (int i = 0; i < 4; i++) {
        test_end(t[i]);
    }
    for (int i = 0; i < 3; i++) {
        int error = rt_omutex_trylock(&s.m[i]);
        CHECK(error == 0 || error == -EOWNERDEAD);
        CHECK(s.m[i].leader == 0);
    }
    CHECK(rt_thread_priority(rt_self()) == 0 && rt_self()->boosters == NULL);
}

/* A cycle of owners: the walk along it ends, and after a timeout breaks it all is as before. */
void test_prio_ends_when_owners_wait_in_a_cycle(void *unused)
{
    (void)unused;
    struct rt_omutex m[3];
    struct link l[3], urgent;
    pirn_thread_t t[3];
    int n = 1 + (int)test_random(3);
    mutexes_init(m, n);
    for (int i = 0; i < n; i++) {
        link_begin(&l[i], &m[i], &m[(i + 1) % n], 1 + test_random(9));
        l[i].deadline = test_after(3000 + test_random(1000));
    }
    for (int i = 0; i < n; i++) {
        t[i] = test_spawn(link_runs, &l[i]);
    }
    link_begin(&urgent, NULL, &m[0], 30);
    urgent.deadline = test_after(2000 + test_random(3000));
    pirn_thread_t u = test_spawn(link_runs, &urgent);
    if (test_random(2) != 0) {
        pirn_sleep(test_random(3000));
        rt_thread_set_base(t[0], l[0].base);
    }
    for (int i = 0; i < n; i++) {
        test_end(t[i]);
    }
    test_end(u);
}

static struct thread *changed[8];
static unsigned nchanged, changed_priority;
static void (*saved)(struct thread *t);

static void note_requeue(struct thread *t)
{
    CHECK(nchanged < 8);
    changed[nchanged++] = t;
    changed_priority = rt_thread_priority(t);
    if (saved != NULL) {
        saved(t);
    }
}

/* Each change of an effective priority is reported once, with the new one in place. */
void test_prio_tells_policy_when_it_changes(void *unused)
{
    (void)unused;
    struct rt_omutex m;
    struct link l;
    mutexes_init(&m, 1);
    own_lock(&m);
    nchanged = 0;
    saved = rt.policy.requeue;
    rt.policy.requeue = note_requeue;
    link_begin(&l, NULL, &m, 7);
    pirn_thread_t t = link_spawn(&l);
    CHECK(nchanged == 2 && changed[0] == t && changed[1] == rt_self() && changed_priority == 7);
    rt_thread_set_base(t, l.base = 7);
    CHECK(nchanged == 2);
    rt_thread_set_base(t, l.base = 5);
    CHECK(nchanged == 4 && changed[2] == t && changed[3] == rt_self() && changed_priority == 5);
    rt_omutex_unlock(&m);
    CHECK(nchanged == 5 && changed[4] == rt_self() && changed_priority == 0);
    test_end(t);
    CHECK(nchanged == 5);
    rt.policy.requeue = saved;
}

static void foreign_waits(void *arg)
{
    struct link *l = arg;
    link_runs(l);
    rt_thread_set_base(rt_self(), 0);
    TEST_SET(&l->go, 2);
}

void test_prio_is_passed_when_foreign_thread_waits(void *unused)
{
    (void)unused;
    struct rt_omutex m;
    struct link l;
    mutexes_init(&m, 1);
    own_lock(&m);
    link_begin(&l, NULL, &m, 7);
    test_foreign(foreign_waits, &l);
    await_priority(rt_self(), 7);
    rt_omutex_unlock(&m);
    CHECK(rt_thread_priority(rt_self()) == 0);
    while (TEST_GET(&l.go) != 2) {
        pirn_sleep(20);
    }
}

/* ---- ceilings ---- */

void test_ceiling_rules_while_held_in_any_order(void *unused)
{
    (void)unused;
    struct rt_omutex m[4];
    bool held[4] = {false};
    unsigned ceiling[4], base = test_random(5);
    rt_thread_set_base(rt_self(), base);
    for (int i = 0; i < 4; i++) {
        ceiling[i] = 5 + test_random(40);
        rt_omutex_init(&m[i], OM_PROTECT, ceiling[i]);
    }
    for (int step = 0; step < 12; step++) {
        int i = (int)test_random(4);
        if (held[i]) {
            rt_omutex_unlock(&m[i]);
        } else {
            own_lock(&m[i]);
        }
        held[i] = !held[i];
        unsigned highest = base;
        for (int k = 0; k < 4; k++) {
            highest = held[k] && ceiling[k] > highest ? ceiling[k] : highest;
        }
        CHECK(rt_thread_priority(rt_self()) == highest);
    }
    for (int i = 0; i < 4; i++) {
        if (held[i]) {
            rt_omutex_unlock(&m[i]);
        }
    }
    CHECK(rt_thread_priority(rt_self()) == base);
    rt_thread_set_base(rt_self(), 0);
}

void test_ceiling_refuses_when_caller_is_above(void *unused)
{
    (void)unused;
    struct rt_omutex m;
    rt_omutex_init(&m, OM_PROTECT, 10);
    rt_thread_set_base(rt_self(), 11);
    CHECK(rt_omutex_trylock(&m) == -EINVAL);
    CHECK(rt_omutex_lock_until(&m, UINT64_MAX) == -EINVAL);
    rt_thread_set_base(rt_self(), 10);
    own_lock(&m);
    rt_omutex_unlock(&m);
    rt_thread_set_base(rt_self(), 0);
}

/* The new owner has the ceiling before it runs. With other CPUs it may have run, unlocked and lost
 * the ceiling by now, and in weak memory only the loss may be visible. */
void test_ceiling_is_given_with_mutex_when_handed_over(void *unused)
{
    (void)unused;
    struct rt_omutex m;
    struct link l;
    rt_omutex_init(&m, OM_PROTECT | (test_random(2) ? OM_ROBUST : 0), 33);
    own_lock(&m);
    link_begin(&l, NULL, &m, 4);
    pirn_thread_t t = link_spawn(&l);
    CHECK(rt_thread_priority(t) == 4);
    unsigned long irq;
    struct cpu *cpu = rt_enter(&irq);
    rt_omutex_unlock_irqoff(cpu, &m);
    bool gone = at_load_acq(&m.word) != t->index;
    unsigned p = rt_thread_priority(t);
    bool owns = at_add_acq_rel(&m.word, 0u) == t->index; /* the newest: it has not unlocked */
    rt_leave(irq);
    CHECK(pirn_cpu_count() > 1 || gone || !owns || p == 33);
    CHECK(rt_thread_priority(rt_self()) == 0);
    test_end(t);
}
#endif
