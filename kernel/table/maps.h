/* SPDX-License-Identifier: MIT
 *
 * The pinned maps of a loaded scheduler, by the system call bpf alone: no library is needed.
 */
#ifndef KERNEL_MAPS_H
#define KERNEL_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "deps.h"

/* All return -errno if they fail. */
int map_open(const char *pin); /* a file descriptor; -ENOENT: no scheduler is loaded */
int map_get(int map, const void *key, void *value);
int map_put(int map, const void *key, const void *value);
int map_drop(int map, const void *key);
int map_next(int map, const void *key, void *next); /* key NULL: the first; -ENOENT: no more */

/* The table of dependencies, locked: only one program changes it at a time. */
struct maps_table {
    int map;
    int folder; /* holds the lock */
    struct deps_store store;
};
int maps_lock(struct maps_table *table);
void maps_unlock(struct maps_table *table);

/* False from the moment on when a thread begins to end, which is before the scheduler forgets it
 * (deps.h): a zombie does not live. */
bool thread_lives(uint32_t tid);

/* Locks, checks both threads, changes, unlocks. 0, -ENOSYS: no scheduler is loaded, -ESRCH, and the
 * errors of deps.h. */
int table_add(uint32_t consumer, uint32_t producer);
int table_delete(uint32_t consumer, uint32_t producer);

#endif
