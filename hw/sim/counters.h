/* SPDX-License-Identifier: MIT
 *
 * counters.h - what each hart did with its cycles (DOES_... in hw/rtl/soc_pkg.sv).
 */
#ifndef COUNTERS_H
#define COUNTERS_H

#include <array>
#include <cstdint>
#include <cstdio>

#include "soc.h"

class Counters
{
public:
    static constexpr int causes = 14;

    /* does: 4 bits a hart, in words of 32 bits. */
    template <typename Words>
    void count(const Words &does)
    {
        for (int h = 0; h < soc::harts; h++)
            table_[h][does[h / 8] >> h % 8 * 4 & 15]++;
    }
    void write_json(FILE *file, uint64_t cycles) const;
    void write_table(FILE *file, uint64_t cycles) const;

private:
    std::array<std::array<uint64_t, 16>, soc::harts> table_{};
};

#endif
