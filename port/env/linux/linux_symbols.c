/* SPDX-License-Identifier: MIT */
/*
 * linux_symbols.c (Linux) - symbols that the dynamic linker does not know, in the table of symbols
 * (.symtab) of a program or library: the function at an address, for reports, in a copy of the
 * process; addresses of variables by their names, at the start. No memory but the file's, mapped by
 * system calls, and no lock. The file may be another one by now: nothing outside of it is read,
 * whatever is in it.
 */
#include "linux.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILE_MAX ((size_t)1 << 30)

struct image {
    const char *bytes;
    size_t size;
};

/* `count` things of `each` bytes at `at`; NULL: they are not all there. */
static const void *part(const struct image *image, uint64_t at, uint64_t count, size_t each)
{
    if (at > image->size || count > (image->size - at) / each || at % sizeof(uint64_t) != 0) {
        return NULL;
    }
    return image->bytes + at;
}

static bool image_open(struct image *image, const char *path)
{
    struct stat st;
    long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    void *bytes = MAP_FAILED;
    if (fd < 0) {
        return false;
    }
    if (fstat((int)fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
        (size_t)st.st_size <= FILE_MAX) {
        image->size = (size_t)st.st_size;
        bytes = (void *)syscall(SYS_mmap, NULL, image->size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    syscall(SYS_close, fd);
    image->bytes = bytes;
    return bytes != MAP_FAILED;
}

static const ElfW(Shdr) * section_of(const struct image *image, unsigned type)
{
    const ElfW(Ehdr) *head = part(image, 0, 1, sizeof(*head));
    if (head == NULL || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
        head->e_shentsize != sizeof(ElfW(Shdr))) {
        return NULL;
    }
    const ElfW(Shdr) *sections = part(image, head->e_shoff, head->e_shnum, sizeof(*sections));
    for (unsigned i = 0; sections != NULL && i < head->e_shnum; i++) {
        if (sections[i].sh_type == type && sections[i].sh_link < head->e_shnum) {
            return &sections[i];
        }
    }
    return NULL;
}

/* The name at `at` in the table of strings, if it ends there. */
static bool name_copy(const struct image *image, const ElfW(Shdr) * strings, uint64_t at,
                      char *name, size_t size)
{
    if (strings->sh_offset > image->size || strings->sh_size > image->size - strings->sh_offset ||
        at >= strings->sh_size) {
        return false;
    }
    const char *text = image->bytes + strings->sh_offset + at;
    size_t n = strnlen(text, strings->sh_size - at);
    n = n < size - 1 ? n : size - 1;
    memcpy(name, text, n);
    name[n] = '\0';
    return n != 0;
}

/* A table of symbols, with its names. */
struct table {
    const ElfW(Sym) * symbols;
    uint64_t count;
    const ElfW(Shdr) * strings;
};

static bool table_find(const struct image *image, struct table *table)
{
    const ElfW(Shdr) *section = section_of(image, SHT_SYMTAB);
    if (section == NULL) {
        return false;
    }
    const ElfW(Ehdr) *head = (const void *)image->bytes;
    table->strings = (const ElfW(Shdr) *)(image->bytes + head->e_shoff) + section->sh_link;
    table->count = section->sh_size / sizeof(ElfW(Sym));
    table->symbols = part(image, section->sh_offset, table->count, sizeof(ElfW(Sym)));
    return table->symbols != NULL;
}

static bool image_find(const struct image *image, uintptr_t address, char *name, size_t size,
                       uintptr_t *from)
{
    struct table table;
    if (!table_find(image, &table)) {
        return false;
    }
    for (uint64_t i = 0; i < table.count; i++) {
        const ElfW(Sym) *symbol = &table.symbols[i];
        if ((symbol->st_info & 15) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
            address - symbol->st_value < symbol->st_size) {
            *from = symbol->st_value;
            return name_copy(image, table.strings, symbol->st_name, name, size);
        }
    }
    return false;
}

bool symbol_find(const char *path, uintptr_t address, char *name, size_t size, uintptr_t *from)
{
    struct image image;
    if (!image_open(&image, path)) {
        return false;
    }
    bool found = image_find(&image, address, name, size, from);
    syscall(SYS_munmap, image.bytes, image.size);
    return found;
}

void symbols_find(const char *path, struct symbol_named *wanted, unsigned n)
{
    struct image image;
    struct table table;
    char name[64];
    if (!image_open(&image, path)) {
        return;
    }
    uint64_t count = table_find(&image, &table) ? table.count : 0;
    for (uint64_t i = 0; i < count; i++) {
        const ElfW(Sym) *symbol = &table.symbols[i];
        if ((symbol->st_info & 15) != STT_OBJECT || symbol->st_shndx == SHN_UNDEF ||
            !name_copy(&image, table.strings, symbol->st_name, name, sizeof(name))) {
            continue;
        }
        for (unsigned w = 0; w < n; w++) {
            if (strcmp(wanted[w].name, name) == 0) {
                wanted[w].value = symbol->st_value;
            }
        }
    }
    syscall(SYS_munmap, image.bytes, image.size);
}
