/* SPDX-License-Identifier: MIT */
/*
 * glibc_stdio.c (Linux) - reading and writing of glibc's streams by functions of ours.
 *
 * stdio's own calls of read and write do not go through the exported names, so no library can
 * replace them by defining those. But each stream has a table of functions (struct _IO_jump_t),
 * and these tables hold the addresses of two exported functions, _IO_file_read and _IO_file_write.
 * The tables are constant, in the part of the C library that is read-only after relocation.
 * glibc checks that a stream's table lies there; it does not check what is in the table. So the
 * two addresses are replaced there, in the tables of all kinds of streams at once: of files, wide
 * ones, those of popen. Streams without a descriptor (memory, cookies) have other functions.
 *
 * It happens once, while the runtime starts. Kernel threads that use streams meanwhile call the old
 * function or the new one; both do the same for them.
 *
 * The two are neighbours in a table (read, then write). A word that is not followed, or preceded,
 * by the other one is no table's, and is left alone.
 */
#include "glibc.h"
#include "port_stdio.h"

#if PORT_STDIO

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

/* Addresses as numbers: of the old functions, and of a table's words. */
struct search {
    uintptr_t read, write;
    uintptr_t low, high; /* the part that is read-only after relocation */
};

static int find_part(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *s = arg;
    uintptr_t low = 0, high = 0;
    bool here = false;
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t at = (uintptr_t)(info->dlpi_addr + p->p_vaddr);
        if (p->p_type == PT_LOAD && s->read >= at && s->read - at < p->p_memsz) {
            here = true;
        } else if (p->p_type == PT_GNU_RELRO) {
            low = at;
            high = at + p->p_memsz;
        }
    }
    if (here) {
        s->low = (low + sizeof(uintptr_t) - 1) & ~(sizeof(uintptr_t) - 1);
        s->high = high & ~(sizeof(uintptr_t) - 1);
    }
    return here;
}

static unsigned replace(const struct search *s, const struct port_stdio *functions)
{
    unsigned found = 0;
    for (uintptr_t *at = (uintptr_t *)s->low; at + 1 < (uintptr_t *)s->high; at++) {
        if (at[0] == s->read && at[1] == s->write) {
            if (functions != NULL) {
                __atomic_store_n(&at[0], (uintptr_t)functions->read, __ATOMIC_RELEASE);
                __atomic_store_n(&at[1], (uintptr_t)functions->write, __ATOMIC_RELEASE);
            }
            found++;
        }
    }
    return found;
}

int port_stdio_replace(const struct port_stdio *functions)
{
    struct search s = {.read = (uintptr_t)dlsym(RTLD_NEXT, "_IO_file_read"),
                       .write = (uintptr_t)dlsym(RTLD_NEXT, "_IO_file_write")};
    if (s.read == 0 || s.write == 0) {
        return -ENOTSUP;
    }
    dl_iterate_phdr(find_part, &s);
    if (s.low == s.high || replace(&s, NULL) == 0) {
        return -ENOTSUP;
    }
    uintptr_t from = s.low & ~(uintptr_t)(PAGE_SIZE - 1);
    size_t size = ((s.high + PAGE_SIZE - 1) & ~(uintptr_t)(PAGE_SIZE - 1)) - from;
    if (mprotect((void *)from, size, PROT_READ | PROT_WRITE) != 0) {
        return -errno;
    }
    replace(&s, functions);
    mprotect((void *)from, size, PROT_READ);
    return 0;
}

#endif
