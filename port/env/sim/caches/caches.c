/* SPDX-License-Identifier: MIT */
/*
 * caches.c - the machine of caches.h: an access, level by level, and coherence.
 *
 * Invariants:
 *   1. Inclusion: a line in a core's L1 or L2 is in its node's LLC, with the core's bit set.
 *   2. A line that one cache of a storey has Modified or Exclusive is in no other of that storey.
 *      Storeys: the cores of a node; the LLCs.
 *   3. A core's line may be Exclusive or Modified only if its LLC's is; and a modified one makes
 *      its LLC's Modified at once.
 *   4. Where a line is in the L1 and in the L2 of a core, the L1's state is the one that counts.
 */
#include <stdlib.h>

#include "caches_internal.h"

/* ---- one core ---- */

static struct entry *private_find(struct core *c, uint64_t line)
{
    struct entry *e = cache_find(&c->l1, line);
    return e != NULL ? e : cache_find(&c->l2, line);
}

static void invalidate(struct entry *e)
{
    if (e != NULL) {
        e->state = LINE_INVALID;
    }
}

/* True if the core had a copy. */
static bool core_drop(struct core *c, uint64_t line)
{
    bool had = private_find(c, line) != NULL;
    invalidate(cache_find(&c->l1, line));
    invalidate(cache_find(&c->l2, line));
    return had;
}

static void core_set_state(struct core *c, uint64_t line, enum line_state state)
{
    struct cache *const levels[] = {&c->l1, &c->l2};
    for (unsigned i = 0; i < 2; i++) {
        struct entry *e = cache_find(levels[i], line);
        if (e != NULL) {
            e->state = state;
        }
    }
}

/* ---- evictions ---- */

static struct cache *llc_of(struct caches *m, unsigned core)
{
    return &m->llc[caches_node(m, core)];
}

/* In the LLC of its node. */
static uint64_t bit_of(const struct caches *m, unsigned core)
{
    return 1ull << core % m->topology->per_node;
}

/* The number of the core that the lowest bit stands for. */
static unsigned core_of(const struct caches *m, unsigned node, uint64_t bits)
{
    return node * m->topology->per_node + (unsigned)__builtin_ctzll(bits);
}

/* A modified line leaves its core: the LLC has it, and knows that the core has not. */
static void core_writes_back(struct caches *m, unsigned core, uint64_t line)
{
    struct entry *e = cache_find(llc_of(m, core), line);
    if (e == NULL) {
        abort(); /* invariant 1 */
    }
    e->state = LINE_MODIFIED;
    e->cores &= ~bit_of(m, core);
}

static void l2_put(struct caches *m, unsigned core, uint64_t line, enum line_state state)
{
    struct core *c = &m->cores[core];
    struct entry *e = cache_find(&c->l2, line);
    if (e == NULL) {
        e = cache_room(&c->l2, line);
        if (e->state == LINE_MODIFIED && cache_find(&c->l1, e->line) == NULL) {
            core_writes_back(m, core, e->line);
        }
    }
    cache_fill(&c->l2, e, line, state);
}

static void l1_put(struct caches *m, unsigned core, uint64_t line, enum line_state state)
{
    struct core *c = &m->cores[core];
    struct entry *e = cache_room(&c->l1, line);
    struct entry old = *e;
    cache_fill(&c->l1, e, line, state);
    if (old.state != LINE_MODIFIED) {
        return;
    }
    if (c->l2.entries != NULL) {
        l2_put(m, core, old.line, LINE_MODIFIED);
    } else {
        core_writes_back(m, core, old.line);
    }
}

/* A line leaves a node's LLC, and so all of its cores. Returns how many had it. */
static unsigned llc_drop(struct caches *m, unsigned node, struct entry *e)
{
    unsigned copies = 0;
    for (uint64_t left = e->cores; left != 0; left &= left - 1) {
        copies += core_drop(&m->cores[core_of(m, node, left)], e->line);
    }
    e->state = LINE_INVALID;
    return copies;
}

static struct entry *llc_put(struct caches *m, unsigned core, uint64_t line, enum line_state state)
{
    struct cache *llc = llc_of(m, core);
    struct entry *e = cache_room(llc, line);
    if (e->state != LINE_INVALID) {
        m->events.writebacks += e->state == LINE_MODIFIED;
        m->events.evicted += llc_drop(m, caches_node(m, core), e);
    }
    cache_fill(llc, e, line, state);
    return e;
}

