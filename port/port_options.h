/* SPDX-License-Identifier: MIT */
/*
 * port_options.h - options that the user sets.
 *
 * PORT_OPTIONS (port_env.h): true where the user can give options to a program: the environment on
 * Linux, a table in the image on boards.
 */
#ifndef PIRN_PORT_OPTIONS_H
#define PIRN_PORT_OPTIONS_H

#include "port.h"

#if PORT_OPTIONS
/* Option `name`, which is in lower case, of the user (environment variable PIRN_NAME on hosted
 * systems); NULL if not given, and always where the user has fewer rights than the process
 * (set-user-ID). */
const char *port_option(const char *name);

/* Name of the i-th option that the user gave, in lower case, known or not; NULL after the last one,
 * and for users whose port_option is always NULL. Valid until the next call. */
const char *port_option_name(unsigned i);

/* Has the program been given the runtime from outside (LD_PRELOAD), without being linked with it?
 */
bool port_preloaded(void);
#else
ALWAYS_INLINE const char *port_option(const char *name)
{
    (void)name;
    return NULL;
}

ALWAYS_INLINE const char *port_option_name(unsigned i)
{
    (void)i;
    return NULL;
}

ALWAYS_INLINE bool port_preloaded(void)
{
    return false;
}
#endif

#endif
