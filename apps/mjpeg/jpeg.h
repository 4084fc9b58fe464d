/* SPDX-License-Identifier: MIT
 *
 * One baseline JPEG picture (ITU-T T.81) as its headers describe it, and how a
 * fault in it is reported. Filled by markers.c, frame.c and scan.c, which run in
 * the demux thread; read-only for every thread that works on the picture later.
 *
 * Invariants after jpeg_parse succeeded:
 *  1. Every table that a component refers to is defined.
 *  2. The intervals cover the MCUs without a gap: interval i holds the MCUs
 *     i*mcus_per_interval … and inside [begin, end) each 0xFF is followed by 0x00.
 */
#ifndef APPS_MJPEG_JPEG_H
#define APPS_MJPEG_JPEG_H

#include "huffman.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    JPEG_MAX_COMPONENTS = 3,
    JPEG_MAX_SIDE = 8192,         /* samples; larger headers are refused */
    JPEG_MAX_SAMPLES = 32 << 20,  /* of all components: 4K at 4:4:4 fits */
    JPEG_MAX_BLOCKS_PER_MCU = 10, /* T.81 B.2.3 */
    JPEG_TABLES = 4,
    BLOCK = 64, /* coefficients or samples in a block */
};

/* The first fault of a picture. `offset` counts from the start of the stream. */
struct jpeg_error {
    bool set;
    size_t offset;
    char text[160];
};

/* Records the fault unless one is recorded already; always returns false. */
bool jpeg_fail(struct jpeg_error *error, size_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

struct stream {
    const uint8_t *data;
    size_t size;
};

/* Entropy-coded bytes between two markers, as offsets into the stream. */
struct interval {
    size_t begin, end;
};

struct component {
    int id;
    int h, v;          /* sampling factors; 1,1 if it is the only component */
    int width, height; /* in samples */
    int first_block;   /* of this component within an MCU */
    int quant, dc, ac; /* table numbers */
};

struct jpeg {
    int width, height;
    int ncomponents; /* 0 until SOF was seen */
    struct component component[JPEG_MAX_COMPONENTS];
    int mcu_columns, mcu_rows, mcus;
    int blocks_per_mcu;
    int mcus_per_interval; /* all of them if there are no restart markers */
    int nintervals;
    struct interval *intervals; /* grows from picture to picture, freed by jpeg_free */
    int intervals_allocated;
    uint16_t quant[JPEG_TABLES][BLOCK]; /* in zigzag order, as transmitted */
    bool quant_defined[JPEG_TABLES];
    struct huffman dc[JPEG_TABLES], ac[JPEG_TABLES];
};

/*
 * Reads the picture that starts at *offset, up to and including its EOI marker,
 * and moves *offset behind it. Nothing is kept from the picture before except
 * allocated memory. Returns false and fills `error` if the picture is bad.
 */
bool jpeg_parse(struct jpeg *jpeg, const struct stream *stream, size_t *offset,
                struct jpeg_error *error);
void jpeg_free(struct jpeg *jpeg);

/* The parts of jpeg_parse. `offset` and `end` bound a segment's payload. */
bool jpeg_parse_frame(struct jpeg *jpeg, const struct stream *stream, size_t offset, size_t end,
                      struct jpeg_error *error);
bool jpeg_parse_scan_header(struct jpeg *jpeg, const struct stream *stream, size_t offset,
                            size_t end, struct jpeg_error *error);
bool jpeg_find_intervals(struct jpeg *jpeg, const struct stream *stream, size_t *offset,
                         struct jpeg_error *error);

static inline int stream_u16(const struct stream *stream, size_t offset)
{
    return stream->data[offset] << 8 | stream->data[offset + 1];
}

#endif
