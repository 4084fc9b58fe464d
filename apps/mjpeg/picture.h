/* SPDX-License-Identifier: MIT
 *
 * A picture on its way through the decoder, cut into slices that are decoded
 * side by side. There are --inflight of these; they circulate between the demux
 * and the LIBU stage.
 *
 * Invariants:
 *  1. A slice is a range of MCUs. Blocks are stored in MCU order, so each slice has
 *     its own part of `coefficients` and `samples` and no two threads share one.
 *  2. A slice starts at a restart interval, or it is `chained`: its VLD goes on where
 *     that of the slice before stopped, and waits for it.
 *  3. A slice that failed is not touched by the later stages.
 *
 * Locks: `error_lock` guards `error`. All else is passed on from stage to stage by
 * semaphores and FIFOs, never shared.
 */
#ifndef APPS_MJPEG_PICTURE_H
#define APPS_MJPEG_PICTURE_H

#include "jpeg.h"

#include <pthread.h>
#include <semaphore.h>

enum { PICTURE_MAX_SLICES = 256 };

enum stage { STAGE_VLD, STAGE_IQ, STAGE_IDCT, STAGES };

/* The state of the variable-length decoder between two MCUs. */
struct vld {
    struct bitreader reader;
    int dc[JPEG_MAX_COMPONENTS]; /* predictors */
};

struct picture;
struct slice;

/* One stage of one slice: the work of a short-lived thread. */
struct task {
    struct slice *slice;
    enum stage stage;
    pthread_t thread;
    sem_t done; /* posted for the next stage; graph "tasks" only */
};

struct slice {
    struct picture *picture;
    int mcu_begin, mcu_end;
    bool chained;
    bool failed;    /* written by VLD, and then read by the stages after it */
    struct vld vld; /* after the last MCU; read by the next slice once `turn` was posted */
    sem_t turn;     /* of this slice's VLD, if it is chained */
    struct task tasks[STAGES];
};

struct picture {
    long number; /* from 0, over all repeats */
    const struct stream *stream;
    struct jpeg jpeg;
    int16_t *coefficients; /* BLOCK per block; zigzag order until IQ, then by rows */
    uint8_t *samples;      /* BLOCK per block */
    size_t blocks_allocated;
    int nslices;
    struct slice *slices;
    sem_t finished; /* one post per slice that went through all stages */
    pthread_mutex_t error_lock;
    struct jpeg_error error;
};

struct picture *picture_create(const struct stream *stream, int max_slices);
void picture_destroy(struct picture *picture, int max_slices);

/* After the headers were read: gets memory and plans at most max_slices slices. */
void picture_prepare(struct picture *picture, int max_slices);

/* Keeps the fault that comes first in the stream, whichever thread finds it first,
 * so that a message does not depend on the schedule. */
void picture_fail(struct picture *picture, const struct jpeg_error *error);

/* Runs one stage of a slice. VLD of a chained slice waits for its turn. */
void slice_run(struct slice *slice, enum stage stage);

/* The three stages. VLD returns false and fills `error` if the data is bad. */
bool vld_decode(struct slice *slice, struct jpeg_error *error);
void iq_dequantize(struct slice *slice);
void idct_transform(struct slice *slice);
void idct_block(const int16_t coefficients[BLOCK], uint8_t samples[BLOCK]);

#endif
