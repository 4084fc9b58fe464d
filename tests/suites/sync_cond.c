/* SPDX-License-Identifier: MIT */
/* Suite sync: condition variable. */
#include "sync_tests.h"

#define ROOM_FOR 2
#define ITEMS 4

struct buffer {
    pirn_mutex_t mutex;
    pirn_cond_t not_empty, not_full;
    int used, sum, left;
};

static void *produces(void *arg)
{
    struct buffer *b = arg;
    for (int i = 0; i < ITEMS; i++) {
        pirn_mutex_lock(&b->mutex);
        while (b->used == ROOM_FOR) {
            pirn_cond_wait(&b->not_full, &b->mutex);
        }
        b->used++;
        pirn_cond_signal(&b->not_empty);
        pirn_mutex_unlock(&b->mutex);
    }
    return NULL;
}

static void *consumes(void *arg)
{
    struct buffer *b = arg;
    for (int i = 0; i < ITEMS; i++) {
        pirn_mutex_lock(&b->mutex);
        while (b->used == 0) {
            pirn_cond_wait(&b->not_empty, &b->mutex);
        }
        CHECK(b->used > 0 && b->used <= ROOM_FOR);
        b->used--;
        b->sum++;
        pirn_mutex_unlock(&b->mutex);
        pirn_cond_signal(&b->not_full); /* without the mutex: allowed */
    }
    return NULL;
}

static void buffer_init(struct buffer *b)
{
    memset((void *)b, 0, sizeof(*b));
    pirn_mutex_init(&b->mutex);
    pirn_cond_init(&b->not_empty);
    pirn_cond_init(&b->not_full);
}

void test_cond_passes_items_when_buffer_is_bounded(void *unused)
{
    (void)unused;
    struct buffer b;
    pirn_thread_t t[4];
    unsigned pairs = 1 + test_random(2);
    buffer_init(&b);
    for (unsigned i = 0; i < pairs; i++) {
        t[2 * i] = test_spawn(produces, &b);
        t[2 * i + 1] = test_spawn(consumes, &b);
    }
    for (unsigned i = 0; i < 2 * pairs; i++) {
        test_end(t[i]);
    }
    CHECK(b.used == 0 && b.sum == (int)pairs * ITEMS);
}

static void consume_foreign(void *arg)
{
    struct buffer *b = arg;
    consumes(b);
    TEST_ADD(&b->left, -1);
}

static void produce_foreign(void *arg)
{
    struct buffer *b = arg;
    produces(b);
    TEST_ADD(&b->left, -1);
}

void test_cond_passes_turns_when_foreign_threads_wait(void *unused)
{
    (void)unused;
    struct buffer b;
    buffer_init(&b);
    bool consumer = test_random(2) != 0;
    b.left = 1;
    test_foreign(consumer ? consume_foreign : produce_foreign, &b);
    (consumer ? produces : consumes)(&b);
    test_await_zero(&b.left);
    CHECK(b.used == 0 && b.sum == ITEMS);
}

struct event {
    pirn_mutex_t mutex;
    pirn_cond_t cond;
    int waiting, tokens, woken, timeouts, removed, inside;
    uint64_t deadline;
};

static void event_init(struct event *e, uint64_t deadline)
{
    memset((void *)e, 0, sizeof(*e));
    pirn_mutex_init(&e->mutex);
    pirn_cond_init(&e->cond);
    e->deadline = deadline;
}

static void *waits_for_token(void *arg)
{
    struct event *e = arg;
    pirn_mutex_lock(&e->mutex);
    while (e->tokens == 0) {
        pirn_cond_wait(&e->cond, &e->mutex);
    }
    pirn_mutex_unlock(&e->mutex);
    return NULL;
}

void test_cond_signal_is_seen_when_sent_under_mutex(void *unused)
{
    (void)unused;
    struct event e;
    event_init(&e, 0);
    pirn_thread_t t = test_spawn(waits_for_token, &e);
    for (unsigned i = test_random(3); i > 0; i--) {
        pirn_yield();
    }
    pirn_mutex_lock(&e.mutex);
    e.tokens = 1;
    pirn_cond_signal(&e.cond);
    pirn_mutex_unlock(&e.mutex);
    test_end(t);
}

void test_cond_broadcast_wakes_all_when_many_wait(void *unused)
{
    (void)unused;
    struct event e;
    pirn_thread_t t[3];
    event_init(&e, 0);
    for (int i = 0; i < 3; i++) {
        t[i] = test_spawn(waits_for_token, &e);
    }
    for (unsigned i = test_random(4); i > 0; i--) {
        pirn_yield();
    }
    pirn_mutex_lock(&e.mutex);
    e.tokens = 1;
    pirn_mutex_unlock(&e.mutex);
    pirn_cond_broadcast(&e.cond);
    for (int i = 0; i < 3; i++) {
        test_end(t[i]);
    }
}

