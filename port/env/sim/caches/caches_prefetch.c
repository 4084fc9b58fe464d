/* SPDX-License-Identifier: MIT */
/*
 * caches_prefetch.c - the optional prefetcher: it asks for the next line.
 *
 * A core follows up to STREAMS runs of ascending lines. Two misses of the L1 in neighbouring lines
 * are a run; the miss in the second one, and in each after it, asks for the line behind, within the
 * page. That comes into the L2, or, without one, the LLC, with the rights that the run needs (to
 * read or to write), as an access of the core would bring it. The program pays for the part of that
 * time which has not passed when it comes to the line. So a run takes the longer of the latency and
 * the program's own time for a line, and not their sum.
 */
#include "caches_internal.h"

static struct stream *stream_of(struct core *c, uint64_t line)
{
    for (unsigned i = 0; i < STREAMS; i++) {
        if (c->streams[i].used != 0 && c->streams[i].next == line) {
            return &c->streams[i];
        }
    }
    return NULL;
}

uint64_t prefetch_ready(struct caches *m, unsigned core, uint64_t line)
{
    struct stream *s = stream_of(&m->cores[core], line);
    return s != NULL && s->fetched ? s->ready : 0;
}

static struct stream *stream_oldest(struct core *c)
{
    struct stream *oldest = c->streams;
    for (unsigned i = 1; i < STREAMS; i++) {
        oldest = c->streams[i].used < oldest->used ? &c->streams[i] : oldest;
    }
    return oldest;
}

void prefetch_follow(struct caches *m, unsigned core, uint64_t line, bool write, uint64_t now)
{
    struct core *c = &m->cores[core];
    struct stream *s = stream_of(c, line);
    bool run = s != NULL, page_ends = (line + 1) % CACHES_PAGE == 0;
    s = run ? s : stream_oldest(c);
    *s = (struct stream){.next = line + 1, .used = now + 1};
    if (!run || page_ends || cache_find(&c->l1, line + 1) != NULL ||
        cache_find(&c->l2, line + 1) != NULL) {
        return;
    }
    struct caches_outcome out = {0};
    caches_fetch(m, core, line + 1, write, false, now, &out);
    s->fetched = true;
    s->ready = now + out.ps;
    m->events.prefetches++;
}
