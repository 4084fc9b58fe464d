/* SPDX-License-Identifier: MIT
 *
 * The workload of wavemix without its threads: a graph of seven nodes, and what each node computes.
 * A simulator can run it as well as the program. So nothing here knows threads or options.
 *
 *     wave0 ─┐
 *            ├─→ mixer0 ─┐
 *     wave1 ─┘           │
 *                        ├─→ mixer2
 *     wave2 ─┐           │
 *            ├─→ mixer1 ─┘
 *     wave3 ─┘
 *
 * A sample is one pass through the graph: each wave fills its buffer with 16-bit values, each mixer
 * mixes the buffers of its two inputs into its own. The output is the buffer of mixer2.
 *
 * Invariants:
 *  1. Node i writes the whole of buffer i and nothing else. It reads the whole of its inputs'
 *     buffers and nothing else.
 *  2. A node comes behind its inputs in the table, and is the input of one other node at most.
 *  3. Values depend on the node, the sample's number and the buffers' size alone: neither on
 *     `work`, nor on the schedule, nor on the machine (the arithmetic is in integers).
 */
#ifndef APPS_WAVEMIX_WAVES_H
#define APPS_WAVEMIX_WAVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WAVE_COUNT = 4, /* nodes 0 to 3 */
    NODE_COUNT = 7,
    NODE_INPUTS = 2,
    NODE_LAST = NODE_COUNT - 1, /* its buffer is the output */
    WAVES_ALIGNMENT = 64,       /* of each buffer, in bytes */
};

struct wave_node {
    const char *name;
    size_t input_count;         /* 0: a wave */
    size_t inputs[NODE_INPUTS]; /* nodes */
    size_t cpu;                 /* where --pin puts it, counted from 1 */
};

extern const struct wave_node wave_nodes[NODE_COUNT];

struct waves {
    int16_t *buffers[NODE_COUNT]; /* each belongs to the node of the same number */
    size_t count;                 /* values in a buffer */
    long work;                    /* times that a node computes its buffer for one sample */
};

/* The memory that buffers of `bytes` bytes (even) need. */
size_t waves_size(size_t bytes);

/* Lays the buffers out in `memory`, which is aligned, and belongs to the caller. */
void waves_init(struct waves *waves, void *memory, size_t bytes, long work);

/* Computes the buffer of one node for one sample. The caller takes care that the inputs have that
 * sample, and that nobody reads the node's buffer any more. */
void waves_compute(const struct waves *waves, size_t node, uint64_t sample);

/* Continues `sum`, which begins as CHECKSUM_SEED, with the output buffer. */
uint64_t waves_checksum(const struct waves *waves, uint64_t sum);

/* The checksum of samples 0 to samples - 1, computed node after node. Overwrites the buffers. */
uint64_t waves_reference(const struct waves *waves, uint64_t samples);

#endif
