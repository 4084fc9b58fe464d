/* SPDX-License-Identifier: MIT
 *
 * How the stages VLD, IQ and IDCT of the slices are mapped to threads. Demux and
 * LIBU, the ends of the pipeline, are the same for every graph.
 *
 *  tasks   every (picture, slice, stage) is a thread of its own, created for it
 *          and joined: thousands of short threads
 *  stages  a fixed number of threads, one per stage and slice, linked by
 *          FIFOs, as in the paper's task graph
 */
#ifndef APPS_MJPEG_GRAPH_H
#define APPS_MJPEG_GRAPH_H

#include "picture.h"

/* State that a graph keeps between its calls; NULL if there is none. */
struct graph_state;

struct graph {
    const char *name;
    /* Before the first picture. Returns the state; `depth` bounds the FIFOs. */
    struct graph_state *(*start)(int max_slices, int depth);
    /* Demux thread: start a prepared picture. Each slice ends by posting `finished`. */
    void (*submit)(struct graph_state *state, struct picture *picture);
    /* LIBU thread: after all posts of `finished`, release everything made for the picture. */
    void (*collect)(struct graph_state *state, struct picture *picture);
    /* After the last picture. */
    void (*stop)(struct graph_state *state);
    /* Threads that start() made, and threads that submit() makes for a picture. */
    long (*threads)(int max_slices, const struct picture *picture);
};

extern const struct graph graph_tasks;
extern const struct graph graph_stages;

#endif
