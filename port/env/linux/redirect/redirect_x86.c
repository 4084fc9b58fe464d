/* SPDX-License-Identifier: MIT */
/*
 * redirect_x86.c (Linux, x86-64) - the code for redirected system calls, and how a module's code
 * changes while threads execute it: for linux_redirect.c.
 *
 *   1. Each write is of 2 bytes within one line of the cache, or of bytes that nobody executes at
 *      that time. Between two steps all processors begin with new instructions (membarrier): first
 *      the jumps over the NOPs that give room, then the jumps there, then those in the place of
 *      instructions, then the system calls.
 */
#include "redirect_code.h"

#if defined(__x86_64__) && defined(REDIRECT)

#include <cpuid.h>
#include <string.h>
#include <sys/syscall.h>

#define AREA_LEGACY 576u /* of XSAVE's area: x87, SSE and the header */
#define OPCODE_JUMP_SHORT 0xeb
#define OPCODE_JUMP 0xe9

/* What redirect_entry saves (XCR0's bits), and in how many bytes. */
uint32_t redirect_parts __attribute__((visibility("hidden")));
uint64_t redirect_area __attribute__((visibility("hidden")));

/*
 * On entry: the registers of a system call; its stack, from 128 bytes below (which the caller may
 * use); the address to return to. All but rax, rcx and r11 are as before on return. The flags are
 * not: compilers' inline assembly changes them.
 */
ASSEMBLY(redirect_entry, "pushq %rbp\n\t"
                         ".cfi_def_cfa_offset 16\n\t"
                         ".cfi_offset %rbp, -16\n\t"
                         "movq %rsp, %rbp\n\t"
                         ".cfi_def_cfa_register %rbp\n\t"
                         "pushq %r9\n\t"
                         "pushq %r8\n\t"
                         "pushq %r10\n\t"
                         "pushq %rdx\n\t"
                         "pushq %rsi\n\t"
                         "pushq %rdi\n\t"
                         "movq %rsp, %rdi\n\t"
                         "subq redirect_area(%rip), %rsp\n\t"
                         "andq $-64, %rsp\n\t"
                         "xorl %edx, %edx\n\t"
                         "movq %rdx, 512(%rsp)\n\t" /* XSAVE's header */
                         "movq %rdx, 520(%rsp)\n\t"
                         "movq %rdx, 528(%rsp)\n\t"
                         "movq %rdx, 536(%rsp)\n\t"
                         "movq %rdx, 544(%rsp)\n\t"
                         "movq %rdx, 552(%rsp)\n\t"
                         "movq %rdx, 560(%rsp)\n\t"
                         "movq %rdx, 568(%rsp)\n\t"
                         "movl redirect_parts(%rip), %eax\n\t"
                         "xsave64 (%rsp)\n\t"
                         "call redirect_futex\n\t"
                         "movq %rax, %rcx\n\t"
                         "movl redirect_parts(%rip), %eax\n\t"
                         "xorl %edx, %edx\n\t"
                         "xrstor64 (%rsp)\n\t"
                         "movq %rcx, %rax\n\t"
                         "leaq -48(%rbp), %rsp\n\t"
                         "popq %rdi\n\t"
                         "popq %rsi\n\t"
                         "popq %rdx\n\t"
                         "popq %r10\n\t"
                         "popq %r8\n\t"
                         "popq %r9\n\t"
                         "popq %rbp\n\t"
                         ".cfi_def_cfa %rsp, 8\n\t"
                         "ret");

ASSEMBLY(redirect_not_yet, "syscall\n\t"
                           "ret");

/* rcx, which system calls change, tells futex from others: so the flags and the stack stay as they
 * are for all others. */
static const struct place template = {{
    0x90,        0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
    0x90,                                            /* the end: an instruction that has moved */
    0x48,        0x8d, 0x88, 0x00, 0x00, 0x00, 0x00, /*    lea -SYS_futex(%rax), %rcx */
    0xe3,        0x07,                               /*    jrcxz 1f */
    0x0f,        0x05,                               /*    syscall */
    OPCODE_JUMP, 0x00, 0x00, 0x00, 0x00,             /*    jmp behind */
    0x48,        0x8d, 0x64, 0x24, 0x80,             /* 1: lea -128(%rsp), %rsp */
    0xff,        0x15, 0x00, 0x00, 0x00, 0x00,       /*    call *page->call(%rip) */
    0x48,        0x8d, 0xa4, 0x24, 0x80, 0x00, 0x00,
    0x00,                                /* lea 128(%rsp), %rsp */
    OPCODE_JUMP, 0x00, 0x00, 0x00, 0x00, /*    jmp behind */
}};
enum { AT_BEGIN = 8, AT_NUMBER = 11, AT_BEHIND = 20, AT_CALL = 31, AT_BEHIND_TOO = 44 };

static void write_distance(void *field, uintptr_t to)
{
    int32_t distance = (int32_t)(to - ((uintptr_t)field + sizeof(int32_t)));
    RT_ASSERT((uintptr_t)field + sizeof(int32_t) + (uintptr_t)(intptr_t)distance == to);
    memcpy(field, &distance, sizeof(distance));
}

/* At once. */
static void write_two(uintptr_t at, uint16_t bytes)
{
    RT_ASSERT(at % 64 != 63);
    __asm__ volatile("movw %1, %0" : "=m"(*(uint16_t *)at) : "r"(bytes) : "memory");
}