/* ---- other nodes ---- */

/* The line in another node's LLC, by its strongest state. */
static enum line_state far_state(struct caches *m, unsigned core, uint64_t line)
{
    enum line_state strongest = LINE_INVALID;
    for (unsigned n = 0; n < m->nodes; n++) {
        struct entry *e = &m->llc[n] != llc_of(m, core) ? cache_find(&m->llc[n], line) : NULL;
        if (e != NULL && e->state > strongest) {
            strongest = e->state;
        }
    }
    return strongest;
}

/* A read makes the copies of other nodes Shared, a write ends them. Returns how many a write ended:
 * those of cores, and those of LLCs whose cores have none. */
static unsigned far_yield(struct caches *m, unsigned core, uint64_t line, bool write)
{
    unsigned ended = 0;
    for (unsigned n = 0; n < m->nodes; n++) {
        struct entry *e = &m->llc[n] != llc_of(m, core) ? cache_find(&m->llc[n], line) : NULL;
        if (e == NULL) {
            continue;
        }
        m->events.writebacks += e->state == LINE_MODIFIED;
        if (write) {
            unsigned copies = llc_drop(m, n, e);
            ended += copies != 0 ? copies : 1;
            continue;
        }
        e->state = LINE_SHARED;
        for (uint64_t left = e->cores; left != 0; left &= left - 1) {
            core_set_state(&m->cores[core_of(m, n, left)], line, LINE_SHARED);
        }
    }
    return ended;
}

/* ---- the last level ---- */

/* Wait for the bus or the memory, and keep it busy. */
static uint64_t transfer(struct caches *m, unsigned home, uint64_t now)
{
    uint64_t *busy = &m->busy_until[m->topology->bus ? 0 : home];
    uint64_t wait = *busy > now ? *busy - now : 0;
    *busy = now + wait + m->topology->ps.transfer;
    return wait;
}

static void llc_miss(struct caches *m, unsigned core, uint64_t line, bool write, uint64_t now,
                     struct caches_outcome *out)
{
    const struct caches_topology *t = m->topology;
    enum line_state far = far_state(m, core, line);
    unsigned home = (unsigned)(line >> CACHES_NODE_SHIFT) % m->nodes;
    bool near_memory = t->bus || home == caches_node(m, core);
    if (far == LINE_MODIFIED || (far != LINE_INVALID && t->far_clean)) {
        out->source = CACHES_FAR;
        out->ps += far == LINE_MODIFIED    ? t->ps.far_modified
                   : far == LINE_EXCLUSIVE ? t->ps.far_exclusive
                                           : t->ps.far_shared;
    } else {
        out->source = near_memory ? CACHES_MEMORY : CACHES_FAR_MEMORY;
        out->ps += near_memory ? t->ps.memory : t->ps.far_memory;
    }
    if (t->bus || out->source != CACHES_FAR) {
        out->ps += transfer(m, home, now);
    }
    out->invalidated += far_yield(m, core, line, write);
    llc_put(m, core, line,
            write                 ? LINE_MODIFIED
            : far == LINE_INVALID ? LINE_EXCLUSIVE
                                  : LINE_SHARED);
}

/* The one core that may have the line Exclusive or Modified, other than `core`; or -1. */
static int llc_owner(const struct caches *m, const struct entry *e, unsigned core)
{
    bool one = e->cores != 0 && (e->cores & (e->cores - 1)) == 0;
    bool other = one && e->cores != bit_of(m, core);
    return other && e->state != LINE_SHARED ? (int)core_of(m, caches_node(m, core), e->cores) : -1;
}

/* It is asked for its state, and has the line Shared afterwards. */
static void owner_snoop(struct caches *m, struct entry *e, unsigned owner,
                        struct caches_outcome *out)
{
    struct core *c = &m->cores[owner];
    const struct caches_latency *ps = &m->topology->ps;
    struct entry *own = private_find(c, e->line);
    if (own != NULL && own->state == LINE_MODIFIED) {
        bool in_l1 = cache_find(&c->l1, e->line) != NULL;
        out->source = CACHES_CORE;
        out->ps += in_l1 ? ps->core_modified_l1 : ps->core_modified_l2;
    } else {
        out->snooped = true;
        out->ps += ps->core_clean;
    }
    if (own == NULL) {
        e->cores &= ~bit_of(m, owner);
    }
    core_set_state(c, e->line, LINE_SHARED);
}

