/* SPDX-License-Identifier: MIT */
/*
 * message.c - what the runtime says of itself: sentences for people, and how threads are named in
 * them. Any context.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "cpu.h"

void rt_describe_thread(const struct thread *t, char *text, size_t size)
{
    snprintf(text, size, "%" PRIu32 ".%" PRIu32 " \"%s\"", t->index, t->generation, t->name);
}

void rt_describe_full_stack(const struct thread *t, char *text, size_t size)
{
    char who[64];
    rt_describe_thread(t, who, sizeof(who));
    snprintf(
        text, size,
        "pirn: stack overflow in thread %s: its %zu bytes are used up (PIRN_STACK or the stack size "
        "attribute makes it larger)\n",
        who, t->stack.size);
}

bool rt_describe_overflow(struct cpu *cpu, uintptr_t address, char *text, size_t size)
{
    struct thread *t = cpu->current;
    uintptr_t low = (uintptr_t)t->stack.low;
    if (low == 0 || address >= low || address < low - t->stack.guard) {
        return false;
    }
    rt_describe_full_stack(t, text, size);
    return true;
}

static void say(const char *fmt, va_list args)
{
    char text[512];
    int n = vsnprintf(text, sizeof(text), fmt, args);
    port_write(text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

void rt_say(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(fmt, args);
    va_end(args);
}

void rt_refuse(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(fmt, args);
    va_end(args);
    port_exit_now(2);
}

void rt_panic(const char *file, int line, const char *fmt, ...)
{
    char text[512];
    va_list args;
    int n = snprintf(text, sizeof(text), "pirn: internal error at %s:%d: ", file, line);
    va_start(args, fmt);
    n += vsnprintf(text + n, sizeof(text) - (size_t)n - 1, fmt, args);
    va_end(args);
    n = n < (int)sizeof(text) - 1 ? n : (int)sizeof(text) - 2;
    text[n++] = '\n';
    port_write(text, (size_t)n);
    port_panic();
}
