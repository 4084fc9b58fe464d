/* SPDX-License-Identifier: MIT */
/*
 * dump.c - prints a trace, a line for each event: ring's kind and CPU, clock, event's number,
 * small, a, b, ab, text; then "lost N" and "ended 0|1". Exit status 1 and a message on an error in
 * it; a CPU that leaves another thread than the one to which it switched is an error, too.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../../src/trace/ring.h"
#include "common/options.h"
#include "reader.h"

struct state {
    const struct trace_ring *ring;
    uint32_t current;
};

static const char *print(const struct trace_seen *e, void *arg)
{
    struct state *s = arg;
    printf("%u\t%d\t%llu\t%u\t%u\t%u\t%u\t%llu\t%s\n", e->ring->kind, (int)e->ring->cpu,
           (unsigned long long)e->clock, e->event, e->small, e->a, e->b, (unsigned long long)e->ab,
           e->text);
    if (e->ring->kind != TRACE_RING_THREAD) {
        return NULL;
    }
    if (s->ring != e->ring) {
        *s = (struct state){e->ring, e->running};
    }
    if (e->event == TRACE_EV_SWITCH) {
        if (e->b != s->current) {
            return "a CPU leaves another thread than it went to";
        }
        s->current = e->a;
    } else if (e->event == TRACE_EV_CARRY) {
        s->current = e->a;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const struct option_page page = {.summary = "The events of a trace, in words.",
                                     .operand = "FILE"};
    const char *path = options_parse(argc, argv, &page)[0];
    FILE *f = fopen(path, "rb");
    struct state state = {.ring = NULL};
    size_t size = 0, room = 1u << 26;
    char *file = malloc(room);
    if (f == NULL || file == NULL || (size = fread(file, 1, room, f)) == 0) {
        options_refuse("%s: no trace of at most 64 MiB", path);
    }
    uint64_t lost;
    const char *why = trace_read(file, size, print, &state, &lost);
    if (why != NULL) {
        fprintf(stderr, "%s: %s\n", path, why);
        return 1;
    }
    printf("lost %llu\nended %d\n", (unsigned long long)lost,
           (((struct trace_header *)file)->flags & TRACE_ENDED) != 0);
    fclose(f);
    free(file);
    return 0;
}
