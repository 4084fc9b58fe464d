/* SPDX-License-Identifier: MIT
 *
 * The table of dependencies: consumer -> its producers. Used by the command and by the preloaded
 * library on the kernel's map, and by tests on a table in memory.
 */
#ifndef KERNEL_DEPS_H
#define KERNEL_DEPS_H

#include <stdint.h>

#include "../shared.h"

/* Where the table is. Each function returns 0 or -errno. */
struct deps_store {
    /* -ENOENT: the thread has no producers. */
    int (*get)(void *context, uint32_t consumer, struct kernel_producers *producers);
    int (*put)(void *context, uint32_t consumer, const struct kernel_producers *producers);
    int (*drop)(void *context, uint32_t consumer);
    void *context;
};

/* The caller holds the store's lock (maps_lock), so that nothing changes in between but the threads
 * that end.
 *
 * Add: 0, also if it is there already; -EINVAL: the thread itself; -ELOOP: the producer depends on
 * the consumer, directly or through others; -ENOSPC: KERNEL_PRODUCERS are declared, or the table is
 * full; or an error of the store. Delete: 0 or -ENOENT. */
int deps_add(const struct deps_store *store, uint32_t consumer, uint32_t producer);
int deps_delete(const struct deps_store *store, uint32_t consumer, uint32_t producer);

#endif
