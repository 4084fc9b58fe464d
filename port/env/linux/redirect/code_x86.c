/* SPDX-License-Identifier: MIT */
/*
 * code_x86.c (Linux, x86-64) - an instruction's length and kind (Intel SDM, volume 2, chapter 2 and
 * the opcode maps of appendix A): prefixes, opcode, ModRM, SIB, displacement, immediate.
 *
 * For code that compilers write. Instructions that 64-bit programs cannot have, AMD's XOP and
 * REX2 are unknown: the caller leaves such code alone. A disassembler's library would know them,
 * but a library that is preloaded into other programs must not bring libraries with it, and the
 * length is all that is needed here. Test `code-lengths` compares it with objdump, instruction by
 * instruction, on whole libraries.
 */
#include "code_x86.h"

#include <string.h>

enum operands {
    BAD = '.',
    NONE = '-',
    M = 'm',   /* ModRM */
    I1 = '1',  /* an immediate of 1 byte */
    I2 = '2',  /* of 2 */
    I3 = '3',  /* of 3 */
    IZ = 'z',  /* of 4; with prefix 66 of 2 */
    IV = 'v',  /* of 4; 2 with 66, 8 with REX.W */
    J4 = 'j',  /* a jump by 4 bytes, for which processors disagree about prefix 66 */
    MO = 'o',  /* an address of 8 bytes; with prefix 67 of 4 */
    M1 = 'b',  /* ModRM and 1 byte */
    MZ = 'w',  /* ModRM and IZ */
    G1 = 't',  /* group 3: ModRM, and 1 byte if it is TEST */
    GZ = 'u',  /* group 3: ModRM, and IZ if it is TEST */
    ESC = '*', /* the next byte is of another map */
};

/* A row has 16 opcodes. */
static const uint8_t one_byte[257] = "mmmm1z..mmmm1z.*"  /* 00 */
                                     "mmmm1z..mmmm1z.."  /* 10 */
                                     "mmmm1z..mmmm1z.."  /* 20 */
                                     "mmmm1z..mmmm1z.."  /* 30 */
                                     "................"  /* 40 */
                                     "----------------"  /* 50 */
                                     "..*m....zw1b----"  /* 60 */
                                     "1111111111111111"  /* 70 */
                                     "bw.bmmmmmmmmmmmm"  /* 80 */
                                     "----------.-----"  /* 90 */
                                     "oooo----1z------"  /* a0 */
                                     "11111111vvvvvvvv"  /* b0 */
                                     "bb2-**bw3-2--1.-"  /* c0 */
                                     "mmmm...-mmmmmmmm"  /* d0 */
                                     "11111111jj.1----"  /* e0 */
                                     ".-..--tu------mm"; /* f0 */

/* Behind 0f. */
static const uint8_t two_byte[257] = "mmmm.-----.-.m.."  /* 00 */
                                     "mmmmmmmmmmmmmmmm"  /* 10 */
                                     "mmmm....mmmmmmmm"  /* 20 */
                                     "------.-*.*....."  /* 30 */
                                     "mmmmmmmmmmmmmmmm"  /* 40 */
                                     "mmmmmmmmmmmmmmmm"  /* 50 */
                                     "mmmmmmmmmmmmmmmm"  /* 60 */
                                     "bbbbmmm-....mmmm"  /* 70 */
                                     "jjjjjjjjjjjjjjjj"  /* 80 */
                                     "mmmmmmmmmmmmmmmm"  /* 90 */
                                     "---mbm..---mbmmm"  /* a0 */
                                     "mmmmmmmmmmbmmmmm"  /* b0 */
                                     "mmbmbbbm--------"  /* c0 */
                                     "mmmmmmmmmmmmmmmm"  /* d0 */
                                     "mmmmmmmmmmmmmmmm"  /* e0 */
                                     "mmmmmmmmmmmmmmmm"; /* f0 */

struct reader {
    const uint8_t *at, *end;
    bool wide, half, short_address; /* REX.W; prefixes 66 and 67 */
    bool prefixed;
    bool bad;
};

static uint8_t take(struct reader *r)
{
    if (r->at >= r->end) {
        r->bad = true;
        return 0;
    }
    return *r->at++;
}

static void skip(struct reader *r, size_t n)
{
    if ((size_t)(r->end - r->at) < n) {
        r->bad = true;
    } else {
        r->at += n;
    }
}

/* Returns the ModRM byte. */
static uint8_t skip_operand(struct reader *r)
{
    uint8_t modrm = take(r), mod = modrm >> 6, base = modrm & 7;
    if (mod == 3) {
        return modrm;
    }
    if (base == 4) { /* SIB */
        base = take(r) & 7;
    }
    skip(r, mod == 1 ? 1 : mod == 2 || base == 5 ? 4 : 0);
    return modrm;
}

