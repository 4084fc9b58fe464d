/* SPDX-License-Identifier: MIT */
/*
 * check.h - assertions.
 *
 * RT_ASSERT is for our own mistakes and exists in debug builds and in the simulator; RT_VERIFY is
 * always on and guards what would destroy user data. User input reaches neither: it gets an error
 * code.
 */
#ifndef PIRN_CORE_CHECK_H
#define PIRN_CORE_CHECK_H

#include "compiler.h"

NORETURN COLD void rt_panic(const char *file, int line, const char *fmt, ...) PRINTF_LIKE(3, 4);

#define RT_VERIFY(cond)                                                                            \
    do {                                                                                           \
        if (unlikely(!(cond))) {                                                                   \
            rt_panic(__FILE__, __LINE__, "%s", #cond);                                             \
        }                                                                                          \
    } while (0)

#ifdef PIRN_DEBUG
#define RT_ASSERT(cond) RT_VERIFY(cond)
#else
#define RT_ASSERT(cond) ((void)sizeof(!(cond)))
#endif

#define RT_PANIC(...) rt_panic(__FILE__, __LINE__, __VA_ARGS__)

#endif
