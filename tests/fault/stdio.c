/* SPDX-License-Identifier: MIT */
/*
 * stdio.c - the C library's vsnprintf and snprintf, until the program is about to overflow a stack.
 * From then on only a signal handler runs, which may use neither.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <unistd.h>

#include "fault.h"

bool fault_no_stdio;

typedef int format_fn(char *text, size_t size, const char *fmt, va_list args);

__attribute__((visibility("default"))) int vsnprintf(char *text, size_t size, const char *fmt,
                                                     va_list args)
{
    static const char message[] = "pirn-fault: a signal handler calls vsnprintf\n";
    static format_fn *real;
    if (__atomic_load_n(&fault_no_stdio, __ATOMIC_SEQ_CST)) {
        _exit(write(STDERR_FILENO, message, sizeof(message) - 1) < 0 ? 8 : 9);
    }
    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "vsnprintf");
        CHECK(real != NULL);
    }
    return real(text, size, fmt, args);
}

__attribute__((visibility("default"))) int snprintf(char *text, size_t size, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, size, fmt, args);
    va_end(args);
    return n;
}
