/* SPDX-License-Identifier: MIT */
/*
 * trap.c (AArch64) - what an interrupt or a fault means.
 */
#include "bare.h"
#include "board.h"

/* trap.S */
struct arch_frame {
    uint64_t x0_x17[18], x18, x30;
    uint64_t pc, status;
    uint64_t fpcr, fpsr;
    uint64_t x29;
};
_Static_assert(offsetof(struct arch_frame, pc) == ARCH_FRAME_PC, "trap.S knows it");
_Static_assert(offsetof(struct arch_frame, x29) == ARCH_FRAME_CHAIN, "trap.S knows it");
_Static_assert(offsetof(struct bare_core, scratch) == BARE_CORE_SCRATCH, "trap.S knows it");
_Static_assert(offsetof(struct bare_core, stack_low) == BARE_CORE_STACK_LOW, "trap.S knows it");
_Static_assert(offsetof(struct bare_core, trap_stack) == BARE_CORE_TRAP_STACK, "trap.S knows it");

void arch_interrupt(struct arch_frame *frame);
NORETURN void arch_fault(unsigned which, uintptr_t pc, uintptr_t caller, uintptr_t sp);

/* Parts of an exception's syndrome: its class, and the kind of a memory fault. */
#define SYNDROME_CLASS(syndrome) ((unsigned)((syndrome) >> 26) & 0x3fu)
#define SYNDROME_WRITE 0x40u
#define SYNDROME_CAUSE(syndrome) ((unsigned)(syndrome)&0x3fu)
#define CAUSE_ALIGNMENT 0x21u

enum exception_class {
    CLASS_UNKNOWN = 0x00,
    CLASS_STATE = 0x0e, /* an illegal one, that a return from an exception asked for */
    CLASS_CALL = 0x15,
    CLASS_FETCH = 0x21,
    CLASS_PC_ALIGNMENT = 0x22,
    CLASS_DATA = 0x25,
    CLASS_STACK_ALIGNMENT = 0x26,
    CLASS_FP = 0x2c,
    CLASS_BREAKPOINT = 0x3c,
};

void arch_registers(const struct arch_frame *frame, struct frame_registers *at)
{
    *at = (struct frame_registers){
        .sp = (uintptr_t)frame + ARCH_FRAME_SIZE, .fp = frame->x29, .link = frame->x30};
}

void arch_interrupt(struct arch_frame *frame)
{
    bare_irq_begin();
    board_on_device();
    bare_irq_end(frame->pc, frame);
}

static const char *data_fault_name(uint64_t syndrome)
{
    if (SYNDROME_CAUSE(syndrome) == CAUSE_ALIGNMENT) {
        return "unaligned access";
    }
    return syndrome & SYNDROME_WRITE ? "no such memory to write" : "no such memory to read";
}

static const char *exception_name(uint64_t syndrome)
{
    switch (SYNDROME_CLASS(syndrome)) {
    case CLASS_UNKNOWN:
        return "undefined instruction";
    case CLASS_STATE:
        return "illegal state";
    case CLASS_CALL:
        return "supervisor call";
    case CLASS_FETCH:
        return "no such instruction memory";
    case CLASS_PC_ALIGNMENT:
        return "instruction address not aligned";
    case CLASS_DATA:
        return data_fault_name(syndrome);
    case CLASS_STACK_ALIGNMENT:
        return "stack pointer not aligned";
    case CLASS_FP:
        return "floating-point exception";
    case CLASS_BREAKPOINT:
        return "breakpoint";
    default:
        return "unexpected exception";
    }
}

/* The register with the address is written by faults of memory and of the pc's alignment only. */
static bool has_address(uint64_t syndrome)
{
    unsigned class = SYNDROME_CLASS(syndrome);
    return class == CLASS_FETCH || class == CLASS_PC_ALIGNMENT || class == CLASS_DATA;
}

/* `fault` has what is known already. */
static NORETURN void exception(struct bare_fault fault)
{
    uint64_t syndrome;
    uintptr_t address;
    __asm__ volatile("mrs %0, esr_el1\n\tmrs %1, far_el1" : "=r"(syndrome), "=r"(address));
    fault.what = exception_name(syndrome);
    fault.cause = SYNDROME_CLASS(syndrome);
    fault.address = has_address(syndrome) ? address : fault.pc;
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
    case ARCH_FAULT_EXCEPTION:
        exception(fault);
    case ARCH_FAULT_FAST:
        other_fault(fault, "fast interrupt");
    case ARCH_FAULT_ERROR:
        other_fault(fault, "error of the memory system");
    default:
        other_fault(fault, "exception of another level");
    }
}
