/* SPDX-License-Identifier: MIT */
/*
 * objects.c - the table of functions that the core calls in the synchronisation objects:
 * core/objects.h.
 */
#include "objects.h"
#include "futex.h"
#include "omutex.h"
#include "pollers.h"
#include "port_processes.h"
#include "report.h"
#include "sync.h"
#include "timers.h"

/* In the child of a fork. */
static UNUSED void objects_forked(void)
{
    rt_futex_reset();
    rt_timers_reset();
    if (RT_POLLERS) {
        rt_pollers_reset();
    }
}

const struct rt_objects rt_objects = {
    .held_end = RT_OWNED ? rt_held_end : NULL,
    .forked = PORT_PROCESSES ? objects_forked : NULL,
    .waited_for_room = RT_AFFINITY ? rt_sem_is_for_room : NULL,
    .report_start = RT_REPORT ? rt_report_start : NULL,
    .report_idle = RT_REPORT ? rt_report_idle : NULL,
    .pollers_wake = RT_POLLERS ? rt_pollers_wake : NULL,
};
