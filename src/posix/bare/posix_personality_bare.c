/* SPDX-License-Identifier: MIT */
/*
 * posix_personality_bare.c (bare) - the personality of the POSIX names on boards. It is as
 * elsewhere, except for the default stack size, which is that of the native API: a board's stack
 * takes all its memory at once, not page by page.
 */
#include <string.h>

#include "../posix.h"
#include "port_files.h"

static const char *main_name(void)
{
    struct port_program_facts facts;
    port_program_facts(&facts);
    const char *slash = strrchr(facts.program, '/');
    return slash != NULL ? slash + 1 : facts.program;
}

static size_t stack_size(void)
{
    return RT_STACK_DEFAULT;
}

const struct rt_personality rt_personality = {
    .preempt = true,
    .classes = true,
    .stack_size = stack_size,
    .main_name = main_name,
    .local_end = posix_local_end,
    .local_drop = posix_local_drop,
    .cancel_act = posix_cancel_now,
};
