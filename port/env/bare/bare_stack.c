/* SPDX-License-Identifier: MIT */
/*
 * bare_stack.c (bare) - stacks, and what is below them. Called by the core when a thread gets a
 * stack, by bare_core.c when a core begins.
 *
 * Invariants:
 *   1. Below a stack is a zone that nobody uses: of stacks that are allocated, a part of their
 *      block; of main's, what image.ld leaves; of a core's own, its trap stack. A stack that the
 *      program gives has what the program puts there; with a guard that moves, its lowest bytes
 *      are the zone.
 *   2. Where the hardware can, the zone refuses every access while the stack is in use: a guard
 *      that moves with the running thread (ARCH_GUARD_MOVES), or pages without memory
 *      (bare_pages.c).
 *   3. The lowest word of a stack is BARE_CANARY, and the core knows the running stack's lowest
 *      address (stack_low). The word is compared at each switch and behind a handler of the
 *      program, the stack pointer at each switch, at the beginning of each interrupt, and in
 *      port_stack_check.
 */
#include "bare.h"

#include "port_tools.h"

#include <errno.h>

char bare_core_stacks[BARE_CORES][BARE_CORE_ROOM] ALIGNED(BARE_TRAP_STACK)
    __attribute__((section(".noinit.bare_core_stacks")));
struct bare_own bare_own[BARE_CORES];

extern char bare_first_guard[], bare_first_stack[], bare_first_stack_top[]; /* image.ld */

static struct bare_own own_first(void)
{
    uintptr_t low = (uintptr_t)bare_first_stack;
    return (struct bare_own){low, (uintptr_t)bare_first_stack_top,
                             low - (uintptr_t)bare_first_guard};
}

#ifdef ARCH_PAGE
static struct bare_own own_of(unsigned number)
{
    return number == 0 ? own_first() : bare_own[number];
}

int bare_own_make(unsigned number)
{
    struct bare_own *own = &bare_own[number];
    struct port_stack stack;
    RT_ASSERT(own->low == 0);
    if (port_stack_alloc(&stack, BARE_CORE_STACK, 0) != 0) {
        return -ENOMEM;
    }
    *own = (struct bare_own){(uintptr_t)stack.low, (uintptr_t)stack.low + stack.size, stack.guard};
    return 0;
}

static NORETURN void entered(struct port_ctx *from, struct port_ctx *to, void *run, void *hart,
                             uintptr_t number)
{
    (void)from;
    (void)to;
    ((void (*)(unsigned, unsigned long))(uintptr_t)run)((unsigned)number, (uintptr_t)hart);
    port_panic();
}

void bare_own_enter(unsigned number, void (*run)(unsigned number, unsigned long hart),
                    unsigned long hart)
{
    struct port_ctx left, own;
    struct bare_own of = own_of(number);
    port_ctx_init(&own, (void *)of.low, of.high - of.low, entered);
    port_ctx_switch(
        &left, &own,
        (struct port_note){.cpu = (void *)(uintptr_t)run, .arg = (void *)hart, .post = number});
    port_panic();
}
#else
static struct bare_own own_of(unsigned number)
{
    uintptr_t room = (uintptr_t)bare_core_stacks[number];
    return BARE_CORES == 1 || number == 0
               ? own_first()
               : (struct bare_own){room + BARE_TRAP_STACK, room + BARE_CORE_ROOM, BARE_TRAP_STACK};
}

int bare_own_make(unsigned number)
{
    (void)number;
    return 0;
}

void bare_own_enter(unsigned number, void (*run)(unsigned number, unsigned long hart),
                    unsigned long hart)
{
    run(number, hart); /* start.S has made it the stack */
    port_panic();
}
#endif

const struct bare_own *bare_own_begin(unsigned number)
{
    struct bare_own *own = &bare_own[number];
    RT_ASSERT(number < BARE_CORES);
    *own = own_of(number);
    uintptr_t low = own->low;
    __asm__("" : "+r"(low)); /* to the compiler an address of bytes, which it would write singly */
    *(volatile uint32_t *)low = BARE_CANARY;
    return own;
}

uintptr_t bare_trap_stack(unsigned number)
{
    return (uintptr_t)&bare_core_stacks[number][BARE_TRAP_STACK];
}

void bare_overran(void)
{
    struct cpu *cpu = port_cpu_self();
    bare_overflow(cpu != NULL ? rt_cpu_thread(cpu) : NULL, (uintptr_t)__builtin_frame_address(0));
}

#ifdef ARCH_GUARD_MOVES
void port_stack_begin(struct port_stack *stack)
{
    size_t zone = stack->size >= 8192 ? 512 : stack->size >= 4096 ? 256 : 64;
    uintptr_t given = (uintptr_t)stack->low, low = ((given + zone - 1) & ~(zone - 1)) + zone;
    stack->guard = low - given;
    stack->low = (char *)stack->low + stack->guard;
    stack->size -= stack->guard;
    bare_guard_set(stack, zone);
}
#else
void port_stack_begin(struct port_stack *stack)
{
    (void)stack;
}
#endif

void port_stack_end(struct port_stack *stack)
{
    (void)stack;
}
