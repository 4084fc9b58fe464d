/* SPDX-License-Identifier: MIT */
/*
 * linux_nodes.c (Linux) - the NUMA nodes of processors, which the kernel tells in
 * /sys/devices/system/node/nodeN: cpulist ("0-3,8") and distance ("10 21").
 *
 * A worker belongs to the node of its processor if it is bound to one (option bind). Else the
 * kernel moves it, and all workers are on node 0.
 */
#include "linux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "port_nodes.h"

#define FOLDER "/sys/devices/system/node"
#define TEXT_MAX 4096

/* A file of a node, as a string; empty if there is none. */
static const char *node_read(const char *folder, unsigned node, const char *name)
{
    static char text[TEXT_MAX]; /* while the runtime starts there is one caller */
    char path[256];
    int saved = errno;
    int n = snprintf(path, sizeof(path), "%s/node%u/%s", folder, node, name);
    long fd =
        n < (int)sizeof(path) ? syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0) : -1;
    long got = fd >= 0 ? syscall(SYS_read, (int)fd, text, sizeof(text) - 1) : 0;
    if (fd >= 0) {
        syscall(SYS_close, (int)fd);
    }
    text[got > 0 ? got : 0] = '\0';
    errno = saved;
    return text;
}

/* The number at *p, which moves behind it; false: there is none. */
static bool number_at(const char **p, unsigned *number)
{
    const char *from = *p;
    *number = 0;
    while (**p >= '0' && **p <= '9' && *p - from < 6) {
        *number = *number * 10 + (unsigned)(*(*p)++ - '0');
    }
    return *p != from;
}

/* Is the processor in a list like 0-3,8? */
static bool list_has(const char *p, unsigned processor)
{
    unsigned first, last;
    while (number_at(&p, &first)) {
        last = first;
        if (*p == '-' && (p++, !number_at(&p, &last))) {
            return false;
        }
        if (processor >= first && processor <= last) {
            return true;
        }
        p += *p == ',';
    }
    return false;
}

unsigned node_of_processor(const char *folder, unsigned processor)
{
    for (unsigned node = 0; node < PORT_NODES_MAX; node++) {
        if (list_has(node_read(folder, node, "cpulist"), processor)) {
            return node;
        }
    }
    return 0;
}

/* The distances of a node are those to nodes 0, 1 and so on that are online. */
unsigned node_distance(const char *folder, unsigned from, unsigned to)
{
    const char *p = node_read(folder, from, "distance");
    unsigned distance = 0;
    for (unsigned node = 0; node <= to; node++) {
        while (*p == ' ') {
            p++;
        }
        if (!number_at(&p, &distance)) {
            return from == to ? PORT_NODE_HERE : PORT_NODE_THERE;
        }
    }
    return distance >= PORT_NODE_HERE ? distance : PORT_NODE_HERE;
}

unsigned port_cpu_node(unsigned i)
{
    int processor = affinity_processor(i);
    return processor >= 0 ? node_of_processor(FOLDER, (unsigned)processor) : 0;
}

unsigned port_node_distance(unsigned from, unsigned to)
{
    return node_distance(FOLDER, from, to);
}
