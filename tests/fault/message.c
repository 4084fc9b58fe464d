/* SPDX-License-Identifier: MIT */
/*
 * message.c - src/core/message.c with a port that stores the output. Descriptions equal those of
 * printf, in buffers of every size; a panic fits, however long its file's name.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "fault.h"
#include "port_report.h"

enum { LONGEST = 2000, BUFFER = 512 };

typedef int format_fn(char *text, size_t size, const char *fmt, va_list args);

/* message.c calls it: never with more room than its buffer has. */
int vsnprintf(char *text, size_t size, const char *fmt, va_list args)
{
    format_fn *real;
    *(void **)&real = dlsym(RTLD_NEXT, "vsnprintf");
    CHECK(real != NULL);
    CHECK(size <= BUFFER);
    return real(text, size, fmt, args);
}

static char file[LONGEST + 1]; /* the panic's file */

/* Up to 511 bytes, the last one ends the line. */
void port_write(const char *text, size_t length)
{
    static char whole[LONGEST + 200];
    int n =
        snprintf(whole, sizeof(whole), "pirn: internal error at %s:%d: number %d\n", file, 12, 34);
    size_t fits = n < BUFFER ? (size_t)n : BUFFER - 1;
    CHECK(length == fits);
    CHECK(memcmp(text, whole, length - 1) == 0);
    CHECK(text[length - 1] == '\n');
}

void port_exit_now(int status)
{
    exit(status);
}

/* The next panic, with a longer name. */
void port_panic(void)
{
    size_t length = strlen(file);
    if (length == LONGEST) {
        puts("done");
        exit(0);
    }
    file[length] = 'x';
    rt_panic(file, 12, "number %d", 34);
}

/* Without the allocator of stacks. */
size_t stack_asked(const struct thread *t)
{
    return t->stack.size;
}

static void describe(uint32_t index, uint32_t generation, size_t stack, const char *name)
{
    static struct thread t;
    char wanted[256], text[257];
    t.index = index;
    t.generation = generation;
    t.stack.size = stack;
    snprintf(t.name, sizeof(t.name), "%s", name);
    for (size_t size = 1; size <= sizeof(wanted); size++) {
        memset(text, '?', sizeof(text));
        snprintf(wanted, size, "%" PRIu32 ".%" PRIu32 " \"%s\"", index, generation, t.name);
        rt_describe_thread(&t, text, size);
        CHECK(strcmp(text, wanted) == 0 && text[size] == '?');
        snprintf(wanted, size,
                 "pirn: stack overflow in thread %" PRIu32 ".%" PRIu32
                 " \"%s\": its %zu bytes are used up (PIRN_STACK or the stack size attribute makes "
                 "it larger)\n",
                 index, generation, t.name, stack);
        rt_describe_full_stack(&t, text, size);
        CHECK(strcmp(text, wanted) == 0 && text[size] == '?');
    }
}

int main(void)
{
    describe(0, 0, 0, "");
    describe(1, 10, 65536, "deep one");
    describe(UINT32_MAX, UINT32_MAX, SIZE_MAX, "a name that is as long as names can be, or longer");
    port_panic();
    return 1;
}