/* A jump of 2 bytes. */
static void write_hop(uintptr_t at, uintptr_t to)
{
    intptr_t distance = (intptr_t)(to - at - 2);
    RT_ASSERT(distance >= INT8_MIN && distance <= INT8_MAX);
    write_two(at, (uint16_t)(OPCODE_JUMP_SHORT | (uint16_t)(uint8_t)distance << 8));
}

/* A jump of 5 bytes: `to` lies beside the module. */
static void write_jump(uint8_t *bytes, uintptr_t at, uintptr_t to)
{
    int32_t distance = (int32_t)(to - at - 5);
    bytes[0] = OPCODE_JUMP;
    memcpy(bytes + 1, &distance, sizeof(distance));
}

/* Does the jump replace the instruction before the call? */
static bool has_moved(const struct redirect_site *site)
{
    return site->before != 0;
}

static uintptr_t begin_of(const struct redirect_site *site, const struct place *p)
{
    return (uintptr_t)&p->code[AT_BEGIN] - (has_moved(site) ? site->before : 0u);
}

void redirect_write_place(struct page *page, const struct redirect_site *site, struct place *p)
{
    int32_t number = -SYS_futex;
    *p = template;
    if (has_moved(site)) {
        uint8_t *end = &p->code[AT_BEGIN];
        RT_ASSERT(site->before >= 5 && site->before <= AT_BEGIN);
        memcpy(end - site->before, (const void *)(site->at - site->before), site->before);
        if (site->relative) {
            int32_t distance;
            memcpy(&distance, end - sizeof(distance), sizeof(distance));
            write_distance(end - sizeof(distance), site->at + (uintptr_t)(intptr_t)distance);
        }
    }
    memcpy(&p->code[AT_NUMBER], &number, sizeof(number));
    write_distance(&p->code[AT_BEHIND], site->at + 2);
    write_distance(&p->code[AT_CALL], (uintptr_t)&page->call);
    write_distance(&p->code[AT_BEHIND_TOO], site->at + 2);
}

static void write_room(const struct redirect_plan *plan, const struct page *page)
{
    for (unsigned i = 0; i < plan->room.nregions; i++) {
        const struct redirect_region *r = &plan->room.regions[i];
        if (r->head != 0 && r->size != r->skip) {
            write_hop(r->head, r->head + 2 + r->skip);
        }
    }
    redirect_renew();
    for (unsigned i = 0; i < plan->room.nhops; i++) {
        write_hop(plan->room.hops[i].at, plan->room.hops[i].to);
    }
    for (unsigned i = 0; i < plan->nsites; i++) {
        const struct redirect_site *site = &plan->sites[i];
        if (!has_moved(site)) {
            write_jump((uint8_t *)site->last, site->last, begin_of(site, &page->places[i]));
        }
    }
    redirect_renew();
}

/* Jumps in the place of instructions. In the first step whoever comes there waits, in a jump to
 * itself, until the others are done. */
static void write_moved(const struct redirect_plan *plan, const struct page *page)
{
    uint8_t bytes[5];
    for (unsigned step = 0; step < 3; step++) {
        for (unsigned i = 0; i < plan->nsites; i++) {
            const struct redirect_site *site = &plan->sites[i];
            if (!has_moved(site)) {
                continue;
            }
            write_jump(bytes, site->last, begin_of(site, &page->places[i]));
            if (step == 0) {
                write_hop(site->last, site->last);
            } else if (step == 1) {
                memcpy((uint8_t *)site->last + 2, bytes + 2, 3);
            } else {
                write_two(site->last, (uint16_t)(bytes[0] | bytes[1] << 8));
            }
        }
        redirect_renew();
    }
}

void redirect_write_calls(const struct redirect_plan *plan, const struct page *page)
{
    write_room(plan, page);
    write_moved(plan, page);
    for (unsigned i = 0; i < plan->nsites; i++) {
        write_hop(plan->sites[i].at, plan->sites[i].first);
    }
}

/* valgrind replaces these instructions, which do nothing, by its answer. */
static bool under_valgrind(void)
{
    unsigned long question[6] = {0x1001}, answer = 0;
    __asm__ volatile("rolq $3, %%rdi\n\t"
                     "rolq $13, %%rdi\n\t"
                     "rolq $61, %%rdi\n\t"
                     "rolq $51, %%rdi\n\t"
                     "xchgq %%rbx, %%rbx"
                     : "+d"(answer)
                     : "a"(question)
                     : "cc", "memory");
    return answer != 0;
}

/* The parts of the registers' state that code may keep across a system call: x87, SSE, AVX, MPX,
 * AVX-512 and the additional general registers. Tiles are left out: a function that uses them calls
 * no library meanwhile. */
static bool registers_learn(void)
{
    static const uint32_t kept = 0xffu | 1u << 19;
    unsigned a, b, c, d;
    uint32_t low, high;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) {
        return false;
    }
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    uint64_t size = AREA_LEGACY;
    for (unsigned i = 2; i < 32; i++) {
        if ((low & kept & 1u << i) != 0) {
            __cpuid_count(0xd, i, a, b, c, d);
            size = a + b > size ? a + b : size;
        }
    }
    redirect_parts = low & kept;
    redirect_area = size;
    return true;
}

bool redirect_code_can_change(void)
{
    return !under_valgrind() && registers_learn();
}

#endif
