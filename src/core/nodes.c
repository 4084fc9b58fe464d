/* SPDX-License-Identifier: MIT */
/*
 * nodes.c - see nodes.h.
 */
#include "nodes.h"

#include "cpu.h"
#include "port_nodes.h"

#if RT_NODES
static uint8_t distances[PORT_NODES_MAX][PORT_NODES_MAX]; /* (C) */

static size_t table_size(void)
{
    return (size_t)rt.ncpu * rt.ncpu * sizeof(rt.near[0]);
}

/* Without the option: what the port says. */
static void nodes_find(void)
{
    for (unsigned i = 0; i < rt.ncpu && rt.nodes_given != rt.ncpu; i++) {
        rt.node[i] = (uint8_t)port_cpu_node(i);
        RT_ASSERT(rt.node[i] < PORT_NODES_MAX);
    }
}

static void distances_find(void)
{
    bool given = rt.nodes_given == rt.ncpu;
    for (unsigned a = 0; a < PORT_NODES_MAX; a++) {
        for (unsigned b = 0; b < PORT_NODES_MAX; b++) {
            unsigned far = a == b ? PORT_NODE_HERE : PORT_NODE_THERE;
            unsigned distance = given ? far : port_node_distance(a, b);
            distances[a][b] = (uint8_t)(distance < UINT8_MAX ? distance : UINT8_MAX);
        }
    }
}

unsigned nodes_distance(unsigned cpu, unsigned other)
{
    return distances[rt.node[cpu]][rt.node[other]];
}

/* Fill a CPU's part of the table: by distance, and then round from its right neighbour. */
static void order_make(unsigned cpu)
{
    unsigned n = 0;
    for (unsigned distance = 0; distance <= UINT8_MAX; distance++) {
        for (unsigned k = 1; k < rt.ncpu; k++) {
            unsigned other = (cpu + k) % rt.ncpu;
            if (nodes_distance(cpu, other) == distance) {
                rt.near[cpu * rt.ncpu + n++] = (uint16_t)other;
            }
        }
    }
    RT_ASSERT(n == rt.ncpu - 1);
}

void nodes_begin(void)
{
    bool several = false;
    rt.near = NULL;
    nodes_find();
    for (unsigned i = 1; i < rt.ncpu; i++) {
        several = several || rt.node[i] != rt.node[0];
    }
    if (!several || (rt.near = port_table_alloc(table_size())) == NULL) {
        return;
    }
    distances_find();
    for (unsigned i = 0; i < rt.ncpu; i++) {
        order_make(i);
    }
}

void nodes_cpu_begin(struct cpu *cpu)
{
    cpu->stack_classes[0] = cpu->id < RT_MAX_CPUS ? STACK_CLASSES * nodes_of(cpu->id) : 0;
}

void nodes_end(void)
{
    if (rt.near != NULL) {
        port_table_free(rt.near, table_size());
        rt.near = NULL;
    }
}

#endif
