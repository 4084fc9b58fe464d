/* SPDX-License-Identifier: MIT
 *
 * image.cc - reads ELF files with libelf.
 */
#include "image.h"

#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include "soc.h"

namespace
{

std::string hex(uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    return text;
}

/* Closes the file whatever happens. */
class File
{
public:
    explicit File(const std::string &path) : path_(path), fd_(open(path.c_str(), O_RDONLY))
    {
        if (fd_ < 0)
            throw BadImage(path + ": " + strerror(errno));
        elf_version(EV_CURRENT);
        elf_ = elf_begin(fd_, ELF_C_READ, nullptr);
    }

    File(const File &) = delete;
    File &operator=(const File &) = delete;

    ~File()
    {
        elf_end(elf_);
        close(fd_);
    }

    [[noreturn]] void fail(const std::string &text) const { throw BadImage(path_ + ": " + text); }

    int fd() const { return fd_; }
    Elf *elf() const { return elf_; }

private:
    std::string path_;
    int fd_;
    Elf *elf_ = nullptr;
};

void check_header(const File &file)
{
    GElf_Ehdr head;
    if (file.elf() == nullptr || elf_kind(file.elf()) != ELF_K_ELF ||
        gelf_getehdr(file.elf(), &head) == nullptr)
        file.fail("not an ELF file");
    if (head.e_ident[EI_CLASS] != ELFCLASS32)
        file.fail("of 64 bits (class " + std::to_string(head.e_ident[EI_CLASS]) +
                  "); the chip runs programs of 32 bits");
    if (head.e_machine != EM_RISCV)
        file.fail("for machine " + std::to_string(head.e_machine) + ", not RISC-V (" +
                  std::to_string(EM_RISCV) + ")");
    if (head.e_type != ET_EXEC)
        file.fail("of type " + std::to_string(head.e_type) +
                  ", not a linked program with fixed addresses (" + std::to_string(ET_EXEC) + ")");
    if (head.e_entry != soc::ram_base)
        file.fail("starts at " + hex(head.e_entry) + "; the harts start at " + hex(soc::ram_base));
}

void load_segment(const File &file, const GElf_Phdr &part, Memory &memory)
{
    uint64_t end = part.p_paddr + part.p_memsz;
    if (part.p_filesz > part.p_memsz)
        file.fail("a segment has " + std::to_string(part.p_filesz) +
                  " bytes in the file, but only " + std::to_string(part.p_memsz) + " in memory");
    if (part.p_paddr < soc::ram_base || end > uint64_t{soc::ram_base} + soc::ram_bytes)
        file.fail("a segment from " + hex(part.p_paddr) + " to " + hex(end) +
                  " is outside memory, which ends at " +
                  hex(uint64_t{soc::ram_base} + soc::ram_bytes) + " (" +
                  std::to_string(soc::ram_bytes / 1024) + " KiB from " + hex(soc::ram_base) + ")");
    uint8_t *to = memory.data() + (part.p_paddr - soc::ram_base);
    uint64_t done = 0;
    while (done < part.p_filesz) {
        ssize_t got = pread(file.fd(), to + done, part.p_filesz - done,
                            static_cast<off_t>(part.p_offset + done));
        if (got <= 0)
            file.fail("ends inside a segment, at byte " + std::to_string(part.p_offset + done));
        done += static_cast<uint64_t>(got);
    }
}

} // namespace

Memory load_image(const std::string &path)
{
    File file(path);
    check_header(file);
    size_t count = 0;
    if (elf_getphdrnum(file.elf(), &count) != 0)
        file.fail(std::string("bad table of segments: ") + elf_errmsg(-1));
    Memory memory;
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr part;
        if (gelf_getphdr(file.elf(), static_cast<int>(i), &part) == nullptr)
            file.fail("bad segment " + std::to_string(i) + ": " + elf_errmsg(-1));
        if (part.p_type != PT_LOAD || part.p_memsz == 0)
            continue;
        load_segment(file, part, memory);
        any = true;
    }
    if (!any)
        file.fail("has nothing to load");
    return memory;
}
