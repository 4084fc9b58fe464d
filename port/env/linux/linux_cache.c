/* SPDX-License-Identifier: MIT */
/*
 * linux_cache.c (Linux) - the size of the shared cache, as the C library tells it: of the third
 * level, or, on a processor that has none, of the second.
 */
#include <unistd.h>

#include "port_cache.h"

uint64_t port_cache_size(void)
{
    long third = sysconf(_SC_LEVEL3_CACHE_SIZE);
    long second = third > 0 ? 0 : sysconf(_SC_LEVEL2_CACHE_SIZE);
    long size = third > 0 ? third : second;
    return size > 0 ? (uint64_t)size : 0;
}
