/* SPDX-License-Identifier: MIT
 *
 * Walks the marker segments of one picture (T.81 B.2). Called by the demux thread.
 * Tables come from the picture itself: a picture stands alone, so pictures can be
 * decoded in any order and a damaged one cannot spoil the next.
 */
#include "jpeg.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum marker {
    SOF0 = 0xc0,
    SOF1 = 0xc1,
    DHT = 0xc4,
    SOF15 = 0xcf,
    RST0 = 0xd0,
    RST7 = 0xd7,
    SOI = 0xd8,
    EOI = 0xd9,
    SOS = 0xda,
    DQT = 0xdb,
    DRI = 0xdd,
    APP0 = 0xe0,
    APP15 = 0xef,
    COM = 0xfe,
};

bool jpeg_fail(struct jpeg_error *error, size_t offset, const char *format, ...)
{
    va_list args;

    if (error->set)
        return false;
    error->set = true;
    error->offset = offset;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    return false;
}

void jpeg_free(struct jpeg *jpeg)
{
    free(jpeg->intervals);
}

static void jpeg_reset(struct jpeg *jpeg)
{
    jpeg->ncomponents = 0;
    jpeg->mcus_per_interval = 0;
    memset(jpeg->quant_defined, 0, sizeof jpeg->quant_defined);
    for (int i = 0; i < JPEG_TABLES; i++)
        jpeg->dc[i].defined = jpeg->ac[i].defined = false;
}

static bool parse_dqt(struct jpeg *jpeg, const struct stream *s, size_t at, size_t end,
                      struct jpeg_error *error)
{
    while (at < end) {
        int precision = s->data[at] >> 4;
        int number = s->data[at] & 15;
        size_t bytes = precision ? 2 * BLOCK : BLOCK;

        if (precision > 1 || number >= JPEG_TABLES)
            return jpeg_fail(error, at, "DQT: table number or precision 0x%02x is not valid",
                             s->data[at]);
        if (end - ++at < bytes)
            return jpeg_fail(error, at, "DQT: the segment is too short for its table");
        for (size_t k = 0; k < BLOCK; k++)
            jpeg->quant[number][k] =
                precision ? (uint16_t)stream_u16(s, at + 2 * k) : s->data[at + k];
        jpeg->quant_defined[number] = true;
        at += bytes;
    }
    return true;
}

static bool parse_dht(struct jpeg *jpeg, const struct stream *s, size_t at, size_t end,
                      struct jpeg_error *error)
{
    while (at < end) {
        int class = s->data[at] >> 4;
        int number = s->data[at] & 15;
        const uint8_t *counts = &s->data[at + 1];
        size_t symbols = 0;
        const char *fault;

        if (class > HUFFMAN_AC || number >= JPEG_TABLES)
            return jpeg_fail(error, at, "DHT: table class or number 0x%02x is not valid",
                             s->data[at]);
        if (end - at < 17)
            return jpeg_fail(error, at, "DHT: the segment is too short for its table");
        for (int i = 0; i < 16; i++)
            symbols += counts[i];
        if (end - at - 17 < symbols)
            return jpeg_fail(error, at, "DHT: the segment is too short for its table");
        fault = huffman_build(class == HUFFMAN_DC ? &jpeg->dc[number] : &jpeg->ac[number],
                              class == HUFFMAN_DC ? HUFFMAN_DC : HUFFMAN_AC, counts, counts + 16);
        if (fault)
            return jpeg_fail(error, at, "DHT: table %s %d %s", class ? "AC" : "DC", number, fault);
        at += 17 + symbols;
    }
    return true;
}

static bool parse_dri(struct jpeg *jpeg, const struct stream *s, size_t at, size_t end,
                      struct jpeg_error *error)
{
    if (end - at != 2)
        return jpeg_fail(error, at, "DRI: the segment is %zu bytes long, not 2", end - at);
    jpeg->mcus_per_interval = stream_u16(s, at);
    return true;
}

