/* SPDX-License-Identifier: MIT */
/*
 * trap.c (ARM) - what an interrupt or a fault means.
 */
#include "bare.h"
#include "board.h"

/* trap.S */
struct arch_frame {
    uint32_t r0, r1, r2, r3, r12, lr, pc, status;
};

void arch_interrupt(struct arch_frame *frame);
NORETURN void arch_fault(unsigned which, uintptr_t pc, uintptr_t caller);

/* Of the fault status. */
#define STATUS_WRITE (1u << 11)
#define STATUS_CAUSE(status) (((status)&0xfu) | ((status) >> 6 & 0x10u))
#define CAUSE_ALIGNMENT 1u
#define CAUSE_DEBUG 2u

void arch_interrupt(struct arch_frame *frame)
{
    bare_irq_begin();
    board_on_device();
    bare_irq_end(frame->pc);
}

static const char *data_fault_name(uint32_t status)
{
    if (STATUS_CAUSE(status) == CAUSE_ALIGNMENT) {
        return "data address not aligned";
    }
    return status & STATUS_WRITE ? "no such memory to write" : "no such memory to read";
}

static NORETURN void data_fault(uintptr_t pc, uintptr_t caller)
{
    uint32_t status;
    uintptr_t address;
    __asm__ volatile("mrc p15, 0, %0, c5, c0, 0" : "=r"(status));
    __asm__ volatile("mrc p15, 0, %0, c6, c0, 0" : "=r"(address));
    bare_fault(
        &(struct bare_fault){data_fault_name(status), STATUS_CAUSE(status), pc, address, caller});
}

static NORETURN void fetch_fault(uintptr_t pc, uintptr_t caller)
{
    uint32_t status;
    __asm__ volatile("mrc p15, 0, %0, c5, c0, 1" : "=r"(status));
    const char *name =
        STATUS_CAUSE(status) == CAUSE_DEBUG ? "breakpoint" : "no such instruction memory";
    bare_fault(&(struct bare_fault){name, STATUS_CAUSE(status), pc, pc, caller});
}

void arch_fault(unsigned which, uintptr_t pc, uintptr_t caller)
{
    switch (which) {
    case ARCH_FAULT_DATA:
        data_fault(pc, caller);
    case ARCH_FAULT_FETCH:
        fetch_fault(pc, caller);
    case ARCH_FAULT_UNDEFINED:
        bare_fault(&(struct bare_fault){"undefined instruction", 0, pc, pc, caller});
    case ARCH_FAULT_CALL:
        bare_fault(&(struct bare_fault){"supervisor call", 0, pc, pc, caller});
    default:
        bare_fault(&(struct bare_fault){"fast interrupt", 0, pc, pc, caller});
    }
}
