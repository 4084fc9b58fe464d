/* SPDX-License-Identifier: MIT */
/*
 * linux_modules.c (Linux) - the program or library at an address, without a lock: signal handlers
 * ask.
 *
 * glibc answers that since 2.35 (_dl_find_object), also while modules come and go. It is looked up
 * by its name, so that a library that was built with an older glibc finds it in a newer one. With
 * an older one the modules with which the program was started are known, which are never unloaded;
 * those of dlopen are not.
 */
#include "linux_modules.h"
#include "linux.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

/* struct dl_find_object of <dlfcn.h>, as far as all versions and architectures have it. */
struct object {
    unsigned long long flags;
    void *map_start, *map_end;
    struct link_map *link_map;
    void *eh_frame;
    void *more[12];
};

typedef int (*find_fn)(void *pc, struct object *found);

/* (C) */
static struct {
    find_fn object;
    struct module at_start[64];
    unsigned count;
    struct module kernels; /* the code that the kernel maps (vdso) */
} find;

static int note_module(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct module m = {.start = UINTPTR_MAX, .base = (uintptr_t)info->dlpi_addr};
    (void)size;
    (void)arg;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t at = m.base + (uintptr_t)p->p_vaddr;
        if (p->p_type == PT_GNU_EH_FRAME) {
            m.frames = (const uint8_t *)at;
        } else if (p->p_type == PT_LOAD) {
            at &= ~(uintptr_t)(PAGE_SIZE - 1);
            m.start = at < m.start ? at : m.start;
            m.end = m.base + (uintptr_t)(p->p_vaddr + p->p_memsz);
        }
    }
    if (m.start < m.end) {
        find.at_start[find.count++] = m;
    }
    return find.count == ARRAY_SIZE(find.at_start);
}

void modules_find(void)
{
    *(void **)&find.object = dlsym(RTLD_DEFAULT, "_dl_find_object");
    if (find.object == NULL && find.count == 0) {
        dl_iterate_phdr(note_module, NULL);
    }
    uintptr_t head = (uintptr_t)getauxval(AT_SYSINFO_EHDR);
    if (head != 0) {
        module_at(head, &find.kernels);
    }
}

bool module_is_kernels(uintptr_t pc)
{
    const struct module *m = &find.kernels;
    return pc >= m->start && pc < m->end && m->end - pc >= 2 * sizeof(uint32_t);
}

bool module_at(uintptr_t pc, struct module *module)
{
    struct object object;
    if (find.object != NULL) {
        if (find.object((void *)pc, &object) != 0) {
            return false;
        }
        *module = (struct module){(uintptr_t)object.map_start, (uintptr_t)object.map_end,
                                  (uintptr_t)object.link_map->l_addr, object.eh_frame};
        return true;
    }
    for (unsigned i = 0; i < find.count; i++) {
        if (pc >= find.at_start[i].start && pc < find.at_start[i].end) {
            *module = find.at_start[i];
            return true;
        }
    }
    return false;
}
