/* SPDX-License-Identifier: MIT */
/*
 * trace.c (simulator) - the event trace of a run: in memory, and in its file when the run has
 * ended, failed or not. Nothing of it is a scheduling point: a seed's run is the same with it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../../src/trace/trace.h"
#include "sim_internal.h"

static struct {
    void *at;
    size_t size;
} memory;

uint64_t sim_clock(void)
{
    return sim.now;
}

int port_trace_open(const char *path, size_t size, void **at)
{
    (void)path;
    memory.at = *at = calloc(1, size);
    memory.size = size;
    return *at != NULL ? 0 : -ENOMEM;
}

void port_trace_drop(void *at, size_t size)
{
    (void)size;
    free(at);
    memory.at = NULL;
}

void port_trace_facts(struct port_trace_facts *facts)
{
    *facts = (struct port_trace_facts){.program = "simulator", .clock_hz = 1000000000u};
}

int sim_trace_end(void)
{
    if (memory.at == NULL) {
        return 0;
    }
    FILE *f = fopen(sim.config.trace, "wb");
    bool whole = f != NULL && fwrite(memory.at, 1, memory.size, f) == memory.size;
    int error = whole ? 0 : -errno;
    if (f != NULL && fclose(f) != 0 && whole) {
        error = -errno;
    }
    trace_forget();
    return error;
}
