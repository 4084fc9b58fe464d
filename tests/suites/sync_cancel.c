/* SPDX-License-Identifier: MIT */
/* Suite sync: cancellation requests (core/cancel.h), at every step of waiting and of calls. The
 * public API of the native library has none: simulator only. */
#include "sync_tests.h"

#ifdef PIRN_SIM
#include "cancel.h"
#include "carrier.h"

#include "../../src/sync/omutex.h"
#include "../../src/sync/sync.h"

#define SEM(s) ((struct rt_sem *)(s))
#define COND(c) ((struct rt_cond *)(c))
#define MUTEX(m) ((struct rt_mutex *)(m))

struct target {
    pirn_sem_t sem;
    pirn_mutex_t mutex;
    pirn_cond_t cond;
    uint64_t deadline;
    int units;    /* taken */
    int ended;    /* waits that a request has ended, calls that it has stopped */
    int tickets;  /* under the mutex */
    int waiting;  /* under the mutex */
    int gone;     /* threads that have ended, as their last access */
    uint32_t end; /* tells a thread that it may end */
    pirn_thread_t joined;
};

static void target_init(struct target *g)
{
    memset(g, 0, sizeof(*g));
    pirn_sem_init(&g->sem, 0);
    pirn_mutex_init(&g->mutex);
    pirn_cond_init(&g->cond);
    g->deadline = test_random(2) != 0 ? PIRN_FOREVER : test_far();
}

static void pause_somewhat(void)
{
    switch (test_random(3)) {
    case 0:
        pirn_sleep(test_random(300));
        break;
    case 1:
        pirn_yield();
        break;
    default:
        break;
    }
}

static bool is_due(void)
{
    return cancel_is_due(at_load_rlx(&rt_self()->cancel));
}

static void *takes_unit(void *arg)
{
    struct target *g = arg;
    int error = rt_sem_wait_point(SEM(&g->sem), g->deadline);
    CHECK(error == 0 || (error == -ECANCELED && is_due()));
    TEST_ADD(error == 0 ? &g->units : &g->ended, 1);
    return NULL;
}

void test_cancel_ends_wait_when_nobody_posts(void *unused)
{
    (void)unused;
    struct target g;
    target_init(&g);
    pirn_thread_t t = test_spawn(takes_unit, &g);
    pause_somewhat();
    rt_thread_cancel(t);
    test_end(t);
    CHECK(g.ended == 1 && pirn_sem_value(&g.sem) == 0);
    pirn_sem_post(&g.sem); /* finds no waiter */
    CHECK(pirn_sem_value(&g.sem) == 1);
}

static void posts_foreign(void *arg)
{
    struct target *g = arg;
    pirn_sem_post(&g->sem);
    TEST_ADD(&g->gone, 1);
}

void test_cancel_takes_no_unit_when_post_races(void *unused)
{
    (void)unused;
    struct target g;
    target_init(&g);
    pirn_thread_t t[2];
    t[0] = test_spawn(takes_unit, &g);
    t[1] = test_spawn(takes_unit, &g);
    pause_somewhat();
    test_foreign(posts_foreign, &g);
    rt_thread_cancel(t[test_random(2)]);
    while (TEST_GET(&g.gone) != 1) {
        pirn_sleep(50);
    }
    pirn_sem_post(&g.sem); /* for the other one, if the first has its unit */
    test_end(t[0]);
    test_end(t[1]);
    CHECK(g.units + g.ended == 2 && g.units >= 1);
    CHECK(pirn_sem_value(&g.sem) == 2u - (unsigned)g.units);
}

static void *takes_ticket(void *arg)
{
    struct target *g = arg;
    int error = 0;
    pirn_mutex_lock(&g->mutex);
    g->waiting++;
    while (g->tickets == 0 && error == 0) {
        error = rt_cond_wait_point(COND(&g->cond), MUTEX(&g->mutex), g->deadline);
        CHECK(pirn_mutex_trylock(&g->mutex) == -EBUSY);
        CHECK(error == 0 || (error == -ECANCELED && is_due()));
    }
    if (error == 0) {
        g->tickets--;
        g->units++;
    } else {
        g->ended++;
    }
    pirn_mutex_unlock(&g->mutex);
    return error == 0 ? arg : NULL;
}

/* The signal goes to the other thread, or the cancelled one has taken it and its ticket. */
void test_cancel_takes_no_signal_when_signal_races(void *unused)
{
    (void)unused;
    struct target g;
    target_init(&g);
    pirn_thread_t a = test_spawn(takes_ticket, &g), b = test_spawn(takes_ticket, &g);
    int waiting = 0;
    while (waiting < 2) {
        pirn_mutex_lock(&g.mutex);
        waiting = g.waiting;
        pirn_mutex_unlock(&g.mutex);
        pirn_sleep(20);
    }
    bool signal_first = test_random(2) != 0;
    pirn_mutex_lock(&g.mutex);
    g.tickets = 1;
    if (signal_first) {
        pirn_cond_signal(&g.cond);
    }
    if (test_random(2) != 0) {
        pirn_mutex_unlock(&g.mutex);
        rt_thread_cancel(a);
        pirn_mutex_lock(&g.mutex);
    } else {
        rt_thread_cancel(a);
    }
    if (!signal_first) {
        pirn_cond_signal(&g.cond);
    }
    pirn_mutex_unlock(&g.mutex);
    if (test_end(a) != NULL) {
        pirn_mutex_lock(&g.mutex);
        g.tickets++;
        pirn_mutex_unlock(&g.mutex);
        pirn_cond_signal(&g.cond);
    }
    CHECK(test_end(b) != NULL && g.tickets == 0);
    CHECK(rt_cond_destroy(COND(&g.cond)) == 0);
}

