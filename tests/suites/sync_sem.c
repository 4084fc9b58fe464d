/* SPDX-License-Identifier: MIT */
/* Suite sync: counting semaphore. */
#include "sync_tests.h"

struct units {
    pirn_sem_t sem, other;
    uint64_t deadline;
    int posted, taken, failed, left, go;
    int order[4], served;
};

static void units_init(struct units *u, unsigned value)
{
    memset((void *)u, 0, sizeof(*u));
    CHECK(pirn_sem_init(&u->sem, value) == 0);
    CHECK(pirn_sem_init(&u->other, 0) == 0);
    u->posted = (int)value;
}

static void check_conserved(struct units *u)
{
    CHECK(u->posted - u->taken == (int)pirn_sem_value(&u->sem));
}

static void post(struct units *u)
{
    CHECK(pirn_sem_post(&u->sem) == 0);
    TEST_ADD(&u->posted, 1);
}

static void take_somehow(struct units *u)
{
    int error = 0;
    switch (test_random(3)) {
    case 0:
        error = pirn_sem_trywait(&u->sem);
        CHECK(error == 0 || error == -EAGAIN);
        break;
    case 1:
        error = pirn_sem_wait_until(&u->sem, test_after(test_random(500)));
        CHECK(error == 0 || error == -ETIMEDOUT);
        break;
    default:
        pirn_sem_wait(&u->sem);
        break;
    }
    TEST_ADD(error == 0 ? &u->taken : &u->failed, 1);
}

static void *posts_three(void *arg)
{
    for (int i = 0; i < 3; i++) {
        post(arg);
    }
    return NULL;
}

static void *takes_three(void *arg)
{
    for (int i = 0; i < 3; i++) {
        take_somehow(arg);
    }
    return NULL;
}

void test_sem_keeps_units_when_contended(void *unused)
{
    (void)unused;
    struct units u;
    pirn_thread_t t[4];
    units_init(&u, test_random(2));
    for (int i = 0; i < 4; i++) {
        t[i] = test_spawn(i % 2 != 0 ? posts_three : takes_three, &u);
    }
    for (int i = 0; i < 4; i++) {
        test_end(t[i]);
    }
    CHECK(u.taken + u.failed == 6);
    check_conserved(&u);
}

void test_sem_refuses_when_value_is_out_of_range(void *unused)
{
    (void)unused;
    pirn_sem_t sem;
    CHECK(pirn_sem_init(&sem, PIRN_SEM_MAX + 1u) == -EINVAL);
    CHECK(pirn_sem_init(&sem, PIRN_SEM_MAX) == 0);
    CHECK(pirn_sem_post(&sem) == -EOVERFLOW);
    CHECK(pirn_sem_value(&sem) == PIRN_SEM_MAX);
    CHECK(pirn_sem_init(&sem, 1) == 0);
    CHECK(pirn_sem_trywait(&sem) == 0 && pirn_sem_trywait(&sem) == -EAGAIN);
    CHECK(pirn_sem_wait_until(&sem, 0) == -ETIMEDOUT);
    CHECK(pirn_sem_post(&sem) == 0 && pirn_sem_value(&sem) == 1);
    CHECK(pirn_sem_wait_until(&sem, 0) == 0); /* a unit is there: no wait */
}

static int take_timed(struct units *u)
{
    int error = pirn_sem_wait_until(&u->sem, u->deadline);
    CHECK(error == 0 || error == -ETIMEDOUT || error == -ECANCELED);
    CHECK(error != -ETIMEDOUT || pirn_now() >= u->deadline);
    TEST_ADD(error == 0 ? &u->taken : &u->failed, 1);
    return error;
}

static void *takes_timed(void *arg)
{
    return take_timed(arg) == 0 ? arg : NULL;
}

static void *takes_untimed(void *arg)
{
    struct units *u = arg;
    pirn_sem_wait(&u->sem);
    TEST_ADD(&u->taken, 1);
    return arg;
}

void test_sem_times_out_when_nobody_posts(void *unused)
{
    (void)unused;
    struct units u;
    units_init(&u, 0);
    u.deadline = test_after(test_random(800));
    pirn_thread_t t = test_spawn(takes_timed, &u);
    CHECK(take_timed(&u) == -ETIMEDOUT);
    CHECK(test_end(t) == NULL);
    post(&u); /* finds the stale mark */
    CHECK(pirn_sem_value(&u.sem) == 1 && pirn_sem_trywait(&u.sem) == 0);
}

void test_sem_ends_once_when_post_races_timeout(void *unused)
{
    (void)unused;
    struct units u;
    units_init(&u, 0);
    u.deadline = test_after(200 + test_random(400));
    pirn_thread_t t = test_spawn(takes_timed, &u);
    pirn_sleep_until(u.deadline - test_ns(test_random(150)));
    post(&u);
    bool got = test_end(t) != NULL;
    CHECK(pirn_sem_value(&u.sem) == (got ? 0 : 1));
    check_conserved(&u);
}

