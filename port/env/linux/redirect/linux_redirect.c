/* SPDX-License-Identifier: MIT */
/*
 * linux_redirect.c (Linux, x86-64) - libraries that make the system call futex by an instruction of
 * their own (gcc's OpenMP) come to the POSIX layer instead, so that their threads wait in user
 * space.
 *
 * A preloaded library sees calls of functions, not instructions. So such a wait holds a worker
 * until the monitor notices (linux_blocked.c). Then the module that has the instruction is changed:
 * each of its system calls becomes a jump (redirect_plan.c) to a piece of code for this place,
 * beside the module. That makes the system call, and jumps back behind it. If it is futex, it calls
 * redirect_entry, which saves the registers that system calls preserve, and calls the POSIX layer.
 *
 * It happens once for each module, in the handler of the thread that waits there: so nobody unloads
 * the module meanwhile. Whatever fails (no room, no permission to change code), the module stays as
 * it is, and its waits cost what they cost before.
 *
 * Other threads may execute the code that changes:
 *   1. Each write is of 2 bytes within one line of the cache, or of bytes that nobody executes at
 *      that time. Between two steps all processors begin with new instructions (membarrier): first
 *      the jumps over the NOPs that give room, then the jumps there, then those in the place of
 *      instructions, then the system calls.
 *   2. A thread that sleeps in a system call that has been replaced returns behind it, where
 *      nothing has changed. If the kernel repeats the call after a handler, it executes the jump.
 *   3. User threads must not wait in user space while a waker may make the kernel's call: nobody
 *      would wake them. So until all calls of the module are replaced, and all processors know
 *      (`page->call`), its futex calls are made in the kernel as before. A waker that has stored
 *      the word before, and then made the old instruction's call, is past both: whoever waits
 *      afterwards sees the word. Those who wait in the kernel already are woken, since the POSIX
 *      layer wakes both kinds.
 * A child of fork has the code as it is at that time, and nobody to change the rest. So whoever
 * forks waits until no thread is at it.
 *
 * If another module uses the same word, and has not been changed, its wake-ups do not reach user
 * threads: those look at the word again from time to time (posix_futex.c).
 *
 * All this needs call frame information that signal handlers can find (glibc 2.35), and membarrier
 * for code (Linux 4.16). Not under valgrind, which executes a copy of the code.
 */
#include "linux_redirect.h"
#include "linux_modules.h"
#include "port_posix.h"
#include "redirect_plan.h"

#if defined(__x86_64__) && defined(CFI_TABLES)

#include <cpuid.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REFUSED 16u
#define FAR 0x70000000u /* a jump of 5 bytes reaches 2 GiB; the module lies within these, too */
#define FAR_STEP 0x1000000u
#define AREA_LEGACY 576u /* of XSAVE's area: x87, SSE and the header */
#define OPCODE_JUMP_SHORT 0xeb
#define OPCODE_JUMP 0xe9

/* One place: 64 bytes of code. */
struct place {
    uint8_t code[64];
};

/* Memory beside a module: a page of data, then code. */
struct page {
    void (*call)(void) __attribute__((aligned(4096))); /* redirect_entry, or redirect_not_yet */
    struct place places[] __attribute__((aligned(4096)));
};

static struct {
    long (*futex)(const long *args);
    uint32_t busy; /* 1: a thread plans or writes, or forks; 0: release */
    unsigned nrefused;
    uintptr_t refused[REFUSED]; /* modules, by where they begin */
    struct redirect_plan plan;
} redirect;

/* What redirect_entry saves (XCR0's bits), and in how many bytes. */
uint32_t redirect_parts __attribute__((visibility("hidden")));
uint64_t redirect_area __attribute__((visibility("hidden")));

void redirect_entry(void) __attribute__((visibility("hidden")));
void redirect_not_yet(void) __attribute__((visibility("hidden")));
long redirect_futex(const long *args) __attribute__((visibility("hidden")));

/*
 * On entry: the registers of a system call; its stack, from 128 bytes below (which the caller may
 * use); the address to return to. All but rax, rcx and r11 are as before on return. The flags are
 * not: compilers' inline assembly changes them.
 */
__asm__(".pushsection .text\n\t"
        ".p2align 4\n\t"
        ".globl redirect_entry\n\t"
        ".hidden redirect_entry\n\t"
        ".type redirect_entry, @function\n"
        "redirect_entry:\n\t"
        ".cfi_startproc\n\t"
        "pushq %rbp\n\t"
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
        "ret\n\t"
        ".cfi_endproc\n\t"
        ".size redirect_entry, .-redirect_entry\n\t"
        ".p2align 4\n\t"
        ".globl redirect_not_yet\n\t"
        ".hidden redirect_not_yet\n\t"
        ".type redirect_not_yet, @function\n"
        "redirect_not_yet:\n\t"
        ".cfi_startproc\n\t"
        "syscall\n\t"
        "ret\n\t"
        ".cfi_endproc\n\t"
        ".size redirect_not_yet, .-redirect_not_yet\n\t"
        ".popsection");

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
_Static_assert(sizeof(struct place) == 64 && offsetof(struct page, places) == 4096, "layout");

/* The result of the kernel's call; errno is not changed. */
long redirect_futex(const long *args)
{
    int saved = errno;
    long result = redirect.futex(args);
    if (result == -1) {
        result = -errno;
    }
    errno = saved;
    return result;
}

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

static void write_place(struct page *page, const struct redirect_site *site, struct place *p)
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

