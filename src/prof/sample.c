/* SPDX-License-Identifier: MIT */
/*
 * sample.c - see sample.h. Called by handlers of signals and interrupts on the CPU, or kernel
 * thread, that they have interrupted: several at once, and in the middle of a hook. As in tree.c no
 * caller waits, and a place that two callers make at once exists twice.
 */
#include <errno.h>

#include "cpu.h"
#include "port_prof.h"
#include "sample.h"
#include "tree.h"

#define PROBES 64u
#define FRAMES_MAX 128u

struct sample sample;

int sample_make(uint32_t places, bool frames)
{
    size_t size = places * sizeof(struct prof_place);
    sample = (struct sample){.mask = places - 1, .frames = frames};
    sample.places = port_table_alloc(size);
    if (sample.places == NULL) {
        return -ENOMEM;
    }
    prof_touch(sample.places, size);
    return 0;
}

void sample_drop(void)
{
    if (sample.places != NULL) {
        port_table_free(sample.places, ((size_t)sample.mask + 1) * sizeof(struct prof_place));
        sample.places = NULL;
    }
}

static bool place_make(struct prof_place *p, uint32_t cpu, uint32_t node, uintptr_t pc)
{
    uint32_t state = NODE_FREE;
    if (!at_cas_acq(&p->state, &state, (uint32_t)NODE_MAKING)) {
        return false;
    }
    p->cpu = cpu;
    p->node = node;
    p->pc = pc;
    at_store_rel(&p->state, (uint32_t)NODE_MADE); /* ORDER(prof-node) */
    return true;
}

static void place_count(uint32_t cpu, uint32_t node, uintptr_t pc, uint32_t weight)
{
    uint64_t key =
        ((uint64_t)pc ^ (uint64_t)node << 40 ^ (uint64_t)cpu << 56) * UINT64_C(0xd6e8feb86659fd93);
    uint32_t at = (uint32_t)(key >> 32) & sample.mask;
    for (uint32_t i = 0; i < PROBES; i++, at = (at + 1) & sample.mask) {
        struct prof_place *p = &sample.places[at];
        uint32_t state = at_load_acq(&p->state); /* ORDER(prof-node) */
        if ((state == NODE_MADE && p->pc == pc && p->node == node && p->cpu == cpu) ||
            (state == NODE_FREE && place_make(p, cpu, node, pc))) {
            at_add_rlx(&p->count, (uintptr_t)weight);
            return;
        }
    }
    at_add_rlx(&sample.lost, (uintptr_t)weight);
}

/* The chain of frames below the root, innermost last. */
static uint32_t frames_below(uint32_t root, const struct thread *t, const void *context)
{
    uintptr_t frames[FRAMES_MAX], low, high;
    if (!tree_stack(t, &low, &high)) {
        return root;
    }
    unsigned n = port_prof_frames(context, low, high, frames, FRAMES_MAX);
    return tree_frames(root, frames, n);
}

void prof_sample(uintptr_t pc, uint32_t weight, const void *context)
{
    struct thread *t;
    if (!prof_is_on()) {
        return;
    }
    const struct cpu *cpu = port_cpu_self();
    const struct prof_thread *p = tree_self(&t);
    if (p == NULL) {
        at_add_rlx(&sample.lost, (uintptr_t)weight);
        return;
    }
    uint32_t node = p->node;
    if (sample.frames && node == p->root) {
        node = frames_below(node, t, context);
    }
    place_count(cpu != NULL ? cpu->id : RT_NO_CPU, node, pc, weight);
}
