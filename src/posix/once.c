/* SPDX-License-Identifier: MIT */
/*
 * once.c - pthread_once.
 */
#include <errno.h>

#include "posix.h"

_Static_assert(sizeof(struct rt_once) == sizeof(pthread_once_t), "pthread_once_t");

int pirn_pthread_once(pthread_once_t *once, void (*fn)(void))
{
    rt_once((struct rt_once *)once, fn);
    return 0;
}
