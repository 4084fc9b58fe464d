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

static void put(struct text *out, char c)
{
    if (out->used + 1 < out->size) {
        out->buffer[out->used] = c;
        out->buffer[out->used + 1] = '\0';
    }
    out->used++;
}

/* Bytes of the UTF-8 character (RFC 3629) at s, which has n; 0: there is none. */
static size_t utf8_length(const unsigned char *s, size_t n)
{
    size_t length = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (length > n || s[0] > 0xf4) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    /* Overlong encodings, surrogates, and values above 10FFFF. */
    bool wrong = length > 2 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
                                (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f));
    return wrong ? 0 : length;
}

void text_add_json(struct text *out, const char *s, size_t length)
{
    put(out, '"');
    for (size_t i = 0, n; i < length; i += n) {
        n = utf8_length((const unsigned char *)s + i, length - i);
        if (n == 0) {
            text_add(out, "\\ufffd");
            n = 1;
        } else if ((unsigned char)s[i] < ' ') {
            text_add(out, "\\u%04x", (unsigned char)s[i]);
        } else {
            if (s[i] == '"' || s[i] == '\\') {
                put(out, '\\');
            }
            for (size_t k = 0; k < n; k++) {
                put(out, s[i + k]);
            }
        }
    }
    put(out, '"');
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
