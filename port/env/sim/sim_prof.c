/* SPDX-License-Identifier: MIT */
/*
 * sim_prof.c (simulator) - samples at scheduling points of the profiled code, those inside the
 * profiler's hooks included: each is an interrupt there. Nothing nests in a sample.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../../src/prof/prof.h"
#include "port_files.h"
#include "port_prof.h"
#include "sim_internal.h"

struct prof_thread *port_prof_outside(void)
{
    return &sim.contexts[sim_current].outside;
}

bool port_prof_main(void)
{
    return false;
}

bool port_prof_stack(uintptr_t *low, uintptr_t *high)
{
    (void)low;
    (void)high;
    return false;
}

/* A made-up chain, always the same. */
unsigned port_prof_frames(const void *context, uintptr_t low, uintptr_t high, uintptr_t *frames,
                          unsigned max)
{
    (void)context;
    (void)low;
    (void)high;
    (void)max;
    frames[0] = 0x2000;
    frames[1] = 0x1000;
    return 2;
}

unsigned port_prof_stopped(const struct port_ctx *ctx, uintptr_t low, uintptr_t high, uintptr_t *pc,
                           uintptr_t *frames, unsigned max)
{
    *pc = 0x4000;
    return port_prof_frames(ctx, low, high, frames, max);
}

unsigned port_prof_here(uintptr_t low, uintptr_t high, uintptr_t *pc, uintptr_t *frames,
                        unsigned max)
{
    *pc = 0x4100;
    return port_prof_frames(NULL, low, high, frames, max);
}

int port_prof_start(uint32_t hz, bool wall, const char **why)
{
    (void)wall;
    (void)why;
    sim.sample_ns = 1000000000u / hz;
    return 0;
}

void sim_sample(void)
{
    struct context *c = &sim.contexts[sim_current];
    if (sim.sample_ns == 0 || c->sampling || sim.now < sim.sample_at || !prof_is_on()) {
        return;
    }
    sim.sample_at = sim.now + sim.sample_ns;
    c->sampling = true;
    prof_sample(0x5000, 1, NULL);
    c->sampling = false;
    sim.samples++;
}

unsigned sim_samples(void)
{
    return sim.samples;
}

void port_code_each(void (*fn)(void *arg, const struct port_code *code), void *arg)
{
    struct port_code code = {0x1000, 0x10000, 0, "simulator"};
    fn(arg, &code);
}

int port_file_claim(const char *path)
{
    (void)path;
    return 0;
}

int port_name_expand(const char *from, char *to, size_t size)
{
    if (strlen(from) >= size) {
        return -ENAMETOOLONG;
    }
    strcpy(to, from);
    return 0;
}
