/* SPDX-License-Identifier: MIT
 *
 * The parts of dedup by themselves: SHA-1 against the examples of FIPS 180, the fingerprint against
 * long division, and different contents with one digest.
 */
#include "check.h"
#include "chunks.h"
#include "table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(bool good, const char *what)
{
    if (!good)
        app_die("%s", what);
}

static void check_digest(const char *text, size_t times, const char *wanted)
{
    uint8_t digest[SHA1_SIZE];
    char found[2 * SHA1_SIZE + 1];
    struct sha1 sha;

    sha1_begin(&sha);
    for (size_t i = 0; i < times; i++)
        sha1_add(&sha, text, strlen(text));
    sha1_end(&sha, digest);
    for (int i = 0; i < SHA1_SIZE; i++)
        snprintf(found + 2 * i, 3, "%02x", digest[i]);
    if (strcmp(found, wanted) != 0)
        app_die("SHA-1 of %zu times \"%s\": %s, %s wanted", times, text, found, wanted);
}

static void check_sha1(void)
{
    check_digest("abc", 1, "a9993e364706816aba3e25717850c26c9cd0d89d");
    check_digest("", 1, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    check_digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
                 "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    check_digest("a", 1000000, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

/* The remainder of polynomial * 2^bits + more. */
static uint64_t divided(uint64_t rest, unsigned bits, uint64_t more)
{
    while (bits-- > 0) {
        rest = rest << 1 | (more >> bits & 1);
        if (rest >> RABIN_DEGREE)
            rest ^= RABIN_POLYNOMIAL;
    }
    return rest;
}

static uint64_t product(uint64_t a, uint64_t b)
{
    uint64_t sum = 0;

    for (int i = RABIN_DEGREE - 1; i >= 0; i--)
        sum = divided(sum, 1, 0) ^ (b >> i & 1 ? a : 0);
    return sum;
}

/* The degree is prime, there are no roots, and x^(2^degree) = x: so it is irreducible. */
static void check_polynomial(void)
{
    uint64_t power = 2;

    for (int i = 0; i < RABIN_DEGREE; i++)
        power = product(power, power);
    expect(power == 2, "x^(2^53) is not x");
    expect(__builtin_popcountll(RABIN_POLYNOMIAL) % 2 == 1, "1 is a root");
    expect(RABIN_POLYNOMIAL & 1, "0 is a root");
}

static void check_rabin(void)
{
    static struct cutter cutter;
    uint8_t data[1000];
    uint64_t fingerprint = 0;

    cutter_init(&cutter, 256);
    srand(7);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(rand() >> 7);
    for (size_t i = 0; i < sizeof data; i++) {
        size_t first = i + 1 < RABIN_WINDOW ? 0 : i + 1 - RABIN_WINDOW;
        uint64_t wanted = 0;

        fingerprint = rabin_roll(&cutter.tables, fingerprint,
                                 i < RABIN_WINDOW ? 0 : data[i - RABIN_WINDOW], data[i]);
        for (size_t k = first; k <= i; k++)
            wanted = divided(wanted, 8, data[k]);
        if (fingerprint != wanted)
            app_die("byte %zu: fingerprint %" PRIx64 ", %" PRIx64 " wanted", i, fingerprint,
                    wanted);
    }
}

static void check_table(void)
{
    static const uint8_t digest[SHA1_SIZE] = {1, 2, 3};
    static const uint8_t data[] = "one, two";
    struct table *table = table_new();
    struct entry *one, *two, *three;
    bool fresh;

    one = table_find(table, digest, data, 3, &fresh);
    expect(fresh, "new contents are not new");
    two = table_find(table, digest, data + 5, 3, &fresh);
    expect(fresh && two != one, "other bytes of the same digest are taken for the same");
    three = table_find(table, digest, data, 4, &fresh);
    expect(fresh && three != one, "more bytes of the same digest are taken for the same");
    expect(table_find(table, digest, data + 5, 3, &fresh) == two && !fresh, "two is forgotten");
    expect(table_find(table, digest, data, 3, &fresh) == one && !fresh, "one is forgotten");
    table_free(table);
}

int main(void)
{
    app_name_set("dedup_parts");
    check_sha1();
    check_polynomial();
    check_rabin();
    check_table();
    puts("dedup_parts: good");
    return EXIT_SUCCESS;
}
