/* SPDX-License-Identifier: MIT */
/*
 * bare_start.c (bare) - the first core, from reset to main, which is an ordinary C program's; the
 * runtime starts with its first call.
 */
#include "../../../src/prof/prof.h"
#include "bare.h"

#include <stdlib.h>

int main(int argc, char **argv, char **environment);
void __libc_init_array(void);
extern char **environ;

/* The C library calls it beside the constructors. */
void _init(void);
void _init(void) {}
void _fini(void);
void _fini(void) {}

static NORETURN void first_runs(unsigned number, unsigned long hart)
{
    char **argv;
    (void)number;
    bare_first_begin(hart);
    RT_ASSERT(arch_irq_is_off() && port_cpu_self() == NULL);
    port_irq_restore(0);
    int argc = process_arguments(&argv);
    prof_program_begins();
    if (RT_PROF && atexit(prof_end) != 0) {
        bare_stop("no room for an exit handler", 1);
    }
    __libc_init_array();
    exit(main(argc, argv, environ));
}

void bare_main(unsigned long hart)
{
    pool_begin();
    bare_own_enter(0, first_runs, hart);
}
