/* SPDX-License-Identifier: MIT */
/*
 * linux_places.c (Linux) - where the code lies in which a thread must not be switched: the C
 * library, the dynamic linker, the sanitizers' runtimes, and this library.
 *
 * The places are found once, by the first caller, before there is a second worker; afterwards they
 * are only read, in signal handlers as well.
 */
#include "linux.h"

#if defined(PORT_ARCH_TLS_INC) && !defined(PIRN_TSAN) && !defined(PIRN_ASAN)

#include <link.h>
#include <string.h>

#define RANGES 16

static struct {
    unsigned nranges;
    struct {
        uintptr_t low, high;
        bool own;
    } range[RANGES];
    bool found_self, found_libc, self_is_program;
} places;

/* The POSIX layer's stand-in for a function of the C library: posix_syscall.c. */
extern const char __start_pirn_syscall[] __attribute__((weak, visibility("hidden")));
extern const char __stop_pirn_syscall[] __attribute__((weak, visibility("hidden")));

bool place_is_kept(uintptr_t pc, bool *own)
{
    for (unsigned i = 0; i < places.nranges; i++) {
        if (pc >= places.range[i].low && pc < places.range[i].high) {
            *own = places.range[i].own &&
                   !(pc >= (uintptr_t)__start_pirn_syscall && pc < (uintptr_t)__stop_pirn_syscall);
            return true;
        }
    }
    *own = false;
    return false;
}

static int range_add(struct dl_phdr_info *info, size_t size, void *unused)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash != NULL ? slash + 1 : info->dlpi_name;
    bool libc = strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-", 5) == 0;
    bool take = libc || strncmp(name, "ld-", 3) == 0 || strncmp(name, "ld.so", 5) == 0 ||
                strncmp(name, "libasan.", 8) == 0 || strncmp(name, "libtsan.", 8) == 0 ||
                strncmp(name, "liblsan.", 8) == 0;
    (void)size;
    (void)unused;
    places.found_libc |= libc;
    for (int pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < info->dlpi_phnum; i++) {
            const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
            uintptr_t low = info->dlpi_addr + ph->p_vaddr, high = low + ph->p_memsz;
            if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X)) {
                continue;
            }
            bool self = (uintptr_t)range_add >= low && (uintptr_t)range_add < high;
            if (self) {
                take = places.found_self = true;
                places.self_is_program = info->dlpi_name[0] == '\0';
            }
            if (pass == 1 && take && places.nranges < RANGES) {
                places.range[places.nranges].low = low;
                places.range[places.nranges].own = self;
                places.range[places.nranges++].high = high;
            }
        }
    }
    return 0;
}

bool places_known(void)
{
    if (places.nranges == 0) {
        dl_iterate_phdr(range_add, NULL);
    }
    return places.found_self && places.found_libc && !places.self_is_program;
}

#endif
