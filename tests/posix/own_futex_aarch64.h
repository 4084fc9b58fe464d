/* SPDX-License-Identifier: MIT */
/*
 * own_futex_aarch64.h (AArch64) - for own_futex.c: functions that make the system call futex.
 */
#ifndef TESTS_OWN_FUTEX_AARCH64_H
#define TESTS_OWN_FUTEX_AARCH64_H

#define FUNCTION_BEGINS ""

FUNCTION(constant, "mov x8, #98\n"
                   "constant_call:\n\t"
                   "svc #0");

/* A word of data looks like the call. */
FUNCTION(beside_data, "ldr w9, looks_like_call\n\t"
                      "mov w8, #98\n\t"
                      "svc #0\n\t"
                      "ret\n"
                      "looks_like_call:\n\t"
                      ".word 0xd4000001");
extern const uint8_t looks_like_call[];

/* Other code jumps to the call. */
FUNCTION(entered, "mov x8, #98\n"
                  "entered_call:\n\t"
                  "svc #0");
FUNCTION(makes_getpid, "mov x8, #172\n\t"
                       "b entered_call");

/* Checks that a system call changes no register but x0, and no flag. Returns 0 if that is so.
 * Before it each general register gets an address that depends on its number, each vector register
 * twice what the general one has. same x8, 9: x0 gets a bit if x8 and x9 differ. */
#define BUT_0_TO_3_AND_8 "4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 29, 30"
#define BUT_0_AND_8                                                                                \
    "1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, " \
    "27, 28, 29, 30"
FUNCTION(keeps, ".macro same scratch, other\n\t"
                "eor \\scratch, \\scratch, x\\other\n\t"
                "orr x0, x0, \\scratch\n\t"
                ".endm\n\t"
                "stp x29, x30, [sp, #-112]!\n\t"
                "stp d8, d9, [sp, #16]\n\t"
                "stp d10, d11, [sp, #32]\n\t"
                "stp d12, d13, [sp, #48]\n\t"
                "stp d14, d15, [sp, #64]\n\t"
                "stp x0, x1, [sp, #80]\n\t"
                "stp x2, x3, [sp, #96]\n\t"
                "mov x9, #0x60000000\n\t" /* Z and C */
                "msr nzcv, x9\n\t"
                ".irp n, " BUT_0_TO_3_AND_8 "\n\t"
                "add x\\n, sp, #(\\n * 64)\n\t"
                ".endr\n\t"
                "mov x8, #98\n\t"
                "dup v0.2d, x0\n\t"
                "dup v8.2d, x8\n\t"
                "dup v31.2d, x8\n\t"
                ".irp n, " BUT_0_AND_8 "\n\t"
                "dup v\\n\\().2d, x\\n\n\t"
                ".endr\n\t"
                "svc #0\n\t"
                "sub x0, x8, #98\n\t"
                "mrs x8, nzcv\n\t"
                "eor x8, x8, #0x60000000\n\t"
                "orr x0, x0, x8\n\t"
                ".irp n, " BUT_0_TO_3_AND_8 "\n\t"
                "add x8, sp, #(\\n * 64)\n\t"
                "same x8, \\n\n\t"
                ".endr\n\t"
                ".irp n, 1, 2, 3\n\t"
                "ldr x8, [sp, #(80 + \\n * 8)]\n\t"
                "same x8, \\n\n\t"
                ".endr\n\t"
                ".irp n, " BUT_0_AND_8 "\n\t"
                "umov x8, v\\n\\().d[0]\n\t"
                "same x8, \\n\n\t"
                "umov x8, v\\n\\().d[1]\n\t"
                "same x8, \\n\n\t"
                ".endr\n\t"
                "ldr x9, [sp, #80]\n\t"
                "mov x10, #98\n\t"
                ".irp half, 0, 1\n\t"
                "umov x8, v0.d[\\half]\n\t"
                "same x8, 9\n\t"
                "umov x8, v8.d[\\half]\n\t"
                "same x8, 10\n\t"
                "umov x8, v31.d[\\half]\n\t"
                "same x8, 10\n\t"
                ".endr\n\t"
                "ldp d8, d9, [sp, #16]\n\t"
                "ldp d10, d11, [sp, #32]\n\t"
                "ldp d12, d13, [sp, #48]\n\t"
                "ldp d14, d15, [sp, #64]\n\t"
                "ldp x29, x30, [sp], #112");

extern const uint8_t constant_call[];
static const uint8_t system_call[] = {0x01, 0x00, 0x00, 0xd4};

#define OWN_FUTEX_WAYS constant, beside_data, entered

#endif
