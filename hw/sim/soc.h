/* SPDX-License-Identifier: MIT
 *
 * soc.h - the chip as the harness knows it: its size, its memory map and its requests, which are
 * those of hw/rtl/soc_pkg.sv. The build sets the macros for both.
 */
#ifndef SOC_H
#define SOC_H

#include <cstdint>

namespace soc
{

constexpr int cores = SOC_CORES;
constexpr int threads = SOC_THREADS;
constexpr int harts = cores * threads;
constexpr int banks = SOC_BANKS;
constexpr uint32_t ram_bytes = SOC_RAM_KIB * 1024U;
constexpr uint32_t line_bytes = 16;
constexpr uint32_t scheduler = SOC_SCHEDULER; /* contexts in each of its queues; 0: it has none */
constexpr int scheduler_stages = SOC_SCHEDULER_STAGES; /* cycles of a conditional access: 1, 2 */

constexpr uint32_t ram_base = 0x80000000;
constexpr uint32_t alias_bit = 0x40000000;
constexpr uint32_t exit_base = 0x00100000;
constexpr uint32_t clint_base = 0x02000000;
constexpr uint32_t plic_base = 0x0c000000;
constexpr uint32_t uart_base = 0x10000000;
constexpr uint32_t locks_base = 0x12000000;
constexpr uint32_t scheduler_base = 0x13000000;
constexpr uint32_t chip_base = 0x14000000;

enum Request { fetch, load, read, store, write, amo, lr, sc, put_line, get_line, conditional };

constexpr bool in_ram(uint32_t at)
{
    return (at & ram_base) != 0 && (at & ~(ram_base | alias_bit)) < ram_bytes;
}

constexpr bool in_device(uint32_t at)
{
    return (at & ~7U) == exit_base || (at >> 16) == clint_base >> 16 ||
           (at >> 24) == plic_base >> 24 || (at >> 8) == uart_base >> 8 ||
           (at >> 16) == locks_base >> 16 || (at >> 16) == scheduler_base >> 16 ||
           (at >> 16) == chip_base >> 16;
}

/* The offset of a byte of memory, whichever of its two addresses is used. */
constexpr uint32_t offset(uint32_t at)
{
    return at & ~(ram_base | alias_bit);
}

} // namespace soc

#endif
