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
 * A search also costs CPU time: too much if it lasts longer than falling asleep and waking up
 * would, and all of it for nothing if work comes after its end. So a CPU remembers the lengths of
 * its last waits, in classes that double from one to the next; each wait weighs an eighth less than
 * the one after it. It searches for that time, of the classes' bounds, which would have cost least:
 * a wait that ends within it costs its length, a longer one the whole search and the price of a
 * sleep, a tenth of the option spin. (That the best choice for the past is a good one for the
 * future: Karlin and others, SOSP 1991.) A wait in which the CPU slept has also the time that
 * waking up takes: it counts as shorter by half of spin. So a CPU that does not search, although
 * its waits are short, tries it again. Not if the CPU has slept until its own deadline: how long
 * that wait was is known.
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

/* The weight of one wait; all waits weigh eight times as much at most. SURE: nearly all of that. */
#define RT_SEARCH_ONE 1024u
#define RT_SEARCH_SURE (7 * RT_SEARCH_ONE)

/* How long a search lasts. */
static inline uint64_t search_lasts(const struct cpu *cpu)
{
    return cpu->search_cut < RT_SEARCH_CUTS ? rt.spin_ns >> cpu->search_cut : 0;
}

/* The class of a wait: 0 for the shortest search, RT_SEARCH_CUTS for more than the longest. */
static inline unsigned search_class(uint64_t waited)
{
    unsigned at = 0;
    while (at < RT_SEARCH_CUTS && waited > rt.spin_ns >> (RT_SEARCH_CUTS - 1 - at)) {
        at++;
    }
    return at;
}

/* A wait of that length has ended: chooses how long the next search lasts. */
static inline void search_learn(struct cpu *cpu, uint64_t waited)
{
    uint64_t sleep_cost = rt.spin_ns / 10, found = 0, left = 0, least;
    for (unsigned i = 0; i <= RT_SEARCH_CUTS; i++) {
        cpu->search_waits[i] = (uint16_t)(cpu->search_waits[i] - cpu->search_waits[i] / 8u);
    }
    cpu->search_waits[search_class(waited)] += RT_SEARCH_ONE;
    for (unsigned i = 0; i <= RT_SEARCH_CUTS; i++) {
        left += cpu->search_waits[i];
    }
    cpu->search_cut = RT_SEARCH_CUTS;
    least = left * sleep_cost;
    for (unsigned i = 0; i < RT_SEARCH_CUTS; i++) {
        uint64_t search = rt.spin_ns >> (RT_SEARCH_CUTS - 1 - i), weight = cpu->search_waits[i];
        found += weight * (search - search / 4); /* the middle of the class */
        left -= weight;
        uint64_t cost = found + left * (search + sleep_cost);
        if (cost <= least) {
            least = cost;
            cpu->search_cut = RT_SEARCH_CUTS - 1 - i;
        }
    }
}

/* Called after a search that has found work. If that has always come at once, there is nothing to
 * learn, and the work does not wait for it. */
static inline void search_found(struct cpu *cpu, uint64_t waited)
{
    if (cpu->search_waits[0] < RT_SEARCH_SURE || search_class(waited) != 0) {
        search_learn(cpu, waited);
    }
}

/* Called after a search and a sleep, which took `waited` together. due: from the beginning of the
 * search to the deadline of the CPU's sleep; more than `waited`: something else has ended it. */
static inline void search_slept(struct cpu *cpu, uint64_t waited, uint64_t due)
{
    uint64_t wake = rt.spin_ns / 2, search = search_lasts(cpu);
    uint64_t least = due <= waited ? due : waited > wake ? waited - wake : 0;
    search_learn(cpu, search != 0 && least <= search ? search + 1 : least);
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

static inline void search_found(struct cpu *cpu, uint64_t waited)
{
    (void)cpu;
    (void)waited;
}

static inline void search_slept(struct cpu *cpu, uint64_t waited, uint64_t due)
{
    (void)cpu;
    (void)waited;
    (void)due;
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
