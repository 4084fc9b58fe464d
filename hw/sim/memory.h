/* SPDX-License-Identifier: MIT
 *
 * memory.h - all of the chip's memory. Of a large one only the pages that are used exist.
 */
#ifndef MEMORY_H
#define MEMORY_H

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "soc.h"

class Memory
{
public:
    /* All bytes are 0. */
    Memory() : bytes_(static_cast<uint8_t *>(calloc(soc::ram_bytes, 1)), free)
    {
        if (bytes_ == nullptr)
            throw std::bad_alloc();
    }

    uint8_t *data() { return bytes_.get(); }
    const uint8_t *data() const { return bytes_.get(); }
    uint8_t &operator[](size_t i) { return bytes_.get()[i]; }

private:
    std::unique_ptr<uint8_t, decltype(&free)> bytes_;
};

#endif
