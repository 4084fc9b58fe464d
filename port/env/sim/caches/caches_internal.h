/* SPDX-License-Identifier: MIT */
/*
 * caches_internal.h - shared by the files of the cache model: one cache, and the machine.
 */
#ifndef PIRN_CACHES_INTERNAL_H
#define PIRN_CACHES_INTERNAL_H

#include "caches.h"

/* From weak to strong: a strong one may do all that a weak one may. */
enum line_state { LINE_INVALID, LINE_SHARED, LINE_EXCLUSIVE, LINE_MODIFIED };

struct entry {
    uint64_t line;
    uint64_t used;  /* of the cache's accesses, the last one to this line */
    uint64_t cores; /* LLC: bits of its node that may have a copy */
    enum line_state state;
};

struct cache {
    struct entry *entries; /* NULL: the level does not exist */
    uint32_t sets, ways;
    uint64_t clock;
};

enum { STREAMS = 4 };

/* A core's run of ascending lines: `next` is the line that would go on with it. */
struct stream {
    uint64_t next, ready, used;
    bool fetched; /* `next` was asked for, and arrives at `ready` */
};

struct core {
    struct cache l1, l2;
    struct caches_counts counts;
    struct stream streams[STREAMS];
};

struct caches {
    const struct caches_topology *topology;
    bool prefetch;
    unsigned nodes;
    struct core cores[CACHES_CORES];
    struct cache llc[CACHES_NODES];
    uint64_t busy_until[CACHES_NODES]; /* memory of a node; [0]: the bus */
    struct caches_events events;
};

/* cache_set.c. find: NULL if the line is not there; touch: it is used now; room: the entry that the
 * line is to take, which may hold another line. */
struct entry *cache_find(const struct cache *c, uint64_t line);
void cache_touch(struct cache *c, struct entry *e);
struct entry *cache_room(const struct cache *c, uint64_t line);
void cache_fill(struct cache *c, struct entry *e, uint64_t line, enum line_state state);

/* caches.c: a line that the core does not have comes into its L2 and, if `l1`, its L1. Without L2
 * and L1 it comes into the LLC. */
void caches_fetch(struct caches *m, unsigned core, uint64_t line, bool write, bool l1, uint64_t now,
                  struct caches_outcome *out);

/* caches_prefetch.c: before a miss in the L1 is served: the time by which the line arrives, 0 if
 * the prefetcher has not asked for it; and after it. */
uint64_t prefetch_ready(struct caches *m, unsigned core, uint64_t line);
void prefetch_follow(struct caches *m, unsigned core, uint64_t line, bool write, uint64_t now);

#endif