static void skip_operands(struct reader *r, enum operands what)
{
    size_t z = r->half ? 2 : 4;
    switch (what) {
    case BAD:
    case ESC:
        r->bad = true;
        return;
    case NONE:
        return;
    case I1:
        skip(r, 1);
        return;
    case I2:
        skip(r, 2);
        return;
    case I3:
        skip(r, 3);
        return;
    case IZ:
        skip(r, z);
        return;
    case IV:
        skip(r, r->wide ? 8 : z);
        return;
    case J4:
        r->bad |= r->half && !r->wide;
        skip(r, 4);
        return;
    case MO:
        skip(r, r->short_address ? 4 : 8);
        return;
    case M:
        skip_operand(r);
        return;
    case M1:
        skip_operand(r);
        skip(r, 1);
        return;
    case MZ:
        skip_operand(r);
        skip(r, z);
        return;
    case G1:
        skip(r, (skip_operand(r) & 0x38) <= 0x08 ? 1 : 0);
        return;
    case GZ:
        skip(r, (skip_operand(r) & 0x38) <= 0x08 ? z : 0);
        return;
    }
}

/* The opcodes of the maps that VEX and EVEX name by number. */
static void skip_vector(struct reader *r, unsigned map)
{
    uint8_t opcode = take(r);
    if (map == 1) {
        enum operands legacy = two_byte[opcode];
        skip_operands(r, opcode == 0x77 ? NONE : legacy == M1 ? M1 : M); /* vzeroupper */
    } else if (map == 2 || map == 5 || map == 6) {
        skip_operand(r);
    } else if (map == 3) {
        skip_operand(r);
        skip(r, 1);
    } else {
        r->bad = true;
    }
}

static uint8_t skip_prefixes(struct reader *r)
{
    uint8_t byte = take(r);
    while (byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 ||
           byte == 0x26 || byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x64 ||
           byte == 0x65) {
        r->half |= byte == 0x66;
        r->short_address |= byte == 0x67;
        r->prefixed = true;
        byte = take(r);
    }
    if ((byte & 0xf0) == 0x40) { /* REX */
        r->wide = (byte & 8) != 0;
        r->prefixed = true;
        byte = take(r);
    }
    return byte;
}

static void two_byte_code(struct reader *r, struct code *code)
{
    uint8_t opcode = take(r);
    if (opcode == 0x38) {
        take(r);
        skip_operand(r);
    } else if (opcode == 0x3a) {
        take(r);
        skip_operand(r);
        skip(r, 1);
    } else {
        skip_operands(r, two_byte[opcode]);
        code->jumps = two_byte[opcode] == J4;
        code->kind = opcode == 0x05 && !r->prefixed ? CODE_SYSCALL
                     : opcode == 0x1f               ? CODE_NOP
                     : opcode == 0x0b               ? CODE_LEAVES
                                                    : CODE_OTHER;
    }
}

static void one_byte_code(struct reader *r, struct code *code, const uint8_t *at, uint8_t opcode)
{
    const uint8_t *operand = r->at;
    skip_operands(r, one_byte[opcode]);
    if (r->bad || (opcode == 0x8f && (*operand & 0x38) != 0)) { /* XOP, instead of pop */
        r->bad = true;
        return;
    }
    bool nop = opcode == 0x90 && (!r->prefixed || at[0] == 0x66);
    bool jump = opcode == 0xff && (*operand & 0x30) == 0x20; /* /4, /5 */
    bool leaves = opcode == 0xc3 || opcode == 0xc2 || opcode == 0xe9 || opcode == 0xeb || jump;
    code->kind = nop ? CODE_NOP : leaves ? CODE_LEAVES : CODE_OTHER;
    code->jumps = (opcode & 0xf0) == 0x70 || (opcode >= 0xe0 && opcode <= 0xe3) || opcode == 0xe8 ||
                  opcode == 0xe9 || opcode == 0xeb;
    bool memory = (opcode == 0x89 || opcode == 0x8b) && (*operand & 0xc7) == 0x05;
    bool constant = opcode >= 0xb8 && opcode <= 0xbf && !r->wide;
    code->relative = memory;
    code->moves =
        (memory || constant) && !r->half && at[0] != 0x64 && at[0] != 0x65 && at[0] != 0x67;
}

/* The last bytes of a jump. */
static int32_t distance_of(const uint8_t *end, bool is_short)
{
    int32_t distance;
    if (is_short) {
        return (int8_t)end[-1];
    }
    memcpy(&distance, end - sizeof(distance), sizeof(distance));
    return distance;
}

struct code code_at(const uint8_t *at, size_t size)
{
    struct code code = {.kind = CODE_OTHER};
    struct reader r = {.at = at, .end = at + (size < 15 ? size : 15)};
    uint8_t opcode = skip_prefixes(&r);
    if (opcode == 0x0f) {
        two_byte_code(&r, &code);
    } else if (opcode == 0xc5) { /* VEX of 2 bytes: map 1 */
        take(&r);
        skip_vector(&r, 1);
    } else if (opcode == 0xc4) { /* of 3 bytes */
        unsigned map = take(&r) & 0x1f;
        take(&r);
        skip_vector(&r, map);
    } else if (opcode == 0x62) { /* EVEX */
        unsigned map = take(&r) & 0x07;
        skip(&r, 2);
        skip_vector(&r, map);
    } else {
        one_byte_code(&r, &code, at, opcode);
    }
    if (!r.bad) {
        code.length = (uint8_t)(r.at - at);
        bool is_short = opcode != 0x0f && opcode != 0xe8 && opcode != 0xe9;
        code.distance = code.jumps ? distance_of(r.at, is_short) : 0;
    }
    return code;
}
