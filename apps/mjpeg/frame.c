/* SPDX-License-Identifier: MIT
 *
 * The frame header (SOF, T.81 B.2.2) and the scan header (SOS, B.2.3): size,
 * components, which table each component uses. Called by markers.c.
 */
#include "jpeg.h"

static int ceil_div(int a, int b)
{
    return (a + b - 1) / b;
}

static bool parse_size(struct jpeg *jpeg, const struct stream *s, size_t at,
                       struct jpeg_error *error)
{
    int precision = s->data[at];

    jpeg->height = stream_u16(s, at + 1);
    jpeg->width = stream_u16(s, at + 3);
    if (precision != 8)
        return jpeg_fail(error, at, "%d-bit samples are not supported, only 8-bit", precision);
    if (jpeg->height == 0)
        return jpeg_fail(error, at + 1, "height 0 (height set by a DNL marker) is not supported");
    if (jpeg->width == 0)
        return jpeg_fail(error, at + 3, "width 0 is not valid");
    if (jpeg->width > JPEG_MAX_SIDE || jpeg->height > JPEG_MAX_SIDE)
        return jpeg_fail(error, at + 1, "the picture is %dx%d; the limit is %dx%d", jpeg->width,
                         jpeg->height, JPEG_MAX_SIDE, JPEG_MAX_SIDE);
    return true;
}

static bool parse_components(struct jpeg *jpeg, const struct stream *s, size_t at,
                             struct jpeg_error *error)
{
    for (int i = 0; i < jpeg->ncomponents; i++, at += 3) {
        struct component *c = &jpeg->component[i];

        c->id = s->data[at];
        c->h = s->data[at + 1] >> 4;
        c->v = s->data[at + 1] & 15;
        c->quant = s->data[at + 2];
        if (c->h < 1 || c->h > 4 || c->v < 1 || c->v > 4)
            return jpeg_fail(error, at + 1, "sampling factors %dx%d of component %d are not valid",
                             c->h, c->v, c->id);
        if (c->quant >= JPEG_TABLES)
            return jpeg_fail(error, at + 2, "component %d uses quantization table %d; 0 to 3 exist",
                             c->id, c->quant);
    }
    /* A single component is not interleaved: its MCU is one block (T.81 A.2.2). */
    if (jpeg->ncomponents == 1)
        jpeg->component[0].h = jpeg->component[0].v = 1;
    return true;
}

/* Cuts the picture into MCUs and gives each component its size (T.81 A.1.1, A.2). */
static bool lay_out(struct jpeg *jpeg, size_t at, struct jpeg_error *error)
{
    int h_max = 1;
    int v_max = 1;

    jpeg->blocks_per_mcu = 0;
    for (int i = 0; i < jpeg->ncomponents; i++) {
        struct component *c = &jpeg->component[i];

        h_max = c->h > h_max ? c->h : h_max;
        v_max = c->v > v_max ? c->v : v_max;
        c->first_block = jpeg->blocks_per_mcu;
        jpeg->blocks_per_mcu += c->h * c->v;
    }
    if (jpeg->blocks_per_mcu > JPEG_MAX_BLOCKS_PER_MCU)
        return jpeg_fail(error, at, "an MCU of %d blocks; JPEG allows %d", jpeg->blocks_per_mcu,
                         JPEG_MAX_BLOCKS_PER_MCU);
    for (int i = 0; i < jpeg->ncomponents; i++) {
        struct component *c = &jpeg->component[i];

        c->width = ceil_div(jpeg->width * c->h, h_max);
        c->height = ceil_div(jpeg->height * c->v, v_max);
    }
    jpeg->mcu_columns = ceil_div(jpeg->width, 8 * h_max);
    jpeg->mcu_rows = ceil_div(jpeg->height, 8 * v_max);
    jpeg->mcus = jpeg->mcu_columns * jpeg->mcu_rows;
    if ((int64_t)jpeg->mcus * jpeg->blocks_per_mcu * BLOCK > JPEG_MAX_SAMPLES)
        return jpeg_fail(error, at, "a picture of %dx%d has more than %d samples, the limit",
                         jpeg->width, jpeg->height, JPEG_MAX_SAMPLES);
    return true;
}

