/* SPDX-License-Identifier: MIT
 *
 * The table of dependencies (table/deps.h) on a table in memory, which can fail.
 */
#include "check.h"
#include "memory.h"

static void test_deps_add_stores_each_producer_once_when_added_twice(void)
{
    CHECK_EQUAL(0, deps_add(&store, 1, 2));
    CHECK_EQUAL(0, deps_add(&store, 1, 3));
    CHECK_EQUAL(0, deps_add(&store, 1, 2));
    CHECK_EQUAL(1, table.number);
    CHECK_EQUAL(2, table.producers[0].count);
}

static void test_deps_add_refuses_thread_when_it_is_its_own_producer(void)
{
    CHECK_EQUAL(-EINVAL, deps_add(&store, 1, 1));
    CHECK_EQUAL(0, table.number);
}

static void test_deps_add_refuses_circle_when_it_is_direct_or_long(void)
{
    CHECK_EQUAL(0, deps_add(&store, 2, 1));
    CHECK_EQUAL(-ELOOP, deps_add(&store, 1, 2));
    for (uint32_t tid = 3; tid <= 100; tid++)
        CHECK_EQUAL(0, deps_add(&store, tid, tid - 1));
    CHECK_EQUAL(-ELOOP, deps_add(&store, 1, 100));
    CHECK_EQUAL(0, deps_add(&store, 100, 1)); /* a shortcut is no circle */
}

/* Each of 20 levels doubles the number of paths, but not the number of threads. */
static void test_deps_add_looks_once_at_each_thread_when_paths_are_many(void)
{
    for (uint32_t level = 1; level < 20; level++) {
        for (uint32_t i = 0; i < 4; i++)
            CHECK_EQUAL(0, deps_add(&store, 2 * level + 1 + i % 2, 2 * level - 1 + i / 2));
    }
    CHECK_EQUAL(-ELOOP, deps_add(&store, 1, 39));
    CHECK_EQUAL(0, deps_add(&store, 1, 41));
}

static void test_deps_add_refuses_producer_when_there_is_no_room(void)
{
    for (uint32_t i = 0; i < KERNEL_PRODUCERS; i++)
        CHECK_EQUAL(0, deps_add(&store, 1, 10 + i));
    CHECK_EQUAL(-ENOSPC, deps_add(&store, 1, 100));
    CHECK_EQUAL(0, deps_add(&store, 1, 10));
    for (uint32_t i = 1; i < KERNEL_CONSUMERS; i++)
        CHECK_EQUAL(0, deps_add(&store, 1000 + i, 10));
    CHECK_EQUAL(-ENOSPC, deps_add(&store, 5000, 10));
}

static void test_deps_delete_removes_one_or_the_consumer_when_it_was_the_last(void)
{
    CHECK_EQUAL(-ENOENT, deps_delete(&store, 1, 2));
    CHECK_EQUAL(0, deps_add(&store, 1, 2));
    CHECK_EQUAL(0, deps_add(&store, 1, 3));
    CHECK_EQUAL(-ENOENT, deps_delete(&store, 1, 4));
    CHECK_EQUAL(0, deps_delete(&store, 1, 2));
    CHECK_EQUAL(3, table.producers[0].tid[0]);
    CHECK_EQUAL(0, deps_delete(&store, 1, 3));
    CHECK_EQUAL(0, table.number);
    CHECK_EQUAL(0, deps_add(&store, 2, 1)); /* no circle any more */
}

static void test_deps_add_changes_nothing_when_the_store_fails(void)
{
    CHECK_EQUAL(0, deps_add(&store, 1, 2));
    table.put_error = -EPERM;
    CHECK_EQUAL(-EPERM, deps_add(&store, 1, 3));
    table.get_error = -EPERM;
    CHECK_EQUAL(-EPERM, deps_add(&store, 5, 6));
    CHECK_EQUAL(-EPERM, deps_delete(&store, 1, 2));
    CHECK_EQUAL(1, table.producers[0].count);
}

static void test_deps_add_takes_the_place_of_a_producer_when_it_has_ended(void)
{
    for (uint32_t i = 0; i < KERNEL_PRODUCERS; i++)
        CHECK_EQUAL(0, deps_add(&store, 1, 10 + i));
    table_begin_end(12); /* the scheduler has not forgotten it yet */
    CHECK_EQUAL(0, deps_add(&store, 1, 100));
    CHECK_EQUAL(KERNEL_PRODUCERS, table.producers[0].count);
    table_end(13);
    CHECK_EQUAL(0, deps_add(&store, 1, 101));
    CHECK_EQUAL(-ENOSPC, deps_add(&store, 1, 102));
}

static void test_deps_add_prunes_the_table_when_it_is_full(void)
{
    for (uint32_t i = 0; i < KERNEL_CONSUMERS; i++)
        CHECK_EQUAL(0, deps_add(&store, 1000 + i, 10 + i % 2));
    CHECK_EQUAL(-ENOSPC, deps_add(&store, 5000, 10));
    table_end(11);
    CHECK_EQUAL(KERNEL_CONSUMERS, table.number);
    CHECK_EQUAL(0, deps_add(&store, 5000, 10));
    CHECK_EQUAL(KERNEL_CONSUMERS / 2 + 1, table.number);
    CHECK_EQUAL(-ENOENT, deps_delete(&store, 1001, 11));
    CHECK_EQUAL(0, deps_delete(&store, 1002, 10));
}

static void test_deps_see_no_producer_when_all_have_ended(void)
{
    CHECK_EQUAL(0, deps_add(&store, 1, 2));
    table_end(2);
    CHECK_EQUAL(1, table.number);
    CHECK_EQUAL(-ENOENT, deps_delete(&store, 1, 2));
    CHECK_EQUAL(0, deps_add(&store, 1, 3));
    CHECK_EQUAL(1, table.producers[0].count);
}

int main(void)
{
    void (*const tests[])(void) = {
        test_deps_add_stores_each_producer_once_when_added_twice,
        test_deps_add_refuses_thread_when_it_is_its_own_producer,
        test_deps_add_refuses_circle_when_it_is_direct_or_long,
        test_deps_add_looks_once_at_each_thread_when_paths_are_many,
        test_deps_add_refuses_producer_when_there_is_no_room,
        test_deps_delete_removes_one_or_the_consumer_when_it_was_the_last,
        test_deps_add_changes_nothing_when_the_store_fails,
        test_deps_add_takes_the_place_of_a_producer_when_it_has_ended,
        test_deps_add_prunes_the_table_when_it_is_full,
        test_deps_see_no_producer_when_all_have_ended,
    };

    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        memset(&table, 0, sizeof table);
        tests[i]();
    }
    printf("%zu tests passed\n", sizeof tests / sizeof tests[0]);
    return EXIT_SUCCESS;
}
