/* SPDX-License-Identifier: MIT
 *
 * Building of Huffman tables (see huffman.h). Called by the demux thread only.
 */
#include "huffman.h"

#include <string.h>

/* The valid baseline symbols: for DC a difference of up to 11 bits; for AC a run of zeros and a
 * value of 1 to 10 bits, or one of the two special symbols. */
static bool symbol_is_baseline(enum huffman_class class, int symbol)
{
    int bits = symbol & 15;

    if (class == HUFFMAN_DC)
        return symbol <= 11;
    return (bits >= 1 && bits <= 10) || symbol == 0x00 || symbol == 0xf0;
}

static void fill_fast(struct huffman *table, uint32_t code, int bits, int symbol)
{
    uint32_t first = code << (HUFFMAN_FAST_BITS - bits);
    uint32_t number = 1u << (HUFFMAN_FAST_BITS - bits);

    for (uint32_t i = 0; i < number; i++)
        table->fast[first + i] = (uint16_t)(bits << 8 | symbol);
}

const char *huffman_build(struct huffman *table, enum huffman_class class, const uint8_t counts[16],
                          const uint8_t *symbols)
{
    uint32_t code = 0;
    int used = 0;

    memset(table, 0, sizeof *table);
    for (int n = 1; n <= HUFFMAN_MAX_BITS; n++) {
        int count = counts[n - 1];

        if (used + count > 256 || code + (uint32_t)count > 1u << n)
            return "has more codes than fit";
        table->symbol_offset[n] = used - (int32_t)code;
        for (int i = 0; i < count; i++, code++, used++) {
            if (!symbol_is_baseline(class, symbols[used]))
                return "has a symbol that baseline JPEG does not know";
            table->symbols[used] = symbols[used];
            if (n <= HUFFMAN_FAST_BITS)
                fill_fast(table, code, n, symbols[used]);
        }
        table->limit[n] = code << (HUFFMAN_MAX_BITS - n);
        code <<= 1;
    }
    table->defined = true;
    return NULL;
}
