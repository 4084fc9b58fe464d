/* SPDX-License-Identifier: MIT
 *
 * Finds the restart intervals in a picture's entropy-coded data without decoding it: markers stand
 * out because 0xFF inside data is always followed by 0x00. The intervals allow several threads to
 * decode one picture. Called by markers.c.
 */
#include "jpeg.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { RST0 = 0xd0, RST7 = 0xd7, EOI = 0xd9 };

/* Stops at the 0xFF of the next marker. Returns false if the stream ends before. */
static bool skip_data(const struct stream *s, size_t *offset)
{
    while (*offset < s->size) {
        const uint8_t *ff = memchr(s->data + *offset, 0xff, s->size - *offset);

        if (ff == NULL)
            return false;
        *offset = (size_t)(ff - s->data);
        if (*offset + 1 >= s->size)
            return false;
        if (ff[1] != 0x00)
            return true;
        *offset += 2;
    }
    return false;
}

static bool skip_fill_bytes(const struct stream *s, size_t *offset)
{
    while (*offset < s->size && s->data[*offset] == 0xff)
        ++*offset;
    return *offset < s->size;
}

static void reserve(struct jpeg *jpeg, int number)
{
    size_t bytes = (size_t)number * sizeof *jpeg->intervals;

    if (number <= jpeg->intervals_allocated)
        return;
    jpeg->intervals = check_alloc(realloc(jpeg->intervals, bytes), bytes);
    jpeg->intervals_allocated = number;
}

/* A block takes at least two bits (a DC and an end-of-block code of one bit each):
 * a header that promises far more picture than there is data is refused here,
 * before memory is spent on it. */
static bool check_amount(const struct jpeg *jpeg, size_t begin, size_t end,
                         struct jpeg_error *error)
{
    size_t blocks = (size_t)jpeg->mcus * (size_t)jpeg->blocks_per_mcu;

    if ((end - begin) * 4 < blocks)
        return jpeg_fail(error, begin, "%zu bytes of data are too few for a picture of %dx%d",
                         end - begin, jpeg->width, jpeg->height);
    return true;
}

bool jpeg_find_intervals(struct jpeg *jpeg, const struct stream *stream, size_t *offset,
                         struct jpeg_error *error)
{
    int expected = (jpeg->mcus + jpeg->mcus_per_interval - 1) / jpeg->mcus_per_interval;
    size_t first = *offset;
    size_t begin = first;
    size_t end;
    int marker;

    jpeg->nintervals = 0;
    reserve(jpeg, expected);
    for (;;) {
        if (!skip_data(stream, offset))
            return jpeg_fail(error, stream->size, "the stream ends inside the picture's data");
        end = *offset;
        if (!skip_fill_bytes(stream, offset))
            return jpeg_fail(error, stream->size, "the stream ends inside the picture's data");
        jpeg->intervals[jpeg->nintervals++] = (struct interval){begin, end};
        marker = stream->data[*offset];
        begin = ++*offset;
        if (marker < RST0 || marker > RST7)
            break;
        if (jpeg->nintervals == expected)
            return jpeg_fail(error, end, "a restart marker too many, %d are expected",
                             expected - 1);
        if (marker != RST0 + (jpeg->nintervals - 1) % 8)
            return jpeg_fail(error, end, "restart marker %d where %d is expected", marker - RST0,
                             (jpeg->nintervals - 1) % 8);
    }
    if (marker != EOI)
        return jpeg_fail(error, end, "marker 0x%02x in the picture's data, EOI is expected",
                         marker);
    if (jpeg->nintervals != expected)
        return jpeg_fail(error, end, "the picture ends after %d of %d restart intervals",
                         jpeg->nintervals, expected);
    return check_amount(jpeg, first, end, error);
}
