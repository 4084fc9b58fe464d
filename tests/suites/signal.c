/* SPDX-License-Identifier: MIT */
/*
 * Suite signal: signals are sent to threads (core/cancel.h, rt_thread_signal) at every step of
 * waiting and of leaving the runtime. Their handler posts a semaphore, and perhaps the very object
 * for which the thread waits. The public API of the native library has none: simulator only.
 *
 * A signal that a waiting thread does not notice is a deadlock here: it is sent once, and the wait
 * is ended only after the handler has run.
 */
#include "suite.h"

#ifdef PIRN_SIM
#include <errno.h>
#include <string.h>

#include "cancel.h"
#include "mutant.h"

#include "../../src/sync/omutex.h"
#include "../../src/sync/sync.h"

#define SEM(s) ((struct rt_sem *)(s))
#define COND(c) ((struct rt_cond *)(c))
#define MUTEX(m) ((struct rt_mutex *)(m))

static struct {
    pirn_sem_t handled; /* posted by each handler */
    pirn_sem_t *also;   /* and this, if not NULL */
    int runs;
    bool loses_cpu; /* the handler loses its CPU, as in a system call */
} g;

static void act(void)
{
    struct thread *self = rt_self();
    while (rt_cancel_set(self, 0, CANCEL_SIGNALLED) & CANCEL_SIGNALLED) {
        TEST_ADD(&g.runs, 1);
        if (g.also != NULL) {
            pirn_sem_post(g.also);
        }
        pirn_sem_post(&g.handled);
    }
    if (g.loses_cpu && test_random(2) != 0) {
        test_lose_cpu(); /* the function that waits again must get a CPU first */
    }
}

static void ends(struct thread *self)
{
    (void)self;
}

static const char *main_name(void)
{
    return "main";
}

const struct rt_personality rt_personality = {
    .main_name = main_name, .signals_act = act, .signals_end = ends};

static void begin(void)
{
    memset(&g, 0, sizeof(g));
    pirn_sem_init(&g.handled, 0);
    rt_signals = true;
}

static void finish(void)
{
    rt_signals = false;
}

static void pause_somewhat(void)
{
    if (test_random(2) != 0) {
        pirn_sleep(test_random(300));
    }
}

enum wait { ON_SEM, ON_MUTEX, ON_OMUTEX, ON_COND, ON_RWLOCK, ON_BARRIER, ON_ONCE, ON_JOIN, WAITS };

struct waits {
    enum wait wait;
    pirn_thread_t first; /* of two that wait; or NULL */
    pirn_sem_t sem;
    pirn_mutex_t mutex;
    struct rt_omutex omutex;
    pirn_cond_t cond;
    pirn_rwlock_t rwlock;
    pirn_barrier_t barrier;
    pirn_once_t once;
    pirn_thread_t joined;
    bool ready; /* under the mutex */
    int units;
};

static void *on_sem(void *arg)
{
    struct waits *w = arg;
    int error;
    while ((error = rt_sem_wait_point(SEM(&w->sem), PIRN_FOREVER)) == -EINTR) {
        act();
    }
    CHECK(error == 0);
    w->units++;
    return NULL;
}

static void *on_mutex(void *arg)
{
    struct waits *w = arg;
    CHECK(pirn_mutex_lock_until(&w->mutex, PIRN_FOREVER) == 0);
    CHECK(pirn_mutex_trylock(&w->mutex) == -EBUSY);
    w->units++;
    pirn_mutex_unlock(&w->mutex);
    return NULL;
}

static void *on_omutex(void *arg)
{
    struct waits *w = arg;
    CHECK(rt_omutex_lock_until(&w->omutex, UINT64_MAX) == 0);
    CHECK(rt_omutex_is_mine(&w->omutex, rt_self()));
    w->units++;
    rt_omutex_unlock(&w->omutex);
    return NULL;
}

static void *on_cond(void *arg)
{
    struct waits *w = arg;
    pirn_mutex_lock(&w->mutex);
    while (!w->ready) {
        CHECK(rt_cond_wait_point(COND(&w->cond), MUTEX(&w->mutex), PIRN_FOREVER) == 0);
        CHECK(pirn_mutex_trylock(&w->mutex) == -EBUSY);
    }
    pirn_mutex_unlock(&w->mutex);
    return NULL;
}

static void *on_rwlock(void *arg)
{
    struct waits *w = arg;
    if (test_random(2) != 0) {
        pirn_rwlock_rdlock(&w->rwlock);
    } else {
        pirn_rwlock_wrlock(&w->rwlock);
    }
    pirn_rwlock_unlock(&w->rwlock);
    return NULL;
}

static void *on_barrier(void *arg)
{
    struct waits *w = arg;
    pirn_barrier_wait(&w->barrier);
    return NULL;
}

static struct waits *once_of;

static void runs_once(void)
{
    pirn_sem_wait(&once_of->sem);
}

static void *on_once(void *arg)
{
    struct waits *w = arg;
    pirn_once(&w->once, runs_once);
    return NULL;
}

static void *on_join(void *arg)
{
    struct waits *w = arg;
    int error;
    while ((error = rt_thread_join_point(w->joined, NULL)) == -EINTR) {
        act();
    }
    CHECK(error == 0);
    return NULL;
}

static void *waits_for_sem(void *arg)
{
    struct waits *w = arg;
    pirn_sem_wait(&w->sem);
    return NULL;
}

static void *(*const wait_fn[WAITS])(void *) = {on_sem,    on_mutex,   on_omutex, on_cond,
                                                on_rwlock, on_barrier, on_once,   on_join};

