/* SPDX-License-Identifier: MIT
 *
 * semihost.h - serves the semihosting calls of programs (Semihosting for AArch32 and AArch64, 2.0;
 * RISC-V Semihosting, 0.3): files of this computer, the command line, the end of the program.
 *
 * A hart that executes the call's ebreak halts (core.sv). Its registers are on ports of the chip,
 * and memory is accessed by the host's port of the crossbar, a request at a time, while the other
 * harts run on. A word that the host writes is a store like any other: caches lose the line.
 */
#ifndef SEMIHOST_H
#define SEMIHOST_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/* The chip, as the host sees it. Functions that take cycles return false when the run ends. */
struct Chip {
    std::function<int()> halted; /* a hart; -1: none */
    std::function<void(int hart, uint32_t &a0, uint32_t &a1, uint32_t &pc)> registers;
    std::function<bool(uint32_t at, uint32_t *line)> read; /* the 4 words of a line */
    std::function<bool(uint32_t at, uint32_t data, uint32_t mask)> write;
    std::function<bool(int hart, bool refused, uint32_t value)> resume;
    std::function<uint64_t()> cycle;
    std::function<void(char)> put; /* to the console */
    std::function<int()> get;      /* from it; -1: its end */
};

class Semihost
{
public:
    /* words: the command line. */
    Semihost(Chip chip, std::vector<std::string> words);
    ~Semihost();
    Semihost(const Semihost &) = delete;
    Semihost &operator=(const Semihost &) = delete;

    /* Serve one call, if a hart waits for it. False: the run ends, by the call or meanwhile. */
    bool serve();

    /* The program has ended by a call: its status. */
    bool ended() const { return ended_; }
    int status() const { return status_; }

private:
    bool read(uint32_t at, void *to, size_t size);
    bool write(uint32_t at, const void *from, size_t size);
    bool text(uint32_t at, size_t size, std::string &to);
    uint32_t argument(int i) const { return block_[i]; }
    uint32_t call(uint32_t operation, uint32_t pointer);
    uint32_t open();
    uint32_t read_file();
    uint32_t write_file();
    uint32_t line(uint32_t pointer);
    uint32_t result(long value);

    Chip chip_;
    std::string command_;
    std::vector<int> files_; /* by handle - 1; -1: closed */
    uint32_t block_[4] = {};
    bool lost_ = false; /* the run has ended meanwhile */
    bool ended_ = false;
    int status_ = 0;
    int errno_ = 0;
};

#endif
