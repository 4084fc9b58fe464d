/* SPDX-License-Identifier: MIT */
/*
 * options.h - the user's options: one table (options.def), from which parsing, messages, --help and
 * the manual page come.
 */
#ifndef PIRN_CORE_OPTIONS_H
#define PIRN_CORE_OPTIONS_H

#include "compiler.h"
#include "text.h"

struct pirn_policy;

/* options.def describes them. */
enum rt_option_type {
    OPTION_IS_FLAG,
    OPTION_IS_NUMBER,
    OPTION_IS_SIZE,
    OPTION_IS_DURATION,
    OPTION_IS_CHOICE,
    OPTION_IS_TEXT,
    OPTION_IS_CUSTOM,
};

struct rt_option {
    const char *name;        /* "cpus": PIRN_CPUS, pirn run --cpus */
    const char *custom_type; /* (custom, names) what the description calls it */
    const char *help;        /* one line */
    const char *values;      /* (choice) "a|b|c"; (duration) behind the range; else all of it */
    const char *deflt_text;  /* (text, custom) the default, as the user writes it */
    const char *pthread;     /* the default under the pthread API, if it is another one */
    const char *lacks;       /* a feature: see options.def */
    void *place;             /* NULL: nowhere */
    /* (text) checks, (custom) takes the value: 0, or -EINVAL and in *why a reason, or nothing. */
    int (*set)(const char *value, const char **why);
    uint32_t deflt, least, most; /* in the user's unit */
    uint16_t size;               /* bytes of the variable */
    uint8_t type;                /* enum rt_option_type */
};

/* The last one has no name. */
extern const struct rt_option rt_options[];

/* Read every option from the port. On a bad value: message, and the program ends with status 2; a
 * preloaded one goes on with the default. */
void options_load(void);

/* The same for a caller that starts other programs: NULL, or why the first wrong value is wrong,
 * until the next call. Only before the runtime starts: the values count from then on. */
const char *options_check(void);

#define RT_WORD_MAX 32

/* The valid word that a mistyped one is nearest to (options_names.c). */
struct nearest {
    const char *word;       /* as it was typed */
    char best[RT_WORD_MAX]; /* "": none is near */
    unsigned distance;      /* of best; before: more than a near one has */
};

struct nearest nearest_begin(const char *word);
void nearest_look(struct nearest *near, const char *valid);

/* `; did you mean "best"?`, if there is one. */
void nearest_add(struct text *out, const struct nearest *near);

/* Options of the user that do not exist are an error, or a warning (options_names.c). */
void options_check_names(void);

/* Only those whose names begin with `prefix`; they are read again with the others. */
void options_load_of(const char *prefix);

/* "name" or "name:option=value,option=value": option sched (options_sched.c). */
int options_set_sched(const char *value, const char **why);

/* The valid values and the default, as the user would write them. */
void options_add_values(struct text *out, const struct rt_option *o);
void options_add_default(struct text *out, const struct rt_option *o);

/* JSON description of options and policies; is there room for one more like this? */
const char *options_describe(void);
bool options_describe_fits(const struct pirn_policy *policy);

#endif
