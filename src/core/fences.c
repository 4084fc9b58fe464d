/* SPDX-License-Identifier: MIT */
/*
 * fences.c - see fences.h. The changes; one caller at a time, which is no CPU.
 */
#include "fences.h"

#include "cpu.h"
#include "port_calls.h"

#if PORT_CALLS_BLOCK

void rt_fences_choose(bool often)
{
    bool now = at_load_rlx(&rt.sleepers_light) != 0;
    if (often && !now) {
        at_or_acq_rel(&rt.wakers_fence, (uint32_t)WAKERS_OFTEN); /* ORDER(fences-change) */
        if (!MUTANT(FENCES_EARLY)) {
            at_fence_heavy();
        }
        at_store_rel(&rt.sleepers_light, 1u); /* ORDER(fences-change) */
    } else if (!often && now) {
        at_store_rel(&rt.sleepers_light, 0u); /* ORDER(fences-change) */
        at_fence_heavy();
        at_and_acq_rel(&rt.wakers_fence, ~(uint32_t)WAKERS_OFTEN); /* ORDER(fences-change) */
    }
}

void rt_fences_full(void)
{
    at_or_acq_rel(&rt.wakers_fence, (uint32_t)WAKERS_ALWAYS);
}

uint64_t rt_sleeps(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < rt.ncpu; i++) {
        sum += STAT_GET(&rt.cpus[i]->stats.sleeps);
    }
    return sum;
}

#endif
