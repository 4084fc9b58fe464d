/* SPDX-License-Identifier: MIT */
/*
 * bare_trace.c (bare) - the event trace in memory; the machine that runs the program gets it as a
 * file when the program ends, also by a fault.
 */
#include "bare.h"
#include "port_files.h"
#include "port_trace.h"
#include "semihost.h"

#include <errno.h>
#include <string.h>

static struct {
    void *at;
    size_t size;
    char path[256];
} memory;

int port_trace_open(const char *path, size_t size, void **at)
{
    if (strlen(path) >= sizeof(memory.path)) {
        return -ENAMETOOLONG;
    }
    RT_ASSERT(memory.at == NULL); /* one trace */
    memory.at = *at = port_table_alloc(size);
    memory.size = size;
    strcpy(memory.path, path);
    return memory.at != NULL ? 0 : -ENOMEM;
}

void port_trace_drop(void *at, size_t size)
{
    RT_ASSERT(at == memory.at && size == memory.size);
    memory.at = NULL;
    port_table_free(at, size);
}

void trace_save(void)
{
    /* Once: another CPU may fail at the same time, or something in here. */
    void *at = __atomic_exchange_n(&memory.at, NULL, __ATOMIC_RELAXED);
    if (at != NULL && bare_file_write(memory.path, trace_part) != 0) {
        static const char text[] = "pirn: the trace's file cannot be written\n";
        port_write(text, sizeof(text) - 1);
    }
}

uint64_t port_trace_used(void)
{
    return 0;
}

uint64_t port_trace_clock_hz(void)
{
    return board_clock_hz();
}
