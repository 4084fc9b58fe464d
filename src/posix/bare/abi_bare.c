/* SPDX-License-Identifier: MIT */
/*
 * abi_bare.c - exports the POSIX names, for programs built with include/pirn/bare. Each jumps to
 * the layer's function.
 */
#include "../posix.h"

#define PTHREAD(ret, name, params, args)                                                           \
    EXPORT ret pthread_##name params                                                               \
    {                                                                                              \
        return pirn_pthread_##name args;                                                           \
    }
#define POSIX(ret, name, params, args)                                                             \
    EXPORT ret name params                                                                         \
    {                                                                                              \
        return pirn_posix_##name args;                                                             \
    }
#include "posix.def"
#include "posix_more.def"

EXPORT int sched_yield(void)
{
    return pirn_posix_sched_yield();
}

EXPORT void pthread_exit(void *ret)
{
    pirn_pthread_exit(ret);
}

EXPORT void thrd_exit(int result)
{
    pirn_posix_thrd_exit(result);
}
