/* SPDX-License-Identifier: MIT */
/*
 * redirect_plan.c (Linux) - the code of a module whose system calls are to go elsewhere. The
 * architecture plans for each of them (plan_x86.c, plan_aarch64.c): a module changes whole or not
 * at all.
 */
#include "redirect_plan.h"
#include "linux_modules.h"

#ifdef REDIRECT

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096u

static bool is_header(uintptr_t at)
{
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)at;
    return memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_phoff < PAGE &&
           head->e_phoff + head->e_phnum * sizeof(Elf64_Phdr) <= PAGE;
}

/* By a call that filters allow, unlike mincore: with MS_ASYNC it does nothing else. */
static bool is_mapped(uintptr_t page)
{
    return syscall(SYS_msync, page, PAGE, MS_ASYNC) == 0;
}

/* The loader maps a file's header with its first segment. If the module is one of several segments
 * that are apart, the header is where address 0 of the file is, provided that there is memory. */
static const Elf64_Ehdr *header_of(const struct module *module)
{
    uintptr_t at = module->start;
    if (!is_header(at)) {
        at = module->base;
        if (at % PAGE != 0 || !is_mapped(at) || !is_header(at)) {
            return NULL;
        }
    }
    return (const Elf64_Ehdr *)at;
}

/* A linker writes one segment of code. A module that has several is left as it is. */
bool redirect_plan(struct redirect_plan *plan, uintptr_t pc)
{
    struct module module;
    const Elf64_Ehdr *head = module_at(pc, &module) ? header_of(&module) : NULL;
    const Elf64_Phdr *code = NULL;
    plan->nsites = 0;
    for (unsigned i = 0; head != NULL && i < head->e_phnum; i++) {
        const Elf64_Phdr *p = (const Elf64_Phdr *)((const char *)head + head->e_phoff) + i;
        if (p->p_type == PT_LOAD && (p->p_flags & PF_X) != 0) {
            if (code != NULL) {
                return false;
            }
            code = p;
        }
    }
    if (code == NULL) {
        return false;
    }
    plan->protection = PROT_EXEC | ((code->p_flags & PF_R) != 0 ? PROT_READ : 0) |
                       ((code->p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
                       redirect_plan_protection(head, module.base);
    uintptr_t low = module.base + code->p_vaddr;
    if ((plan->protection & PROT_READ) == 0 || pc - low >= code->p_filesz ||
        !redirect_plan_code(plan, low, low + code->p_filesz)) {
        return false;
    }
    RT_ASSERT(plan->nsites != 0 && plan->nsites <= REDIRECT_SITES && plan->low < plan->high);
    plan->low &= ~(uintptr_t)(PAGE - 1);
    plan->high = (plan->high + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    return true;
}

#endif
