/* SPDX-License-Identifier: MIT */
/*
 * port_stdio.h - the C library's streams read and write by functions of ours.
 *
 * PORT_STDIO (port_env.h): true where the port may be able to do it.
 */
#ifndef PIRN_PORT_STDIO_H
#define PIRN_PORT_STDIO_H

#include "port.h"

#if PORT_STDIO
#include <stdio.h>

/* As read and write, but for the stream's descriptor: the bytes moved, or -1 and errno. The second
 * one writes everything, or marks the stream as failed and returns what it has written. They are
 * called in any thread, with the stream's lock held. */
struct port_stdio {
    ssize_t (*read)(FILE *stream, void *buffer, ssize_t size);
    ssize_t (*write)(FILE *stream, const void *buffer, ssize_t size);
};

/* All streams with a descriptor use these functions from now on, until the process ends. Outside
 * the runtime. 0; -ENOTSUP: the C library is not as expected; or -errno. */
int port_stdio_replace(const struct port_stdio *functions);
#endif

#endif
