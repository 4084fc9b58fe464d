/* SPDX-License-Identifier: MIT */
/*
 * nvic.c - the interrupt controller of Arm's microcontrollers, which have one core: interrupts of
 * devices, of the core's timer, and one that software asks for. A device's number is that of the
 * controller's input. Its handler runs while the interrupt is active; one that comes meanwhile and
 * is not of a higher priority is pending.
 */
#include "arch_bare.h"
#include "bare.h"
#include "board.h"
#include "core_timer.h"
#include "mmio.h"
#include "system.h"

#define LINES (32u * ((get32(SYSTEM_LINES) & 0xfu) + 1))
#define WORD(register, source) ((register) + (source) / 32u * 4u)
#define BIT(source) (1u << (source) % 32u)

unsigned board_core_count(void)
{
    return 1;
}

/* There are no others. */
void board_cores_wake(void) {}

void board_core_wait(void)
{
    arch_wait();
}

void board_core_begin(void)
{
    board_timer_set(UINT64_MAX);
}

void board_ipi(unsigned hart)
{
    (void)hart;
    put32(SYSTEM_PENDING, PENDING_CALL);
}

void board_ipi_taken(void) {}

bool board_irq_has(unsigned source, unsigned hart, unsigned priority)
{
    (void)priority;
    return source < LINES && hart == 0;
}

void board_irq_enable(unsigned source, unsigned hart, unsigned priority)
{
    (void)hart;
    put8(SYSTEM_PRIORITY + source, (uint8_t)ARCH_PRIORITY_OF(priority));
    put32(WORD(SYSTEM_CLEAR, source), BIT(source));
    put32(WORD(SYSTEM_ENABLE, source), BIT(source));
}

void board_irq_disable(unsigned source, unsigned hart)
{
    (void)hart;
    put32(WORD(SYSTEM_DISABLE, source), BIT(source));
    arch_barrier(); /* it does not come any more behind this call */
}

void board_irq_admit(unsigned from)
{
    (void)from;
}

void board_on_device(void)
{
    uint32_t number = arch_exception();
    if (number == ARCH_EXCEPTION_TIMER) {
        core_timer_taken();
        bare_on_timer();
    } else if (number == ARCH_EXCEPTION_CALL) {
        bare_on_ipi();
    } else {
        RT_ASSERT(number >= ARCH_EXCEPTION_DEVICE);
        bare_on_device(number - ARCH_EXCEPTION_DEVICE);
    }
}
