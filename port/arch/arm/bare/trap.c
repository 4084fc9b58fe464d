/* SPDX-License-Identifier: MIT */
/*
 * trap.c (ARM) - what an interrupt or a fault means.
 */
#include "bare.h"
#include "board.h"

/* trap.S */
struct arch_frame {
    uint32_t r0, r1, r2, r3, r11, r12, lr, pc, status;
};

void arch_interrupt(struct arch_frame *frame);
NORETURN void arch_fault(unsigned which, uintptr_t pc, uintptr_t caller, uintptr_t sp);

/* Of the fault status. */
#define STATUS_WRITE (1u << 11)
#define STATUS_CAUSE(status) (((status)&0xfu) | ((status) >> 6 & 0x10u))
#define CAUSE_ALIGNMENT 1u
#define CAUSE_DEBUG 2u

void arch_registers(const struct arch_frame *frame, struct frame_registers *at)
{
    *at =
        (struct frame_registers){.sp = (uintptr_t)(frame + 1), .fp = frame->r11, .link = frame->lr};
}

void arch_interrupt(struct arch_frame *frame)
{
    bare_irq_begin();
    board_on_device();
    bare_irq_end(frame->pc, frame);
}

static const char *data_fault_name(uint32_t status)
{
    if (STATUS_CAUSE(status) == CAUSE_ALIGNMENT) {
        return "unaligned access";
    }
    return status & STATUS_WRITE ? "no such memory to write" : "no such memory to read";
}

/* `fault` has what is known already. */
static NORETURN void data_fault(struct bare_fault fault)
{
    uint32_t status;
    __asm__ volatile("mrc p15, 0, %0, c5, c0, 0" : "=r"(status));
    __asm__ volatile("mrc p15, 0, %0, c6, c0, 0" : "=r"(fault.address));
    fault.what = data_fault_name(status);
    fault.cause = STATUS_CAUSE(status);
    bare_fault(&fault);
}

static NORETURN void fetch_fault(struct bare_fault fault)
{
    uint32_t status;
    __asm__ volatile("mrc p15, 0, %0, c5, c0, 1" : "=r"(status));
    fault.cause = STATUS_CAUSE(status);
    fault.what = fault.cause == CAUSE_DEBUG ? "breakpoint" : "no such instruction memory";
    bare_fault(&fault);
}

static NORETURN void other_fault(struct bare_fault fault, const char *what)
{
    fault.what = what;
    bare_fault(&fault);
}

void arch_fault(unsigned which, uintptr_t pc, uintptr_t caller, uintptr_t sp)
{
    struct bare_fault fault = {.pc = pc, .address = pc, .caller = caller, .sp = sp};
    switch (which) {
    case ARCH_FAULT_DATA:
        data_fault(fault);
    case ARCH_FAULT_FETCH:
        fetch_fault(fault);
    case ARCH_FAULT_UNDEFINED:
        other_fault(fault, "undefined instruction");
    case ARCH_FAULT_CALL:
        other_fault(fault, "supervisor call");
    default:
        other_fault(fault, "fast interrupt");
    }
}
