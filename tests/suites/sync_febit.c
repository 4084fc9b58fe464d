/* SPDX-License-Identifier: MIT */
/* Suite sync: Full/Empty words. */
#include "sync_tests.h"

struct channel {
    pirn_fe_t word;
    uint64_t deadline;
    int written, taken, failed, left; /* sums of values */
};

static void channel_init(struct channel *c)
{
    memset((void *)c, 0, sizeof(*c));
    pirn_fe_init(&c->word);
}

static void *writes_three(void *arg)
{
    struct channel *c = arg;
    for (int i = 1; i <= 3; i++) {
        pirn_fe_write(&c->word, (uint64_t)i);
        TEST_ADD(&c->written, i);
    }
    return NULL;
}

static void *takes_three(void *arg)
{
    struct channel *c = arg;
    for (int i = 0; i < 3; i++) {
        TEST_ADD(&c->taken, (int)pirn_fe_take(&c->word));
    }
    return NULL;
}

void test_fe_passes_values_when_contended(void *unused)
{
    (void)unused;
    struct channel c;
    pirn_thread_t t[4];
    channel_init(&c);
    for (int i = 0; i < 4; i++) {
        t[i] = test_spawn(i % 2 != 0 ? writes_three : takes_three, &c);
    }
    for (int i = 0; i < 4; i++) {
        test_end(t[i]);
    }
    CHECK(c.written == 12 && c.taken == 12 && !pirn_fe_full(&c.word));
}

static void write_foreign(void *arg)
{
    struct channel *c = arg;
    writes_three(c);
    TEST_ADD(&c->left, -1);
}

static void take_foreign(void *arg)
{
    struct channel *c = arg;
    takes_three(c);
    TEST_ADD(&c->left, -1);
}

void test_fe_passes_values_when_foreign_thread_writes(void *unused)
{
    (void)unused;
    struct channel c;
    channel_init(&c);
    c.left = 2;
    test_foreign(write_foreign, &c);
    test_foreign(take_foreign, &c);
    pirn_thread_t t = test_spawn(writes_three, &c);
    takes_three(&c);
    test_end(t);
    test_await_zero(&c.left);
    CHECK(c.written == 12 && c.taken == 12 && !pirn_fe_full(&c.word));
}

static void *reads(void *arg)
{
    struct channel *c = arg;
    CHECK(pirn_fe_read(&c->word) == 7);
    return NULL;
}

void test_fe_serves_all_readers_when_filled(void *unused)
{
    (void)unused;
    struct channel c;
    pirn_thread_t t[3];
    channel_init(&c);
    for (int i = 0; i < 3; i++) {
        t[i] = test_spawn(reads, &c);
    }
    pirn_sleep(test_ns(test_random(600)));
    pirn_fe_write(&c.word, 7);
    for (int i = 0; i < 3; i++) {
        test_end(t[i]);
    }
    CHECK(pirn_fe_full(&c.word) && pirn_fe_take(&c.word) == 7 && !pirn_fe_full(&c.word));
}

void test_fe_times_out_when_empty_or_full(void *unused)
{
    (void)unused;
    struct channel c;
    uint64_t value = 3;
    channel_init(&c);
    uint64_t deadline = test_after(test_random(400));
    CHECK(pirn_fe_read_until(&c.word, &value, deadline) == -ETIMEDOUT && value == 3);
    CHECK(pirn_fe_take_until(&c.word, &value, deadline) == -ETIMEDOUT && value == 3);
    CHECK(pirn_now() >= deadline);
    CHECK(pirn_fe_write_until(&c.word, 5, deadline) == 0);
    CHECK(pirn_fe_write_until(&c.word, 6, test_after(test_random(400))) == -ETIMEDOUT);
    CHECK(pirn_fe_read_until(&c.word, &value, deadline) == 0 && value == 5);
    CHECK(pirn_fe_take_until(&c.word, &value, deadline) == 0 && value == 5);
    CHECK(!pirn_fe_full(&c.word));
}

