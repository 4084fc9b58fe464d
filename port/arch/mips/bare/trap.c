/* SPDX-License-Identifier: MIT */
/*
 * trap.c (MIPS) - what an interrupt or an exception means.
 */
#include "bare.h"
#include "board.h"

/* trap.S */
struct arch_frame {
    unsigned long arguments[4];
    unsigned long at, v[2], a[4], t[10], gp, ra, hi, lo;
    unsigned long pc, status, fcsr;
    uint64_t f[10];
};
_Static_assert(sizeof(struct arch_frame) == ARCH_FRAME_SIZE, "trap.S");
_Static_assert(offsetof(struct arch_frame, hi) == ARCH_FRAME_HI, "trap.S");
_Static_assert(offsetof(struct arch_frame, pc) == ARCH_FRAME_PC, "trap.S");
_Static_assert(offsetof(struct arch_frame, f) == ARCH_FRAME_FP, "trap.S");
_Static_assert(offsetof(struct bare_core, stack_low) == BARE_CORE_STACK_LOW, "trap.S");
_Static_assert(offsetof(struct bare_core, trap_stack) == BARE_CORE_TRAP_STACK, "trap.S");

#define CAUSE_IN_DELAY_SLOT 0x80000000u
#define MISSES_READ 2
#define MISSES_CODE 6
#define BREAKPOINT 9
#define TRAP 13
#define TRAP_CODE(instruction) ((instruction) >> 6 & 0x3ffu)
#define TRAP_DIVISION 7u /* compilers' */

void arch_trap(uint32_t cause, struct arch_frame *frame);
NORETURN void arch_breakpoint(uintptr_t pc, uintptr_t sp);

static const char *exception_name(unsigned code)
{
    static const char *const names[] = {[1] = "memory that cannot be written",
                                        [MISSES_READ] = "no such memory to read",
                                        [3] = "no such memory to write",
                                        [4] = "unaligned access, a load",
                                        [5] = "unaligned access, a store",
                                        [MISSES_CODE] = "no such instruction memory",
                                        [7] = "no such memory",
                                        [8] = "system call",
                                        [BREAKPOINT] = "breakpoint",
                                        [10] = "illegal instruction",
                                        [11] = "no such coprocessor",
                                        [12] = "integer overflow",
                                        [15] = "floating-point exception",
                                        [24] = "machine check"};
    return code < ARRAY_SIZE(names) && names[code] != NULL ? names[code] : "unexpected exception";
}

static const char *what_of(unsigned code, uintptr_t pc, uintptr_t address)
{
    if (code == TRAP) {
        bool division = TRAP_CODE(*(const uint32_t *)pc) == TRAP_DIVISION;
        return division ? "division by zero" : exception_name(BREAKPOINT);
    }
    return exception_name(code == MISSES_READ && pc == address ? MISSES_CODE : code);
}

static NORETURN void exception(uint32_t cause, const struct arch_frame *frame)
{
    unsigned code = cause >> 2 & 31;
    uintptr_t pc = cause & CAUSE_IN_DELAY_SLOT ? frame->pc + 4 : frame->pc;
    uintptr_t address = ARCH_CP0_READ(8, 0);
    bare_fault(&(struct bare_fault){.what = BARE_WHAT(what_of(code, pc, address)),
                                    .cause = code,
                                    .pc = pc,
                                    .address = address,
                                    .caller = frame->ra,
                                    .sp = (uintptr_t)frame + ARCH_FRAME_SIZE});
}

void arch_breakpoint(uintptr_t pc, uintptr_t sp)
{
    bare_fault(&(struct bare_fault){.what = BARE_WHAT(exception_name(BREAKPOINT)),
                                    .cause = BREAKPOINT,
                                    .pc = pc,
                                    .address = pc,
                                    .sp = sp});
}

void arch_trap(uint32_t cause, struct arch_frame *frame)
{
    if ((cause >> 2 & 31) != 0) {
        exception(cause, frame);
    }
    uint32_t pending = cause & frame->status;
    bare_irq_begin();
    if (pending & ARCH_CAUSE(ARCH_LINE_TIMER)) {
        bare_on_timer();
    } else if (pending & (ARCH_CAUSE(ARCH_LINE_IPI) | ARCH_CAUSE(ARCH_LINE_SELF))) {
        bare_on_ipi();
    } else if (pending & ARCH_CAUSE(ARCH_LINE_DEVICE)) {
        board_on_device();
    }
    bare_irq_end(frame->pc, frame);
}