/* The frame types that are not ours, by their marker's low bits (T.81 Table B.1). */
static bool refuse_frame_type(int marker, size_t at, struct jpeg_error *error)
{
    static const char *const kind[16] = {
        [2] = "progressive",
        [3] = "lossless",
        [5] = "hierarchical",
        [6] = "hierarchical progressive",
        [7] = "hierarchical lossless",
        [9] = "arithmetic-coded",
        [10] = "arithmetic-coded progressive",
        [11] = "arithmetic-coded lossless",
        [12] = "arithmetic-coded",
        [13] = "arithmetic-coded hierarchical",
        [14] = "arithmetic-coded hierarchical progressive",
        [15] = "arithmetic-coded hierarchical lossless",
    };
    const char *name = kind[marker & 15];

    return jpeg_fail(error, at, "%s JPEG (marker 0x%02x) is not supported, only baseline",
                     name ? name : "reserved kind of", marker);
}

static bool parse_segment(struct jpeg *jpeg, const struct stream *s, int marker, size_t at,
                          size_t end, struct jpeg_error *error)
{
    if ((marker >= APP0 && marker <= APP15) || marker == COM)
        return true;
    switch (marker) {
    case SOF0:
    case SOF1:
        return jpeg_parse_frame(jpeg, s, at, end, error);
    case DHT:
        return parse_dht(jpeg, s, at, end, error);
    case DQT:
        return parse_dqt(jpeg, s, at, end, error);
    case DRI:
        return parse_dri(jpeg, s, at, end, error);
    case SOS:
        return jpeg_parse_scan_header(jpeg, s, at, end, error);
    }
    if (marker >= SOF0 && marker <= SOF15)
        return refuse_frame_type(marker, at, error);
    return jpeg_fail(error, at, "unexpected marker 0x%02x", marker);
}

/* Reads 0xFF, any number of fill bytes 0xFF and the code. Returns -1 on a fault. */
static int next_marker(const struct stream *s, size_t *offset, struct jpeg_error *error)
{
    size_t at = *offset;

    if (at < s->size && s->data[at] != 0xff) {
        jpeg_fail(error, at, "a marker is expected, not byte 0x%02x", s->data[at]);
        return -1;
    }
    while (at < s->size && s->data[at] == 0xff)
        at++;
    if (at >= s->size) {
        jpeg_fail(error, s->size, "the stream ends inside the picture's headers");
        return -1;
    }
    *offset = at + 1;
    return s->data[at];
}

bool jpeg_parse(struct jpeg *jpeg, const struct stream *stream, size_t *offset,
                struct jpeg_error *error)
{
    size_t start = *offset;
    int marker;

    jpeg_reset(jpeg);
    if (start == stream->size)
        return jpeg_fail(error, start, "the stream holds no picture");
    marker = next_marker(stream, offset, error);
    if (marker >= 0 && marker != SOI)
        return jpeg_fail(error, start, "a picture must start with SOI, not marker 0x%02x", marker);
    while (marker >= 0 && marker != SOS) {
        size_t payload, end;

        marker = next_marker(stream, offset, error);
        if (marker < 0)
            return false;
        if (marker <= 0x01 || (marker >= RST0 && marker <= EOI))
            return jpeg_fail(error, *offset - 2, "marker 0x%02x before the picture's data", marker);
        payload = *offset + 2;
        if (payload > stream->size)
            return jpeg_fail(error, stream->size, "the stream ends inside the picture's headers");
        end = *offset + (size_t)stream_u16(stream, *offset);
        if (end < payload || end > stream->size)
            return jpeg_fail(error, *offset, "the length of segment 0x%02x is not valid", marker);
        if (!parse_segment(jpeg, stream, marker, payload, end, error))
            return false;
        *offset = end;
    }
    return marker == SOS && jpeg_find_intervals(jpeg, stream, offset, error);
}
