/* SPDX-License-Identifier: MIT */
/*
 * redirect_aarch64.c (Linux, AArch64) - the code for redirected system calls, and how a module's
 * code changes: for linux_redirect.c.
 *
 *   1. `svc` and `b` are among the instructions that may be replaced by each other while processors
 *      execute them (Arm Architecture Reference Manual, concurrent modification and execution of
 *      instructions): each executes the old or the new one. Each write is of one word.
 *   2. A system call changes no register but x0, and not the flags; code relies on that. So a place
 *      finds futex without another register. Its stack is used for futex only.
 */
#include "redirect_code.h"

#if defined(__aarch64__) && defined(REDIRECT)

#include <string.h>
#include <sys/syscall.h>

#define WORD 4u

/*
 * On entry: x0 to x5 and x8 of a system call; the address to return to in x30. All but x0, x16 and
 * x30, which the place has saved, are as before on return; of the vector registers the 128 bits
 * that system calls preserve. x29 is a frame pointer.
 */
ASSEMBLY(redirect_entry, "hint #34\n\t" /* bti c */
                         "stp x29, x30, [sp, #-192]!\n\t"
                         ".cfi_def_cfa_offset 192\n\t"
                         ".cfi_offset 29, -192\n\t"
                         ".cfi_offset 30, -184\n\t"
                         "mov x29, sp\n\t"
                         ".cfi_def_cfa_register 29\n\t"
                         "stp x0, x1, [sp, #16]\n\t" /* the arguments, in a row */
                         "stp x2, x3, [sp, #32]\n\t"
                         "stp x4, x5, [sp, #48]\n\t"
                         "stp x6, x7, [sp, #64]\n\t"
                         "stp x8, x9, [sp, #80]\n\t"
                         "stp x10, x11, [sp, #96]\n\t"
                         "stp x12, x13, [sp, #112]\n\t"
                         "stp x14, x15, [sp, #128]\n\t"
                         "stp x17, x18, [sp, #144]\n\t"
                         "mrs x9, nzcv\n\t"
                         "mrs x10, fpsr\n\t"
                         "stp x9, x10, [sp, #160]\n\t"
                         "add x0, sp, #16\n\t"
                         "sub sp, sp, #512\n\t"
                         "stp q0, q1, [sp, #0]\n\t"
                         "stp q2, q3, [sp, #32]\n\t"
                         "stp q4, q5, [sp, #64]\n\t"
                         "stp q6, q7, [sp, #96]\n\t"
                         "stp q8, q9, [sp, #128]\n\t"
                         "stp q10, q11, [sp, #160]\n\t"
                         "stp q12, q13, [sp, #192]\n\t"
                         "stp q14, q15, [sp, #224]\n\t"
                         "stp q16, q17, [sp, #256]\n\t"
                         "stp q18, q19, [sp, #288]\n\t"
                         "stp q20, q21, [sp, #320]\n\t"
                         "stp q22, q23, [sp, #352]\n\t"
                         "stp q24, q25, [sp, #384]\n\t"
                         "stp q26, q27, [sp, #416]\n\t"
                         "stp q28, q29, [sp, #448]\n\t"
                         "stp q30, q31, [sp, #480]\n\t"
                         "bl redirect_futex\n\t"
                         "ldp q0, q1, [sp, #0]\n\t"
                         "ldp q2, q3, [sp, #32]\n\t"
                         "ldp q4, q5, [sp, #64]\n\t"
                         "ldp q6, q7, [sp, #96]\n\t"
                         "ldp q8, q9, [sp, #128]\n\t"
                         "ldp q10, q11, [sp, #160]\n\t"
                         "ldp q12, q13, [sp, #192]\n\t"
                         "ldp q14, q15, [sp, #224]\n\t"
                         "ldp q16, q17, [sp, #256]\n\t"
                         "ldp q18, q19, [sp, #288]\n\t"
                         "ldp q20, q21, [sp, #320]\n\t"
                         "ldp q22, q23, [sp, #352]\n\t"
                         "ldp q24, q25, [sp, #384]\n\t"
                         "ldp q26, q27, [sp, #416]\n\t"
                         "ldp q28, q29, [sp, #448]\n\t"
                         "ldp q30, q31, [sp, #480]\n\t"
                         "add sp, sp, #512\n\t"
                         "ldp x9, x10, [sp, #160]\n\t"
                         "msr nzcv, x9\n\t"
                         "msr fpsr, x10\n\t"
                         "ldr x1, [sp, #24]\n\t"
                         "ldp x2, x3, [sp, #32]\n\t"
                         "ldp x4, x5, [sp, #48]\n\t"
                         "ldp x6, x7, [sp, #64]\n\t"
                         "ldp x8, x9, [sp, #80]\n\t"
                         "ldp x10, x11, [sp, #96]\n\t"
                         "ldp x12, x13, [sp, #112]\n\t"
                         "ldp x14, x15, [sp, #128]\n\t"
                         "ldp x17, x18, [sp, #144]\n\t"
                         "ldp x29, x30, [sp], #192\n\t"
                         ".cfi_restore 30\n\t"
                         ".cfi_restore 29\n\t"
                         ".cfi_def_cfa 31, 0\n\t"
                         "ret");

