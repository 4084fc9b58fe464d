/* SPDX-License-Identifier: MIT */
/*
 * caches_machine.c - a machine of the cache model: its memory, empty caches, and looking into it.
 */
#include "caches_internal.h"

static size_t lines_of(struct caches_size size)
{
    return size.bytes / CACHES_LINE;
}

static unsigned nodes_of(const struct caches_topology *t)
{
    return (t->cores + t->per_node - 1) / t->per_node;
}

size_t caches_size(const struct caches_topology *t)
{
    size_t lines = t->cores * (lines_of(t->l1) + lines_of(t->l2)) + nodes_of(t) * lines_of(t->llc);
    return sizeof(struct caches) + lines * sizeof(struct entry);
}

static struct entry *cache_init(struct cache *c, struct caches_size size, struct entry *memory)
{
    size_t lines = lines_of(size);
    c->entries = lines != 0 ? memory : NULL;
    c->ways = size.ways;
    c->sets = lines != 0 ? (uint32_t)(lines / size.ways) : 0;
    return memory + lines;
}

struct caches *caches_init(void *zeroed, const struct caches_topology *t, bool prefetch)
{
    struct caches *m = zeroed;
    struct entry *memory = (struct entry *)(m + 1);
    m->topology = t;
    m->prefetch = prefetch;
    m->nodes = nodes_of(t);
    for (unsigned i = 0; i < t->cores; i++) {
        memory = cache_init(&m->cores[i].l1, t->l1, memory);
        memory = cache_init(&m->cores[i].l2, t->l2, memory);
    }
    for (unsigned i = 0; i < m->nodes; i++) {
        memory = cache_init(&m->llc[i], t->llc, memory);
    }
    return m;
}

const struct caches_counts *caches_core(const struct caches *m, unsigned core)
{
    return &m->cores[core].counts;
}

const struct caches_events *caches_events(const struct caches *m)
{
    return &m->events;
}

unsigned caches_node(const struct caches *m, unsigned core)
{
    return core / m->topology->per_node;
}

static char state_letter(const struct entry *e)
{
    return e != NULL ? "ISEM"[e->state] : 'I';
}

char caches_state(const struct caches *m, unsigned core, uint64_t line)
{
    const struct core *c = &m->cores[core];
    const struct entry *e = cache_find(&c->l1, line);
    return state_letter(e != NULL ? e : cache_find(&c->l2, line));
}

char caches_state_l1(const struct caches *m, unsigned core, uint64_t line)
{
    return state_letter(cache_find(&m->cores[core].l1, line));
}

char caches_state_llc(const struct caches *m, unsigned node, uint64_t line)
{
    return state_letter(cache_find(&m->llc[node], line));
}
