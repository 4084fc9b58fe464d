/* SPDX-License-Identifier: MIT */
/*
 * caches.h - a model of the caches of a multiprocessor: how long an access takes, where it finds
 * its line, and what it does to the copies of others. It knows addresses, cores and time, and
 * nothing of threads: sim_timed.c gives it the accesses of a simulated program.
 *
 * Model. Each core has a first level (L1), and a second one (L2) where the topology has it. The
 * cores of a node share a last level (LLC), which includes whatever its cores have: a line that
 * leaves the LLC leaves them, too. The L2 is neither inclusive nor exclusive of the L1. All are
 * set-associative and replace the line that was used least recently. Coherence is MESI, on two
 * storeys: a core's copy is Modified, Exclusive or Shared among the cores of its node, that of an
 * LLC among the nodes. An LLC keeps a bit for each core that may have the line. A clean copy leaves
 * a core silently, so its bit stays; a modified one is written back, and its bit goes.
 *
 * Time. An access takes the latency of its source: nothing overlaps. Write-backs take no time. A
 * bus, which all nodes share, or the memory of a node, transfers one line at a time; who finds it
 * busy waits. The optional prefetcher follows ascending lines within a page (caches_prefetch.c).
 *
 * Not modelled: instructions, translation (TLB), store buffers, out-of-order execution, two
 * accesses in flight, replacement other than LRU, the time of a snoop that finds nothing.
 */
#ifndef PIRN_CACHES_H
#define PIRN_CACHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CACHES_CORES = 256,
    CACHES_NODES = 32,
    CACHES_LINE = 64,       /* bytes */
    CACHES_PAGE = 64,       /* lines */
    CACHES_NODE_SHIFT = 40, /* a line's number >> this: the node whose memory has it */
};

/* Where an access finds its line. Sources from CACHES_FAR on lie behind the last level. */
enum caches_source {
    CACHES_L1,
    CACHES_L2,
    CACHES_LLC,
    CACHES_CORE, /* another core of the node, which has modified it */
    CACHES_FAR,  /* another node's caches */
    CACHES_MEMORY,
    CACHES_FAR_MEMORY,
    CACHES_SOURCES
};

struct caches_size {
    uint32_t bytes, ways; /* 0: this level does not exist */
};

/* Latencies in picoseconds, of an access that is served there, in all. */
struct caches_latency {
    uint32_t l1, l2, llc;
    uint32_t core_clean;       /* LLC, after asking the one core that might have modified it */
    uint32_t core_modified_l2; /* another core of the node: from its L2, from its L1 */
    uint32_t core_modified_l1;
    uint32_t far_shared, far_exclusive, far_modified; /* another node, by its copy's state */
    uint32_t memory, far_memory;
    uint32_t far_upgrade; /* more, for a write whose line other nodes have, too */
    uint32_t transfer;    /* the bus, or a node's memory, is busy for so long with a line */
};

struct caches_topology {
    const char *name, *help;
    unsigned cores, per_node; /* per_node: cores that share a last level */
    struct caches_size l1, l2, llc;
    struct caches_latency ps;
    bool bus;       /* all nodes share one bus to one memory */
    bool far_clean; /* another node answers for a line that it has not modified; else memory does */
    unsigned wave_ps, mix_ps; /* for the workloads: computing one number of two bytes */
};

/* caches_topologies ends with one whose name is NULL. */
extern const struct caches_topology caches_topologies[];
const struct caches_topology *caches_topology_find(const char *name); /* or NULL */

struct caches_outcome {
    enum caches_source source;
    uint64_t ps;
    uint32_t invalidated; /* copies of other cores that a write ended */
    bool upgrade;         /* a write to a shared line */
    bool snooped;         /* a core of the node was asked, and had not modified the line */
    bool prefetched;      /* the prefetcher had asked for it */
};

struct caches_counts {
    uint64_t from[2][CACHES_SOURCES]; /* reads, writes */
    uint64_t upgrades, invalidated, snoops, prefetched, ps;
};

void caches_count(struct caches_counts *counts, bool write, const struct caches_outcome *outcome);

/* counts += more; counts -= less */
void caches_counts_add(struct caches_counts *counts, const struct caches_counts *more);
void caches_counts_take(struct caches_counts *counts, const struct caches_counts *less);

/* Accesses that were not served at `level` (CACHES_L1, CACHES_L2 or CACHES_LLC) or nearer. */
uint64_t caches_misses(const struct caches_counts *counts, bool write, enum caches_source level);
uint64_t caches_accesses(const struct caches_counts *counts, bool write);

/* What the machine did beside the accesses. */
struct caches_events {
    uint64_t writebacks; /* from a last level to memory */
    uint64_t evicted;    /* copies in cores that left with their line of the last level */
    uint64_t prefetches;
};

struct caches;

/* Bytes of a machine. caches_init: `zeroed` is so much zeroed memory; all caches are empty. */
size_t caches_size(const struct caches_topology *topology);
struct caches *caches_init(void *zeroed, const struct caches_topology *topology, bool prefetch);

/* `core` reads or writes `line` at time `now` (picoseconds; must not fall by core). */
struct caches_outcome caches_access(struct caches *m, unsigned core, uint64_t line, bool write,
                                    uint64_t now);

const struct caches_counts *caches_core(const struct caches *m, unsigned core);
const struct caches_events *caches_events(const struct caches *m);
unsigned caches_node(const struct caches *m, unsigned core);

/* For tests: the state of a copy, 'M', 'E', 'S' or 'I': the core's (L1, else L2), its L1's alone,
 * and that of a node's last level. */
char caches_state(const struct caches *m, unsigned core, uint64_t line);
char caches_state_l1(const struct caches *m, unsigned core, uint64_t line);
char caches_state_llc(const struct caches *m, unsigned node, uint64_t line);

#endif
