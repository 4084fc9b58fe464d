/* SPDX-License-Identifier: MIT */
/*
 * memory_small.c - memcpy and memset for the library itself where its code is for size, not for
 * speed (feature `speed` left out): the C library's are some hundred bytes each. The archive makes
 * them local (port/board/archive.cmake), so a program still calls the C library's. Compiled without
 * what makes calls of the same functions of such loops (port/board/library.cmake).
 */
#include <string.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    unsigned char *at = to;
    const unsigned char *source = from;
    while (n-- != 0) {
        *at++ = *source++;
    }
    return to;
}

void *memset(void *to, int value, size_t n)
{
    unsigned char *at = to;
    while (n-- != 0) {
        *at++ = (unsigned char)value;
    }
    return to;
}
