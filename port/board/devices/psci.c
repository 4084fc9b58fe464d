/* SPDX-License-Identifier: MIT */
/*
 * psci.c - boards whose firmware starts the other cores: Arm's Power State Coordination Interface.
 * A core that has been started says so, and may wait for being interrupted; so may one that has
 * come by itself, where no firmware is, which the call tells.
 */
#include "arch_bare.h"
#include "arch_firmware.h"
#include "board.h"

void _start(void);

void board_cores_wake(void)
{
    unsigned self = (unsigned)arch_core()->hart;
    for (unsigned hart = 0; hart < board_core_count(); hart++) {
        if (hart != self) {
            arch_firmware(ARCH_FIRMWARE_CPU_ON, hart, (uintptr_t)_start, 0);
            board_ipi(hart);
        }
    }
}
