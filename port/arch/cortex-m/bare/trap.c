/* SPDX-License-Identifier: MIT */
/*
 * trap.c (ARM's microcontrollers) - what an interrupt or a fault means.
 */
#include "bare.h"
#include "board.h"
#include "mmio.h"
#include "system.h"

/* Offsets in the trap's entry and in port_ctx_switch. */
_Static_assert(offsetof(struct bare_core, stack_low) == BARE_CORE_STACK_LOW, "trap.S, port_arch.h");
_Static_assert(offsetof(struct bare_core, trap_stack) == BARE_CORE_TRAP_STACK, "trap.S");
_Static_assert(BARE_CORE_STACK_LOW == 4, "port_arch.h");

uintptr_t arch_thread_pointer;

/* What the hardware saves. */
struct arch_frame {
    uint32_t r0, r1, r2, r3, r12, lr, pc, status;
};

bool arch_interrupt(const struct arch_frame *frame, uint32_t of_thread);
void arch_fault(struct arch_frame *frame, uint32_t how);
extern const char arch_semihost_call[]; /* trap.S: its instruction */

/* Of the fault status. */
#define FETCH_REFUSED (1u << 0)
#define DATA_REFUSED (1u << 1)
#define FRAME_REFUSED (1u << 4 | 1u << 12) /* the fault's frame could not be written */
#define MEMORY_ADDRESS (1u << 7)
#define FETCH_FAILED (1u << 8)
#define DATA_FAILED (1u << 9)
#define DATA_FAILED_LATE (1u << 10) /* some instructions ago */
#define BUS_ADDRESS (1u << 15)
#define UNDEFINED (1u << 16)
#define NOT_THUMB (1u << 17)
#define NO_COPROCESSOR (1u << 19)
#define STACK_LIMIT (1u << 20)
#define NOT_ALIGNED (1u << 24)
#define DIVIDED_BY_0 (1u << 25)
#define HARD_DEBUG (1u << 31) /* of the hard fault's status */

#define ON_PROCESS_STACK 4u /* of EXC_RETURN */
#define CRASHED 134         /* the status of a program that crashes */

#define CALL_SIZE 2u /* of a breakpoint instruction */

/* A core's structure is where it is. */
void arch_core_set(struct bare_core *core)
{
    RT_ASSERT(core == arch_core());
    (void)core;
}

/* of_thread: 0: it has interrupted a handler. */
bool arch_interrupt(const struct arch_frame *frame, uint32_t of_thread)
{
    bare_irq_begin();
    board_on_device();
    bool leaves = bare_irq_leaves(frame->pc, frame);
    if (unlikely(leaves && of_thread == 0)) {
        put32(SYSTEM_PENDING, PENDING_CALL);
        section_on();
        leaves = false;
    }
    return leaves;
}

extern char bare_text_begin[], bare_text_end[], bare_data_begin[], bare_heap_end[];
extern char bare_first_stack[], bare_first_stack_top[];

static bool is_code(uintptr_t pc)
{
    return pc >= (uintptr_t)bare_text_begin && pc < (uintptr_t)bare_text_end;
}

/* Is there a load in front of what the fault's pc is at? Both kinds of data faults look alike. */
static const char *data_fault(uintptr_t pc)
{
    if (!is_code(pc)) {
        return "no such memory to read or write";
    }
    uint16_t first = *(const uint16_t *)pc;
    bool load;
    if (first >> 11 < 0x1d) { /* 16 bits: bit 11 is the load's, but for those with a register */
        load = first >> 12 == 5 ? (first >> 9 & 7u) >= 3 : (first >> 11 & 1u) != 0;
    } else {
        load = (first >> 4 & 1u) != 0;
    }
    return load ? "no such memory to read" : "no such memory to write";
}

static const char *fault_name(uint32_t status, uintptr_t pc)
{
    if (status & (NOT_THUMB | FETCH_REFUSED | FETCH_FAILED)) {
        return is_code(pc) ? "not an instruction of Thumb" : "no such instruction memory";
    }
    if (status & (DATA_REFUSED | DATA_FAILED)) {
        return data_fault(pc);
    }
    if (status & NOT_ALIGNED) {
        return "unaligned access";
    }
    if (status & DIVIDED_BY_0) {
        return "division by zero";
    }
    if (status & (UNDEFINED | NO_COPROCESSOR)) {
        return "undefined instruction";
    }
    return status & DATA_FAILED_LATE ? "a store some instructions before reached no memory"
                                     : "unknown";
}

static uint32_t address_of(uint32_t status, uint32_t pc)
{
    if (status & MEMORY_ADDRESS) {
        return get32(SYSTEM_FAULT_MEMORY);
    }
    return status & BUS_ADDRESS ? get32(SYSTEM_FAULT_BUS) : pc;
}

static bool is_between(uintptr_t at, const char *begin, const char *end)
{
    return at >= (uintptr_t)begin && at <= (uintptr_t)end - sizeof(struct arch_frame);
}

/* main's stack may be behind the heap. */
static bool is_frame(const struct arch_frame *frame)
{
    uintptr_t at = (uintptr_t)frame;
    return at % 4 == 0 && (is_between(at, bare_data_begin, bare_heap_end) ||
                           is_between(at, bare_first_stack, bare_first_stack_top));
}

/* The frame could not be written, or a stack pointer has met its limit. */
static NORETURN void refused(const struct arch_frame *frame, uint32_t status, uint32_t how)
{
    bool lost = !is_frame(frame) || (status & FRAME_REFUSED) != 0 ||
                (uintptr_t)frame == arch_core()->stack_low;
    if ((how & ON_PROCESS_STACK) == 0) {
        bare_stop(BARE_WHAT("stack overflow in a handler of an interrupt"), CRASHED);
    }
    bare_no_room(lost ? 0 : frame->pc);
}

/* Is the address of the fault in the zone of the stack of handlers? */
static bool is_handlers_zone(uint32_t status)
{
    return (status & MEMORY_ADDRESS) != 0 &&
           get32(SYSTEM_FAULT_MEMORY) - (uintptr_t)bare_core_stacks[0] < ARCH_HANDLERS_ZONE;
}

/* how: EXC_RETURN. */
void arch_fault(struct arch_frame *frame, uint32_t how)
{
    uint32_t status = get32(SYSTEM_FAULT), exception = arch_exception();
    (void)arch_irq_save();
    if (!is_frame(frame) || status & (FRAME_REFUSED | STACK_LIMIT) || is_handlers_zone(status)) {
        refused(frame, status, how);
    }
    if (frame->pc == (uintptr_t)arch_semihost_call && get32(SYSTEM_HARD_FAULT) & HARD_DEBUG) {
        put32(SYSTEM_HARD_FAULT, HARD_DEBUG);
        frame->r0 = UINT32_MAX;
        frame->pc += CALL_SIZE;
        arch_irq_restore(0);
        return;
    }
    struct bare_fault fault = {.cause = status,
                               .pc = frame->pc,
                               .address = address_of(status, frame->pc),
                               .caller = ARCH_CODE(frame->lr),
                               .sp = (uintptr_t)frame + ARCH_FRAME_SIZE};
    fault.what = fault_name(status, frame->pc);
    if (status == 0) {
        fault.cause = exception;
        fault.what = get32(SYSTEM_HARD_FAULT) & HARD_DEBUG ? "breakpoint"
                     : exception == ARCH_EXCEPTION_NMI     ? "non-maskable interrupt"
                                                           : "supervisor call";
    }
    bare_fault(&fault);
}
