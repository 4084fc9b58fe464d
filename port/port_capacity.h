/* SPDX-License-Identifier: MIT */
/*
 * port_capacity.h - CPUs of different speeds.
 *
 * PORT_CAPACITIES (port_env.h): true where CPUs may differ in speed, and the port can tell. The
 * unit is that of Linux (/sys/devices/system/cpu/cpuN/cpu_capacity): the fastest CPU has 1024, one
 * that does half of its work in the same time 512.
 */
#ifndef PIRN_PORT_CAPACITY_H
#define PIRN_PORT_CAPACITY_H

#include "port.h"

#define PORT_CAPACITY_MAX 1024u

#if PORT_CAPACITIES
/* The capacity of CPU i, 1 to 1024. It does not change. PORT_CAPACITY_MAX where the CPU may be
 * executed by processors of different speeds. Called once for each CPU, while the runtime starts,
 * after port_init, and before CPU 1 begins. */
unsigned port_cpu_capacity(unsigned i);
#else
ALWAYS_INLINE unsigned port_cpu_capacity(unsigned i)
{
    (void)i;
    return PORT_CAPACITY_MAX;
}
#endif

#endif
