/* SPDX-License-Identifier: MIT */
/*
 * capacities.c - the cores' speeds by the description of the chip in hw/rtl: a word for each core
 * at BOARD_CAPACITIES, the cycles from one of its instructions to the next (chip.md). The
 * hardware threads of a core share its speed.
 */
#include "board_map.h"
#include "mmio.h"
#include "port_capacity.h"

#define CHIP (BOARD_CAPACITIES & ~0xfffu)
#define CORES get32(CHIP + 4u)
#define THREADS get32(CHIP + 8u)

/* start.S: 1 + the hart of each core, by the number that it took at reset; 0: it has not come. */
extern volatile uint32_t bare_harts[];

static uint32_t interval(uint32_t core)
{
    return get32(BOARD_CAPACITIES + 4u * core);
}

unsigned port_cpu_capacity(unsigned i)
{
    uint32_t least = UINT32_MAX;
    uint32_t hart;
    while ((hart = bare_harts[i]) == 0) {
        port_cpu_relax(); /* it takes its number a few instructions after reset */
    }
    for (uint32_t core = 0; core < CORES; core++) {
        least = interval(core) < least ? interval(core) : least;
    }
    return PORT_CAPACITY_MAX * least / interval((hart - 1) / THREADS);
}
