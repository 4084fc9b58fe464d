/* SPDX-License-Identifier: MIT */
/*
 * plan_aarch64.c (Linux, AArch64) - where a module makes system calls. Reads code and changes none.
 *
 * Each instruction is a word, so each `svc #0` becomes a branch. Words of data that look like one
 * lie in code without call frame information, or an instruction of their function loads them. If
 * code without that information has such a word, which may be an instruction, there is no plan.
 */
#include "redirect_plan.h"

#if defined(__aarch64__) && defined(REDIRECT)

#include <string.h>
#include <sys/auxv.h>

#define WORD 4u
#define SVC 0xd4000001u

/* Older headers of the C library do not have all of these. */
enum {
    SEGMENT_PROPERTY = 0x6474e553, /* PT_GNU_PROPERTY */
    FEATURES = 0xc0000000,         /* GNU_PROPERTY_AARCH64_FEATURE_1_AND */
    FEATURE_MARKS = 1,             /* ..._BTI */
    CPU_MARKS = 1 << 17,           /* HWCAP2_BTI */
    PAGE_MARKS = 0x10,             /* PROT_BTI */
};

/* Has the load with a relative address at pc this word in its operand of 4, 8 or 16 bytes? */
static bool loads(uintptr_t pc, uintptr_t word)
{
    uint32_t code = *(const uint32_t *)pc;
    if ((code & 0x3b000000u) != 0x18000000u) {
        return false;
    }
    bool vector = (code & 1u << 26) != 0;
    unsigned kind = code >> 30, size = vector ? WORD << kind : kind == 1 ? 2 * WORD : WORD;
    intptr_t distance = (intptr_t)((int32_t)(code << 8) >> 13) * (intptr_t)WORD;
    return word - (pc + (uintptr_t)distance) < size;
}

/* The word at `at` looks like a system call. False: what it is is unknown. */
static bool look_at(struct redirect_plan *plan, uintptr_t at)
{
    struct cfi_entry e;
    if (!cfi_find(&e, at) || e.begin % WORD != 0 || plan->nsites == REDIRECT_SITES) {
        return false;
    }
    for (uintptr_t pc = e.begin; pc < e.end; pc += WORD) {
        if (loads(pc, at)) {
            return true;
        }
    }
    plan->sites[plan->nsites++] = (struct redirect_site){at};
    return true;
}

bool redirect_plan_code(struct redirect_plan *plan, uintptr_t low, uintptr_t high)
{
    RT_ASSERT(plan->nsites == 0);
    for (uintptr_t at = (low + WORD - 1) & ~(uintptr_t)(WORD - 1); high - at >= WORD; at += WORD) {
        if (*(const uint32_t *)at == SVC && !look_at(plan, at)) {
            return false;
        }
    }
    if (plan->nsites == 0) {
        return false;
    }
    plan->low = plan->sites[0].at;
    plan->high = plan->sites[plan->nsites - 1].at + WORD;
    return true;
}

/* The note's property says that all targets of jumps in the module are marked (ELF for the Arm
 * 64-bit Architecture): the dynamic linker has asked for PROT_BTI. */
static bool has_marks(const uint8_t *note, size_t size)
{
    for (size_t at = sizeof(Elf64_Nhdr) + sizeof("GNU"); at + 12 <= size;) {
        uint32_t field[3];
        memcpy(field, note + at, sizeof(field));
        if (field[0] == FEATURES) {
            return (field[2] & FEATURE_MARKS) != 0;
        }
        at += 8 + (((size_t)field[1] + 7) & ~(size_t)7);
    }
    return false;
}

int redirect_plan_protection(const Elf64_Ehdr *head, uintptr_t base)
{
    const Elf64_Phdr *p = (const Elf64_Phdr *)((const char *)head + head->e_phoff);
    for (unsigned i = 0; i < head->e_phnum; i++) {
        if (p[i].p_type == SEGMENT_PROPERTY && (getauxval(AT_HWCAP2) & CPU_MARKS) != 0 &&
            has_marks((const uint8_t *)base + p[i].p_vaddr, p[i].p_memsz)) {
            return PAGE_MARKS;
        }
    }
    return 0;
}

#endif
