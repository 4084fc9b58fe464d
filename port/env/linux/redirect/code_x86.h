/* SPDX-License-Identifier: MIT */
/*
 * code_x86.h (Linux, x86-64) - an instruction's length and kind: code_x86.c.
 */
#ifndef PIRN_CODE_X86_H
#define PIRN_CODE_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum code_kind {
    CODE_OTHER,
    CODE_SYSCALL, /* 2 bytes, without prefixes */
    CODE_NOP,
    CODE_LEAVES, /* what follows is not executed next: ret, jmp, ud2 */
};

struct code {
    uint8_t length; /* 0: unknown, or longer than the bytes that there are */
    uint8_t kind;   /* enum code_kind */
    bool jumps;     /* a jump or call by `distance`, counted from the next instruction */
    bool moves;     /* one register is loaded with a constant, or from or into memory relative to
                       the next instruction: 5 bytes at least, the last 4 of them say which */
    bool relative;  /* moves: relative to the next instruction */
    int32_t distance;
};

/* The instruction at `at`, of which `size` bytes may be read. Reads nothing else; any context. */
struct code code_at(const uint8_t *at, size_t size);

#endif
