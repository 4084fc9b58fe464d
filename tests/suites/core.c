/* SPDX-License-Identifier: MIT */
/* Suite core: life cycle, switching, ids, stacks, blocking on nothing but joins and yields. */
#include <errno.h>
#include <string.h>

#include "core_tests.h"
#include "suite.h"

static void *nothing(void *arg)
{
    return arg;
}

static void test_join_returns_value_when_thread_ends(void *unused)
{
    (void)unused;
    pirn_thread_t t;
    void *ret = NULL;
    int x;
    CHECK(pirn_create(&t, NULL, nothing, &x) == 0);
    CHECK(pirn_join(t, &ret) == 0);
    CHECK(ret == &x);
}

static void *yields(void *arg)
{
    int *count = arg;
    for (int i = 0; i < 3; i++) {
        TEST_ADD(count, 1);
        pirn_yield();
    }
    return NULL;
}

static void test_yield_lets_all_threads_run(void *unused)
{
    (void)unused;
    pirn_thread_t t[4];
    int count = 0;
    for (int i = 0; i < 4; i++) {
        CHECK(pirn_create(&t[i], NULL, yields, &count) == 0);
    }
    for (int i = 0; i < 4; i++) {
        CHECK(pirn_join(t[i], NULL) == 0);
    }
    CHECK(count == 12);
}

static void *fib(void *arg)
{
    uintptr_t n = (uintptr_t)arg;
    if (n < 2) {
        return arg;
    }
    pirn_thread_t t;
    void *a;
    CHECK(pirn_create(&t, NULL, fib, (void *)(n - 1)) == 0);
    uintptr_t b = (uintptr_t)fib((void *)(n - 2));
    CHECK(pirn_join(t, &a) == 0);
    return (void *)((uintptr_t)a + b);
}

static void test_fork_join_tree_sums(void *unused)
{
    (void)unused;
    CHECK((uintptr_t)fib((void *)(uintptr_t)5) == 5);
}

static void *detached_body(void *arg)
{
    pirn_yield();
    TEST_ADD((int *)arg, 1);
    return NULL;
}

static int detached_done;

static void test_detached_threads_release_themselves(void *unused)
{
    (void)unused;
    TEST_SET(&detached_done, 0);
    pirn_attr_t attr = {.detached = true, .name = "detached"};
    pirn_thread_t t;
    CHECK(pirn_create(&t, &attr, detached_body, &detached_done) == 0);
    CHECK(pirn_create(&t, NULL, detached_body, &detached_done) == 0);
    CHECK(pirn_detach(t) == 0);
    CHECK(pirn_create(&t, NULL, detached_body, &detached_done) == 0);
    pirn_yield();
    CHECK(pirn_detach(t) == 0);
    while (TEST_GET(&detached_done) != 3) {
        pirn_sleep(100);
    }
}

struct mutual {
    pirn_thread_t other;
    int result;
};

static void *joins_other(void *arg)
{
    struct mutual *m = arg;
    pirn_thread_t other;
    while ((other = TEST_GET(&m->other)) == NULL) {
        pirn_sleep(50);
    }
    TEST_SET(&m->result, pirn_join(other, NULL));
    return NULL;
}

/* Each joins the next one. One gets EDEADLK and ends; the thread that joins it ends, too, and so
 * on. The thread that it wanted to join is left to us. */
static void join_in_a_circle(unsigned n)
{
    struct mutual m[3] = {{NULL, 1}, {NULL, 1}, {NULL, 1}};
    pirn_thread_t t[3];
    unsigned refused = n;
    for (unsigned i = 0; i < n; i++) {
        CHECK(pirn_create(&t[i], NULL, joins_other, &m[i]) == 0);
    }
    for (unsigned i = 0; i < n; i++) {
        TEST_SET(&m[i].other, t[(i + 1) % n]);
    }
    for (unsigned i = 0; i < n; i++) {
        while (TEST_GET(&m[i].result) == 1) {
            pirn_sleep(100);
        }
        if (m[i].result == -EDEADLK) {
            CHECK(refused == n);
            refused = i;
        } else {
            CHECK(m[i].result == 0);
        }
    }
    CHECK(refused < n);
    CHECK(pirn_join(t[(refused + 1) % n], NULL) == 0);
}

