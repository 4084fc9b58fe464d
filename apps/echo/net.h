/* SPDX-License-Identifier: MIT
 *
 * Functions that the echo server and its load share: descriptors, loopback addresses, and checked
 * calls on sockets. Used by server.c and load.c.
 */
#ifndef APPS_ECHO_NET_H
#define APPS_ECHO_NET_H

#include <netinet/in.h>

/* Lets the process have `count` descriptors: raises the soft limit, and the hard
 * one where it is allowed to; dies with the numbers if it cannot. */
void net_need_descriptors(long count);

/* 127.0.0.x, where `x` is 1 … 254. Port 0: any. */
struct sockaddr_in net_loopback(unsigned x, long port);

/* A call that returns -1 and sets errno: dies, with its name and the reason. */
long net_check(long result, const char *what);

/* Sends small messages at once, instead of waiting for more. */
void net_no_delay(int fd);

#endif
