/* SPDX-License-Identifier: MIT */
/*
 * posix_personality_bare.c (bare) - what threads are under the POSIX names on boards: as elsewhere,
 * but for the stack of a thread that asks for nothing. It has the size that the native API gives,
 * because memory is there whole, not only where it is touched.
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
