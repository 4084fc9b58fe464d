/* SPDX-License-Identifier: MIT */
/*
 * objects.c - the table of functions that the core calls in the synchronisation objects:
 * core/objects.h.
 */
#include "objects.h"
#include "omutex.h"
#include "port_processes.h"
#include "report.h"

const struct rt_objects rt_objects = {
    .held_end = RT_OWNED ? rt_held_end : NULL,
    .forked = PORT_PROCESSES ? rt_once_reset : NULL,
    .report_start = RT_REPORT ? rt_report_start : NULL,
    .report_idle = RT_REPORT ? rt_report_idle : NULL,
};
