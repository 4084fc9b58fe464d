/* SPDX-License-Identifier: MIT */
/*
 * port_cache.h - the cache that all CPUs share.
 *
 * PORT_CACHE (port_env.h): true where the port may know its size.
 */
#ifndef PIRN_PORT_CACHE_H
#define PIRN_PORT_CACHE_H

#include "port.h"

#if PORT_CACHE
/* Bytes of the largest cache that CPUs share; 0: not known. Called while the runtime starts. */
uint64_t port_cache_size(void);
#else
ALWAYS_INLINE uint64_t port_cache_size(void)
{
    return 0;
}
#endif

#endif
