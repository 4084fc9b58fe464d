/* SPDX-License-Identifier: MIT */
/*
 * life.c - see life.h.
 *
 * Each CPU counts the threads that it created and that ended on it; the sums are compared only
 * after main has gone.
 *
 * Claim: if the sum of `exited`, read first, equals the sum of `created`, read afterwards, no
 * thread lives. Both only grow, and a thread is counted in created before it can be counted in
 * exited (its creation happens before its exit, ORDER(life)). Let E be the first sum and C the
 * second: E <= exited(now) <= created(now), and C is at least created at the moment when reading it
 * began; E == C leaves no room between. A thread that is still alive could create others, but it is
 * counted in created and not in exited.
 *
 * Of two last threads that end at the same time each writes its own counter and then reads the
 * other's: a heavy fence between makes at least one see both. ORDER(life-main). Both may see it:
 * `ended` lets one through.
 */
#include "life.h"

#include "runtime.h"

_Atomic(uint32_t) life_created_foreign;
static _Atomic(uint32_t) ended;

static uint32_t sum_exited(void)
{
    uint32_t sum = 0;
    for (unsigned i = 0; i < RT_NCPU; i++) {
        sum += at_load_acq(&rt.cpus[i]->exited); /* ORDER(life) */
    }
    return sum;
}

uint32_t life_created_ever(void)
{
    uint32_t sum = RT_MAIN_STARTS ? 0 : at_load_acq(&life_created_foreign); /* ORDER(life) */
    for (unsigned i = 0; i < RT_NCPU; i++) {
        sum += at_load_acq(&rt.cpus[i]->created); /* ORDER(life) */
    }
    return sum;
}

uint32_t life_count(void)
{
    uint32_t exited = sum_exited();
    return life_created_ever() - exited;
}

void life_exited_late(void)
{
    at_fence_heavy(); /* ORDER(life-main) */
    uint32_t exited = sum_exited();
    if (life_created_ever() == exited && at_xchg_acq_rel(&ended, 1u) == 0) { /* ORDER(life-main) */
        port_exit(0);
    }
}

void life_main_exit(void *ret)
{
    at_store_rlx(&rt.main_gone, 1u);
    at_fence_heavy(); /* ORDER(life-main) */
    rt_thread_exit(ret);
}

void life_reset(void)
{
    at_init(&ended, 0u);
    at_init(&life_created_foreign, 0u);
}