static size_t page_size(const struct redirect_plan *plan)
{
    size_t size = sizeof(struct page) + plan->nsites * sizeof(struct place);
    return (size + 4095) & ~(size_t)4095;
}

static bool is_near(const struct redirect_plan *plan, uintptr_t at)
{
    return at + FAR > plan->high && plan->low + FAR > at;
}

/* Memory beside the module. */
static struct page *page_map(const struct redirect_plan *plan)
{
    size_t size = page_size(plan);
    for (uintptr_t away = 0; away < FAR; away += FAR_STEP) {
        uintptr_t wishes[] = {plan->high + away, plan->low - away - size};
        for (unsigned i = 0; i < 2; i++) {
            void *got = mmap((void *)wishes[i], size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (got != MAP_FAILED && is_near(plan, (uintptr_t)got)) {
                return got;
            }
            if (got != MAP_FAILED) {
                munmap(got, size);
            }
        }
    }
    return NULL;
}

/* All processors go on with the code as it is now, and have made their stores visible. */
static void processors_renew(void)
{
    unsigned round = 0;
    while (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) != 0) {
        port_relax(round++); /* the kernel has no memory now */
    }
}

static void write_room(const struct redirect_plan *plan, struct page *page)
{
    for (unsigned i = 0; i < plan->nregions; i++) {
        const struct redirect_region *r = &plan->regions[i];
        if (r->head != 0 && r->size != r->skip) {
            write_hop(r->head, r->head + 2 + r->skip);
        }
    }
    processors_renew();
    for (unsigned i = 0; i < plan->nhops; i++) {
        write_hop(plan->hops[i].at, plan->hops[i].to);
    }
    for (unsigned i = 0; i < plan->nsites; i++) {
        const struct redirect_site *site = &plan->sites[i];
        if (!has_moved(site)) {
            write_jump((uint8_t *)site->last, site->last, begin_of(site, &page->places[i]));
        }
    }
    processors_renew();
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
        processors_renew();
    }
}

static void write_calls(const struct redirect_plan *plan, struct page *page)
{
    for (unsigned i = 0; i < plan->nsites; i++) {
        write_hop(plan->sites[i].at, plan->sites[i].first);
    }
    processors_renew();
    __atomic_store_n(&page->call, redirect_entry, __ATOMIC_SEQ_CST);
}

/* Once code leads to the page, the page stays. */
static bool plan_execute(const struct redirect_plan *plan)
{
    size_t size = plan->high - plan->low;
    struct page *page = page_map(plan);
    if (page == NULL) {
        return false;
    }
    page->call = redirect_not_yet;
    for (unsigned i = 0; i < plan->nsites; i++) {
        write_place(page, &plan->sites[i], &page->places[i]);
    }
    size_t code = page_size(plan) - sizeof(*page);
    bool open = mprotect(page->places, code, PROT_READ | PROT_EXEC) == 0 &&
                mprotect((void *)plan->low, size, PROT_READ | PROT_WRITE | PROT_EXEC) == 0;
    if (!open) {
        munmap(page, page_size(plan));
        return false;
    }
    write_room(plan, page);
    write_moved(plan, page);
    write_calls(plan, page);
    mprotect((void *)plan->low, size, plan->protection);
    return true;
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

static bool can_redirect(void)
{
    return !under_valgrind() && registers_learn() &&
           syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) == 0;
}

bool redirect_is_possible(void)
{
    return can_redirect();
}

void port_redirect_futexes(long (*futex)(const long *args))
{
    __atomic_store_n(&redirect.futex, futex, __ATOMIC_RELEASE);
}

static bool is_refused(uintptr_t module)
{
    for (unsigned i = 0; i < redirect.nrefused; i++) {
        if (redirect.refused[i] == module) {
            return true;
        }
    }
    return redirect.nrefused == REFUSED;
}

void redirect_before_fork(void)
{
    for (unsigned round = 0; __atomic_exchange_n(&redirect.busy, 1, __ATOMIC_ACQUIRE) != 0;
         round++) {
        port_relax(round);
    }
}

void redirect_after_fork(void)
{
    RT_ASSERT(__atomic_load_n(&redirect.busy, __ATOMIC_RELAXED) == 1);
    __atomic_store_n(&redirect.busy, 0, __ATOMIC_RELEASE);
}

void redirect_learn(uintptr_t pc)
{
    struct module object;
    bool own;
    RT_ASSERT(redirect.plan.nsites <= REDIRECT_SITES);
    if (__atomic_load_n(&redirect.futex, __ATOMIC_ACQUIRE) == NULL ||
        preempt_pc_is_kept(pc, &own) || !module_at(pc, &object) ||
        __atomic_exchange_n(&redirect.busy, 1, __ATOMIC_ACQUIRE) != 0) {
        return;
    }
    uintptr_t module = object.start;
    const uint8_t *bytes = (const uint8_t *)pc;
    if (!is_refused(module) && bytes[0] == 0x0f &&
        !(can_redirect() && redirect_plan(&redirect.plan, pc) && plan_execute(&redirect.plan))) {
        redirect.refused[redirect.nrefused++] = module;
    }
    __atomic_store_n(&redirect.busy, 0, __ATOMIC_RELEASE);
}

#else

void port_redirect_futexes(long (*futex)(const long *args))
{
    (void)futex;
}

void redirect_learn(uintptr_t pc)
{
    (void)pc;
}

void redirect_before_fork(void) {}

void redirect_after_fork(void) {}

bool redirect_is_possible(void)
{
    return false;
}
#endif