void test_sem_keeps_units_when_many_time_out(void *unused)
{
    (void)unused;
    struct units u;
    pirn_thread_t t[4];
    units_init(&u, 0);
    u.deadline = test_after(200 + test_random(400));
    for (int i = 0; i < 4; i++) {
        t[i] = test_spawn(i == 2 ? takes_untimed : takes_timed, &u);
    }
    pirn_sleep_until(u.deadline - test_ns(test_random(150)));
    post(&u);
    post(&u);
    test_end(t[0]);
    test_end(t[1]);
    test_end(t[3]);
    post(&u); /* the untimed one may have got nothing */
    test_end(t[2]);
    CHECK(u.taken >= 1 && u.taken + u.failed == 4);
    check_conserved(&u);
}

/* The waiter owns the memory as soon as its wait ends. */
static void *posts_pointer(void *arg)
{
    pirn_sem_t *sem = arg;
    pirn_sem_post(sem);
    return NULL;
}

void test_sem_is_not_touched_when_freed_after_wait(void *unused)
{
    (void)unused;
    pirn_sem_t sem;
    pirn_sem_init(&sem, 0);
    pirn_thread_t t = test_spawn(posts_pointer, &sem);
    if (pirn_sem_wait_until(&sem, test_after(test_random(200))) != 0) {
        pirn_sem_wait(&sem);
    }
    memset((void *)&sem, 0x5a, sizeof(sem));
    test_end(t);
    for (size_t i = 0; i < sizeof(sem); i++) {
        CHECK(((unsigned char *)&sem)[i] == 0x5a);
    }
}

static void *answers(void *arg)
{
    struct units *u = arg;
    for (int i = 0; i < 4; i++) {
        pirn_sem_wait(&u->sem);
        CHECK(TEST_ADD(&u->go, 1) == 2 * i + 2);
        pirn_sem_post(&u->other);
    }
    return NULL;
}

static void ask(struct units *u)
{
    for (int i = 0; i < 4; i++) {
        CHECK(TEST_ADD(&u->go, 1) == 2 * i + 1);
        pirn_sem_post(&u->sem);
        pirn_sem_wait(&u->other);
    }
}

void test_sem_passes_turns_when_two_threads_alternate(void *unused)
{
    (void)unused;
    struct units u;
    units_init(&u, 0);
    pirn_thread_t t = test_spawn(answers, &u);
    ask(&u);
    test_end(t);
    CHECK(pirn_sem_value(&u.sem) == 0 && pirn_sem_value(&u.other) == 0);
}

static void answer_foreign(void *arg)
{
    struct units *u = arg;
    answers(u);
    TEST_ADD(&u->left, -1);
}

void test_sem_passes_turns_when_foreign_thread_alternates(void *unused)
{
    (void)unused;
    struct units u;
    units_init(&u, 0);
    u.left = 1;
    test_foreign(answer_foreign, &u);
    ask(&u);
    test_await_zero(&u.left);
    CHECK(pirn_sem_value(&u.sem) == 0 && pirn_sem_value(&u.other) == 0);
}

static void take_timed_foreign(void *arg)
{
    struct units *u = arg;
    take_timed(u);
    take_timed(u);
    TEST_ADD(&u->left, -1);
}

static void post_foreign(void *arg)
{
    struct units *u = arg;
    pirn_sleep_until(u->deadline - test_ns(test_random(150)));
    post(u);
    post(u);
    TEST_ADD(&u->left, -1);
}

void test_sem_keeps_units_when_foreign_threads_time_out(void *unused)
{
    (void)unused;
    struct units u;
    units_init(&u, 0);
    u.left = 3;
    u.deadline = test_after(200 + test_random(400));
    test_foreign(take_timed_foreign, &u);
    test_foreign(take_timed_foreign, &u);
    test_foreign(post_foreign, &u);
    take_timed(&u);
    test_await_zero(&u.left);
    CHECK(u.taken + u.failed == 5);
    check_conserved(&u);
}

#ifdef PIRN_SIM
struct numbered {
    struct units *u;
    int number;
};

static void *takes_numbered(void *arg)
{
    struct numbered *n = arg;
    pirn_sem_wait(&n->u->sem);
    n->u->order[TEST_ADD(&n->u->served, 1) - 1] = n->number;
    pirn_sem_post(&n->u->other);
    return NULL;
}

void test_sem_serves_in_order_when_many_wait(void *unused)
{
    (void)unused;
    struct units u;
    struct numbered n[4];
    pirn_thread_t t[4];
    units_init(&u, 0);
    for (int i = 0; i < 4; i++) {
        n[i] = (struct numbered){&u, i};
        t[i] = test_spawn(takes_numbered, &n[i]);
        test_await_blocked(t[i]);
    }
    for (int i = 0; i < 4; i++) {
        post(&u);
        CHECK(pirn_sem_value(&u.sem) == 0);
        pirn_sem_wait(&u.other);
        CHECK(u.order[i] == i);
    }
    for (int i = 0; i < 4; i++) {
        test_end(t[i]);
    }
}

