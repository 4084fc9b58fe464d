/* SPDX-License-Identifier: MIT
 *
 * The two persistent threads at the ends of the pipeline (see pipeline.h).
 *
 *   free ─→ demux ──→ order ──→ LIBU ─→ free
 *             └─ submit ─→ slices ─┘
 *
 * Invariants:
 *  1. A picture is in `free`, with demux, in `order` or with LIBU; `order` holds the
 *     pictures as they come in the stream and NULL behind the last.
 *  2. A picture with error.set when it enters `order` was not submitted.
 *  3. After a fault LIBU goes on taking pictures until NULL, but puts none out;
 *     demux sees `stop` and sends NULL soon.
 */
#include "pipeline.h"

#include "check.h"
#include "checksum.h"
#include "fifo.h"
#include "libu.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct pipeline {
    const struct stream *stream;
    const struct pipeline_settings *settings;
    struct pipeline_result *result;
    struct graph_state *graph_state;
    struct fifo free, order;
    atomic_bool stop; /* LIBU → demux; relaxed: only a hint to stop early */
    uint8_t *frame;
    size_t frame_allocated;
};

/* Streams that were cut out of a container may have zeros between the pictures. */
static size_t skip_zeros(const struct stream *stream, size_t offset)
{
    while (offset < stream->size && stream->data[offset] == 0)
        offset++;
    return offset;
}

/* Reads one picture's headers and sets it off; then LIBU may wait for it. */
static bool demux_picture(struct pipeline *p, long number, size_t *offset)
{
    const struct pipeline_settings *settings = p->settings;
    struct picture *picture = fifo_pop(&p->free);
    bool good;

    picture->number = number;
    picture->error.set = false;
    good = jpeg_parse(&picture->jpeg, p->stream, offset, &picture->error);
    if (good) {
        picture_prepare(picture, settings->max_slices);
        settings->graph->submit(p->graph_state, picture);
        p->result->threads += settings->graph->threads(settings->max_slices, picture);
    }
    fifo_push(&p->order, picture);
    return good;
}

static void *demux_main(void *arg)
{
    struct pipeline *p = arg;
    const struct pipeline_settings *settings = p->settings;
    size_t offset = 0;
    long number = 0;
    long round = 0;

    for (;;) {
        offset = skip_zeros(p->stream, offset);
        if (offset == p->stream->size && number > 0) {
            if (++round == settings->repeat)
                break;
            offset = skip_zeros(p->stream, 0);
        }
        if (settings->pictures > 0 && number == settings->pictures)
            break;
        if (atomic_load_explicit(&p->stop, memory_order_relaxed))
            break;
        if (!demux_picture(p, number++, &offset))
            break;
    }
    fifo_push(&p->order, NULL);
    return NULL;
}

static void check_write(bool good)
{
    if (!good)
        app_die("cannot write the output: %s", strerror(errno));
}

static void put_frame(struct pipeline *p, const struct picture *picture)
{
    struct pipeline_result *result = p->result;
    size_t bytes = libu_frame_bytes(&picture->jpeg);
    uint64_t sum;

    if (bytes > p->frame_allocated) {
        p->frame = check_alloc(realloc(p->frame, bytes), bytes);
        p->frame_allocated = bytes;
    }
    libu_build(picture, p->frame);
    sum = checksum_bytes(CHECKSUM_SEED, p->frame, bytes);
    if (p->settings->output)
        check_write(fwrite(p->frame, 1, bytes, p->settings->output) == bytes);
    if (p->settings->checksums)
        check_write(fprintf(p->settings->checksums, "frame %ld %016" PRIx64 "\n", picture->number,
                            sum) > 0);
    if (result->pictures++ == 0) {
        result->width = picture->jpeg.width;
        result->height = picture->jpeg.height;
    }
    result->checksum = checksum_word(result->checksum, sum);
}

static void wait_for_slices(struct pipeline *p, struct picture *picture)
{
    for (int i = 0; i < picture->nslices; i++)
        semaphore_wait(&picture->finished);
    p->settings->graph->collect(p->graph_state, picture);
}

static void *libu_main(void *arg)
{
    struct pipeline *p = arg;
    struct jpeg_error *fault = &p->result->error;
    struct picture *picture;

    while ((picture = fifo_pop(&p->order)) != NULL) {
        bool submitted = picture->nslices > 0;

        if (submitted)
            wait_for_slices(p, picture);
        if (!fault->set && picture->error.set) {
            *fault = picture->error;
            atomic_store_explicit(&p->stop, true, memory_order_relaxed);
        }
        if (!fault->set)
            put_frame(p, picture);
        picture->nslices = 0;
        fifo_push(&p->free, picture);
    }
    return NULL;
}

static void open_pipeline(struct pipeline *p)
{
    const struct pipeline_settings *settings = p->settings;

    atomic_init(&p->stop, false);
    fifo_init(&p->free, (size_t)settings->inflight);
    fifo_init(&p->order, (size_t)settings->inflight);
    for (int i = 0; i < settings->inflight; i++)
        fifo_push(&p->free, picture_create(p->stream, settings->max_slices));
    p->graph_state = settings->graph->start(settings->max_slices, settings->inflight);
    p->result->threads = 2 + settings->graph->threads(settings->max_slices, NULL);
}

static void close_pipeline(struct pipeline *p)
{
    p->settings->graph->stop(p->graph_state);
    for (int i = 0; i < p->settings->inflight; i++)
        picture_destroy(fifo_pop(&p->free), p->settings->max_slices);
    fifo_destroy(&p->order);
    fifo_destroy(&p->free);
    free(p->frame);
}

bool pipeline_run(const struct stream *stream, const struct pipeline_settings *settings,
                  struct pipeline_result *result)
{
    struct pipeline p = {.stream = stream, .settings = settings, .result = result};
    pthread_t demux, libu;

    *result = (struct pipeline_result){.checksum = CHECKSUM_SEED};
    open_pipeline(&p);
    thread_start(&demux, demux_main, &p);
    thread_start(&libu, libu_main, &p);
    thread_join(demux);
    thread_join(libu);
    close_pipeline(&p);
    return !result->error.set;
}
