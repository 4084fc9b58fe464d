/* SPDX-License-Identifier: MIT */
/*
 * alarm_cntp.c - the physical timer of Arm's generic timer, the core's own, as alarm. (The library
 * uses the virtual one.)
 */
#include "alarm.h"

#define ON 1u
#define MASKED 2u

#ifdef __aarch64__
static uint32_t hz(void)
{
    uint64_t value;
    __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(value));
    return (uint32_t)value;
}

static void count_down(uint32_t ticks)
{
    __asm__ volatile("msr cntp_tval_el0, %0" ::"r"((uint64_t)ticks) : "memory");
}

static void control(uint32_t bits)
{
    __asm__ volatile("msr cntp_ctl_el0, %0\n\tisb" ::"r"((uint64_t)bits) : "memory");
}
#else
static uint32_t hz(void)
{
    uint32_t value;
    __asm__ volatile("mrc p15, 0, %0, c14, c0, 0" : "=r"(value));
    return value;
}

static void count_down(uint32_t ticks)
{
    __asm__ volatile("mcr p15, 0, %0, c14, c2, 0" ::"r"(ticks) : "memory");
}

static void control(uint32_t bits)
{
    __asm__ volatile("mcr p15, 0, %0, c14, c2, 1\n\tisb" ::"r"(bits) : "memory");
}
#endif

uint32_t alarm_in(uint32_t ns)
{
    uint32_t ticks = (uint32_t)((uint64_t)ns * hz() / 1000000000u);
    uint32_t takes = (uint32_t)((uint64_t)ticks * 1000000000u / hz());
    __asm__ volatile("" : "+r"(takes)); /* divided before the time begins */
    control(0);
    count_down(ticks);
    control(ON);
    return takes;
}

/* It interrupts as long as the time is over. */
void alarm_clear(void)
{
    control(ON | MASKED);
}