static void test_join_reports_deadlock_when_joins_form_a_cycle(void *unused)
{
    (void)unused;
    CHECK(pirn_join(pirn_self(), NULL) == -EDEADLK);
    join_in_a_circle(2);
    join_in_a_circle(3);
}

static void *sleeper(void *arg)
{
    pirn_sleep(*(uint64_t *)arg);
    return arg;
}

static void test_timed_join_times_out_and_can_be_repeated(void *unused)
{
    (void)unused;
    uint64_t ns = 500 + test_random(3000);
    pirn_thread_t t;
    void *ret;
    int error;
    CHECK(pirn_create(&t, NULL, sleeper, &ns) == 0);
    do {
        error = pirn_join_until(t, &ret, pirn_now() + 300 + test_random(1000));
        CHECK(error == 0 || error == -ETIMEDOUT);
    } while (error != 0);
    CHECK(ret == &ns);
}

/* ---- timers while the CPU is busy ---- */

enum { NAPS = 3 };

struct nap {
    uint64_t ns;
    uint32_t over;
};

static void *naps(void *arg)
{
    struct nap *nap = arg;
    pirn_sleep(nap->ns);
    TEST_SET(&nap->over, 1u);
    return NULL;
}

static void *yields_until_over(void *arg)
{
    struct nap *nap = arg;
    while (!TEST_GET(&nap->over)) {
        pirn_yield();
    }
    return NULL;
}

/* A CPU that finds a thread while it has timers must not forget them. */
static void test_sleep_ends_while_others_keep_the_cpu(void *unused)
{
    struct nap nap[NAPS];
    pirn_thread_t t[2 * NAPS];
    (void)unused;
    for (int i = 0; i < NAPS; i++) {
        nap[i].ns = 50 + test_random(300);
        TEST_SET(&nap[i].over, 0u);
        CHECK(pirn_create(&t[2 * i], NULL, naps, &nap[i]) == 0);
        CHECK(pirn_create(&t[2 * i + 1], NULL, yields_until_over, &nap[i]) == 0);
    }
    for (int i = 0; i < 2 * NAPS; i++) {
        CHECK(pirn_join(t[i], NULL) == 0);
    }
}

static void test_sleep_lasts_at_least_as_long_as_asked(void *unused)
{
    (void)unused;
    pirn_thread_t t[3];
    uint64_t ns[3] = {100, 2000, 700};
    uint64_t from = pirn_now();
    for (int i = 0; i < 3; i++) {
        CHECK(pirn_create(&t[i], NULL, sleeper, &ns[i]) == 0);
    }
    pirn_sleep(1000);
    CHECK(pirn_now() - from >= 1000);
    for (int i = 0; i < 3; i++) {
        CHECK(pirn_join(t[i], NULL) == 0);
    }
    CHECK(pirn_now() - from >= 2000);
}

static void *tells_id(void *arg)
{
    *(uint64_t *)arg = pirn_thread_id(pirn_self());
    return NULL;
}

static void test_ids_are_unique_and_found(void *unused)
{
    (void)unused;
    uint64_t id[3];
    for (int i = 0; i < 3; i++) {
        pirn_thread_t t;
        CHECK(pirn_create(&t, NULL, tells_id, &id[i]) == 0);
        CHECK(pirn_thread_find(pirn_thread_id(t)) == t);
        uint64_t expected = pirn_thread_id(t);
        CHECK(pirn_join(t, NULL) == 0);
        CHECK(id[i] == expected && id[i] >= pirn_cpu_count());
    }
    CHECK(id[0] != id[1] && id[1] != id[2] && id[0] != id[2]);
    CHECK(pirn_thread_find(0) != NULL && pirn_thread_find(UINT64_MAX) == NULL);
}

