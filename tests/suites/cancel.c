/* SPDX-License-Identifier: MIT */
/*
 * Suite cancel: everything that may end a wait, at every scheduling point: wakers, timers,
 * cancellation requests (core/cancel.h), other threads that end, and ticks in between. Threads go
 * through a random script of waits; the units taken by each are counted, and must add up. Simulator
 * only: the native API has no cancellation.
 */
#include "suite.h"

#ifdef PIRN_SIM
#include <errno.h>
#include <string.h>

#include "cancel.h"
#include "carrier.h"

#include "../../src/sync/sync.h"

#define SEM(s) ((struct rt_sem *)(s))
#define COND(c) ((struct rt_cond *)(c))
#define MUTEX(m) ((struct rt_mutex *)(m))

enum { WORKERS = 4, STEPS = 3, GIFTS = 8 };

struct arena {
    pirn_sem_t sem;
    pirn_mutex_t mutex;
    pirn_cond_t cond;
    int tickets_given, tickets_left, tickets_taken; /* under the mutex */
    int units_given, units_taken;                   /* of the semaphore */
    int inside;                                     /* holders of the mutex */
    int cancelled;                                  /* waits and calls */
    int foreign_done;
    pirn_thread_t t[WORKERS];
    struct worker {
        struct arena *arena;
        bool disabled; /* requests, at times */
    } worker[WORKERS];
};

static bool is_due(void)
{
    return cancel_is_due(at_load_rlx(&rt_self()->cancel));
}

static bool is_enabled(void)
{
    return cancel_is_enabled(rt_self());
}

static uint64_t soon(void)
{
    return pirn_now() + 1 + test_random(400);
}

/* For a cancellation point: all threads are cancelled in the end. */
static uint64_t some_deadline(void)
{
    return test_random(2) != 0 && is_enabled() ? PIRN_FOREVER : soon();
}

/* Checks the result of a wait. True: a request has ended it. */
static bool was_cancelled(int error)
{
    CHECK(error == 0 || error == -ETIMEDOUT || error == -ECANCELED);
    CHECK(error != -ECANCELED || is_due());
    return error == -ECANCELED;
}

static bool step_sem(struct arena *a)
{
    int error = rt_sem_wait_point(SEM(&a->sem), some_deadline());
    if (error == 0) {
        TEST_ADD(&a->units_taken, 1);
    }
    return was_cancelled(error);
}

static void mutex_enter(struct arena *a)
{
    pirn_mutex_lock(&a->mutex);
    CHECK(TEST_ADD(&a->inside, 1) == 1);
}

static void mutex_leave(struct arena *a)
{
    CHECK(TEST_ADD(&a->inside, -1) == 0);
    pirn_mutex_unlock(&a->mutex);
}

/* However the wait ends, the caller holds the mutex, as cleanup handlers expect. */
static bool step_cond(struct arena *a)
{
    int error = 0;
    mutex_enter(a);
    if (a->tickets_left == 0) {
        TEST_ADD(&a->inside, -1);
        error = rt_cond_wait_point(COND(&a->cond), MUTEX(&a->mutex), some_deadline());
        CHECK(TEST_ADD(&a->inside, 1) == 1);
    }
    if (a->tickets_left > 0 && error == 0) {
        a->tickets_left--;
        a->tickets_taken++;
    }
    mutex_leave(a);
    return was_cancelled(error);
}

static bool step_sleep(void)
{
    return was_cancelled(rt_sleep_point(is_enabled() ? some_deadline() : soon()));
}

/* No cancellation point. */
static bool step_timed(struct arena *a)
{
    int error = pirn_sem_wait_until(&a->sem, soon());
    CHECK(error == 0 || error == -ETIMEDOUT);
    if (error == 0) {
        TEST_ADD(&a->units_taken, 1);
    }
    return false;
}

/* In the kernel: the request ends the call, or comes after its end. */
static bool step_call(void)
{
    struct rt_call call;
    struct thread *self = rt_self();
    rt_call_begin(&call, test_random(2) != 0);
    bool goes = rt_cancel_call_begin(self);
    if (goes) {
        test_block(test_random(200));
        rt_cancel_call_end(self);
        CHECK((at_load_rlx(&self->cancel) & (CANCEL_CALL | CANCEL_NOTIFIED)) == 0);
    }
    rt_call_end(&call);
    CHECK(goes || is_due());
    return is_due();
}

static bool step(struct arena *a, uint32_t which)
{
    switch (which) {
    case 0:
        return step_sem(a);
    case 1:
        return step_cond(a);
    case 2:
        return step_sleep();
    case 3:
        return step_timed(a);
    case 4:
        return step_call();
    default:
        test_slice();
        return false;
    }
}

