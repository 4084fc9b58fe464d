/* SPDX-License-Identifier: MIT */
/*
 * say.h - messages and checks of programs that have no heap and no stdio.
 */
#ifndef SAY_H
#define SAY_H

#include <string.h>
#include <unistd.h>

static inline void say(const char *text)
{
    if (write(1, text, strlen(text)) < 0) {
        _exit(3);
    }
}

#define CHECK(cond_)                                                                               \
    do {                                                                                           \
        if (!(cond_)) {                                                                            \
            say("failed: " #cond_ "\n");                                                           \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

#endif
