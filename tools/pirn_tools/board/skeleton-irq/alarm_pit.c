/* SPDX-License-Identifier: MIT */
/*
 * alarm_pit.c - the first counter of an i8254, which interrupts when it has counted down.
 */
#include "alarm.h"

enum { COUNTER = 0, COMMAND = 3 };
#define ONCE 0x30 /* two bytes follow; the output rises at the end */
#define HZ 1193182u

static void put(unsigned at, uint32_t value)
{
    *(volatile uint8_t *)(uintptr_t)(ALARM_ADDRESS + at) = (uint8_t)value;
}

uint32_t alarm_in(uint32_t ns)
{
    uint32_t count = (uint32_t)((uint64_t)ns * HZ / 1000000000u);
    uint32_t takes = (uint32_t)((uint64_t)count * 1000000000u / HZ);
    __asm__ volatile("" : "+r"(takes)); /* divided before the time begins */
    put(COMMAND, ONCE);
    put(COUNTER, count);
    put(COUNTER, count >> 8);
    return takes;
}

/* Setting the counter makes the output fall; its rise makes the interrupt. */
void alarm_clear(void) {}