/* One wait, without a predicate: counts exactly the runtime's results. */
static int wait_once(struct event *e, uint64_t deadline)
{
    pirn_mutex_lock(&e->mutex);
    TEST_ADD(&e->waiting, 1);
    int error = pirn_cond_wait_until(&e->cond, &e->mutex, deadline);
    CHECK(TEST_ADD(&e->inside, 1) == 1); /* the mutex is ours, whatever the result */
    CHECK(pirn_mutex_trylock(&e->mutex) == -EBUSY);
    e->woken += error == 0;
    e->timeouts += error == -ETIMEDOUT;
    e->removed += error == -ECANCELED;
    CHECK(error != -ETIMEDOUT || pirn_now() >= deadline);
    TEST_ADD(&e->inside, -1);
    pirn_mutex_unlock(&e->mutex);
    return error;
}

static void *waits_timed(void *arg)
{
    struct event *e = arg;
    return wait_once(e, e->deadline) == 0 ? arg : NULL;
}

static void *waits_untimed(void *arg)
{
    struct event *e = arg;
    return wait_once(e, PIRN_FOREVER) == 0 ? arg : NULL;
}

/* Only waiting releases the mutex, so with the mutex held no thread is on the way. */
static void await_waiting(struct event *e, int n)
{
    while (TEST_GET(&e->waiting) != n) {
        pirn_sleep(test_ns(50));
    }
    pirn_mutex_lock(&e->mutex);
    pirn_mutex_unlock(&e->mutex);
}

void test_cond_holds_mutex_when_timed_out(void *unused)
{
    (void)unused;
    struct event e;
    pirn_thread_t t[2];
    event_init(&e, test_after(test_random(800)));
    for (int i = 0; i < 2; i++) {
        t[i] = test_spawn(waits_timed, &e);
    }
    pirn_mutex_lock(&e.mutex);
    pirn_sleep_until(e.deadline - test_ns(test_random(100)));
    pirn_mutex_unlock(&e.mutex);
    for (int i = 0; i < 2; i++) {
        CHECK(test_end(t[i]) == NULL);
    }
    CHECK(e.timeouts == 2 && pirn_mutex_trylock(&e.mutex) == 0);
}

void test_cond_signal_goes_to_next_when_first_times_out(void *unused)
{
    (void)unused;
    struct event e;
    event_init(&e, test_after(600 + test_random(600)));
    pirn_thread_t timed = test_spawn(waits_timed, &e);
    await_waiting(&e, 1);
    pirn_thread_t next = test_spawn(waits_untimed, &e);
    await_waiting(&e, 2);
    pirn_sleep_until(e.deadline - test_ns(test_random(200)));
    pirn_cond_signal(&e.cond);
    if (test_end(timed) != NULL) { /* it got the signal */
        CHECK(e.woken == 1);
        pirn_cond_signal(&e.cond);
    }
    CHECK(test_end(next) != NULL);
    CHECK(e.woken + e.timeouts == 2);
}

void test_cond_ends_once_when_broadcast_races_timeout(void *unused)
{
    (void)unused;
    struct event e;
    pirn_thread_t t[3];
    event_init(&e, test_after(500 + test_random(600)));
    for (int i = 0; i < 3; i++) {
        t[i] = test_spawn(i == 1 ? waits_untimed : waits_timed, &e);
    }
    await_waiting(&e, 3);
    pirn_sleep_until(e.deadline - test_ns(test_random(200)));
    pirn_cond_broadcast(&e.cond);
    for (int i = 0; i < 3; i++) {
        test_end(t[i]);
    }
    CHECK(e.woken >= 1 && e.woken + e.timeouts == 3);
    CHECK(pirn_mutex_trylock(&e.mutex) == 0);
}

#ifdef PIRN_SIM
void test_cond_holds_mutex_when_removed(void *unused)
{
    (void)unused;
    struct event e;
    event_init(&e, test_far());
    pirn_thread_t a = test_spawn(waits_timed, &e);
    pirn_thread_t b = test_spawn(waits_untimed, &e);
    await_waiting(&e, 2);
    bool removed = test_random(2) != 0;
    if (removed) {
        test_remove_surely(a);
    }
    pirn_cond_broadcast(&e.cond);
    if (!removed) {
        CHECK(!test_remove(a)); /* woken: the end of its wait is decided */
    }
    CHECK((test_end(a) == NULL) == removed);
    CHECK(test_end(b) != NULL);
    CHECK(e.removed == removed && e.woken == 2 - removed);
}

void test_cond_signal_wakes_one_when_many_wait(void *unused)
{
    (void)unused;
    struct event e;
    pirn_thread_t t[3];
    event_init(&e, 0);
    for (int i = 0; i < 3; i++) {
        t[i] = test_spawn(waits_untimed, &e);
        await_waiting(&e, i + 1);
    }
    for (int i = 0; i < 3; i++) { /* FIFO: exactly the i-th */
        pirn_cond_signal(&e.cond);
        test_end(t[i]);
        CHECK(e.woken == i + 1);
    }
}
#endif