static void test_static_descriptor_and_stack_are_used(void *unused)
{
    (void)unused;
    static pirn_thread_storage_t storage;
    static _Alignas(64) char stack[32768];
    pirn_attr_t attr = {
        .storage = &storage, .stack = stack, .stack_size = sizeof(stack), .name = "static"};
    pirn_thread_t t;
    void *ret;
    int x;
    for (int i = 0; i < 2; i++) {
        CHECK(pirn_create(&t, &attr, nothing, &x) == 0);
        CHECK((void *)t == (void *)&storage);
        CHECK(strcmp(pirn_name(t), "static") == 0);
        CHECK(pirn_join(t, &ret) == 0 && ret == &x);
    }
    attr.stack = NULL;
    CHECK(pirn_create(&t, &attr, nothing, &x) == 0);
    CHECK(pirn_join(t, &ret) == 0 && ret == &x);
    attr.storage = NULL;
    attr.stack = stack;
    CHECK(pirn_create(&t, &attr, nothing, &x) == 0);
    CHECK(pirn_join(t, &ret) == 0 && ret == &x);
}

static void *waits_then_posts(void *arg)
{
    pirn_sem_t **both = arg;
    pirn_sem_wait(both[0]);
    pirn_sem_post(both[1]);
    return NULL;
}

static void test_bad_arguments_are_refused(void *unused)
{
    (void)unused;
    pirn_thread_t t;
    pirn_attr_t attr = {.stack_size = 100};
    CHECK(pirn_create(&t, &attr, nothing, NULL) == -EINVAL);
    CHECK(pirn_create(&t, NULL, NULL, NULL) == -EINVAL);
    pirn_attr_t detached = {.detached = true};
    static pirn_sem_t go, done;
    pirn_sem_t *both[2] = {&go, &done};
    pirn_sem_init(&go, 0);
    pirn_sem_init(&done, 0);
    CHECK(pirn_create(&t, &detached, waits_then_posts, both) == 0);
    CHECK(pirn_join(t, NULL) == -EINVAL && pirn_detach(t) == -EINVAL);
    pirn_sem_post(&go);
    pirn_sem_wait(&done);
}

static void *creates_then_ends(void *arg)
{
    pirn_attr_t attr = {.detached = true};
    pirn_thread_t t;
    CHECK(pirn_create(&t, &attr, detached_body, arg) == 0);
    return NULL;
}

static void test_threads_outlive_their_creator(void *unused)
{
    (void)unused;
    TEST_SET(&detached_done, 0);
    pirn_thread_t t;
    CHECK(pirn_create(&t, NULL, creates_then_ends, &detached_done) == 0);
    CHECK(pirn_join(t, NULL) == 0);
    while (TEST_GET(&detached_done) != 1) {
        pirn_sleep(50);
    }
}

static const struct test tests[] = {
    {"join_returns_value_when_thread_ends", test_join_returns_value_when_thread_ends, 0},
    {"yield_lets_all_threads_run", test_yield_lets_all_threads_run, 0},
    {"fork_join_tree_sums", test_fork_join_tree_sums, 0},
    {"detached_threads_release_themselves", test_detached_threads_release_themselves, 0},
    {"join_reports_deadlock_when_joins_form_a_cycle",
     test_join_reports_deadlock_when_joins_form_a_cycle, 0},
    {"timed_join_times_out_and_can_be_repeated", test_timed_join_times_out_and_can_be_repeated, 0},
    {"sleep_ends_while_others_keep_the_cpu", test_sleep_ends_while_others_keep_the_cpu, 0},
    {"sleep_lasts_at_least_as_long_as_asked", test_sleep_lasts_at_least_as_long_as_asked, 0},
    {"ids_are_unique_and_found", test_ids_are_unique_and_found, 0},
    {"static_descriptor_and_stack_are_used", test_static_descriptor_and_stack_are_used, 0},
    {"bad_arguments_are_refused", test_bad_arguments_are_refused, 0},
    {"threads_outlive_their_creator", test_threads_outlive_their_creator, 0},
    {"tls_belongs_to_its_thread_when_others_run", test_tls_belongs_to_its_thread_when_others_run,
     0},
    {"tls_is_there_when_stack_or_descriptor_is_the_callers",
     test_tls_is_there_when_stack_or_descriptor_is_the_callers, 0},
    {NULL, NULL, 0},
};

const struct suite suite_core = {"core", tests, NULL, false};