ASSEMBLY(redirect_not_yet, "hint #34\n\t"
                           "svc #0\n\t"
                           "ret");

/* Zeroes are filled in for each place. The record that x29 points to says that the instruction
 * behind the system call is the caller; it ends where the caller's stack begins. */
static const uint32_t template[] = {
    0xd1000108u | SYS_futex << 10, /*    sub x8, x8, #SYS_futex */
    0xb4000088u,                   /*    cbz x8, 1f */
    0x91000108u | SYS_futex << 10, /*    add x8, x8, #SYS_futex */
    0xd4000001u,                   /*    svc #0 */
    0x14000000u,                   /*    b behind */
    0x91000108u | SYS_futex << 10, /* 1: add x8, x8, #SYS_futex */
    0xa9be7bf0u,                   /*    stp x16, x30, [sp, #-32]! */
    0x90000010u,                   /*    adrp x16, behind */
    0x91000210u,                   /*    add x16, x16, :lo12:behind */
    0xa90143fdu,                   /*    stp x29, x16, [sp, #16] */
    0x910043fdu,                   /*    add x29, sp, #16 */
    0x58000010u,                   /*    ldr x16, page->call */
    0xd63f0200u,                   /*    blr x16 */
    0xf9400bfdu,                   /*    ldr x29, [sp, #16] */
    0xa8c27bf0u,                   /*    ldp x16, x30, [sp], #32 */
    0x14000000u,                   /*    b behind */
};
enum { AT_BEHIND = 4, AT_PAGE = 7, AT_PAGE_REST = 8, AT_CALL = 11, AT_BEHIND_TOO = 15 };
_Static_assert(sizeof(template) == sizeof(struct place), "layout");

/* b at `at`. */
static uint32_t branch(uintptr_t at, uintptr_t to)
{
    intptr_t words = (intptr_t)(to - at) / (intptr_t)WORD;
    RT_ASSERT(words >= -(1 << 25) && words < 1 << 25 && (to - at) % WORD == 0);
    return 0x14000000u | ((uint32_t)words & 0x3ffffffu);
}

/* The operand of `ldr x16, to` at `at`. */
static uint32_t literal(uintptr_t at, uintptr_t to)
{
    intptr_t words = (intptr_t)(to - at) / (intptr_t)WORD;
    RT_ASSERT(words >= -(1 << 18) && words < 1 << 18 && (to - at) % WORD == 0);
    return ((uint32_t)words & 0x7ffffu) << 5;
}

/* The operand of `adrp x16, to` at `at`. */
static uint32_t pages(uintptr_t at, uintptr_t to)
{
    intptr_t distance = (intptr_t)(to >> 12) - (intptr_t)(at >> 12);
    RT_ASSERT(distance >= -(1 << 20) && distance < 1 << 20);
    return ((uint32_t)distance & 3) << 29 | ((uint32_t)(distance >> 2) & 0x7ffffu) << 5;
}

void redirect_write_place(struct page *page, const struct redirect_site *site, struct place *p)
{
    uintptr_t here = (uintptr_t)p, behind = site->at + WORD;
    uint32_t code[sizeof(template) / WORD];
    memcpy(code, template, sizeof(code));
    code[AT_BEHIND] = branch(here + AT_BEHIND * WORD, behind);
    code[AT_PAGE] |= pages(here + AT_PAGE * WORD, behind);
    code[AT_PAGE_REST] |= (uint32_t)(behind & 4095) << 10;
    code[AT_CALL] |= literal(here + AT_CALL * WORD, (uintptr_t)&page->call);
    code[AT_BEHIND_TOO] = branch(here + AT_BEHIND_TOO * WORD, behind);
    memcpy(p, code, sizeof(code));
}

void redirect_write_calls(const struct redirect_plan *plan, const struct page *page)
{
    for (unsigned i = 0; i < plan->nsites; i++) {
        uintptr_t at = plan->sites[i].at;
        uint32_t code = branch(at, (uintptr_t)&page->places[i]);
        RT_ASSERT(at % WORD == 0);
        __atomic_store_n((uint32_t *)at, code, __ATOMIC_RELAXED);
        __builtin___clear_cache((char *)at, (char *)at + WORD);
    }
}

/* valgrind replaces these instructions, which do nothing, by its answer. */
bool redirect_code_can_change(void)
{
    static const unsigned long question[6] = {0x1001};
    register unsigned long answer __asm__("x3") = 0;
    register const unsigned long *asked __asm__("x4") = question;
    __asm__ volatile("ror x12, x12, #3\n\t"
                     "ror x12, x12, #13\n\t"
                     "ror x12, x12, #51\n\t"
                     "ror x12, x12, #61\n\t"
                     "orr x10, x10, x10"
                     : "+r"(answer)
                     : "r"(asked)
                     : "cc", "memory");
    return answer == 0;
}

#endif
