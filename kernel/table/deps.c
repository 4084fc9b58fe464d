/* SPDX-License-Identifier: MIT
 *
 * Changes of the table of dependencies (see deps.h).
 */
#include "deps.h"

#include <errno.h>
#include <stddef.h>

static uint32_t find(const struct kernel_producers *producers, uint32_t tid)
{
    uint32_t i = 0;

    while (i < producers->count && producers->tid[i] != tid)
        i++;
    return i;
}

static bool holds(const uint32_t *tids, uint32_t number, uint32_t tid)
{
    for (uint32_t i = 0; i < number; i++) {
        if (tids[i] == tid)
            return true;
    }
    return false;
}

static bool lives(const struct deps_store *store, uint32_t tid)
{
    return store->lives(store->context, tid);
}

void deps_compact(struct kernel_producers *producers)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < producers->count; i++) {
        if (producers->tid[i] != 0)
            producers->tid[kept++] = producers->tid[i];
    }
    producers->count = kept;
}

/* -ENOENT also if all of the thread's producers have ended. */
static int read_list(const struct deps_store *store, uint32_t consumer,
                     struct kernel_producers *producers)
{
    int error = store->get(store->context, consumer, producers);

    if (error != 0)
        return error;
    deps_compact(producers);
    return producers->count > 0 ? 0 : -ENOENT;
}

static int drop_list(const struct deps_store *store, uint32_t consumer)
{
    int error = store->drop(store->context, consumer);

    return error == -ENOENT ? 0 : error; /* it has ended meanwhile */
}

static int write_list(const struct deps_store *store, uint32_t consumer,
                      const struct kernel_producers *producers)
{
    if (producers->count == 0)
        return drop_list(store, consumer);
    return store->put(store->context, consumer, producers);
}

/* True: there were some. */
static bool remove_ended(const struct deps_store *store, struct kernel_producers *producers)
{
    uint32_t before = producers->count;

    for (uint32_t i = 0; i < before; i++) {
        if (!lives(store, producers->tid[i]))
            producers->tid[i] = 0;
    }
    deps_compact(producers);
    return producers->count < before;
}

/* After a write: takes back what has ended since the list was read. A write that takes back may
 * itself bring back another one. */
static int settle(const struct deps_store *store, uint32_t consumer,
                  struct kernel_producers *producers)
{
    while (remove_ended(store, producers)) {
        int error = write_list(store, consumer, producers);

        if (error != 0)
            return error;
    }
    return lives(store, consumer) ? 0 : drop_list(store, consumer);
}

/* 1: `target` is among the producers of `from`, of those, and so on; 0: not; or -errno. Each thread
 * with producers is looked at once, in the order in which it was found. */
static int reaches(const struct deps_store *store, uint32_t from, uint32_t target)
{
    uint32_t found[KERNEL_CONSUMERS] = {from};
    uint32_t number = 1;

    for (uint32_t i = 0; i < number; i++) {
        struct kernel_producers producers;
        int error = read_list(store, found[i], &producers);

        if (error == -ENOENT)
            continue;
        if (error != 0)
            return error;
        if (find(&producers, target) < producers.count)
            return 1;
        for (uint32_t k = 0; k < producers.count; k++) {
            struct kernel_producers unused;

            if (holds(found, number, producers.tid[k]) ||
                read_list(store, producers.tid[k], &unused) != 0)
                continue;
            if (number == KERNEL_CONSUMERS)
                return -ENOSPC;
            found[number++] = producers.tid[k];
        }
    }
    return 0;
}

/* Of one consumer: its entry goes if it has ended, or if all its producers have. */
static int prune_list(const struct deps_store *store, uint32_t consumer)
{
    struct kernel_producers producers;
    int error = read_list(store, consumer, &producers);

    if (error == -ENOENT || !lives(store, consumer))
        return drop_list(store, consumer);
    if (error != 0)
        return error;
    return settle(store, consumer, &producers);
}

/* Of the whole table. The next consumer is asked for before this one may go. If threads end at the
 * same time, some may be looked at again. */
static int prune(const struct deps_store *store)
{
    uint32_t consumer, next;
    int more = store->next(store->context, NULL, &consumer);

    for (uint32_t i = 0; more == 0 && i < 2 * KERNEL_CONSUMERS; i++) {
        int error;

        more = store->next(store->context, &consumer, &next);
        error = prune_list(store, consumer);
        if (error != 0)
            return error;
        consumer = next;
    }
    return more == -ENOENT ? 0 : more;
}

/* The kernel says -E2BIG if the map is full. */
static int put_new(const struct deps_store *store, uint32_t consumer,
                   const struct kernel_producers *producers)
{
    int error = store->put(store->context, consumer, producers);

    if (error != -E2BIG)
        return error;
    error = prune(store);
    if (error == 0)
        error = store->put(store->context, consumer, producers);
    return error == -E2BIG ? -ENOSPC : error;
}

int deps_add(const struct deps_store *store, uint32_t consumer, uint32_t producer)
{
    struct kernel_producers producers = {.count = 0};
    int error;

    if (consumer == producer)
        return -EINVAL;
    error = reaches(store, producer, consumer);
    if (error != 0)
        return error > 0 ? -ELOOP : error;
    error = read_list(store, consumer, &producers);
    if (error != 0 && error != -ENOENT)
        return error;
    if (find(&producers, producer) < producers.count)
        return 0;
    if (producers.count == KERNEL_PRODUCERS)
        (void)remove_ended(store, &producers);
    if (producers.count == KERNEL_PRODUCERS)
        return -ENOSPC;
    producers.tid[producers.count++] = producer;
    error = put_new(store, consumer, &producers);
    if (error == 0)
        error = settle(store, consumer, &producers);
    if (error == 0 && (!lives(store, consumer) || !lives(store, producer)))
        error = -ESRCH;
    return error;
}

int deps_delete(const struct deps_store *store, uint32_t consumer, uint32_t producer)
{
    struct kernel_producers producers;
    int error = read_list(store, consumer, &producers);
    uint32_t place;

    if (error != 0)
        return error;
    place = find(&producers, producer);
    if (place == producers.count)
        return -ENOENT;
    producers.tid[place] = producers.tid[--producers.count];
    error = write_list(store, consumer, &producers);
    return error == 0 ? settle(store, consumer, &producers) : error;
}
