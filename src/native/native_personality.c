/* SPDX-License-Identifier: MIT */
/*
 * native_personality.c - the personality of the native API: its threads share their worker's
 * thread-local storage, are preempted only on request, and have no signals. The symbol is weak: a
 * library with the POSIX layer defines another.
 */
#include "personality.h"

static const char *main_name(void)
{
    return "main";
}

const struct rt_personality rt_personality __attribute__((weak)) = {.main_name = main_name};
