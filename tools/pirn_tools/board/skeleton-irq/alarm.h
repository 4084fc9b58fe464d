/* SPDX-License-Identifier: MIT */
/*
 * alarm.h - a device that interrupts once, as ALARM_SOURCE, at a given time.
 */
#ifndef ALARM_H
#define ALARM_H

#include <stdint.h>

/* The time begins with the last access to the device, at the end of the function. Returns the time
 * that it takes: the nearest one below that the device can count. */
uint32_t alarm_in(uint32_t ns);

/* The interrupt has been taken. */
void alarm_clear(void);

static inline void alarm_put(unsigned at, uint32_t value)
{
    *(volatile uint32_t *)(uintptr_t)(ALARM_ADDRESS + at) = value;
}

static inline uint32_t alarm_get(unsigned at)
{
    return *(volatile uint32_t *)(uintptr_t)(ALARM_ADDRESS + at);
}

#endif
