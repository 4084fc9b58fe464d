/* SPDX-License-Identifier: MIT
 *
 * Pictures and slices (see picture.h): memory, planning, faults, and the waits and posts of a stage
 * around its own work.
 */
#include "picture.h"

#include "check.h"

#include <stdlib.h>

static void slice_init(struct slice *slice, struct picture *picture)
{
    slice->picture = picture;
    semaphore_init(&slice->turn, 0);
    for (int stage = 0; stage < STAGES; stage++) {
        slice->tasks[stage].slice = slice;
        slice->tasks[stage].stage = (enum stage)stage;
        semaphore_init(&slice->tasks[stage].done, 0);
    }
}

static void slice_fini(struct slice *slice)
{
    for (int stage = 0; stage < STAGES; stage++)
        semaphore_destroy(&slice->tasks[stage].done);
    semaphore_destroy(&slice->turn);
}

struct picture *picture_create(const struct stream *stream, int max_slices)
{
    struct picture *picture = array_alloc(1, sizeof *picture);

    picture->stream = stream;
    picture->slices = array_alloc((size_t)max_slices, sizeof *picture->slices);
    for (int i = 0; i < max_slices; i++)
        slice_init(&picture->slices[i], picture);
    semaphore_init(&picture->finished, 0);
    check_rc(pthread_mutex_init(&picture->error_lock, NULL), "pthread_mutex_init");
    return picture;
}

void picture_destroy(struct picture *picture, int max_slices)
{
    check_rc(pthread_mutex_destroy(&picture->error_lock), "pthread_mutex_destroy");
    semaphore_destroy(&picture->finished);
    for (int i = 0; i < max_slices; i++)
        slice_fini(&picture->slices[i]);
    free(picture->slices);
    free(picture->coefficients);
    free(picture->samples);
    jpeg_free(&picture->jpeg);
    free(picture);
}

static void reserve_blocks(struct picture *picture, size_t blocks)
{
    size_t samples = blocks * BLOCK;

    if (blocks <= picture->blocks_allocated)
        return;
    free(picture->coefficients);
    free(picture->samples);
    picture->coefficients =
        check_alloc(malloc(samples * sizeof(int16_t)), samples * sizeof(int16_t));
    picture->samples = check_alloc(malloc(samples), samples);
    picture->blocks_allocated = blocks;
}

/* Slices begin on a multiple of `unit` MCUs: restart intervals if there are any,
 * else rows of MCUs. The units are dealt out as evenly as they go. */
static void plan_slices(struct picture *picture, int max_slices)
{
    const struct jpeg *jpeg = &picture->jpeg;
    bool restarts = jpeg->nintervals > 1;
    int unit = restarts ? jpeg->mcus_per_interval : jpeg->mcu_columns;
    int units = restarts ? jpeg->nintervals : jpeg->mcu_rows;

    picture->nslices = units < max_slices ? units : max_slices;
    for (int i = 0; i < picture->nslices; i++) {
        struct slice *slice = &picture->slices[i];
        int end = (int)((long)units * (i + 1) / picture->nslices) * unit;

        slice->mcu_begin = (int)((long)units * i / picture->nslices) * unit;
        slice->mcu_end = end < jpeg->mcus ? end : jpeg->mcus;
        slice->chained = !restarts && i > 0;
        slice->failed = false;
    }
}

void picture_prepare(struct picture *picture, int max_slices)
{
    reserve_blocks(picture, (size_t)picture->jpeg.mcus * (size_t)picture->jpeg.blocks_per_mcu);
    plan_slices(picture, max_slices);
}

void picture_fail(struct picture *picture, const struct jpeg_error *error)
{
    check_rc(pthread_mutex_lock(&picture->error_lock), "pthread_mutex_lock");
    if (!picture->error.set || error->offset < picture->error.offset)
        picture->error = *error;
    check_rc(pthread_mutex_unlock(&picture->error_lock), "pthread_mutex_unlock");
}

static void run_vld(struct slice *slice)
{
    struct picture *picture = slice->picture;
    struct jpeg_error error = {.set = false};
    struct slice *next = slice + 1;

    if (slice->chained) {
        semaphore_wait(&slice->turn);
        slice->failed = slice[-1].failed;
        slice->vld = slice[-1].vld;
    }
    if (!slice->failed && !vld_decode(slice, &error)) {
        slice->failed = true;
        picture_fail(picture, &error);
    }
    if (next < picture->slices + picture->nslices && next->chained)
        semaphore_post(&next->turn);
}

void slice_run(struct slice *slice, enum stage stage)
{
    if (stage == STAGE_VLD)
        run_vld(slice);
    else if (slice->failed)
        return;
    else if (stage == STAGE_IQ)
        iq_dequantize(slice);
    else
        idct_transform(slice);
}
