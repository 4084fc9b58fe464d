/* SPDX-License-Identifier: MIT */
/*
 * sim_trace.c (simulator) - the event trace of a run: in memory, and in its file when the run has
 * ended, failed or not. Nothing of it is a scheduling point: a seed's run is the same with it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../src/trace/trace.h"
#include "port_trace.h"
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

uint64_t port_trace_used(void)
{
    return 0;
}

uint64_t port_trace_clock_hz(void)
{
    return 1000000000u;
}

const char *sim_trace_option(void)
{
    return sim.config.trace != NULL    ? sim.config.trace
           : sim.config.traced != NULL ? "memory"
                                       : NULL;
}

/* Small where many runs are looked at, so that rings overflow, in both ways. */
const char *sim_trace_size(void)
{
    return sim.config.trace != NULL ? NULL : "64K";
}

const char *sim_trace_full(void)
{
    return sim.config.trace != NULL || sim.config.seed / 8 % 2 != 0 ? NULL : "stop";
}

static const char *write_to(const char *path)
{
    FILE *f = fopen(path, "wb");
    bool whole = f != NULL;
    const void *part;
    size_t size;
    for (unsigned i = 0; whole && (part = trace_part(i, &size)) != NULL; i++) {
        whole = fwrite(part, 1, size, f) == size;
    }
    whole = f != NULL && fclose(f) == 0 && whole;
    return whole ? NULL : "the file cannot be written";
}

/* The file, in memory. It is at most as long as the trace. */
static const char *check_saved(void)
{
    char *file = malloc(memory.size);
    size_t length = 0, size;
    const void *part;
    for (unsigned i = 0; file != NULL && (part = trace_part(i, &size)) != NULL; i++) {
        if (size > memory.size - length) {
            free(file);
            return "the trace is longer in its file than in memory";
        }
        memcpy(file + length, part, size);
        length += size;
    }
    const char *why = file != NULL ? sim.config.traced(file, length, true) : "no memory";
    free(file);
    return why;
}

const char *sim_trace_end(void)
{
    const char *why = NULL;
    if (memory.at == NULL) {
        return NULL;
    }
    trace_end();
    if (sim.config.traced != NULL) {
        why = sim.config.traced(memory.at, memory.size, false);
    }
    if (why == NULL && sim.config.traced != NULL) {
        why = check_saved();
    }
    if (why == NULL && sim.config.trace != NULL) {
        why = write_to(sim.config.trace);
    }
    trace_forget();
    return why;
}
