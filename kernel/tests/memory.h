/* SPDX-License-Identifier: MIT
 *
 * A table of dependencies in memory (table/deps.h), which can fail, and whose threads end in two
 * steps: from the first one on the thread does not live, in the second one the scheduler forgets
 * it. Included by one file of a test.
 */
#ifndef KERNEL_TESTS_MEMORY_H
#define KERNEL_TESTS_MEMORY_H

#include "../table/deps.h"

#include <errno.h>
#include <string.h>

enum { TABLE_TIDS = 8192 };

static struct table {
    uint32_t number;
    uint32_t consumers[KERNEL_CONSUMERS];
    struct kernel_producers producers[KERNEL_CONSUMERS];
    int get_error, put_error; /* 0: none */
    bool ended[TABLE_TIDS];
    void (*before_call)(void); /* of the store's functions; NULL: none */
} table;

static uint32_t table_find(uint32_t consumer)
{
    uint32_t i = 0;

    while (i < table.number && table.consumers[i] != consumer)
        i++;
    return i;
}

static void table_remove(uint32_t place)
{
    table.number--;
    for (uint32_t i = place; i < table.number; i++) { /* the order stays, as in the kernel's map */
        table.consumers[i] = table.consumers[i + 1];
        table.producers[i] = table.producers[i + 1];
    }
}

/* ---- the store ---- */

static void begin_call(void)
{
    if (table.before_call != NULL)
        table.before_call();
}

static int table_get(void *context, uint32_t consumer, struct kernel_producers *producers)
{
    uint32_t i;

    (void)context;
    begin_call();
    i = table_find(consumer);
    if (table.get_error != 0)
        return table.get_error;
    if (i == table.number)
        return -ENOENT;
    *producers = table.producers[i];
    return 0;
}

static int table_put(void *context, uint32_t consumer, const struct kernel_producers *producers)
{
    uint32_t i;

    (void)context;
    begin_call();
    i = table_find(consumer);
    if (table.put_error != 0)
        return table.put_error;
    if (i == KERNEL_CONSUMERS)
        return -E2BIG;
    table.number += i == table.number;
    table.consumers[i] = consumer;
    table.producers[i] = *producers;
    return 0;
}

static int table_drop(void *context, uint32_t consumer)
{
    uint32_t i;

    (void)context;
    begin_call();
    i = table_find(consumer);
    if (i == table.number)
        return -ENOENT;
    table_remove(i);
    return 0;
}

static int table_next(void *context, const uint32_t *consumer, uint32_t *next)
{
    uint32_t i;

    (void)context;
    begin_call();
    i = consumer == NULL ? table.number : table_find(*consumer);
    i = i == table.number ? 0 : i + 1; /* it has vanished: from the first one on */
    if (i == table.number)
        return -ENOENT;
    *next = table.consumers[i];
    return 0;
}

static bool table_lives(void *context, uint32_t tid)
{
    (void)context;
    begin_call();
    return tid != 0 && !table.ended[tid % TABLE_TIDS];
}

static const struct deps_store store = {.get = table_get,
                                        .put = table_put,
                                        .drop = table_drop,
                                        .next = table_next,
                                        .lives = table_lives};

/* ---- threads that end ---- */

static void table_begin_end(uint32_t tid)
{
    table.ended[tid % TABLE_TIDS] = true;
}

/* As the scheduler does. */
static void table_forget(uint32_t tid)
{
    uint32_t place = table_find(tid);

    if (place < table.number)
        table_remove(place);
    for (uint32_t i = 0; i < table.number; i++)
        kernel_forget(&table.producers[i], tid);
}

static inline void table_end(uint32_t tid)
{
    table_begin_end(tid);
    table_forget(tid);
}

#endif
