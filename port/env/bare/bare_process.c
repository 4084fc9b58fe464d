/* SPDX-License-Identifier: MIT */
/*
 * bare_process.c (bare) - output, and the end of the program.
 */
#include "bare.h"

#include <stdlib.h>
#include <unistd.h>

#define STATUS_CRASHED 134

static uint32_t lock;

void bare_write_regain(void)
{
    STORE_REL(&lock, 0);
}

void port_write(const char *text, size_t length)
{
    unsigned long irq = bare_lock(&lock);
    for (size_t i = 0; i < length; i++) {
        board_console_put(text[i]);
    }
    bare_unlock(&lock, irq);
}

void port_exit_now(int status)
{
    RT_ASSERT((status & ~0xff) == 0);
    board_exit(status);
}

void port_exit(int status)
{
    exit(status);
}

void port_panic(void)
{
    trace_save();
    board_exit(STATUS_CRASHED);
}

void _exit(int status)
{
    board_exit(status & 0xff);
}
