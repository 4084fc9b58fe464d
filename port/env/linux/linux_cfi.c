/* SPDX-License-Identifier: MIT */
/*
 * linux_cfi.c (Linux) - the callers of a place in the code, by the call frame information that
 * compilers write for exceptions, so that no code needs frame pointers. For the profiler: called in
 * signal handlers and in the middle of a switch, on the kernel thread that runs, or is about to
 * run, the thread.
 *
 *   1. It takes no lock, allocates nothing and calls nothing but module_at. A module that this does
 *      not know has no information.
 *   2. It reads words from the stack pointer (less the red zone) up to the stack's end only, which
 *      are there; and the tables of files that have code on that stack, which nobody unloads
 *      meanwhile.
 *   3. Stack pointers only go up, so it ends. Only a function that has been interrupted may have
 *      no stack of its own, where the return address is in a register.
 * Code without information (a compiler at run time, assembly) is left by its frame pointer, if that
 * leads to an address behind a call. Functions in assembly have mostly none, call nothing and are
 * the innermost: then the first word on the stack that is such an address is taken for the one that
 * they return to.
 *
 * Registers that a function may change, and has not saved, are unknown. A row that needs one ends
 * the walk.
 */
#include "linux_cfi_table.h"
#include "linux_modules.h"

#ifdef CFI_TABLES

#include <ucontext.h>

#define STACK_MAX 8 /* of expressions */
#define CODE_FIRST 4096u
#define SEARCHED_WORDS 64u /* of the frame of a function in assembly */
#define RED_ZONE 128u      /* below the stack pointer: a register that has been restored just now */

static uint64_t bit(uint64_t n)
{
    RT_ASSERT(n < CFI_REGISTERS && CFI_REGISTERS <= 64);
    return UINT64_C(1) << n;
}

/* The stack of the thread that is looked at. */
struct stack {
    uintptr_t low, high;
    bool bad;
};

static uintptr_t word(struct stack *s, uintptr_t at)
{
    if (at % sizeof(uintptr_t) != 0 || at < s->low || at >= s->high ||
        s->high - at < sizeof(uintptr_t)) {
        s->bad = true;
        return 0;
    }
    return *(const uintptr_t *)at;
}

static uintptr_t known(struct stack *s, const struct cfi_registers *r, uint64_t n)
{
    s->bad |= n >= CFI_REGISTERS || !(r->known & bit(n));
    return s->bad ? 0 : r->value[n];
}

struct operands {
    uintptr_t of[STACK_MAX];
    unsigned n;
    bool bad;
};

static void push(struct operands *o, uintptr_t value)
{
    if (o->n == STACK_MAX) {
        o->bad = true;
    } else {
        o->of[o->n++] = value;
    }
}

static uintptr_t pop(struct operands *o)
{
    if (o->n == 0) {
        o->bad = true;
        return 0;
    }
    return o->of[--o->n];
}

/* As much of DWARF's expressions as compilers and linkers write there. */
static void operate(struct operands *o, struct cfi_reader *r, struct stack *s,
                    const struct cfi_registers *regs)
{
    uint8_t code = cfi_byte(r);
    uintptr_t second;
    if (code >= 0x30 && code <= 0x4f) { /* lit0 to lit31 */
        push(o, code - 0x30u);
    } else if (code >= 0x70 && code <= 0x8f) { /* breg0 to breg31 */
        uintptr_t value = known(s, regs, code - 0x70u);
        push(o, value + (uintptr_t)cfi_signed(r));
    } else if (code == 0x06) { /* deref */
        push(o, word(s, pop(o)));
    } else if (code == 0x08) { /* const1u */
        push(o, cfi_byte(r));
    } else if (code == 0x09) { /* const1s */
        push(o, (uintptr_t)(intptr_t)(int8_t)cfi_byte(r));
    } else if (code == 0x10) { /* constu */
        push(o, (uintptr_t)cfi_unsigned(r));
    } else if (code == 0x11) { /* consts */
        push(o, (uintptr_t)cfi_signed(r));
    } else if (code == 0x12) { /* dup */
        uintptr_t value = pop(o);
        push(o, value);
        push(o, value);
    } else if (code == 0x23) { /* plus_uconst */
        push(o, pop(o) + (uintptr_t)cfi_unsigned(r));
    } else if (code == 0x1a || code == 0x1c || code == 0x22 || code == 0x24 || code == 0x2a) {
        second = pop(o);
        uintptr_t first = pop(o);
        push(o, code == 0x1a   ? first & second
                : code == 0x1c ? first - second
                : code == 0x22 ? first + second
                : code == 0x24 ? (second < 64 ? first << second : 0)
                               : (uintptr_t)((intptr_t)first >= (intptr_t)second));
    } else {
        o->bad = true;
    }
}