/* The value stays 0, and no thread overtakes the waiter, even before it has run. */
void test_sem_hands_over_when_waiter_is_queued(void *unused)
{
    (void)unused;
    struct units u;
    units_init(&u, 0);
    pirn_thread_t a = test_spawn(takes_untimed, &u);
    pirn_thread_t b = test_spawn(takes_untimed, &u);
    test_await_blocked(a);
    test_await_blocked(b);
    post(&u);
    CHECK(pirn_sem_value(&u.sem) == 0 && pirn_sem_trywait(&u.sem) == -EAGAIN);
    CHECK(pirn_sem_wait_until(&u.sem, 0) == -ETIMEDOUT);
    post(&u);
    CHECK(pirn_sem_value(&u.sem) == 0 && pirn_sem_trywait(&u.sem) == -EAGAIN);
    test_end(a);
    test_end(b);
    check_conserved(&u);
}

static void *logs(void *arg)
{
    struct numbered *n = arg;
    n->u->order[TEST_ADD(&n->u->served, 1) - 1] = n->number;
    return NULL;
}

static bool waiter_runs_next(void)
{
    struct units u;
    struct numbered n[3];
    pirn_thread_t t[3];
    units_init(&u, 0);
    for (int i = 0; i < 3; i++) {
        n[i] = (struct numbered){&u, i};
    }
    t[0] = test_spawn(takes_numbered, &n[0]);
    test_await_blocked(t[0]);
    t[1] = test_spawn(logs, &n[1]);
    t[2] = test_spawn(logs, &n[2]);
    post(&u);
    CHECK(u.served == 0);
    pirn_yield();
    CHECK(u.served >= 1);
    bool next = u.order[0] == 0;
    for (int i = 0; i < 3; i++) {
        test_end(t[i]);
    }
    return next;
}

/* The waiter goes to the head of the poster's queue, before threads that are ready longer. Now
 * and then one goes to the tail (RT_BYPASS_LIMIT), but not twice in a row. */
void test_sem_runs_waiter_next_when_posted_on_one_cpu(void *unused)
{
    (void)unused;
    CHECK(pirn_cpu_count() != 1 || test_preempts() || waiter_runs_next() || waiter_runs_next());
}

void test_sem_ends_once_when_removal_races_post(void *unused)
{
    (void)unused;
    struct units u;
    units_init(&u, 0);
    u.deadline = test_after(400 + test_random(600));
    pirn_thread_t a = test_spawn(takes_timed, &u);
    pirn_thread_t b = test_spawn(takes_timed, &u);
    pirn_thread_t poster = test_spawn(posts_three, &u);
    for (unsigned i = test_random(4); i > 0; i--) {
        pirn_sleep(test_random(60));
    }
    bool removed = test_remove(a);
    bool got = test_end(a) != NULL;
    CHECK(!(got && removed));
    test_end(b);
    test_end(poster);
    CHECK(u.taken + u.failed == 2);
    check_conserved(&u);
}

/* A foreign thread claims its untimed waits, too. */
static struct thread *foreign_self;

static void wait_foreign(void *arg)
{
    struct units *u = arg;
    TEST_SET(&foreign_self, pirn_self());
    u->deadline = PIRN_FOREVER;
    take_timed(u);
    TEST_ADD(&u->left, -1);
}

void test_removal_ends_wait_when_foreign_thread_waits(void *unused)
{
    (void)unused;
    struct units u;
    struct thread *t;
    units_init(&u, 0);
    u.left = 1;
    TEST_SET(&foreign_self, (struct thread *)NULL);
    test_foreign(wait_foreign, &u);
    while ((t = TEST_GET(&foreign_self)) == NULL) {
        pirn_sleep(50);
    }
    bool removed = false;
    bool posts = test_random(2) != 0;
    if (posts) {
        removed = test_remove(t);
        post(&u);
    }
    while (!removed && TEST_GET(&u.left) != 0) {
        removed = test_remove(t);
        pirn_sleep(50);
    }
    test_await_zero(&u.left);
    CHECK(u.taken == (removed ? 0 : 1) && u.failed == (removed ? 1 : 0));
    check_conserved(&u);
}

void test_removal_is_refused_when_wait_is_untimed(void *unused)
{
    (void)unused;
    struct units u;
    units_init(&u, 0);
    pirn_thread_t t = test_spawn(takes_untimed, &u);
    test_await_blocked(t);
    CHECK(!test_remove(t));
    post(&u);
    CHECK(test_end(t) != NULL);
    check_conserved(&u);
}
#endif
