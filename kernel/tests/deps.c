/* SPDX-License-Identifier: MIT
 *
 * The table of dependencies (table/deps.h) on a table in memory, which can fail.
 */
#include "../table/deps.h"

#include "check.h"

#include <errno.h>
#include <string.h>

struct table {
    uint32_t number;
    uint32_t consumers[KERNEL_CONSUMERS];
    struct kernel_producers producers[KERNEL_CONSUMERS];
    int get_error, put_error; /* 0: none */
};

static uint32_t find(const struct table *table, uint32_t consumer)
{
    uint32_t i = 0;

    while (i < table->number && table->consumers[i] != consumer)
        i++;
    return i;
}

static int get(void *context, uint32_t consumer, struct kernel_producers *producers)
{
    const struct table *table = context;
    uint32_t i = find(table, consumer);

    if (table->get_error != 0)
        return table->get_error;
    if (i == table->number)
        return -ENOENT;
    *producers = table->producers[i];
    return 0;
}

static int put(void *context, uint32_t consumer, const struct kernel_producers *producers)
{
    struct table *table = context;
    uint32_t i = find(table, consumer);

    if (table->put_error != 0)
        return table->put_error;
    if (i == KERNEL_CONSUMERS)
        return -E2BIG;
    table->number += i == table->number;
    table->consumers[i] = consumer;
    table->producers[i] = *producers;
    return 0;
}

static int drop(void *context, uint32_t consumer)
{
    struct table *table = context;
    uint32_t i = find(table, consumer);

    if (i == table->number)
        return -ENOENT;
    table->number--;
    table->consumers[i] = table->consumers[table->number];
    table->producers[i] = table->producers[table->number];
    return 0;
}

static struct table table;
static const struct deps_store store = {get, put, drop, &table};

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
    };

    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        memset(&table, 0, sizeof table);
        tests[i]();
    }
    printf("%zu tests passed\n", sizeof tests / sizeof tests[0]);
    return EXIT_SUCCESS;
}
