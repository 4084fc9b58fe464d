/* SPDX-License-Identifier: MIT
 *
 * zlib (see pack.h). Its streams are made once and reset for each chunk.
 */
#include "pack.h"

#include "check.h"

#include <string.h>

/* Checks a result of zlib. Our calls fail mostly for lack of memory. */
static void check_zlib(int result, const z_stream *stream, const char *what)
{
    if (result != Z_OK)
        app_die("zlib: %s: %s", what, stream->msg ? stream->msg : zError(result));
}

void packer_init(struct packer *packer, int level, size_t most)
{
    int bits = 9; /* of the window: zlib's least */

    while (bits < MAX_WBITS && (size_t)1 << bits < most)
        bits++;
    memset(packer, 0, sizeof *packer);
    check_zlib(deflateInit2(&packer->stream, level, Z_DEFLATED, bits, bits - 7, Z_DEFAULT_STRATEGY),
               &packer->stream, "deflateInit2");
}

void packer_end(struct packer *packer)
{
    deflateEnd(&packer->stream); /* Z_DATA_ERROR after a chunk that was given up */
}

size_t pack(struct packer *packer, const uint8_t *data, size_t size, uint8_t *out)
{
    z_stream *stream = &packer->stream;

    if (size < 2)
        return 0;
    check_zlib(deflateReset(stream), stream, "deflateReset");
    stream->next_in = (z_const Bytef *)data;
    stream->avail_in = (uInt)size;
    stream->next_out = out;
    stream->avail_out = (uInt)size - 1;
    return deflate(stream, Z_FINISH) == Z_STREAM_END ? size - 1 - stream->avail_out : 0;
}

void unpacker_init(struct packer *packer)
{
    memset(packer, 0, sizeof *packer);
    check_zlib(inflateInit(&packer->stream), &packer->stream, "inflateInit");
}

void unpacker_end(struct packer *packer)
{
    inflateEnd(&packer->stream);
}

bool unpack(struct packer *packer, const uint8_t *data, size_t size, uint8_t *out, size_t out_size)
{
    z_stream *stream = &packer->stream;

    check_zlib(inflateReset(stream), stream, "inflateReset");
    stream->next_in = (z_const Bytef *)data;
    stream->avail_in = (uInt)size;
    stream->next_out = out;
    stream->avail_out = (uInt)out_size;
    return inflate(stream, Z_FINISH) == Z_STREAM_END && stream->avail_in == 0 &&
           stream->avail_out == 0;
}
