/* SPDX-License-Identifier: MIT */
/*
 * cores_wait.c - boards whose cores all start at reset.
 */
#include "arch_bare.h"
#include "board.h"

void board_cores_wake(void)
{
    unsigned self = (unsigned)arch_core()->hart;
    for (unsigned hart = 0; hart < board_core_count(); hart++) {
        if (hart != self) {
            board_ipi(hart);
        }
    }
}
