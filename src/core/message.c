/* SPDX-License-Identifier: MIT */
/*
 * message.c - messages of the runtime, and names of threads in them. Any context. The
 * rt_describe_... functions may also be called by signal handlers, at any instruction: they do not
 * use the C library, whose printf takes locks, and more stack than a handler has.
 */
#include <stdarg.h>
#include <stdio.h>

#include "cpu.h"
#include "port_report.h"
#include "stack.h"

/* The text so far, and the end of its buffer. Always ends with a NUL, for which there is room. */
struct line {
    char *at, *end;
};

static struct line line_in(char *text, size_t size)
{
    *text = '\0';
    return (struct line){text, text + size - 1};
}

static void line_add(struct line *line, const char *text)
{
    while (*text != '\0' && line->at < line->end) {
        *line->at++ = *text++;
    }
    *line->at = '\0';
}

static void line_number(struct line *line, uint64_t value)
{
    char digits[21], *first = digits + sizeof(digits) - 1;
    *first = '\0';
    do {
        *--first = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    line_add(line, first);
}

static void line_thread(struct line *line, const struct thread *t)
{
    line_number(line, t->index);
    line_add(line, ".");
    line_number(line, t->generation);
    line_add(line, " \"");
    line_add(line, t->name);
    line_add(line, "\"");
}

void rt_describe_thread(const struct thread *t, char *text, size_t size)
{
    struct line line = line_in(text, size);
    line_thread(&line, t);
}

size_t rt_thread_stack_size(const struct thread *t)
{
    size_t taken = t->flags & THREAD_OWN_STACK ? t->stack.guard : 0; /* by the port */
    return taken + (RT_STACKS ? stack_asked(t) : t->stack.size);
}

void rt_describe_full_stack(const struct thread *t, char *text, size_t size)
{
    struct line line = line_in(text, size);
    line_add(&line, "pirn: stack overflow in thread ");
    line_thread(&line, t);
    line_add(&line, ": its ");
    line_number(&line, rt_thread_stack_size(t));
    line_add(&line,
             " bytes are used up (PIRN_STACK or the stack size attribute makes it larger)\n");
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

/* The length of the text in a buffer of `size`, which is not 0, if snprintf has returned n. */
static size_t fitting(int n, size_t size)
{
    return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

static void say(const char *fmt, va_list args)
{
    char text[512];
    int n = vsnprintf(text, sizeof(text), fmt, args);
    port_write(text, fitting(n, sizeof(text)));
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
    const size_t most = sizeof(text) - 1; /* and the line's end */
    va_list args;
    size_t n = fitting(snprintf(text, most, "pirn: internal error at %s:%d: ", file, line), most);
    va_start(args, fmt);
    n += fitting(vsnprintf(text + n, most - n, fmt, args), most - n);
    va_end(args);
    text[n++] = '\n';
    port_write(text, n);
    port_panic();
}

void rt_check_failed(const char *file, int line, const char *check)
{
    char text[512];
    struct line message = line_in(text, sizeof(text));
    line_add(&message, "pirn: internal error at ");
    line_add(&message, file);
    line_add(&message, ":");
    line_number(&message, (uint64_t)line);
    line_add(&message, ": ");
    line_add(&message, check);
    line_add(&message, "\n");
    port_write(text, (size_t)(message.at - text));
    port_panic();
}

void rt_no_such_call(void)
{
    static const char text[] =
        "pirn: the API was called where no thread runs: by an interrupt handler "
        "before the runtime has started\n";
    port_write(text, sizeof(text) - 1);
    port_exit_now(1);
}
