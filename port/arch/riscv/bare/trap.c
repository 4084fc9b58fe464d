/* SPDX-License-Identifier: MIT */
/*
 * trap.c (RISC-V) - what an interrupt or an exception means.
 */
#include "bare.h"
#include "board.h"

/* trap.S */
struct arch_frame {
    unsigned long ra, t0, t1, t2, t3, t4, t5, t6, a0, a1, a2, a3, a4, a5, a6, a7;
    unsigned long pc, status, s0;
};

enum { INTERRUPT_SOFT = 3, INTERRUPT_TIMER = 7, INTERRUPT_DEVICE = 11, EXCEPTION_BREAKPOINT = 3 };

extern const char semihost_trap[];

void arch_trap(unsigned long cause, struct arch_frame *frame);

static const char *exception_name(unsigned long cause)
{
    static const char *const names[] = {"instruction address not aligned",
                                        "no such instruction memory",
                                        "illegal instruction",
                                        "breakpoint",
                                        "unaligned access, a load",
                                        "no such memory to read",
                                        "unaligned access, a store",
                                        "no such memory to write"};
    return cause < ARRAY_SIZE(names) ? names[cause] : "unexpected exception";
}

static NORETURN void exception(unsigned long cause, const struct arch_frame *frame)
{
    unsigned long address;
    __asm__ volatile("csrr %0, mtval" : "=r"(address));
    bare_fault(&(struct bare_fault){.what = exception_name(cause),
                                    .cause = cause,
                                    .pc = frame->pc,
                                    .address = address,
                                    .caller = frame->ra,
                                    .sp = (uintptr_t)frame + ARCH_FRAME_SIZE});
}

void arch_registers(const struct arch_frame *frame, struct frame_registers *at)
{
    *at = (struct frame_registers){
        .sp = (uintptr_t)frame + ARCH_FRAME_SIZE, .fp = frame->s0, .link = frame->ra};
}

void arch_trap(unsigned long cause, struct arch_frame *frame)
{
    if ((long)cause >= 0) {
        if (cause != EXCEPTION_BREAKPOINT || frame->pc != (unsigned long)semihost_trap) {
            exception(cause, frame);
        }
        frame->a0 = (unsigned long)-1; /* nobody is there who would serve the call */
        frame->pc += 4;
        return;
    }
    bare_irq_begin();
    switch (cause & 0xff) {
    case INTERRUPT_TIMER:
        bare_on_timer();
        break;
    case INTERRUPT_SOFT:
        bare_on_ipi();
        break;
    default:
        board_on_device();
        break;
    }
    bare_irq_end(frame->pc, frame);
}
