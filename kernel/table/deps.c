/* SPDX-License-Identifier: MIT
 *
 * Changes of the table of dependencies (see deps.h).
 */
#include "deps.h"

#include <errno.h>
#include <stdbool.h>

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

/* 1: `target` is among the producers of `from`, of those, and so on; 0: not; or -errno. Each thread
 * with producers is looked at once, in the order in which it was found. */
static int reaches(const struct deps_store *store, uint32_t from, uint32_t target)
{
    uint32_t found[KERNEL_CONSUMERS] = {from};
    uint32_t number = 1;

    for (uint32_t i = 0; i < number; i++) {
        struct kernel_producers producers;
        int error = store->get(store->context, found[i], &producers);

        if (error == -ENOENT)
            continue;
        if (error != 0)
            return error;
        if (find(&producers, target) < producers.count)
            return 1;
        for (uint32_t k = 0; k < producers.count; k++) {
            struct kernel_producers unused;

            if (holds(found, number, producers.tid[k]) ||
                store->get(store->context, producers.tid[k], &unused) != 0)
                continue;
            if (number == KERNEL_CONSUMERS)
                return -ENOSPC;
            found[number++] = producers.tid[k];
        }
    }
    return 0;
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
    error = store->get(store->context, consumer, &producers);
    if (error != 0 && error != -ENOENT)
        return error;
    if (find(&producers, producer) < producers.count)
        return 0;
    if (producers.count >= KERNEL_PRODUCERS)
        return -ENOSPC;
    producers.tid[producers.count++] = producer;
    error = store->put(store->context, consumer, &producers);
    return error == -E2BIG ? -ENOSPC : error; /* the kernel's number for a full map */
}

int deps_delete(const struct deps_store *store, uint32_t consumer, uint32_t producer)
{
    struct kernel_producers producers;
    int error = store->get(store->context, consumer, &producers);
    uint32_t place;

    if (error != 0)
        return error;
    place = find(&producers, producer);
    if (place == producers.count)
        return -ENOENT;
    producers.tid[place] = producers.tid[--producers.count];
    if (producers.count == 0)
        return store->drop(store->context, consumer);
    return store->put(store->context, consumer, &producers);
}