bool jpeg_parse_frame(struct jpeg *jpeg, const struct stream *stream, size_t offset, size_t end,
                      struct jpeg_error *error)
{
    size_t length = end - offset;
    int number;

    if (jpeg->ncomponents != 0)
        return jpeg_fail(error, offset, "SOF: a second frame header in one picture");
    if (length < 6)
        return jpeg_fail(error, offset, "SOF: the segment is too short");
    number = stream->data[offset + 5];
    if (!parse_size(jpeg, stream, offset, error))
        return false;
    if (number != 1 && number != JPEG_MAX_COMPONENTS)
        return jpeg_fail(error, offset + 5, "%d components are not supported, only 1 or 3", number);
    if (length != 6 + 3 * (size_t)number)
        return jpeg_fail(error, offset, "SOF: %zu bytes do not fit %d components", length, number);
    jpeg->ncomponents = number;
    return parse_components(jpeg, stream, offset + 6, error) && lay_out(jpeg, offset, error);
}

/* If the picture brought no Huffman table at all, it means the default ones. */
static void default_tables(struct jpeg *jpeg)
{
    for (int i = 0; i < JPEG_TABLES; i++)
        if (jpeg->dc[i].defined || jpeg->ac[i].defined)
            return;
    for (int i = 0; i < 2; i++) {
        huffman_build_default(&jpeg->dc[i], HUFFMAN_DC, i);
        huffman_build_default(&jpeg->ac[i], HUFFMAN_AC, i);
    }
}

static bool check_tables(const struct jpeg *jpeg, const struct component *c, size_t at,
                         struct jpeg_error *error)
{
    if (!jpeg->quant_defined[c->quant])
        return jpeg_fail(error, at, "component %d uses quantization table %d, which is missing",
                         c->id, c->quant);
    if (c->dc >= JPEG_TABLES || !jpeg->dc[c->dc].defined)
        return jpeg_fail(error, at, "component %d uses Huffman table DC %d, which is missing",
                         c->id, c->dc);
    if (c->ac >= JPEG_TABLES || !jpeg->ac[c->ac].defined)
        return jpeg_fail(error, at, "component %d uses Huffman table AC %d, which is missing",
                         c->id, c->ac);
    return true;
}

bool jpeg_parse_scan_header(struct jpeg *jpeg, const struct stream *stream, size_t offset,
                            size_t end, struct jpeg_error *error)
{
    int number = end > offset ? stream->data[offset] : 0;

    if (jpeg->ncomponents == 0)
        return jpeg_fail(error, offset, "SOS: there is no frame header before it");
    if (number != jpeg->ncomponents)
        return jpeg_fail(error, offset,
                         "a scan of %d of %d components is not supported, only of all", number,
                         jpeg->ncomponents);
    if (end - offset != 4 + 2 * (size_t)number)
        return jpeg_fail(error, offset, "SOS: %zu bytes do not fit %d components", end - offset,
                         number);
    default_tables(jpeg);
    for (int i = 0; i < number; i++) {
        size_t at = offset + 1 + 2 * (size_t)i;
        struct component *c = &jpeg->component[i];

        if (stream->data[at] != c->id)
            return jpeg_fail(error, at, "SOS: component %d stands where %d is expected",
                             stream->data[at], c->id);
        c->dc = stream->data[at + 1] >> 4;
        c->ac = stream->data[at + 1] & 15;
        if (!check_tables(jpeg, c, at + 1, error))
            return false;
    }
    if (jpeg->mcus_per_interval == 0)
        jpeg->mcus_per_interval = jpeg->mcus;
    return true;
}
