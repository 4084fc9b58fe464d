/* SPDX-License-Identifier: MIT
 *
 * Pinned maps by the system call (see maps.h).
 *
 * Lock: flock on the folder of the pins. The scheduler forgets threads that end without it (see
 * deps.h).
 */
#include "maps.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
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

static int store_next(void *context, const uint32_t *consumer, uint32_t *next)
{
    const struct maps_table *table = context;

    return map_next(table->map, consumer, next);
}

static bool store_lives(void *unused, uint32_t tid)
{
    (void)unused;
    return thread_lives(tid);
}

int maps_lock(struct maps_table *table)
{
    int error;

    table->store = (struct deps_store){.get = store_get,
                                       .put = store_put,
                                       .drop = store_drop,
                                       .next = store_next,
                                       .lives = store_lives,
                                       .context = table};
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

/* The kernel's flags of a thread: the ninth field of /proc/TID/stat. The second one, its name in
 * parentheses, may have anything in it. False: there is no such file. */
static bool read_flags(uint32_t tid, unsigned *flags)
{
    char path[32], line[256];
    const char *name_end;
    ssize_t length;
    int file;

    snprintf(path, sizeof path, "/proc/%u/stat", tid);
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    length = read(file, line, sizeof line - 1);
    close(file);
    line[length > 0 ? length : 0] = '\0';
    name_end = strrchr(line, ')');
    return name_end != NULL && sscanf(name_end, ") %*c %*d %*d %*d %*d %*d %u", flags) == 1;
}

bool thread_lives(uint32_t tid)
{
    enum { ENDS = 0x4 }; /* PF_EXITING */
    unsigned flags;

    if (tid == 0 || tid > INT32_MAX)
        return false;
    if (read_flags(tid, &flags))
        return (flags & ENDS) == 0;
    return kill((pid_t)tid, 0) == 0 || errno == EPERM; /* no /proc here, or the thread is gone */
}

int table_add(uint32_t consumer, uint32_t producer)
{
    struct maps_table table;
    int error;

    if (!thread_lives(consumer) || !thread_lives(producer))
        return -ESRCH;
    if (consumer == producer)
        return -EINVAL;
    error = maps_lock(&table);
    if (error != 0)
        return error;
    error = deps_add(&table.store, consumer, producer);
    maps_unlock(&table);
    return error;
}

int table_delete(uint32_t consumer, uint32_t producer)
{
    struct maps_table table;
    int error;

    if (!thread_lives(consumer) || !thread_lives(producer))
        return -ESRCH;
    error = maps_lock(&table);
    if (error != 0)
        return error;
    error = deps_delete(&table.store, consumer, producer);
    maps_unlock(&table);
    return error;
}
