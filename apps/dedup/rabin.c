/* SPDX-License-Identifier: MIT
 *
 * The tables of the fingerprint (see rabin.h).
 */
#include "rabin.h"

/* polynomial * x modulo RABIN_POLYNOMIAL */
static uint64_t times_x(uint64_t polynomial)
{
    polynomial <<= 1;
    return polynomial >> RABIN_DEGREE ? polynomial ^ RABIN_POLYNOMIAL : polynomial;
}

/* byte * x^power modulo RABIN_POLYNOMIAL */
static uint64_t byte_times(unsigned byte, unsigned power)
{
    uint64_t product = byte;

    for (unsigned i = 0; i < power; i++)
        product = times_x(product);
    return product;
}

void rabin_init(struct rabin_tables *tables)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        tables->appended[byte] = (uint64_t)byte << RABIN_DEGREE | byte_times(byte, RABIN_DEGREE);
        tables->leaving[byte] = byte_times(byte, 8 * (RABIN_WINDOW - 1));
    }
}
