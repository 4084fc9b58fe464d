/* SPDX-License-Identifier: MIT
 *
 * Pinned maps by the system call (see maps.h).
 *
 * Lock: flock on the folder of the pins. The kernel removes threads that end without it, so each
 * change looks afterwards whether its threads are still there, and takes back what it wrote of one
 * that is not: its number may be given to another thread later.
 */
#include "maps.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

static int bpf(int command, union bpf_attr *attr)
{
    long result = syscall(SYS_bpf, command, attr, sizeof *attr);

    return result < 0 ? -errno : (int)result;
}

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

int map_open(const char *pin)
{
    union bpf_attr attr;

    memset(&attr, 0, sizeof attr);
    attr.pathname = address(pin);
    return bpf(BPF_OBJ_GET, &attr);
}

static int map_call(int command, int map, const void *key, const void *value)
{
    union bpf_attr attr;

    memset(&attr, 0, sizeof attr);
    attr.map_fd = (uint32_t)map;
    attr.key = address(key);
    attr.value = address(value);
    return bpf(command, &attr);
}

int map_get(int map, const void *key, void *value)
{
    return map_call(BPF_MAP_LOOKUP_ELEM, map, key, value);
}

int map_put(int map, const void *key, const void *value)
{
    return map_call(BPF_MAP_UPDATE_ELEM, map, key, value);
}

int map_drop(int map, const void *key)
{
    return map_call(BPF_MAP_DELETE_ELEM, map, key, NULL);
}

int map_next(int map, const void *key, void *next)
{
    return map_call(BPF_MAP_GET_NEXT_KEY, map, key, next);
}

/* ---- the table of dependencies ---- */

static int store_get(void *context, uint32_t consumer, struct kernel_producers *producers)
{
    const struct maps_table *table = context;
    int error = map_get(table->map, &consumer, producers);

    if (error == 0 && producers->count > KERNEL_PRODUCERS)
        return -EIO;
    return error;
}

static int store_put(void *context, uint32_t consumer, const struct kernel_producers *producers)
{
    const struct maps_table *table = context;

    return map_put(table->map, &consumer, producers);
}

static int store_drop(void *context, uint32_t consumer)
{
    const struct maps_table *table = context;

    return map_drop(table->map, &consumer);
}

int maps_lock(struct maps_table *table)
{
    int error;

    table->store = (struct deps_store){store_get, store_put, store_drop, table};
    table->folder = open(KERNEL_PINS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (table->folder < 0)
        return errno == ENOENT ? -ENOSYS : -errno;
    while (flock(table->folder, LOCK_EX) != 0) {
        if (errno == EINTR)
            continue;
        error = -errno;
        goto fail;
    }
    table->map = map_open(KERNEL_DEPENDENCIES);
    if (table->map >= 0)
        return 0;
    error = table->map == -ENOENT ? -ENOSYS : table->map;
fail:
    close(table->folder);
    return error;
}

void maps_unlock(struct maps_table *table)
{
    close(table->map);
    close(table->folder);
}

bool thread_exists(uint32_t tid)
{
    return tid != 0 && tid <= INT32_MAX && (kill((pid_t)tid, 0) == 0 || errno == EPERM);
}

int table_add(uint32_t consumer, uint32_t producer)
{
    struct maps_table table;
    int error;

    if (!thread_exists(consumer) || !thread_exists(producer))
        return -ESRCH;
    if (consumer == producer)
        return -EINVAL;
    error = maps_lock(&table);
    if (error != 0)
        return error;
    error = deps_add(&table.store, consumer, producer);
    if (error == 0 && (!thread_exists(consumer) || !thread_exists(producer))) {
        (void)deps_delete(&table.store, consumer, producer);
        error = -ESRCH;
    }
    maps_unlock(&table);
    return error;
}

int table_delete(uint32_t consumer, uint32_t producer)
{
    struct maps_table table;
    int error;

    if (!thread_exists(consumer) || !thread_exists(producer))
        return -ESRCH;
    error = maps_lock(&table);
    if (error != 0)
        return error;
    error = deps_delete(&table.store, consumer, producer);
    maps_unlock(&table);
    return error;
}
