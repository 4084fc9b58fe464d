/* SPDX-License-Identifier: MIT */
/*
 * search.h - whether a CPU without a thread searches for one, and goes on searching (run.c).
 *
 * A search keeps a processor busy that other programs may want. So the processor is offered to them
 * (sched_yield): at once while threads wait for descriptors, because the other end may be a program
 * that waits for a processor; otherwise after some time, because an offer takes about as long as
 * the expected wait. If they keep it for long, searching does not pay: the CPU sleeps, and does not
 * search at all for a while, twice as long each time that this happens again soon.
 *
 * A search also costs CPU time, for nothing if work comes after its end. Threads that wake up by a
 * period would pay for it each time. So after a wait that was too long for any search, the CPU
 * searches for a quarter of the time, then less, and at last not at all. After a short wait, which
 * the whole search would have covered, it searches for twice as long. If more than two thirds of
 * the waits are short, it searches for the whole time.
 *
 * On ports whose cores are the runtime's alone (no PORT_CPU_SHARED) nothing is offered.
 */
#ifndef PIRN_CORE_SEARCH_H
#define PIRN_CORE_SEARCH_H

#include "cpu.h"
#include "runtime.h"

/* Rounds of a search from one look at descriptors, and one offer of the processor, to the next. */
#define ROUNDS_TO_OFFER 8u

#ifdef PORT_CPU_SHARED

/* In nanoseconds. AFTER: a search offers its processor after so long. TAKEN: an offer that lasts so
 * long was taken. PAUSE: then the CPU does not search for LEAST to MOST; twice as long if it was
 * taken again within SOON after the pause. */
#ifdef PIRN_SIM /* sim_timed.c has the values */
#define RT_OFFER_AFTER sim_search->offer_after
#define RT_OFFER_TAKEN sim_search->offer_taken
#define RT_PAUSE_LEAST sim_search->pause_least
#define RT_PAUSE_SOON sim_search->pause_soon
#define RT_PAUSE_MOST sim_search->pause_most
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

/* The whole time, halved so often, is no search any more. */
#define RT_SEARCH_CUTS 5u

/* How long a search lasts. */
static inline uint64_t search_lasts(const struct cpu *cpu)
{
    return cpu->search_cut < RT_SEARCH_CUTS ? rt.spin_ns >> cpu->search_cut : 0;
}

/* Called after a search and a sleep, which took `waited` together. Half a search more is for the
 * time that waking up takes. */
static inline void search_slept(struct cpu *cpu, uint64_t waited)
{
    if (waited < rt.spin_ns + rt.spin_ns / 2) {
        cpu->search_cut -= cpu->search_cut != 0;
    } else {
        cpu->search_cut =
            cpu->search_cut + 2 < RT_SEARCH_CUTS ? cpu->search_cut + 2 : RT_SEARCH_CUTS;
    }
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

/* Called after an offer that began at `then`. False: it was taken; the CPU sleeps. */
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

static inline uint64_t search_lasts(const struct cpu *cpu)
{
    (void)cpu;
    return rt.spin_ns;
}

static inline void search_slept(struct cpu *cpu, uint64_t waited)
{
    (void)cpu;
    (void)waited;
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
