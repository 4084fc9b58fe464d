/* SPDX-License-Identifier: MIT */
/*
 * topologies.c - the machines of the cache model, and where their numbers come from. The page
 * docs/internals/model.md has the same table in words.
 *
 * i7: D. Hackenberg, D. Molka, W. E. Nagel, "Comparing Cache Architectures and Coherency Protocols
 * on x86-64 Multicore SMP Systems", MICRO 2009: Nehalem's read latencies, as the thesis on task
 * affinity (docs/STATUS.md) tables them; 38 cycles are 13.0 ns there, so 2.93 GHz. One node; so the
 * figures for other nodes are not used. Transfers: two channels of DDR3-1333, 21.3 GB/s.
 *
 * xeon: sizes and bus as the thesis has them; 24 ways of the L2, and its 15 cycles: X-bit labs,
 * Core 2 Extreme QX9650, 2007. L1 3 cycles and memory 120 ns: AnandTech, Xeon 5345 with FB-DIMMs,
 * 2006. The bus carries 64 bytes in 6 ns at 1333 MT/s. Assumed, for want of published figures: a
 * line that the other core of the pair has modified takes an L2 access and an L1 access on either
 * side, 12 ns; from the other die it takes as long as from memory, because it passes the bus and
 * is written back there; an invalidation over the bus takes half of that. The chipset has no
 * copies of clean lines, so memory answers for them. Taken as inclusive, which the L2 of this
 * processor is not strictly.
 *
 * numa64: no real machine. Eight of i7's dies with eight cores and 16 MB each; other nodes by
 * MICRO 2009's figures for the other socket. An invalidation there takes as long as reading a
 * shared line. All nodes are equally far. numa256: the same with 32 dies.
 *
 * wave_ps, mix_ps: time by number of two bytes of the wave/mixer benchmark, after the serial runs
 * with 64 KB in Tables 4.3 and 4.4 of the thesis, rounded down.
 */
#include <string.h>

#include "caches.h"

#define KB 1024u
#define MB (1024u * KB)

#define NEHALEM                                                                                    \
    {                                                                                              \
        .l1 = 1300, .l2 = 3400, .llc = 13000, .core_clean = 22200, .core_modified_l2 = 25500,      \
        .core_modified_l1 = 28300, .far_shared = 58000, .far_exclusive = 63000,                    \
        .far_modified = 106000, .memory = 65000, .far_memory = 106000, .far_upgrade = 58000,       \
        .transfer = 3000                                                                           \
    }

/* A machine of so many nodes with 8 cores each. */
#define NODES_OF_8(title, text, nodes)                                                             \
    {                                                                                              \
        .name = (title), .help = (text), .cores = 8 * (nodes), .per_node = 8, .l1 = {32 * KB, 8},  \
        .l2 = {256 * KB, 8}, .llc = {16 * MB, 16}, .ps = NEHALEM, .far_clean = true,               \
        .wave_ps = 7500, .mix_ps = 8500                                                            \
    }

const struct caches_topology caches_topologies[] = {
    {.name = "xeon",
     .help = "4 cores, pairs share 6 MB of L2, two dies on a bus (Xeon E5440)",
     .cores = 4,
     .per_node = 2,
     .l1 = {32 * KB, 8},
     .llc = {6 * MB, 24},
     .ps = {.l1 = 1100,
            .llc = 5300,
            .core_clean = 5300,
            .core_modified_l1 = 12000,
            .far_shared = 120000,
            .far_exclusive = 120000,
            .far_modified = 120000,
            .memory = 120000,
            .far_memory = 120000,
            .far_upgrade = 60000,
            .transfer = 6000},
     .bus = true,
     .wave_ps = 3500,
     .mix_ps = 7500},
    {.name = "i7",
     .help = "4 cores with 256 KB of L2 each, 8 MB of L3 (Core i7 870)",
     .cores = 4,
     .per_node = 4,
     .l1 = {32 * KB, 8},
     .l2 = {256 * KB, 8},
     .llc = {8 * MB, 16},
     .ps = NEHALEM,
     .wave_ps = 7500,
     .mix_ps = 8500},
    NODES_OF_8("numa64", "64 cores on 8 nodes with 16 MB of L3 each", 8),
    NODES_OF_8("numa256", "256 cores on 32 nodes, otherwise the same", 32),
    {0}};

const struct caches_topology *caches_topology_find(const char *name)
{
    for (const struct caches_topology *t = caches_topologies; t->name != NULL; t++) {
        if (strcmp(t->name, name) == 0) {
            return t;
        }
    }
    return NULL;
}
