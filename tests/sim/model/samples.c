/* SPDX-License-Identifier: MIT */
/*
 * samples.c - each sample of a run (graph.h), so that slow and fast ones can be compared.
 */
#include <stdlib.h>

#include "graph.h"
#include "sim.h"

static struct {
    struct sample *until; /* sums; the first one ends the last sample that is not measured */
    size_t n, room;
} samples;

void samples_begin(void)
{
    samples.n = 0;
}

void samples_note(const struct sample *until)
{
    if (samples.n == samples.room) {
        samples.room = samples.room == 0 ? 256 : 2 * samples.room;
        samples.until = realloc(samples.until, samples.room * sizeof(*samples.until));
        if (samples.until == NULL) {
            abort();
        }
    }
    samples.until[samples.n++] = *until;
}

size_t samples_number(void)
{
    return samples.n != 0 ? samples.n - 1 : 0;
}

void samples_get(size_t i, struct sample *sample)
{
    *sample = samples.until[i + 1];
    usage_take(&sample->used, &samples.until[i].used);
    counters_take(&sample->counters, &samples.until[i].counters);
}