static uintptr_t evaluate(const uint8_t *at, struct stack *s, const struct cfi_registers *regs,
                          bool begins, uintptr_t cfa)
{
    struct operands o = {.n = 0};
    struct cfi_reader r = {at, at + 16, false};
    uint64_t size = cfi_unsigned(&r);
    r.end = r.at + size;
    if (begins) {
        push(&o, cfa);
    }
    while (r.at < r.end && !r.bad && !o.bad && !s->bad) {
        operate(&o, &r, s, regs);
    }
    uintptr_t value = pop(&o);
    s->bad |= r.bad || o.bad;
    return value;
}

/* One register of the caller. False: it is unknown. */
static bool recover(const struct cfi_machine *m, unsigned n, struct stack *s,
                    const struct cfi_registers *regs, uintptr_t cfa, uintptr_t *value)
{
    struct cfi_rule rule = m->row.of[n];
    switch ((enum cfi_rule_kind)rule.kind) {
    case CFI_SAME:
        *value = regs->value[n];
        return (regs->known & (PORT_ARCH_CFI_KEPT | PORT_ARCH_CFI_LINK) & bit(n)) != 0;
    case CFI_UNDEFINED:
        return false;
    case CFI_OFFSET:
        *value = word(s, cfa + (uintptr_t)(intptr_t)rule.value);
        return true;
    case CFI_VALUE:
        *value = cfa + (uintptr_t)(intptr_t)rule.value;
        return true;
    case CFI_REGISTER:
        *value = known(s, regs, (uint64_t)rule.value);
        return true;
    case CFI_AT:
        *value = word(s, evaluate(m->base + rule.value, s, regs, true, cfa));
        return true;
    case CFI_IS:
        *value = evaluate(m->base + rule.value, s, regs, true, cfa);
        return true;
    }
    return false;
}

static bool step_by_row(const struct cfi_machine *m, struct stack *s, struct cfi_registers *regs)
{
    struct cfi_registers above = {.known = 0};
    uintptr_t cfa =
        m->row.cfa.kind == CFI_IS
            ? evaluate(m->base + m->row.cfa.value, s, regs, false, 0)
            : known(s, regs, (uint64_t)m->row.cfa.value) + (uintptr_t)(intptr_t)m->row.offset;
    if (s->bad || m->row.of[m->entry->result].kind == CFI_UNDEFINED) {
        return false;
    }
    for (unsigned n = 0; n < CFI_REGISTERS; n++) {
        uintptr_t value = 0;
        if (recover(m, n, s, regs, cfa, &value)) {
            above.value[n] = value;
            above.known |= bit(n);
        }
    }
    if (m->row.of[PORT_ARCH_CFI_SP].kind == CFI_SAME) {
        above.value[PORT_ARCH_CFI_SP] = cfa;
        above.known |= bit(PORT_ARCH_CFI_SP);
    }
    bool found = !s->bad && (above.known & bit(m->entry->result)) != 0;
    above.value[PORT_ARCH_CFI_PC] = PORT_ARCH_CFI_CODE(above.value[m->entry->result]);
    above.known &=
        m->entry->signal ? UINT64_MAX : ~PORT_ARCH_CFI_LINK; /* its call has changed it */
    *regs = above;
    return found;
}

/* Where handlers return to that the library has installed itself (linux_own.c). It has no tables;
 * what the handler has interrupted is near the stack pointer. Other handlers return to the C
 * library's code, which has tables, or to the kernel's, which may have none. By a frame pointer
 * that was none the address may be anything, so nothing else is read there. */
extern const char port_signal_return[] __attribute__((weak));

static bool is_signal_return(uintptr_t pc)
{
    return (&port_signal_return != NULL && pc == (uintptr_t)port_signal_return) ||
           (module_is_kernels(pc) && PORT_ARCH_CFI_SIGNAL_RETURN(pc));
}

/* Back from a handler: all registers are those that it has interrupted. */
static bool step_out_of_handler(struct stack *s, struct cfi_registers *regs)
{
    uintptr_t at = regs->value[PORT_ARCH_CFI_SP] + PORT_ARCH_CFI_CONTEXT;
    if (!is_signal_return(regs->value[PORT_ARCH_CFI_PC]) || at >= s->high ||
        s->high - at < sizeof(ucontext_t)) {
        return false;
    }
    PORT_ARCH_CFI_OF_SIGNAL(regs, (const ucontext_t *)at);
    return true;
}

/* Is it an address behind a call, in code with tables? */
static bool is_return(uintptr_t address)
{
    struct cfi_entry entry;
    return cfi_find(&entry, address - 1) &&
           PORT_ARCH_BEHIND_CALL((const uint8_t *)address, address - entry.begin);
}

/* The innermost function, which has no tables and calls nothing, or nothing yet: its caller is in
 * the link register, where there is one. */
static bool step_by_link(struct cfi_registers *regs)
{
    if (!(regs->known & PORT_ARCH_CFI_LINK)) {
        return false;
    }
    uintptr_t link = PORT_ARCH_CFI_CODE(regs->value[PORT_ARCH_CFI_RESULT]);
    if (!is_return(link)) {
        return false;
    }
    regs->known &= PORT_ARCH_CFI_KEPT | bit(PORT_ARCH_CFI_SP);
    regs->value[PORT_ARCH_CFI_PC] = link;
    return true;
}

