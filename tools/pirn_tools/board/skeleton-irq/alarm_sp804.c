/* SPDX-License-Identifier: MIT */
/*
 * alarm_sp804.c - a timer of Arm's SP804, or of its Cortex-M System Design Kit, which counts down:
 * ALARM_HZ times a second, whole microseconds.
 */
#include "alarm.h"

enum { LOAD = 0x00, CONTROL = 0x08, CLEAR = 0x0c };
#define ONCE 0x01u
#define BITS_32 0x02u
#define INTERRUPTS 0x20u
#define ON 0x80u

uint32_t alarm_in(uint32_t ns)
{
    alarm_put(CONTROL, 0);
    alarm_put(LOAD, ns / 1000 * (ALARM_HZ / 1000000));
    alarm_put(CONTROL, ON | INTERRUPTS | BITS_32 | ONCE);
    return ns / 1000 * 1000;
}

void alarm_clear(void)
{
    alarm_put(CLEAR, 1);
}
