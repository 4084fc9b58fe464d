/* SPDX-License-Identifier: MIT */
/*
 * text.c - strings of JSON: lines "bytes in hexadecimal, tab, JSON" for check_text.py, which reads
 * them with another implementation. All strings of up to two bytes, and many longer ones, most of
 * them of critical bytes: quotes, control characters, parts of UTF-8 characters.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "text.h"

enum { RANDOM_STRINGS = 40000, LONGEST = 12, ROOM = 6 * LONGEST + 3 };

void rt_check_failed(const char *file, int line, const char *text)
{
    printf("FAILED %s:%d: %s\n", file, line, text);
    exit(1);
}

static void check(bool holds, const char *what)
{
    if (!holds) {
        printf("FAILED %s\n", what);
        exit(1);
    }
}

/* In each smaller buffer: as much as fits, and a NUL. */
static void check_sizes(const char *bytes, size_t n, const char *json, size_t length)
{
    for (size_t size = 1; size <= length; size++) {
        char small[ROOM + 1];
        memset(small, '?', sizeof(small));
        small[0] = '\0';
        struct text out = {small, size, 0};
        text_add_json(&out, bytes, n);
        check(out.used == length, "the length does not depend on the room");
        check(memcmp(small, json, strlen(small)) == 0, "what fits is the beginning");
        check(strlen(small) == size - 1 && small[size] == '?', "what fits is all that is written");
    }
}

static void line(const char *bytes, size_t n)
{
    char json[ROOM] = "";
    struct text out = {json, sizeof(json), 0}, nothing = {NULL, 0, 0};
    text_add_json(&out, bytes, n);
    text_add_json(&nothing, bytes, n);
    check(out.used < sizeof(json) && strlen(json) == out.used, "the length");
    check(nothing.used == out.used, "the length without a buffer");
    check_sizes(bytes, n, json, out.used);
    for (size_t i = 0; i < n; i++) {
        printf("%02x", (unsigned char)bytes[i]);
    }
    printf("\t%s\n", json);
}

static uint32_t any(void)
{
    static uint64_t state = 1;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

int main(void)
{
    static const unsigned char matter[] = {0x00, 0x1f, '"',  '\\', 0x7f, 0x80, 0x8f, 0x90,
                                           0x9f, 0xa0, 0xbf, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1,
                                           0xed, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff};
    char bytes[LONGEST];
    line("", 0);
    for (int a = 0; a < 256; a++) {
        bytes[0] = (char)a;
        line(bytes, 1);
        for (int b = 0; b < 256; b++) {
            bytes[1] = (char)b;
            line(bytes, 2);
        }
    }
    for (int i = 0; i < RANDOM_STRINGS; i++) {
        size_t n = 3 + any() % (LONGEST - 2);
        for (size_t k = 0; k < n; k++) {
            bytes[k] = (char)(any() % 8 == 0 ? any() : matter[any() % sizeof(matter)]);
        }
        line(bytes, n);
    }
    return 0;
}