/* With requests disabled, none of them ends a wait. */
static bool step_disabled(struct arena *a, uint32_t which)
{
    rt_cancel_set(rt_self(), CANCEL_DISABLED, 0);
    CHECK(!step(a, which));
    rt_cancel_set(rt_self(), 0, CANCEL_DISABLED);
    return is_due();
}

static void *works(void *arg)
{
    struct worker *w = arg;
    bool over = false;
    for (int i = 0; i < STEPS && !over; i++) {
        uint32_t which = test_random(6);
        over = w->disabled && test_random(2) != 0 ? step_disabled(w->arena, which)
                                                  : step(w->arena, which);
        test_pause();
    }
    TEST_ADD(&w->arena->cancelled, over ? 1 : 0);
    return over ? arg : NULL;
}

static void gives(struct arena *a)
{
    if (test_random(2) != 0) {
        TEST_ADD(&a->units_given, 1);
        pirn_sem_post(&a->sem);
        return;
    }
    mutex_enter(a);
    a->tickets_given++;
    a->tickets_left++;
    mutex_leave(a);
    pirn_cond_signal(&a->cond);
}

static void gives_foreign(void *arg)
{
    struct arena *a = arg;
    gives(a);
    TEST_ADD(&a->foreign_done, 1);
}

static void arena_init(struct arena *a)
{
    memset(a, 0, sizeof(*a));
    pirn_sem_init(&a->sem, 0);
    pirn_mutex_init(&a->mutex);
    pirn_cond_init(&a->cond);
    for (unsigned i = 0; i < WORKERS; i++) {
        a->worker[i] = (struct worker){a, test_random(3) == 0};
        CHECK(pirn_create(&a->t[i], NULL, works, &a->worker[i]) == 0);
    }
}

/* Cancels some threads and gives units to some, in any order; then cancels all, which may be too
 * late for some. Returns the number of threads that report cancellation. */
static int tell_and_join(struct arena *a)
{
    int cancelled = 0;
    for (int i = 0; i < GIFTS; i++) {
        unsigned who = test_random(2 * WORKERS);
        if (who < WORKERS) {
            rt_thread_cancel(a->t[who]);
        } else {
            gives(a);
        }
        test_slice();
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        void *ret;
        rt_thread_cancel(a->t[i]);
        CHECK(pirn_join(a->t[i], &ret) == 0);
        CHECK(ret == NULL || ret == &a->worker[i]);
        cancelled += ret != NULL;
    }
    return cancelled;
}

/* Each given unit is still there, or one thread has it: none is lost with a cancelled thread, and
 * none is taken twice. */
static void test_nothing_is_lost_when_threads_are_cancelled_anywhere(void *unused)
{
    (void)unused;
    struct arena a;
    arena_init(&a);
    test_foreign(gives_foreign, &a);
    int cancelled = tell_and_join(&a);
    while (TEST_GET(&a.foreign_done) == 0) {
        pirn_sleep(50);
    }
    CHECK(cancelled == TEST_GET(&a.cancelled));
    CHECK(TEST_GET(&a.inside) == 0 && pirn_mutex_trylock(&a.mutex) == 0);
    CHECK(a.tickets_given == a.tickets_left + a.tickets_taken);
    CHECK((int)pirn_sem_value(&a.sem) + a.units_taken == a.units_given);
    pirn_mutex_unlock(&a.mutex);
}

/* Twice, at any moment of its life. */
static void test_thread_ends_once_when_it_is_cancelled_as_it_ends(void *unused)
{
    (void)unused;
    struct arena a;
    arena_init(&a);
    for (unsigned i = 0; i < WORKERS; i++) {
        for (unsigned n = test_random(4); n != 0; n--) {
            test_slice();
        }
        rt_thread_cancel(a.t[i]);
        rt_thread_cancel(a.t[i]);
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        CHECK(pirn_join(a.t[i], NULL) == 0);
    }
    CHECK(TEST_GET(&a.inside) == 0);
}

static const struct test tests[] = {
    {"nothing_is_lost_when_threads_are_cancelled_anywhere",
     test_nothing_is_lost_when_threads_are_cancelled_anywhere, 0},
    {"thread_ends_once_when_it_is_cancelled_as_it_ends",
     test_thread_ends_once_when_it_is_cancelled_as_it_ends, 0},
    {NULL, NULL, 0},
};
#else
static const struct test tests[] = {{NULL, NULL, 0}};
#endif

const struct suite suite_cancel = {"cancel", tests, NULL, false};
