/* SPDX-License-Identifier: MIT */
/* text.c - see text.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "text.h"

void text_add(struct text *out, const char *fmt, ...)
{
    bool fits = out->used < out->size;
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(fits ? out->buffer + out->used : NULL, fits ? out->size - out->used : 0, fmt,
                      args);
    va_end(args);
    RT_VERIFY(n >= 0);
    out->used += (size_t)n;
}

void text_add_name(struct text *out, const char *name)
{
    for (; *name != '\0'; name++) {
        text_add(out, "%c", (unsigned char)*name < ' ' ? '?' : *name);
    }
}

const char *text_file_error(int error)
{
    switch (error) {
    case -ELOOP:
        return "it is a symbolic link, which is not followed; valid: the name of a new or of an "
               "ordinary file";
    case -ENODEV:
        return "it is a FIFO, a socket or a device; valid: the name of a new or of an ordinary "
               "file";
    case -EFBIG:
        return "it would be larger than this process may make a file (ulimit -f)";
    default:
        return strerror(-error);
    }
}
