/* SPDX-License-Identifier: MIT */
/*
 * linux_symbols.c (Linux) - names of functions that the dynamic linker does not know, by the table
 * of symbols (.symtab) of a program or library. For reports, in a copy of the process: no memory
 * but the file's, mapped by system calls, and no lock. The file may be another one by now: nothing
 * outside of it is read, whatever is in it.
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

static bool image_find(const struct image *image, uintptr_t address, char *name, size_t size,
                       uintptr_t *from)
{
    const ElfW(Shdr) *table = section_of(image, SHT_SYMTAB);
    if (table == NULL) {
        return false;
    }
    const ElfW(Ehdr) *head = (const void *)image->bytes;
    const ElfW(Shdr) *strings = (const ElfW(Shdr) *)(image->bytes + head->e_shoff) + table->sh_link;
    uint64_t count = table->sh_size / sizeof(ElfW(Sym));
    const ElfW(Sym) *symbols = part(image, table->sh_offset, count, sizeof(*symbols));
    for (uint64_t i = 0; symbols != NULL && i < count; i++) {
        if ((symbols[i].st_info & 15) == STT_FUNC && symbols[i].st_shndx != SHN_UNDEF &&
            address - symbols[i].st_value < symbols[i].st_size) {
            *from = symbols[i].st_value;
            return name_copy(image, strings, symbols[i].st_name, name, size);
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
