/* SPDX-License-Identifier: MIT
 *
 * semihost.cc - see semihost.h.
 */
#include "semihost.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "soc.h"

namespace
{

/* The instructions around a call. */
constexpr uint32_t before = 0x01f01013; /* slli x0, x0, 0x1f */
constexpr uint32_t ebreak = 0x00100073;
constexpr uint32_t after = 0x40705013; /* srai x0, x0, 7 */

enum Operation : uint32_t {
    op_open = 0x01,
    op_close = 0x02,
    op_writec = 0x03,
    op_write0 = 0x04,
    op_write = 0x05,
    op_read = 0x06,
    op_readc = 0x07,
    op_iserror = 0x08,
    op_istty = 0x09,
    op_seek = 0x0a,
    op_flen = 0x0c,
    op_remove = 0x0e,
    op_rename = 0x0f,
    op_clock = 0x10,
    op_time = 0x11,
    op_errno = 0x13,
    op_get_cmdline = 0x15,
    op_exit = 0x18,
    op_exit_extended = 0x20,
};

/* How many words the block of an operation has. */
int block_words(uint32_t operation)
{
    switch (operation) {
    case op_open:
    case op_write:
    case op_read:
        return 3;
    case op_seek:
    case op_remove:
    case op_get_cmdline:
    case op_exit_extended:
        return 2;
    case op_rename:
        return 4;
    case op_close:
    case op_iserror:
    case op_istty:
    case op_flen:
        return 1;
    default:
        return 0;
    }
}

constexpr uint32_t failure = 0xffffffff;
constexpr uint32_t stopped_by_program = 0x20026; /* ADP_Stopped_ApplicationExit */
constexpr size_t text_most = 1 << 20;
constexpr uint64_t cycles_in_centisecond = 1000000; /* the clock counts as if it had 100 MHz */
constexpr int console_in = -2, console_out = -3;    /* in place of a descriptor */

/* fopen's modes, as the specification numbers them. */
constexpr int modes[] = {
    O_RDONLY,
    O_RDONLY,
    O_RDWR,
    O_RDWR,
    O_WRONLY | O_CREAT | O_TRUNC,
    O_WRONLY | O_CREAT | O_TRUNC,
    O_RDWR | O_CREAT | O_TRUNC,
    O_RDWR | O_CREAT | O_TRUNC,
    O_WRONLY | O_CREAT | O_APPEND,
    O_WRONLY | O_CREAT | O_APPEND,
    O_RDWR | O_CREAT | O_APPEND,
    O_RDWR | O_CREAT | O_APPEND,
};

} // namespace

Semihost::Semihost(Chip chip, std::vector<std::string> words) : chip_(std::move(chip))
{
    for (const std::string &word : words) {
        command_ += command_.empty() ? "" : " ";
        for (char c : word) {
            if (c == ' ' || c == '\t' || c == '\n' || c == '\\' || c == '"' || c == '\'')
                command_ += '\\';
            command_ += c;
        }
    }
}

Semihost::~Semihost()
{
    for (int file : files_) {
        if (file >= 0)
            ::close(file);
    }
}

bool Semihost::read(uint32_t at, void *to, size_t size)
{
    auto *bytes = static_cast<uint8_t *>(to);
    while (size != 0) {
        uint32_t line[4];
        size_t from = at % soc::line_bytes, part = std::min(size, soc::line_bytes - from);
        if (!soc::in_ram(at))
            return false;
        if (!chip_.read(at - static_cast<uint32_t>(from), line)) {
            lost_ = true;
            return false;
        }
        memcpy(bytes, reinterpret_cast<uint8_t *>(line) + from, part);
        bytes += part;
        at += static_cast<uint32_t>(part);
        size -= part;
    }
    return true;
}

bool Semihost::write(uint32_t at, const void *from, size_t size)
{
    const auto *bytes = static_cast<const uint8_t *>(from);
    while (size != 0) {
        uint32_t data = 0, first = at % 4;
        auto part = static_cast<uint32_t>(std::min<size_t>(size, 4 - first));
        memcpy(reinterpret_cast<uint8_t *>(&data) + first, bytes, part);
        if (!soc::in_ram(at))
            return false;
        if (!chip_.write(at - first, data, ((1U << part) - 1) << first)) {
            lost_ = true;
            return false;
        }
        bytes += part;
        at += part;
        size -= part;
    }
    return true;
}

/* size: without a zero behind it; failure: up to a zero. */
bool Semihost::text(uint32_t at, size_t size, std::string &to)
{
    if (size != failure) {
        to.resize(std::min(size, text_most));
        return read(at, to.data(), to.size());
    }
    for (char c = 1; to.size() < text_most; at++) {
        if (!read(at, &c, 1))
            return false;
        if (c == 0)
            return true;
        to += c;
    }
    return false;
}

uint32_t Semihost::result(long value)
{
    errno_ = value < 0 ? errno : errno_;
    return static_cast<uint32_t>(value);
}

uint32_t Semihost::open()
{
    std::string name;
    uint32_t mode = argument(1);
    int file = -1;
    if (mode >= std::size(modes) || !text(argument(0), argument(2), name)) {
        errno = EINVAL;
        return result(-1);
    }
    if (name == ":tt") {
        file = mode < 4 ? console_in : console_out;
    } else {
        file = ::open(name.c_str(), modes[mode] | O_CLOEXEC, 0666);
        if (file < 0)
            return result(-1);
    }
    files_.push_back(file);
    return static_cast<uint32_t>(files_.size());
}

