/* SPDX-License-Identifier: MIT */
/*
 * linux_preloaded.c (Linux) - has the program itself been linked with this library? It has if its
 * file names the library among those that it needs, or contains it. LD_PRELOAD says less: it is in
 * the environment of programs that are linked, too, and programs change it; /etc/ld.so.preload is
 * in none.
 */
#include "linux.h"
#include "port_options.h"

#include <link.h>
#include <string.h>

static const char own[] = "libpirn";

/* The value of a dynamic entry that is an address: relocated, but where the section is read-only.
 */
static const char *address_of(const struct dl_phdr_info *program, const ElfW(Dyn) * entry)
{
    uintptr_t at = entry->d_un.d_ptr;
    return (const char *)(at < program->dlpi_addr ? program->dlpi_addr + at : at);
}

static bool names_us(const struct dl_phdr_info *program, const ElfW(Dyn) * entries)
{
    const char *names = NULL;
    for (const ElfW(Dyn) *d = entries; d->d_tag != DT_NULL; d++) {
        names = d->d_tag == DT_STRTAB ? address_of(program, d) : names;
    }
    for (const ElfW(Dyn) *d = entries; names != NULL && d->d_tag != DT_NULL; d++) {
        const char *slash = d->d_tag == DT_NEEDED ? strrchr(names + d->d_un.d_val, '/') : NULL;
        const char *name = slash != NULL ? slash + 1 : names + d->d_un.d_val;
        if (d->d_tag == DT_NEEDED && strncmp(name, own, sizeof(own) - 1) == 0) {
            return true;
        }
    }
    return false;
}

/* The first object is the program. */
static int look(struct dl_phdr_info *program, size_t size, void *linked)
{
    (void)size;
    for (unsigned i = 0; i < program->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &program->dlpi_phdr[i];
        uintptr_t at = program->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_DYNAMIC && names_us(program, (const void *)at)) {
            *(bool *)linked = true;
        }
        if (p->p_type == PT_LOAD && (uintptr_t)look - at < p->p_memsz) {
            *(bool *)linked = true; /* it is linked statically */
        }
    }
    return 1;
}

bool port_preloaded(void)
{
    bool linked = false;
    dl_iterate_phdr(look, &linked);
    return !linked;
}