static void *ends_when_asked(void *arg)
{
    struct target *g = arg;
    pirn_sem_wait(&g->sem);
    return arg;
}

static void *joins(void *arg)
{
    struct target *g = arg;
    void *ret = NULL;
    int error = g->deadline == PIRN_FOREVER
                    ? rt_thread_join_point(g->joined, &ret)
                    : rt_thread_join_point_until(g->joined, &ret, g->deadline);
    CHECK((error == 0 && ret == g) || (error == -ECANCELED && ret == NULL && is_due()));
    return error == 0 ? arg : NULL;
}

void test_cancel_leaves_thread_joinable_when_joiner_is_cancelled(void *unused)
{
    (void)unused;
    struct target g;
    void *ret;
    target_init(&g);
    g.joined = test_spawn(ends_when_asked, &g);
    pirn_thread_t t = test_spawn(joins, &g);
    bool early = test_random(2) != 0;
    pause_somewhat();
    if (early) {
        pirn_sem_post(&g.sem);
    }
    rt_thread_cancel(t);
    if (test_end(t) == NULL) {
        if (!early) {
            pirn_sem_post(&g.sem);
        }
        CHECK(pirn_join(g.joined, &ret) == 0 && ret == &g);
    } else {
        CHECK(early);
    }
}

/* A mutex is no cancellation point, with a deadline or without. */
static void *locks_then_waits(void *arg)
{
    struct target *g = arg;
    for (int i = 0; i < 3; i++) {
        uint64_t deadline = test_random(2) != 0 ? PIRN_FOREVER : test_far();
        CHECK(pirn_mutex_lock_until(&g->mutex, deadline) == 0);
        test_pause();
        pirn_mutex_unlock(&g->mutex);
    }
    CHECK(rt_sleep_point(test_far()) == -ECANCELED);
    return NULL;
}

void test_cancel_ends_no_wait_that_is_no_point(void *unused)
{
    (void)unused;
    struct target g;
    pirn_thread_t t[2];
    target_init(&g);
    for (int i = 0; i < 2; i++) {
        t[i] = test_spawn(locks_then_waits, &g);
    }
    pirn_mutex_lock(&g.mutex);
    pause_somewhat();
    rt_thread_cancel(t[0]);
    pirn_mutex_unlock(&g.mutex);
    pause_somewhat();
    rt_thread_cancel(t[1]);
    for (int i = 0; i < 2; i++) {
        test_end(t[i]);
    }
}

struct locks {
    struct rt_mutex mutex;
    struct rt_omutex omutex;
    struct rt_rwlock rwlock;
    uint32_t which;
    int inside, ended;
};

static int lock_async(struct locks *l)
{
    switch (l->which) {
    case 0:
        return rt_mutex_lock_async(&l->mutex, UINT64_MAX);
    case 1:
        return rt_omutex_lock_until(&l->omutex, UINT64_MAX);
    default:
        return rt_rwlock_wrlock_until(&l->rwlock, UINT64_MAX);
    }
}

static void unlock_async(struct locks *l)
{
    switch (l->which) {
    case 0:
        rt_mutex_unlock(&l->mutex);
        break;
    case 1:
        rt_omutex_unlock(&l->omutex);
        break;
    default:
        CHECK(rt_rwlock_unlock(&l->rwlock) == 0);
        break;
    }
}

static void visit_locked(struct locks *l)
{
    CHECK(TEST_ADD(&l->inside, 1) == 1);
    test_pause();
    CHECK(TEST_ADD(&l->inside, -1) == 0);
    unlock_async(l);
}

static void *locks_async(void *arg)
{
    struct locks *l = arg;
    rt_cancel_set(rt_self(), CANCEL_ASYNC, 0);
    for (int i = 0; i < 3; i++) {
        int error = lock_async(l);
        CHECK(error == 0 || (error == -ECANCELED && is_due()));
        if (error != 0) {
            TEST_ADD(&l->ended, 1);
            return NULL;
        }
        visit_locked(l);
    }
    return NULL;
}

static void *locks_deferred(void *arg)
{
    for (int i = 0; i < 3; i++) {
        CHECK(lock_async(arg) == 0);
        visit_locked(arg);
    }
    return NULL;
}

