/* SPDX-License-Identifier: MIT */
/*
 * search.h - whether a CPU without a thread searches for one, and goes on searching (run.c).
 *
 * A search keeps a processor busy that others of the system may want. So it is offered to them: at
 * once while threads wait for descriptors, whose other ends may be programs that wait for a
 * processor; else after some time, as an offer takes as long as what is waited for. If they keep
 * it for long, searching does not pay: the CPU sleeps, and for a while it does not search at all,
 * twice as long if that happens again soon after.
 *
 * On ports whose cores are the runtime's alone (no PORT_CPU_SHARED) nothing is offered.
 */
#ifndef PIRN_CORE_SEARCH_H
#define PIRN_CORE_SEARCH_H

#include "cpu.h"

/* Rounds of a search from one look at descriptors, and one offer of the processor, to the next. */
#define ROUNDS_TO_OFFER 8u

#ifdef PORT_CPU_SHARED

/* In nanoseconds: when a search begins to offer its processor; an offer that takes so long was
 * taken; how long the CPU does not search then; how long after that the next time is soon. */
#ifdef PIRN_SIM
#define RT_OFFER_AFTER 200u
#define RT_OFFER_TAKEN 100u
#define RT_PAUSE_LEAST 1000u
#define RT_PAUSE_SOON 4000u
#define RT_PAUSE_MOST 8000u
#else
#define RT_OFFER_AFTER 20000u
#define RT_OFFER_TAKEN 50000u
#define RT_PAUSE_LEAST 10000000u
#define RT_PAUSE_SOON 200000000u
#define RT_PAUSE_MOST 1000000000u
#endif

/* To be asked when a search would begin. */
static inline bool search_pays(const struct cpu *cpu, uint64_t now)
{
    return now >= cpu->search_from;
}

/* Offers the processor, or not yet. since: when the search began; io: threads wait for descriptors.
 */
static inline bool search_offers(uint64_t since, uint64_t now, bool io)
{
    if (!io && now - since < RT_OFFER_AFTER) {
        return false;
    }
    port_relax(UINT32_MAX);
    return true;
}

/* Nobody wanted the processor for long that was offered at `then`. */
static inline bool search_goes_on(struct cpu *cpu, uint64_t then, uint64_t now)
{
    if (now - then < RT_OFFER_TAKEN) {
        return true;
    }
    bool soon = now - cpu->search_from < RT_PAUSE_SOON;
    uint64_t pause = soon ? 2 * cpu->search_pause : RT_PAUSE_LEAST;
    cpu->search_pause = pause < RT_PAUSE_MOST ? pause : RT_PAUSE_MOST;
    cpu->search_from = now + cpu->search_pause;
    return false;
}
#else
static inline bool search_pays(const struct cpu *cpu, uint64_t now)
{
    (void)cpu;
    (void)now;
    return true;
}

static inline bool search_offers(uint64_t since, uint64_t now, bool io)
{
    (void)since;
    (void)now;
    (void)io;
    return false;
}

static inline bool search_goes_on(struct cpu *cpu, uint64_t then, uint64_t now)
{
    (void)cpu;
    (void)then;
    (void)now;
    return true;
}
#endif

#endif
