/* SPDX-License-Identifier: MIT
 *
 * lines.h - lines of memory by their offset, for a core's data cache in lockstep.h.
 */
#ifndef LINES_H
#define LINES_H

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "soc.h"

using Line = std::array<uint8_t, soc::line_bytes>;

/* The lines that a core's data cache may hold. */
class Lines
{
public:
    Lines() : pages_(soc::ram_bytes / page_bytes + 1) {}
    const Line *find(uint32_t offset) const;
    void fill(uint32_t offset, const Line &line);
    void merge(uint32_t offset, uint32_t data, uint32_t mask);
    void drop(uint32_t offset);

private:
    static constexpr uint32_t page_lines = 64;
    static constexpr uint32_t page_bytes = page_lines * soc::line_bytes;
    struct Page {
        uint64_t present = 0;
        std::array<Line, page_lines> lines;
    };
    std::vector<std::unique_ptr<Page>> pages_;
};

inline uint32_t line_of(uint32_t offset)
{
    return offset / soc::line_bytes;
}

inline uint32_t word_in(const Line &line, uint32_t offset)
{
    uint32_t value = 0;
    memcpy(&value, line.data() + (offset & 12), 4);
    return value;
}

#endif
