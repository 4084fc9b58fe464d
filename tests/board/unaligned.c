/* SPDX-License-Identifier: MIT */
/*
 * unaligned.c - a thread reads a word at an address that is no multiple of four. It ends the
 * program with a message, or gets the word (docs/guide/boards.md says where).
 */
#include "check_board.h"

#include <pirn/pirn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static __attribute__((noipa)) uint32_t reads_crooked(const volatile void *at)
{
    return *(const volatile uint32_t *)at;
}

static void *crooked(void *unused)
{
    static const unsigned char bytes[8] __attribute__((aligned(8))) = {0, 0, 7, 7, 7, 7, 0, 0};
    CHECK(reads_crooked(bytes + 2) == 0x07070707);
    return unused;
}

int main(void)
{
    pirn_attr_t attr = {.name = "crooked"};
    pirn_thread_t t;
    CHECK(pirn_create(&t, &attr, crooked, NULL) == 0);
    CHECK(pirn_join(t, NULL) == 0);
    puts("done");
    return 0;
}