/* The innermost function, which has neither tables nor a frame pointer. */
static bool step_by_search(struct stack *s, struct cfi_registers *regs)
{
    uintptr_t at = regs->value[PORT_ARCH_CFI_SP];
    for (unsigned i = 0; i < SEARCHED_WORDS; i++, at += sizeof(uintptr_t)) {
        uintptr_t found = PORT_ARCH_CFI_CODE(word(s, at));
        if (s->bad) {
            return false;
        }
        if (is_return(found)) {
            regs->known &= PORT_ARCH_CFI_KEPT;
            regs->known |= bit(PORT_ARCH_CFI_SP);
            regs->value[PORT_ARCH_CFI_SP] = at + sizeof(uintptr_t);
            regs->value[PORT_ARCH_CFI_PC] = found;
            return true;
        }
    }
    return false;
}

static bool step_by_frame_pointer(struct stack *s, struct cfi_registers *regs)
{
    uintptr_t fp = known(s, regs, PORT_ARCH_CFI_FP);
    uintptr_t size = sizeof(uintptr_t);
    uintptr_t next = word(s, fp + (uintptr_t)PORT_ARCH_FRAME_NEXT * size);
    uintptr_t back = PORT_ARCH_CFI_CODE(word(s, fp + (uintptr_t)PORT_ARCH_FRAME_RETURN * size));
    if (s->bad) {
        return false;
    }
    regs->known = bit(PORT_ARCH_CFI_FP) | bit(PORT_ARCH_CFI_SP);
    regs->value[PORT_ARCH_CFI_FP] = next;
    regs->value[PORT_ARCH_CFI_SP] = fp + 2 * size;
    regs->value[PORT_ARCH_CFI_PC] = back;
    return true;
}

/* How sure the way is. */
struct way {
    bool exact;  /* the address is the next instruction's, not one behind a call */
    bool unsure; /* registers may be those of a function in assembly, which has changed them */
};

/* By tables. An unsure step has to lead to an address behind a call. */
static bool step_by_table(const struct cfi_entry *entry, struct stack *s,
                          struct cfi_registers *regs, struct way *way)
{
    struct cfi_machine machine;
    struct cfi_registers above = *regs;
    uintptr_t pc = regs->value[PORT_ARCH_CFI_PC] - (way->exact ? 0 : 1);
    struct stack stack = *s;
    bool found = cfi_row_of(&machine, entry, pc) && step_by_row(&machine, &stack, &above);
    if (found && (!way->unsure || is_return(above.value[PORT_ARCH_CFI_PC]))) {
        way->exact = entry->signal;
        *regs = above;
        return true;
    }
    way->exact = false;
    return way->unsure && step_by_search(s, regs);
}

/* By what there is in code without. */
static bool step_otherwise(struct stack *s, struct cfi_registers *regs, struct way *way)
{
    bool innermost = way->exact;
    struct stack stack = *s;
    struct cfi_registers above = *regs;
    way->exact = !innermost && step_out_of_handler(s, regs);
    if (way->exact) {
        return true;
    }
    if (innermost && step_by_link(regs)) {
        way->unsure = true;
        return true;
    }
    bool found = step_by_frame_pointer(&stack, &above);
    if (found && ((!innermost && !way->unsure) || is_return(above.value[PORT_ARCH_CFI_PC]))) {
        *regs = above;
        return true;
    }
    way->unsure |= innermost;
    return innermost && step_by_search(s, regs);
}

static bool step(struct stack *s, struct cfi_registers *regs, struct way *way)
{
    struct cfi_entry entry;
    return cfi_find(&entry, regs->value[PORT_ARCH_CFI_PC] - (way->exact ? 0 : 1))
               ? step_by_table(&entry, s, regs, way)
               : step_otherwise(s, regs, way);
}

unsigned cfi_frames(struct cfi_registers *regs, uintptr_t low, uintptr_t high, uintptr_t *frames,
                    unsigned max)
{
    struct stack stack = {.high = high};
    struct way way = {.exact = true};
    unsigned n = 0;
    while (n < max) {
        uintptr_t sp = regs->value[PORT_ARCH_CFI_SP];
        if (sp < low || sp >= high) {
            break;
        }
        stack.low = sp - low < RED_ZONE ? low : sp - RED_ZONE;
        bool may_stay = way.exact && PORT_ARCH_CFI_LINK != 0;
        if (!step(&stack, regs, &way) || regs->value[PORT_ARCH_CFI_SP] < sp ||
            (regs->value[PORT_ARCH_CFI_SP] == sp && !may_stay) ||
            regs->value[PORT_ARCH_CFI_PC] < CODE_FIRST) {
            break;
        }
        frames[n++] = regs->value[PORT_ARCH_CFI_PC] + (way.exact ? 1 : 0);
    }
    return n;
}

#else

unsigned cfi_frames(struct cfi_registers *regs, uintptr_t low, uintptr_t high, uintptr_t *frames,
                    unsigned max)
{
    (void)regs;
    (void)low;
    (void)high;
    (void)frames;
    (void)max;
    return 0;
}

#endif
