/* SPDX-License-Identifier: MIT
 *
 * Graph "stages" (see graph.h): --slices pipelines of three persistent threads each.
 * Lane i takes slice i of every picture that has one.
 *
 *   submit → [fifo] → VLD → [fifo] → IQ → [fifo] → IDCT → finished
 *
 * Every pipeline sees the pictures in the same order, so the wait of a chained slice
 * for the pipeline before it cannot become a circle.
 */
#include "graph.h"

#include "check.h"
#include "fifo.h"

#include <stdlib.h>

struct pipeline_stage {
    enum stage stage;
    struct fifo in;              /* of struct slice *; NULL ends the thread */
    struct pipeline_stage *next; /* NULL behind IDCT */
    pthread_t thread;
};

struct graph_state {
    int nlanes;
    struct pipeline_stage (*pipelines)[STAGES];
};

static void *pipeline_main(void *arg)
{
    struct pipeline_stage *self = arg;
    struct slice *slice;

    do {
        slice = fifo_pop(&self->in);
        if (slice)
            slice_run(slice, self->stage);
        if (self->next)
            fifo_push(&self->next->in, slice);
        else if (slice)
            semaphore_post(&slice->picture->finished);
    } while (slice);
    return NULL;
}

static struct graph_state *start(int max_slices, int depth)
{
    struct graph_state *state = array_alloc(1, sizeof *state);

    state->nlanes = max_slices;
    state->pipelines = array_alloc((size_t)max_slices, sizeof *state->pipelines);
    for (int i = 0; i < max_slices; i++) {
        struct pipeline_stage *pipeline = state->pipelines[i];

        for (int stage = 0; stage < STAGES; stage++) {
            pipeline[stage].stage = (enum stage)stage;
            pipeline[stage].next = stage + 1 < STAGES ? &pipeline[stage + 1] : NULL;
            fifo_init(&pipeline[stage].in, (size_t)depth);
        }
        for (int stage = 0; stage < STAGES; stage++)
            thread_start(&pipeline[stage].thread, pipeline_main, &pipeline[stage]);
    }
    return state;
}

static void submit(struct graph_state *state, struct picture *picture)
{
    for (int i = 0; i < picture->nslices; i++)
        fifo_push(&state->pipelines[i][STAGE_VLD].in, &picture->slices[i]);
}

static void collect(struct graph_state *state, struct picture *picture)
{
    (void)state;
    (void)picture;
}

static void stop(struct graph_state *state)
{
    for (int i = 0; i < state->nlanes; i++)
        fifo_push(&state->pipelines[i][STAGE_VLD].in, NULL);
    for (int i = 0; i < state->nlanes; i++)
        for (int stage = 0; stage < STAGES; stage++) {
            thread_join(state->pipelines[i][stage].thread);
            fifo_destroy(&state->pipelines[i][stage].in);
        }
    free(state->pipelines);
    free(state);
}

static long threads(int max_slices, const struct picture *picture)
{
    return picture ? 0 : (long)max_slices * STAGES;
}

const struct graph graph_stages = {"stages", start, submit, collect, stop, threads};
