/* SPDX-License-Identifier: MIT */
/*
 * alarm_rtc.c - the alarm of a "goldfish" real-time clock, which counts ns.
 */
#include "alarm.h"

enum {
    TIME_LOW = 0x00,
    TIME_HIGH = 0x04,
    ALARM_LOW = 0x08,
    ALARM_HIGH = 0x0c,
    ENABLE = 0x10,
    CLEAR = 0x1c
};

uint32_t alarm_in(uint32_t ns)
{
    uint64_t now = alarm_get(TIME_LOW); /* latches the upper half */
    now |= (uint64_t)alarm_get(TIME_HIGH) << 32;
    alarm_put(ENABLE, 1);
    alarm_put(ALARM_HIGH, (uint32_t)((now + ns) >> 32));
    alarm_put(ALARM_LOW, (uint32_t)(now + ns));
    return ns;
}

void alarm_clear(void)
{
    alarm_put(CLEAR, 1);
}
