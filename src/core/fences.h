/* SPDX-License-Identifier: MIT */
/*
 * fences.h - who pays for the fences between a CPU that falls asleep and those who wake CPUs
 * (wake.h, invariant 2).
 *
 * Usually wakers pay nothing (a light fence), and a CPU that falls asleep makes all others pass a
 * fence (a heavy one). On Linux that is a system call of some microseconds, which also interrupts
 * the other processors. Where CPUs fall asleep thousands of times a second, as in a server that
 * waits for each request, it is better if both sides pass a full fence of their own, of some
 * nanoseconds. So rt_fences_choose changes it while the program runs; the port calls it, by the
 * number of sleeps.
 *
 * wakers_fence: wakers pass a full fence. sleepers_light: one is enough for sleepers.
 *   to full fences:  wakers_fence = 1 | heavy fence | sleepers_light = 1
 *   back:            sleepers_light = 0 | heavy fence | wakers_fence = 0
 *   a waker:         publish the thread | wakers_fence? full fence | is any CPU asleep?
 *   a sleeper:       announce | sleepers_light? full fence, still sleepers_light? else heavy
 *                    fence | work?
 * The argument: ORDER(fences-change)
 *   1. A sleeper that has found sleepers_light set comes after the first change's heavy fence. A
 *      waker that found wakers_fence clear did so before that fence passed it, after it had
 *      published its thread: the sleeper sees the thread. Any other waker passes a full fence.
 *   2. A sleeper that finds sleepers_light still set, after its full fence, has announced before
 *      the second change's heavy fence. A waker that finds wakers_fence clear comes after that
 *      fence: it sees the announcement.
 *   3. A sleeper that finds sleepers_light clear passes a heavy fence, as usual.
 * Where the port has no cheap heavy fence, wakers always pass a full one (WAKERS_ALWAYS).
 */
#ifndef PIRN_CORE_FENCES_H
#define PIRN_CORE_FENCES_H

#include "mutant.h"
#include "runtime.h"

#if PORT_CALLS_BLOCK
/* Bits of rt.wakers_fence. */
enum { WAKERS_OFTEN = 1, WAKERS_ALWAYS = 2 };

ALWAYS_INLINE void waker_fence(void)
{
#ifdef PIRN_SIM
    at_fence_light();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
    if (unlikely(at_load_acq(&rt.wakers_fence) != 0)) { /* ORDER(fences-change) */
        at_fence_seq();
    }
}

ALWAYS_INLINE void sleeper_fence(void)
{
    if (at_load_acq(&rt.sleepers_light) != 0) { /* ORDER(fences-change) */
        at_fence_seq();
        if (at_load_rlx(&rt.sleepers_light) != 0) { /* ORDER(fences-change) */
            return;
        }
    }
    at_fence_heavy();
}
#else
ALWAYS_INLINE void waker_fence(void)
{
    at_fence_light();
}

ALWAYS_INLINE void sleeper_fence(void)
{
    at_fence_heavy();
}
#endif

#endif