static void llc_hit(struct caches *m, unsigned core, struct entry *e, struct caches_outcome *out)
{
    int owner = llc_owner(m, e, core);
    out->source = CACHES_LLC;
    if (owner >= 0) {
        owner_snoop(m, e, (unsigned)owner, out);
    } else {
        out->ps += m->topology->ps.llc;
    }
    cache_touch(llc_of(m, core), e);
}

/* The copies of others end: `core` is about to write. */
static void make_alone(struct caches *m, unsigned core, struct entry *e, struct caches_outcome *out)
{
    for (uint64_t left = e->cores & ~bit_of(m, core); left != 0; left &= left - 1) {
        out->invalidated += core_drop(&m->cores[core_of(m, caches_node(m, core), left)], e->line);
    }
    if (e->state == LINE_SHARED && far_state(m, core, e->line) != LINE_INVALID) {
        out->ps += m->topology->ps.far_upgrade;
        out->invalidated += far_yield(m, core, e->line, true);
    }
    e->cores &= bit_of(m, core);
    e->state = LINE_MODIFIED;
}

void caches_fetch(struct caches *m, unsigned core, uint64_t line, bool write, bool l1, uint64_t now,
                  struct caches_outcome *out)
{
    struct cache *llc = llc_of(m, core);
    struct entry *e = cache_find(llc, line);
    if (e != NULL) {
        llc_hit(m, core, e, out);
        if (write) {
            make_alone(m, core, e, out);
        }
    } else {
        llc_miss(m, core, line, write, now, out);
        e = cache_find(llc, line);
    }
    bool alone = (e->cores & ~bit_of(m, core)) == 0 && e->state != LINE_SHARED;
    enum line_state state = write ? LINE_MODIFIED : alone ? LINE_EXCLUSIVE : LINE_SHARED;
    bool l2 = m->cores[core].l2.entries != NULL;
    if (l1 || l2) {
        e->cores |= bit_of(m, core);
    }
    if (l2) {
        l2_put(m, core, line, state);
    }
    if (l1) {
        l1_put(m, core, line, state);
    }
}

/* ---- an access ---- */

/* The core has the line in `state`, and writes to it. */
static void write_own(struct caches *m, unsigned core, uint64_t line, enum line_state state,
                      struct caches_outcome *out)
{
    if (state == LINE_MODIFIED) {
        return;
    }
    struct entry *e = cache_find(llc_of(m, core), line);
    if (e == NULL) {
        abort(); /* invariant 1 */
    }
    if (state == LINE_SHARED) {
        out->upgrade = true;
        out->ps += m->topology->ps.llc;
        make_alone(m, core, e, out);
    }
    e->state = LINE_MODIFIED;
    core_set_state(&m->cores[core], line, LINE_MODIFIED);
}

static void l1_miss(struct caches *m, unsigned core, uint64_t line, bool write, uint64_t now,
                    struct caches_outcome *out)
{
    struct core *c = &m->cores[core];
    uint64_t ready = m->prefetch ? prefetch_ready(m, core, line) : 0;
    struct entry *e = cache_find(&c->l2, line);
    out->prefetched = ready != 0;
    out->ps = ready > now ? ready - now : 0;
    if (e != NULL) {
        enum line_state state = e->state;
        out->source = CACHES_L2;
        out->ps += m->topology->ps.l2;
        cache_touch(&c->l2, e);
        l1_put(m, core, line, state);
        if (write) {
            write_own(m, core, line, state, out);
        }
    } else {
        caches_fetch(m, core, line, write, true, now, out);
    }
    if (m->prefetch) {
        prefetch_follow(m, core, line, write, now + out->ps);
    }
}

struct caches_outcome caches_access(struct caches *m, unsigned core, uint64_t line, bool write,
                                    uint64_t now)
{
    struct core *c = &m->cores[core];
    struct caches_outcome out = {.source = CACHES_L1};
    struct entry *e = cache_find(&c->l1, line);
    if (e != NULL) {
        out.ps = m->topology->ps.l1;
        cache_touch(&c->l1, e);
        if (write) {
            write_own(m, core, line, e->state, &out);
        }
    } else {
        l1_miss(m, core, line, write, now, &out);
    }
    caches_count(&c->counts, write, &out);
    return out;
}
