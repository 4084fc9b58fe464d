/* SPDX-License-Identifier: MIT */
/*
 * abi_bare.c - exports the POSIX names, for programs built with include/pirn/bare. Each jumps to
 * the layer's function.
 */
#include <fcntl.h>
#include <stdarg.h>

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

/* Of its further arguments the mode has no effect. */
EXPORT mqd_t mq_open(const char *name, int flags, ...)
{
    const struct mq_attr *attr = NULL;
    if (flags & O_CREAT) {
        va_list more;
        va_start(more, flags);
        (void)va_arg(more, int);
        attr = va_arg(more, const struct mq_attr *);
        va_end(more);
    }
    return pirn_posix_mq_open(name, flags, attr);
}

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
