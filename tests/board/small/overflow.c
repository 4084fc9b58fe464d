/* SPDX-License-Identifier: MIT */
/*
 * overflow.c - a thread in the program's memory overflows its stack by a recursion of small frames
 * that yields. The library has to end the program (status 134). Status 1: it has not noticed.
 */
#include <pirn/static.h>

#define STACK_BYTES 2048u

static unsigned depth, limit = STACK_BYTES; /* frames have more than a byte each */

static unsigned deeper(unsigned n)
{
    volatile unsigned char frame[48];
    frame[0] = (unsigned char)n;
    pirn_yield();
    depth = n;
    return n < limit ? deeper(n + 1) + frame[0] : 0;
}

static void *recurse(void *arg)
{
    deeper(1);
    return arg;
}

PIRN_THREAD_ROOM(thread, STACK_BYTES, recurse, NULL);

int main(void)
{
    if (pirn_static_create(&thread) != 0) {
        return 2;
    }
    pirn_static_join(&thread, NULL);
    return 1;
}
