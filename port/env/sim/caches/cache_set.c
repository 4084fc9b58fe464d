/* SPDX-License-Identifier: MIT */
/*
 * cache_set.c - one set-associative cache: finding a line, and the line that gives way (LRU).
 */
#include "caches_internal.h"

static struct entry *set_of(const struct cache *c, uint64_t line)
{
    return c->entries + (size_t)(line & (c->sets - 1)) * c->ways;
}

struct entry *cache_find(const struct cache *c, uint64_t line)
{
    if (c->entries == NULL) {
        return NULL;
    }
    struct entry *set = set_of(c, line);
    for (unsigned i = 0; i < c->ways; i++) {
        if (set[i].line == line && set[i].state != LINE_INVALID) {
            return &set[i];
        }
    }
    return NULL;
}

void cache_touch(struct cache *c, struct entry *e)
{
    e->used = ++c->clock;
}

struct entry *cache_room(const struct cache *c, uint64_t line)
{
    struct entry *set = set_of(c, line), *oldest = set;
    for (unsigned i = 0; i < c->ways; i++) {
        if (set[i].state == LINE_INVALID) {
            return &set[i];
        }
        oldest = set[i].used < oldest->used ? &set[i] : oldest;
    }
    return oldest;
}

void cache_fill(struct cache *c, struct entry *e, uint64_t line, enum line_state state)
{
    *e = (struct entry){.line = line, .state = state};
    cache_touch(c, e);
}
