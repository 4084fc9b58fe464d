/* SPDX-License-Identifier: MIT */
/*
 * hook.c (bare) - before the program begins: the hooks that the core calls, and the defaults of its
 * options. They are those of other places with this API, but for the stack of a thread that asks
 * for nothing: it has the size that the native API gives, because memory is there whole, not only
 * where it is touched.
 */
#include <string.h>

#include "../posix.h"
#include "options.h"

static __attribute__((constructor)) void posix_hook(void)
{
    struct port_program_facts facts;
    port_program_facts(&facts);
    const char *slash = strrchr(facts.program, '/');
    rt_main_name = slash != NULL ? slash + 1 : facts.program;
    rt_local_end = posix_local_end;
    rt_cancel_act = posix_cancel_now;
    rt_stack_default = RT_STACK_DEFAULT;
    rt_preempt_default = true;
    rt_classes_default = true;
}
