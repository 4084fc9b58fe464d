/* SPDX-License-Identifier: MIT */
/*
 * bare_prof.c (bare) - the profiler's functions of the port. The samples' clock is in bare_core.c.
 */
#include "../../../src/prof/prof.h"
#include "bare.h"
#include "port_prof.h"

/* Before it executes a CPU, the first core runs what will be the main thread. */
struct prof_thread *port_prof_outside(void)
{
    static struct prof_thread first, others[BARE_CORES];
    uintptr_t core = (uintptr_t)(arch_core() - bare_cores);
    RT_ASSERT(core < BARE_CORES && port_cpu_self() == NULL);
    return core == 0 ? &first : &others[core];
}

bool port_prof_main(void)
{
    return arch_core() == &bare_cores[0];
}

bool port_prof_stack(uintptr_t *low, uintptr_t *high)
{
    *low = bare_own[0].low;
    *high = bare_own[0].high;
    return true;
}

extern char bare_text_begin[], bare_text_end[];

unsigned port_prof_frames(const void *context, uintptr_t low, uintptr_t high, uintptr_t *frames,
                          unsigned max)
{
    unsigned n = 0;
#ifndef PORT_ARCH_FRAME_NONE
    struct frame_registers at;
    arch_registers(context, &at);
    unsigned found = frames_follow(&at, low, high, frames, max);
    while (n < found && frames[n] > (uintptr_t)bare_text_begin &&
           frames[n] <= (uintptr_t)bare_text_end) {
        n++;
    }
#else
    (void)context;
    (void)low;
    (void)high;
    (void)frames;
    (void)max;
#endif
    return n;
}

/* The image is where its file says. */
void port_code_each(void (*fn)(void *arg, const struct port_code *code), void *arg)
{
    fn(arg, &(struct port_code){.start = (uintptr_t)bare_text_begin,
                                .end = (uintptr_t)bare_text_end,
                                .offset = BARE_TEXT_OFFSET,
                                .path = process_name()});
}
