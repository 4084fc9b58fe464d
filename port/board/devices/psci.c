/* SPDX-License-Identifier: MIT */
/*
 * psci.c - boards whose firmware starts the other cores: Arm's Power State Coordination Interface,
 * by calls of the hypervisor. A core that has been started says so, and may wait for being
 * interrupted.
 */
#include "arch_bare.h"
#include "board.h"

#define CPU_ON 0x84000003u

void _start(void);

static void core_start(unsigned hart)
{
    register unsigned function __asm__("r0") = CPU_ON;
    register unsigned core __asm__("r1") = hart;
    register void (*entry)(void) __asm__("r2") = _start;
    register unsigned argument __asm__("r3") = 0;
    __asm__ volatile(".arch_extension virt\n\thvc #0"
                     : "+r"(function)
                     : "r"(core), "r"(entry), "r"(argument)
                     : "memory");
}

void board_cores_wake(void)
{
    unsigned self = (unsigned)arch_core()->hart;
    for (unsigned hart = 0; hart < board_core_count(); hart++) {
        if (hart != self) {
            core_start(hart);
            board_ipi(hart);
        }
    }
}
