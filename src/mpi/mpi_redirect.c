/* SPDX-License-Identifier: MIT */
/*
 * mpi_redirect.c - functions that the libraries of MPI call, and that this library replaces there
 * and nowhere else.
 *
 * MPI's Fortran interfaces call PMPI_x of the C interface, which this library does not replace:
 * MPI_x here calls it. (Open MPI's always do, MPICH's where a function has no buffer.) So the
 * Fortran libraries get MPI_x in place of PMPI_x. The library that makes progress gets a function
 * in which a thread that waits there gives way: mpi_pause.c.
 *
 * A constructor does it: at that time all libraries that the program is linked with are there, and
 * none has called MPI. The place where a library keeps the address of a function that it calls is
 * named by its relocations (System V ABI, "Dynamic Linking"): the symbol, and the word to change.
 * A library that is loaded later, by dlopen, is not changed.
 */
#include "mpi_lib.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Relocations of words that hold a function's address. */
#if defined(__x86_64__)
#define IS_ADDRESS(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#elif defined(__aarch64__)
#define IS_ADDRESS(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#elif defined(__riscv)
#define IS_ADDRESS(type) ((type) == R_RISCV_JUMP_SLOT || (type) == R_RISCV_64)
#else
#error "the relocations of this architecture: see its ELF supplement"
#endif

#ifdef OPEN_MPI
static const char *const fortran[] = {"/libmpi_mpifh.so", "/libmpi_usempi", NULL};
static const char *const progress[] = {"/libopen-pal.so", NULL};
#else
static const char *const fortran[] = {"/libmpichfort.so", NULL};
static const char *const progress[] = {"/libmpich.so", NULL};
#endif

/* A library in memory. */
struct image {
    const struct dl_phdr_info *info;
    void *(*ours)(const char *name); /* what replaces a function; NULL: nothing */
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Rela) * tables[2];
    size_t sizes[2]; /* bytes */
};

/* This library's MPI_x for PMPI_x; NULL: it has none, or another one precedes it. */
static void *ours_for_fortran(const char *name)
{
    Dl_info self, found;
    void *function = strncmp(name, "PMPI_", 5) == 0 ? dlsym(RTLD_DEFAULT, name + 1) : NULL;
    bool is_ours = function != NULL && dladdr(function, &found) != 0 &&
                   dladdr((void *)&mpi_lib, &self) != 0 && found.dli_fbase == self.dli_fbase;
    return is_ours ? function : NULL;
}

static void *ours_for_progress(const char *name)
{
    return strcmp(name, MPI_PAUSE_NAME) == 0 ? (void *)mpi_pause : NULL;
}

/* Is the word in the part that the linker has made read-only? */
static bool is_read_only(const struct dl_phdr_info *info, uintptr_t at)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_GNU_RELRO && at >= from && at < from + p->p_memsz) {
            return true;
        }
    }
    return false;
}

/* 0 or an error number. */
static int store(const struct dl_phdr_info *info, uintptr_t at, void *function)
{
    uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE), page = at & ~(size - 1);
    bool locked = is_read_only(info, at);
    if (locked && mprotect((void *)page, size, PROT_READ | PROT_WRITE) != 0) {
        return errno;
    }
    __atomic_store_n((void **)at, function, __ATOMIC_RELAXED);
    return locked && mprotect((void *)page, size, PROT_READ) != 0 ? errno : 0;
}

static int redirect_table(const struct image *image, const ElfW(Rela) * table, size_t size)
{
    int error = 0;
    for (size_t i = 0; i < size / sizeof(*table) && error == 0; i++) {
        const ElfW(Sym) *symbol = &image->symbols[ELF64_R_SYM(table[i].r_info)];
        if (IS_ADDRESS(ELF64_R_TYPE(table[i].r_info)) && symbol->st_name != 0) {
            void *function = image->ours(image->names + symbol->st_name);
            if (function != NULL) {
                error = store(image->info, image->info->dlpi_addr + table[i].r_offset, function);
            }
        }
    }
    return error;
}

/* The linker has made addresses of these offsets on some architectures. */
static const void *address(const struct dl_phdr_info *info, uintptr_t value)
{
    return (const void *)(value < info->dlpi_addr ? info->dlpi_addr + value : value);
}

static void image_read(struct image *image, const ElfW(Dyn) * dynamic)
{
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        const void *at = address(image->info, dynamic->d_un.d_ptr);
        switch (dynamic->d_tag) {
        case DT_SYMTAB:
            image->symbols = at;
            break;
        case DT_STRTAB:
            image->names = at;
            break;
        case DT_RELA:
            image->tables[0] = at;
            break;
        case DT_RELASZ:
            image->sizes[0] = dynamic->d_un.d_val;
            break;
        case DT_JMPREL:
            image->tables[1] = at;
            break;
        case DT_PLTRELSZ:
            image->sizes[1] = dynamic->d_un.d_val;
            break;
        default:
            break;
        }
    }
}

static bool is_one_of(const char *name, const char *const *libraries)
{
    while (*libraries != NULL && strstr(name, *libraries) == NULL) {
        libraries++;
    }
    return *libraries != NULL;
}

static void redirect_image(struct image *image, const char *if_not)
{
    const struct dl_phdr_info *info = image->info;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            image_read(image, (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr));
        }
    }
    for (unsigned i = 0; i < 2 && image->symbols != NULL && image->names != NULL; i++) {
        int error = redirect_table(image, image->tables[i], image->sizes[i]);
        if (error != 0) {
            fprintf(stderr, "pirn-mpi: cannot change %s (%s): %s\n", info->dlpi_name,
                    strerror(error), if_not);
            break;
        }
    }
}

static int redirect(struct dl_phdr_info *info, size_t size, void *unused)
{
    struct image image = {.info = info};
    (void)size;
    (void)unused;
    if (is_one_of(info->dlpi_name, fortran)) {
        image.ours = ours_for_fortran;
        redirect_image(&image, "threads that call MPI from Fortran keep their CPU while they wait");
    } else if (is_one_of(info->dlpi_name, progress)) {
        image.ours = ours_for_progress;
        redirect_image(&image, "calls that wait within MPI keep their processor from other ranks");
    }
    return 0;
}

static __attribute__((constructor)) void redirect_libraries(void)
{
    dl_iterate_phdr(redirect, NULL);
}
