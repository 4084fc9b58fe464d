/* SPDX-License-Identifier: MIT */
/*
 * native_report.c - pirn_dump.
 */
#include "port_report.h"

#include <pirn/pirn.h>

EXPORT void pirn_dump(void)
{
    rt_dump();
}
