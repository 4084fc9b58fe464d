/* SPDX-License-Identifier: MIT */
/*
 * port_nodes.h - NUMA nodes: CPUs that share a memory and, mostly, a cache.
 *
 * PORT_NODES (port_env.h): true where CPUs may belong to different nodes, and the port can tell.
 * Distances are in the unit of ACPI's table (SLIT): 10 is the node itself, 20 twice as far.
 */
#ifndef PIRN_PORT_NODES_H
#define PIRN_PORT_NODES_H

#include "port.h"

#define PORT_NODES_MAX 32u
#define PORT_NODE_HERE 10u  /* distance of a node to itself */
#define PORT_NODE_THERE 20u /* to another one, where nothing else is known */

#if PORT_NODES
/* The node of CPU i, below PORT_NODES_MAX; 0 where processors of different nodes may execute the
 * CPU. It does not change. Called once for each CPU, while the runtime starts, after port_init, and
 * before CPU 1 begins. */
unsigned port_cpu_node(unsigned i);

/* The distance of two nodes that port_cpu_node has returned. At the same time. */
unsigned port_node_distance(unsigned from, unsigned to);
#else
ALWAYS_INLINE unsigned port_cpu_node(unsigned i)
{
    (void)i;
    return 0;
}

ALWAYS_INLINE unsigned port_node_distance(unsigned from, unsigned to)
{
    return from == to ? PORT_NODE_HERE : PORT_NODE_THERE;
}
#endif

#endif
