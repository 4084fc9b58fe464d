/* SPDX-License-Identifier: MIT */
/* bare_console_none.c (bare) - input from the board's console without interrupts: a reader keeps
 * its core until there is some. */
#include "bare.h"
#include "port_signals.h"

ptrdiff_t console_read(void *to, size_t most)
{
    int byte = -1;
    while (most != 0 && (byte = board_console_get()) < 0) {
        port_cpu_relax();
    }
    if (byte < 0) {
        return 0;
    }
    *(char *)to = byte == '\r' ? '\n' : (char)byte;
    return 1;
}

/* No key is noticed. */
int port_signal_of(const char *name)
{
    (void)name;
    return -1;
}

int port_dump_start(int key)
{
    (void)key;
    return -ENOSYS;
}