static void *takes_timed(void *arg)
{
    struct channel *c = arg;
    uint64_t value = 0;
    int error = pirn_fe_take_until(&c->word, &value, c->deadline);
    CHECK(error == 0 || error == -ETIMEDOUT || error == -ECANCELED);
    CHECK((error == 0) == (value != 0));
    TEST_ADD(error == 0 ? &c->taken : &c->failed, error == 0 ? (int)value : 1);
    return error == 0 ? arg : NULL;
}

static void *writes_timed(void *arg)
{
    struct channel *c = arg;
    int value = 1 + (int)test_random(3);
    int error = pirn_fe_write_until(&c->word, (uint64_t)value, c->deadline);
    CHECK(error == 0 || error == -ETIMEDOUT);
    TEST_ADD(error == 0 ? &c->written : &c->failed, error == 0 ? value : 1);
    return error == 0 ? arg : NULL;
}

static void check_conserved(struct channel *c)
{
    int rest = 0;
    if (pirn_fe_full(&c->word)) {
        rest = (int)pirn_fe_take(&c->word);
    }
    CHECK(c->written == c->taken + rest);
    CHECK(!pirn_fe_full(&c->word));
}

void test_fe_ends_once_when_write_races_timeout(void *unused)
{
    (void)unused;
    struct channel c;
    channel_init(&c);
    c.deadline = test_after(200 + test_random(400));
    pirn_thread_t a = test_spawn(takes_timed, &c);
    pirn_thread_t b = test_spawn(takes_timed, &c);
    pirn_sleep_until(c.deadline - test_ns(test_random(150)));
    pirn_fe_write(&c.word, 2);
    c.written = 2;
    bool got_a = test_end(a) != NULL, got_b = test_end(b) != NULL;
    CHECK(!(got_a && got_b));
    CHECK(pirn_fe_full(&c.word) == !(got_a || got_b));
    check_conserved(&c);
}

void test_fe_ends_once_when_take_races_timeout(void *unused)
{
    (void)unused;
    struct channel c;
    pirn_thread_t t[3];
    channel_init(&c);
    c.deadline = test_after(200 + test_random(400));
    pirn_fe_write(&c.word, 2);
    c.written = 2;
    for (int i = 0; i < 3; i++) {
        t[i] = test_spawn(writes_timed, &c);
    }
    pirn_sleep_until(c.deadline - test_ns(test_random(150)));
    uint64_t value = pirn_fe_take(&c.word);
    CHECK(value == 2);
    TEST_ADD(&c.taken, 2);
    for (int i = 0; i < 3; i++) {
        test_end(t[i]);
    }
    CHECK(c.failed >= 2);
    check_conserved(&c);
}

static void *takes_then_writes(void *arg)
{
    struct channel *c = arg;
    CHECK(pirn_fe_take(&c->word) == 9);
    pirn_fe_write(&c->word, 4);
    pirn_fe_write(&c->word, 5); /* waits for the purge */
    return NULL;
}

void test_fe_wakes_when_overwritten_or_purged(void *unused)
{
    (void)unused;
    struct channel c;
    channel_init(&c);
    pirn_thread_t t = test_spawn(takes_then_writes, &c);
    pirn_sleep(test_ns(test_random(300)));
    pirn_fe_overwrite(&c.word, 9);
    while (pirn_fe_read(&c.word) != 4) {
        pirn_sleep(test_ns(50));
    }
    pirn_sleep(test_ns(test_random(300)));
    pirn_fe_purge(&c.word);
    test_end(t);
    CHECK(pirn_fe_take(&c.word) == 5 && !pirn_fe_full(&c.word));
}

#ifdef PIRN_SIM
void test_fe_ends_once_when_removal_races_write(void *unused)
{
    (void)unused;
    struct channel c;
    channel_init(&c);
    c.deadline = test_after(400 + test_random(400));
    pirn_thread_t a = test_spawn(takes_timed, &c);
    pirn_thread_t b = test_spawn(writes_three, &c);
    pirn_sleep(test_random(150));
    bool removed = test_remove(a);
    bool got = test_end(a) != NULL;
    CHECK(!(got && removed));
    for (int i = got ? 1 : 0; i < 3; i++) {
        TEST_ADD(&c.taken, (int)pirn_fe_take(&c.word));
    }
    test_end(b);
    CHECK(c.written == 6);
    check_conserved(&c);
}
#endif
