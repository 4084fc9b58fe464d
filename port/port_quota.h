/* SPDX-License-Identifier: MIT */
/*
 * port_quota.h - limits of CPU time that the system sets for the process.
 *
 * PORT_QUOTA (port_env.h): true where there may be one.
 */
#ifndef PIRN_PORT_QUOTA_H
#define PIRN_PORT_QUOTA_H

#include "port.h"

#define PORT_QUOTA_NONE UINT32_MAX

#if PORT_QUOTA
/* How many CPUs the limit pays for, rounded up, at least 1; PORT_QUOTA_NONE: there is no limit.
 * Called while the runtime starts. */
uint32_t port_cpu_quota(void);
#else
ALWAYS_INLINE uint32_t port_cpu_quota(void)
{
    return PORT_QUOTA_NONE;
}
#endif

#endif