static void waits_init(struct waits *w, enum wait wait)
{
    memset(w, 0, sizeof(*w));
    w->wait = wait;
    pirn_sem_init(&w->sem, 0);
    pirn_mutex_init(&w->mutex);
    rt_omutex_init(&w->omutex, test_random(2) != 0 ? OM_ROBUST : OM_ROBUST | OM_INHERIT, 0);
    pirn_cond_init(&w->cond);
    pirn_rwlock_init(&w->rwlock);
    pirn_barrier_init(&w->barrier, 2);
    switch (wait) {
    case ON_MUTEX:
        pirn_mutex_lock(&w->mutex);
        break;
    case ON_OMUTEX:
        CHECK(rt_omutex_lock_until(&w->omutex, UINT64_MAX) == 0);
        break;
    case ON_RWLOCK:
        pirn_rwlock_wrlock(&w->rwlock);
        break;
    case ON_ONCE:
        once_of = w;
        w->first = test_spawn(on_once, w);
        while (at_load_acq(&((struct rt_once *)&w->once)->state) == 0) {
            pirn_sleep(50);
        }
        break;
    case ON_JOIN:
        w->joined = test_spawn(waits_for_sem, w);
        break;
    default:
        break;
    }
}

/* A thread that waits for a random kind of object. */
static pirn_thread_t waits_begin(struct waits *w)
{
    enum wait wait = (enum wait)test_random(WAITS);
    begin();
    waits_init(w, wait);
    return test_spawn(wait_fn[wait], w);
}

static void waits_end(struct waits *w, pirn_thread_t t)
{
    test_end(t);
    if (w->first != NULL) {
        test_end(w->first);
    }
}

static void satisfy(struct waits *w)
{
    switch (w->wait) {
    case ON_MUTEX:
        pirn_mutex_unlock(&w->mutex);
        break;
    case ON_OMUTEX:
        rt_omutex_unlock(&w->omutex);
        break;
    case ON_COND:
        pirn_mutex_lock(&w->mutex);
        w->ready = true;
        pirn_mutex_unlock(&w->mutex);
        pirn_cond_signal(&w->cond);
        break;
    case ON_RWLOCK:
        pirn_rwlock_unlock(&w->rwlock);
        break;
    case ON_BARRIER:
        pirn_barrier_wait(&w->barrier);
        break;
    default:
        pirn_sem_post(&w->sem);
        break;
    }
}

/* The handler runs while the thread waits, and the wait is as it was. */
static void handlers_run(bool loses_cpu)
{
    struct waits w;
    pirn_thread_t t = waits_begin(&w);
    g.loses_cpu = loses_cpu;
    int times = 1 + (int)test_random(2);
    for (int i = 0; i < times; i++) {
        pause_somewhat();
        rt_thread_signal(t);
        pirn_sem_wait(&g.handled);
    }
    satisfy(&w);
    waits_end(&w, t);
    CHECK(g.runs == times);
    finish();
}

static void test_handler_runs_while_thread_waits(void *unused)
{
    (void)unused;
    handlers_run(false);
}

/* The handler makes a system call, which gives its CPU to others. */
static void test_wait_goes_on_when_handler_loses_the_cpu(void *unused)
{
    (void)unused;
    pirn_call_t call;
    pirn_call_begin(&call, true); /* from now on there are spares */
    test_block(1000);
    pirn_call_end(&call);
    handlers_run(true);
}

static void *sends(void *arg)
{
    pause_somewhat();
    rt_thread_signal(arg);
    return NULL;
}

/* The end of the wait and the signal race. The thread exists until the sender is done. */
static void test_wait_ends_once_when_signal_races(void *unused)
{
    (void)unused;
    struct waits w;
    pirn_thread_t t = waits_begin(&w), sender = test_spawn(sends, t);
    pause_somewhat();
    satisfy(&w);
    test_end(sender);
    waits_end(&w, t);
    CHECK(g.runs <= 1 && pirn_sem_value(&w.sem) == 0);
    finish();
}

enum { TURNS = 6 };

static void *posts_and_waits(void *arg)
{
    struct waits *w = arg;
    for (int i = 0; i < TURNS; i++) {
        pirn_sem_post(&w->sem);
        pirn_mutex_lock(&w->mutex);
        w->units++;
        pirn_mutex_unlock(&w->mutex);
        on_sem(w);
        test_pause();
    }
    return NULL;
}

/* The handler posts the semaphore that its thread is posting or waiting for. */
static void test_handler_posts_what_its_thread_uses(void *unused)
{
    (void)unused;
    struct waits w;
    pirn_thread_t t[2];
    begin();
    waits_init(&w, ON_SEM);
    g.also = &w.sem;
    t[0] = test_spawn(posts_and_waits, &w);
    t[1] = test_spawn(posts_and_waits, &w);
    int sent = 0;
    for (int i = 0; i < TURNS; i++) {
        pause_somewhat();
        rt_thread_signal(t[test_random(2)]);
        sent++;
    }
    test_end(t[0]);
    test_end(t[1]);
    CHECK(g.runs <= sent);
    CHECK(pirn_sem_value(&w.sem) == (uint32_t)g.runs);
    finish();
}

static const struct test tests[] = {
    {"handler_runs_while_thread_waits", test_handler_runs_while_thread_waits, MUTANT_SIGNAL_UNSEEN},
    {"wait_goes_on_when_handler_loses_the_cpu", test_wait_goes_on_when_handler_loses_the_cpu,
     MUTANT_RETURN_ONCE},
    {"wait_ends_once_when_signal_races", test_wait_ends_once_when_signal_races, 0},
    {"handler_posts_what_its_thread_uses", test_handler_posts_what_its_thread_uses, 0},
    {NULL, NULL, 0},
};

const struct suite suite_signal = {"signal", tests, NULL, false};
#endif
