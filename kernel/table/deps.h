/* SPDX-License-Identifier: MIT
 *
 * The table of dependencies: consumer -> its producers. Used by the command and by the preloaded
 * library on the kernel's map, and by tests on a table in memory.
 */
#ifndef KERNEL_DEPS_H
#define KERNEL_DEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "../shared.h"

/* Where the table is. Each function but `lives` returns 0 or -errno. */
struct deps_store {
    /* -ENOENT: the thread has no producers. */
    int (*get)(void *context, uint32_t consumer, struct kernel_producers *producers);
    int (*put)(void *context, uint32_t consumer, const struct kernel_producers *producers);
    int (*drop)(void *context, uint32_t consumer);
    /* The consumer after this one in any order; NULL: the first one. -ENOENT: no more. It may begin
     * anew if the consumer has vanished. */
    int (*next)(void *context, const uint32_t *consumer, uint32_t *next);
    /* False from some moment before the scheduler forgets a thread that ends. */
    bool (*lives)(void *context, uint32_t tid);
    void *context;
};

/* The caller holds the store's lock (maps_lock), so that nothing changes in between but that
 * threads end: the scheduler then drops a consumer, and writes 0 over a producer. What it writes is
 * lost if a list was read before and is written after it. So each change looks afterwards which
 * threads of the list it wrote still live, and when it returns none that has ended is in it, but
 * for those that the scheduler will still forget. (A number that a new thread got between the read
 * and that look would be mistaken: the kernel gives all others first.)
 *
 * Add: 0, also if it is there already; -EINVAL: the thread itself; -ELOOP: the producer depends on
 * the consumer, directly or through others; -ENOSPC: KERNEL_PRODUCERS are declared and live, or the
 * table is full of consumers that live; -ESRCH: one of the two has ended; or an error of the store.
 * Delete: 0 or -ENOENT. */
int deps_add(const struct deps_store *store, uint32_t consumer, uint32_t producer);
int deps_delete(const struct deps_store *store, uint32_t consumer, uint32_t producer);

/* Removes the places of producers that the scheduler has forgotten. */
void deps_compact(struct kernel_producers *producers);

#endif
