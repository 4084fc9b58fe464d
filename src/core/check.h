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

#ifdef PIRN_WITHOUT_MESSAGES

/* The end of the program, or its status, says all there is. */
NORETURN COLD void rt_panic_quietly(void);
NORETURN COLD void rt_refuse_quietly(void);
int rt_format(const char *fmt, ...) PRINTF_LIKE(1, 2); /* nowhere: its arguments are checked */
#define rt_say(...) ((void)sizeof(rt_format(__VA_ARGS__)))
#define rt_refuse(...) (rt_say(__VA_ARGS__), rt_refuse_quietly())
#define rt_panic(file, line, ...)                                                                  \
    ((void)(file), (void)(line), rt_say(__VA_ARGS__), rt_panic_quietly())
#define rt_check_failed(file, line, text) rt_panic(file, line, "%s", text)

#else

NORETURN COLD void rt_panic(const char *file, int line, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The same for a condition that does not hold. Signal handlers and holders of locks call it, too:
 * it uses nothing of the C library. */
NORETURN COLD void rt_check_failed(const char *file, int line, const char *text);

/* rt_refuse: the user asks for something impossible: write the sentence, and exit with status 2.
 * rt_say: write a sentence. */
NORETURN COLD void rt_refuse(const char *fmt, ...) PRINTF_LIKE(1, 2);
COLD void rt_say(const char *fmt, ...) PRINTF_LIKE(1, 2);

#endif

#define RT_VERIFY(cond)                                                                            \
    do {                                                                                           \
        if (unlikely(!(cond))) {                                                                   \
            rt_check_failed(__FILE__, __LINE__, #cond);                                            \
        }                                                                                          \
    } while (0)

#ifdef PIRN_DEBUG
#define RT_ASSERT(cond) RT_VERIFY(cond)
#else
#define RT_ASSERT(cond) ((void)sizeof(!(cond)))
#endif

#define RT_PANIC(...) rt_panic(__FILE__, __LINE__, __VA_ARGS__)

#endif
