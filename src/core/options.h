/* SPDX-License-Identifier: MIT */
/*
 * options.h - the user's options: one table, from which parsing, messages, --help and the manual
 * page come.
 */
#ifndef PIRN_CORE_OPTIONS_H
#define PIRN_CORE_OPTIONS_H

#include "compiler.h"

struct pirn_policy;

struct rt_option {
    const char *name;   /* "cpus": PIRN_CPUS, pirn run --cpus */
    const char *type;   /* number, size, flag, choice, spec, output */
    const char *deflt;  /* as the user would write it */
    const char *values; /* what is valid, for people */
    const char *help;   /* one line */
    /* 0, or -EINVAL; *why may be set to a string that says more. */
    int (*set)(const char *value, const char **why);
};

extern const struct rt_option rt_options[];

/* Read every option from the port. On a bad value: message, and the program ends with status 2. */
void options_load(void);

/* Of the user's options, those that do not exist: an error, or a warning (options_names.c). */
void options_check_names(void);

/* Those only whose names begin so; they are read again with the others. */
void options_load_of(const char *prefix);

/* JSON description of options and policies; is there room for one more like this? */
const char *options_describe(void);
bool options_describe_fits(const struct pirn_policy *policy);

#endif
