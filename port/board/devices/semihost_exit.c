/* SPDX-License-Identifier: MIT */
/*
 * semihost_exit.c - the end of a machine that has no device for it: the host that runs it ends it.
 */
#include "arch_bare.h"
#include "board.h"
#include "semihost.h"

void board_exit(int status)
{
    struct semihost_exit block = {SEMIHOST_EXITED, (unsigned long)status};
    arch_semihost(SEMIHOST_EXIT, &block);
    for (;;) {
        arch_wait();
    }
}
