/* SPDX-License-Identifier: MIT
 *
 * lines.cc - see lines.h.
 */
#include "lines.h"

const Line *Lines::find(uint32_t offset) const
{
    const auto &page = pages_[offset / page_bytes];
    uint32_t index = line_of(offset) % page_lines;
    return page != nullptr && (page->present >> index & 1) != 0 ? &page->lines[index] : nullptr;
}

void Lines::fill(uint32_t offset, const Line &line)
{
    auto &page = pages_[offset / page_bytes];
    if (page == nullptr)
        page = std::make_unique<Page>();
    uint32_t index = line_of(offset) % page_lines;
    page->present |= uint64_t{1} << index;
    page->lines[index] = line;
}

void Lines::merge(uint32_t offset, uint32_t data, uint32_t mask)
{
    auto &page = pages_[offset / page_bytes];
    uint32_t index = line_of(offset) % page_lines;
    if (page == nullptr || (page->present >> index & 1) == 0)
        return;
    for (uint32_t i = 0; i < 4; i++) {
        if ((mask >> i & 1) != 0)
            page->lines[index][(offset & 12) + i] = static_cast<uint8_t>(data >> i * 8);
    }
}

void Lines::drop(uint32_t offset)
{
    auto &page = pages_[offset / page_bytes];
    if (page != nullptr)
        page->present &= ~(uint64_t{1} << line_of(offset) % page_lines);
}
