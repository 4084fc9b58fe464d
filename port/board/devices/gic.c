/* SPDX-License-Identifier: MIT */
/*
 * gic.c - Arm's interrupt controller, versions 1 and 2 and the one of ARM11 MPCore: it has all
 * interrupts, those between cores and of the cores' timers, too. A core's number in it is its hart.
 *
 * An interrupt is taken by reading its number; another one of the same kind may become pending
 * then. ORDER(permit) From then until its end the controller keeps back those that are not of a
 * higher priority. The core's own ones have the lowest.
 */
#include "arch_bare.h"
#include "bare.h"
#include "board.h"
#include "board_map.h"
#include "core_timer.h"
#include "mmio.h"

/* The distributor, common to all cores; words of the first 32 interrupts are each core's own. */
#define GICD_CONTROL (BOARD_GIC_COMMON + 0x0u)
#define GICD_TYPE (BOARD_GIC_COMMON + 0x4u)
#define GICD_ENABLE(id) (BOARD_GIC_COMMON + 0x100u + (id) / 32u * 4u)
#define GICD_DISABLE(id) (BOARD_GIC_COMMON + 0x180u + (id) / 32u * 4u)
#define GICD_PRIORITY(id) (BOARD_GIC_COMMON + 0x400u + (id))
#define GICD_TARGETS(id) (BOARD_GIC_COMMON + 0x800u + (id))
#define GICD_SEND (BOARD_GIC_COMMON + 0xf00u)
#define TYPE_LINES(type) (32u * (((type)&0x1fu) + 1))
#define TYPE_CORES(type) (((type) >> 5 & 7u) + 1)
#define SEND_TO(core) (1u << (16u + (core)))

/* Each core's part. */
#define GICC_CONTROL (BOARD_GIC_CORE + 0x0u)
#define GICC_LOWEST (BOARD_GIC_CORE + 0x4u)
#define GICC_NESTING (BOARD_GIC_CORE + 0x8u)
#define GICC_TAKE (BOARD_GIC_CORE + 0xcu)
#define GICC_END (BOARD_GIC_CORE + 0x10u)
#define TAKEN_ID(taken) ((taken)&0x3ffu)
#define LOWEST_ALL 0xffu

#define IPI 1u
#define PRIORITY(priority) ((uint8_t)(0xc0u - 0x40u * (priority))) /* of 16 at least; 0 first */
#define NESTING_ALL 0u   /* each priority interrupts those below it */
#define FIRST_DEVICE 16u /* up to 31 those of the core itself */
#define FIRST_COMMON 32u
#define LAST_DEVICE 1019u

unsigned board_core_count(void)
{
    return TYPE_CORES(get32(GICD_TYPE));
}

static void core_on(void)
{
    put32(GICD_CONTROL, 1);
    put32(GICC_LOWEST, LOWEST_ALL);
    put32(GICC_NESTING, NESTING_ALL);
    put32(GICC_CONTROL, 1);
    put8(GICD_PRIORITY(IPI), PRIORITY(0));
    put32(GICD_ENABLE(IPI), 1u << IPI);
}

void board_core_wait(void)
{
    core_on();
    arch_wait();
    uint32_t taken = get32(GICC_TAKE);
    if (TAKEN_ID(taken) <= LAST_DEVICE) {
        put32(GICC_END, taken);
    }
}

void board_core_begin(void)
{
    core_on();
    board_timer_set(UINT64_MAX);
    put8(GICD_PRIORITY(BOARD_TIMER_SOURCE), PRIORITY(0));
    put32(GICD_ENABLE(BOARD_TIMER_SOURCE), 1u << BOARD_TIMER_SOURCE % 32u);
}

void board_ipi(unsigned hart)
{
    arch_barrier(); /* ORDER(permit) memory before the interrupt */
    put32(GICD_SEND, SEND_TO(hart) | IPI);
}

void board_ipi_taken(void)
{
    arch_barrier(); /* ORDER(permit) the interrupt before memory */
}

static bool is_device(unsigned source)
{
    return source >= FIRST_DEVICE && source <= LAST_DEVICE && source != BOARD_TIMER_SOURCE &&
           source < TYPE_LINES(get32(GICD_TYPE));
}

/* Of a core's own sources the registers are the calling core's. */
bool board_irq_has(unsigned source, unsigned hart, unsigned priority)
{
    (void)priority;
    return is_device(source) && (source >= FIRST_COMMON || hart == arch_core()->hart);
}

void board_irq_enable(unsigned source, unsigned hart, unsigned priority)
{
    put8(GICD_PRIORITY(source), PRIORITY(priority));
    put8(GICD_TARGETS(source), (uint8_t)(1u << hart));
    put32(GICD_ENABLE(source), 1u << source % 32u);
}

void board_irq_disable(unsigned source, unsigned hart)
{
    (void)hart;
    put32(GICD_DISABLE(source), 1u << source % 32u);
}

void board_irq_admit(unsigned from)
{
    (void)from;
}

void board_on_device(void)
{
    uint32_t taken = get32(GICC_TAKE), source = TAKEN_ID(taken);
    if (source == BOARD_TIMER_SOURCE) {
        core_timer_taken();
        bare_on_timer();
    } else if (source == IPI) {
        bare_on_ipi();
    } else if (source >= FIRST_DEVICE && source <= LAST_DEVICE) {
        bare_on_device(source);
    }
    if (source <= LAST_DEVICE) {
        put32(GICC_END, taken);
    }
}