/* With the asynchronous type it is one; the lock and its other waiters do not suffer. */
void test_cancel_ends_wait_for_lock_when_asynchronous(void *unused)
{
    (void)unused;
    struct locks l = {.which = test_random(3)};
    pirn_thread_t t[4];
    rt_mutex_init(&l.mutex);
    rt_omutex_init(&l.omutex, test_random(2) != 0 ? OM_INHERIT : OM_ROBUST, 0);
    rt_rwlock_init(&l.rwlock);
    bool held = test_random(2) != 0; /* until the first has ended */
    CHECK(!held || lock_async(&l) == 0);
    for (unsigned i = 0; i < 4; i++) {
        t[i] = test_spawn(i < 2 ? locks_async : locks_deferred, &l);
    }
    for (unsigned i = 0; i < 4; i++) {
        pause_somewhat();
        rt_thread_cancel(t[i]);
        if (held && i < 2) {
            test_end(t[i]);
        }
    }
    if (held) {
        CHECK(TEST_GET(&l.ended) == 2);
        unlock_async(&l);
    }
    for (unsigned i = held ? 2 : 0; i < 4; i++) {
        test_end(t[i]);
    }
    CHECK(TEST_GET(&l.inside) == 0 && lock_async(&l) == 0);
    unlock_async(&l);
}

static void *waits_disabled(void *arg)
{
    struct target *g = arg;
    rt_cancel_set(rt_self(), CANCEL_DISABLED, 0);
    TEST_SET(&g->end, 1);
    CHECK(rt_sem_wait_point(SEM(&g->sem), g->deadline) == 0);
    CHECK(rt_sleep_point(pirn_now() + 50) == 0);
    rt_cancel_set(rt_self(), 0, CANCEL_DISABLED);
    CHECK(is_due() && rt_sleep_point(test_far()) == -ECANCELED);
    return NULL;
}

void test_cancel_waits_when_disabled(void *unused)
{
    (void)unused;
    struct target g;
    target_init(&g);
    pirn_thread_t t = test_spawn(waits_disabled, &g);
    while (TEST_GET(&g.end) == 0) {
        pirn_sleep(20);
    }
    rt_thread_cancel(t);
    pause_somewhat();
    rt_thread_cancel(t); /* the same as once */
    pirn_sem_post(&g.sem);
    test_end(t);
}

static void *ends_soon(void *arg)
{
    struct target *g = arg;
    int error = test_random(2) != 0 ? rt_sleep_point(pirn_now() + test_random(100)) : 0;
    CHECK(error == 0 || error == -ECANCELED);
    TEST_ADD(&g->gone, 1);
    return arg;
}

void test_cancel_is_harmless_when_thread_ends(void *unused)
{
    (void)unused;
    struct target g;
    target_init(&g);
    pirn_thread_t t = test_spawn(ends_soon, &g);
    pirn_sleep(test_random(150));
    rt_thread_cancel(t);
    CHECK(test_end(t) == &g);
    t = test_spawn(takes_unit, &g); /* perhaps its memory, but not its request */
    pirn_sem_post(&g.sem);
    test_end(t);
    CHECK(g.units == 1 && g.ended == 0);
}

static void *sleeps_until_cancelled(void *arg)
{
    struct target *g = arg;
    CHECK(rt_sleep_point(test_far()) == -ECANCELED);
    TEST_ADD(&g->gone, 1);
    return NULL;
}

/* The thread acts, ends and is released while the canceller may be inside. */
void test_cancel_touches_nothing_when_detached_thread_has_ended(void *unused)
{
    (void)unused;
    struct target g;
    target_init(&g);
    for (int i = 1; i <= 3; i++) {
        pirn_thread_t t = test_spawn(sleeps_until_cancelled, &g);
        CHECK(pirn_detach(t) == 0);
        rt_thread_cancel(t);
        pirn_thread_t next = test_spawn(takes_unit, &g);
        pirn_sem_post(&g.sem);
        test_end(next);
        CHECK(g.units == i && g.ended == 0);
        while (TEST_GET(&g.gone) != i) {
            pirn_sleep(50);
        }
    }
}

/* A call that has a result keeps it; the thread does not leave before it was asked to. */
static void *calls(void *arg)
{
    struct thread *self = rt_self();
    for (bool stopped = false; !stopped;) {
        struct rt_call call;
        rt_call_begin(&call, test_random(2) != 0);
        if (rt_cancel_call_begin(self)) {
            test_block(test_random(400));
            rt_cancel_call_end(self);
            CHECK((at_load_rlx(&self->cancel) & (CANCEL_CALL | CANCEL_NOTIFIED)) == 0);
        } else {
            stopped = true;
        }
        rt_call_end(&call);
    }
    CHECK(is_due());
    return arg;
}

void test_cancel_is_noticed_when_thread_is_in_a_call(void *unused)
{
    (void)unused;
    struct target g;
    pirn_thread_t t[2];
    target_init(&g);
    for (int i = 0; i < 2; i++) {
        t[i] = test_spawn(calls, &g);
    }
    pause_somewhat();
    rt_thread_cancel(t[0]);
    rt_thread_cancel(t[1]);
    test_end(t[0]);
    test_end(t[1]);
}
#endif