/* The number of bytes that were not written. */
uint32_t Semihost::write_file()
{
    uint32_t size = argument(2), done = 0;
    int file = files_[argument(0) - 1];
    while (done < size) {
        char bytes[4096];
        uint32_t part = std::min<uint32_t>(size - done, sizeof bytes);
        if (!read(argument(1) + done, bytes, part))
            break;
        if (file == console_out) {
            for (uint32_t i = 0; i < part; i++)
                chip_.put(bytes[i]);
        } else {
            ssize_t now = ::write(file, bytes, part);
            if (now < 0) {
                result(-1);
                break;
            }
            part = static_cast<uint32_t>(now);
        }
        done += part;
    }
    return size - done;
}

/* The number of bytes that were not read. */
uint32_t Semihost::read_file()
{
    uint32_t size = argument(2), done = 0;
    int file = files_[argument(0) - 1];
    while (done < size) {
        char bytes[4096];
        ssize_t now = 0;
        if (file == console_in) {
            int byte = chip_.get();
            bytes[0] = static_cast<char>(byte);
            now = byte >= 0;
        } else {
            now = ::read(file, bytes, std::min<size_t>(size - done, sizeof bytes));
        }
        if (now < 0)
            result(-1);
        if (now <= 0 || !write(argument(1) + done, bytes, static_cast<size_t>(now)))
            break;
        done += static_cast<uint32_t>(now);
        if (file == console_in && bytes[0] == '\n')
            break;
    }
    return size - done;
}

/* The command line with a zero behind it; its length goes into the block. */
uint32_t Semihost::line(uint32_t pointer)
{
    auto length = static_cast<uint32_t>(command_.size());
    bool done = length < argument(1) && write(argument(0), command_.c_str(), length + 1) &&
                write(pointer + 4, &length, sizeof length);
    return done ? 0 : failure;
}

uint32_t Semihost::call(uint32_t operation, uint32_t pointer)
{
    int words = block_words(operation);
    if (words != 0 && !read(pointer, block_, sizeof(uint32_t) * static_cast<size_t>(words)))
        return failure;
    bool by_handle = operation == op_close || operation == op_write || operation == op_read ||
                     operation == op_istty || operation == op_seek || operation == op_flen;
    if (by_handle && (argument(0) - 1 >= files_.size() || files_[argument(0) - 1] == -1)) {
        errno = EBADF;
        return result(-1);
    }
    int *file = by_handle ? &files_[argument(0) - 1] : nullptr;
    std::string name, other;
    struct stat about;
    char c = 0;
    switch (operation) {
    case op_open:
        return open();
    case op_close: {
        int closed = *file < 0 ? 0 : ::close(*file);
        *file = -1;
        return result(closed);
    }
    case op_writec:
        if (read(pointer, &c, 1))
            chip_.put(c);
        return 0;
    case op_write0:
        text(pointer, failure, name);
        for (char one : name)
            chip_.put(one);
        return 0;
    case op_write:
        return write_file();
    case op_read:
        return read_file();
    case op_readc:
        return static_cast<uint32_t>(chip_.get());
    case op_iserror:
        return static_cast<int32_t>(argument(0)) < 0 ? 1 : 0;
    case op_istty:
        return *file < -1 ? 1 : 0;
    case op_seek:
        return *file < 0 || ::lseek(*file, argument(1), SEEK_SET) < 0 ? result(-1) : 0;
    case op_flen:
        return *file < 0 || ::fstat(*file, &about) < 0 ? result(-1)
                                                       : static_cast<uint32_t>(about.st_size);
    case op_remove:
        return text(argument(0), argument(1), name) ? result(::unlink(name.c_str())) : failure;
    case op_rename:
        return text(argument(0), argument(1), name) && text(argument(2), argument(3), other)
                   ? result(::rename(name.c_str(), other.c_str()))
                   : failure;
    case op_clock:
        return static_cast<uint32_t>(chip_.cycle() / cycles_in_centisecond);
    case op_time: /* from the chip's reset on, so that runs repeat */
        return static_cast<uint32_t>(chip_.cycle() / (100 * cycles_in_centisecond));
    case op_errno:
        return static_cast<uint32_t>(errno_);
    case op_get_cmdline:
        return line(pointer);
    case op_exit:
    case op_exit_extended: {
        uint32_t reason = operation == op_exit ? pointer : argument(0);
        ended_ = true;
        status_ = reason != stopped_by_program ? 1
                  : operation == op_exit       ? 0
                                               : static_cast<int>(argument(1) & 0xff);
        return 0;
    }
    default:
        errno = ENOSYS;
        return result(-1);
    }
}

bool Semihost::serve()
{
    int hart = chip_.halted();
    if (hart < 0)
        return true;
    uint32_t a0 = 0, a1 = 0, pc = 0, code[3];
    chip_.registers(hart, a0, a1, pc);
    bool ours = read(pc - 4, code, sizeof code) && code[0] == before && code[1] == ebreak &&
                code[2] == after;
    uint32_t value = ours ? call(a0, a1) : 0;
    return !lost_ && !ended_ && chip_.resume(hart, !ours, value);
}
