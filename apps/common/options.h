/* SPDX-License-Identifier: MIT
 *
 * Command lines of the applications, tests and benchmarks: a table of long options, over
 * getopt_long. A wrong option or value ends the process with status 2 and a sentence that names the
 * option, the value and the valid values. Options and operands may be mixed.
 */
#ifndef APPS_COMMON_OPTIONS_H
#define APPS_COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum option_kind {
    OPTION_NUMBER,        /* long *number, min … max */
    OPTION_COUNT,         /* uint64_t *count, least … most */
    OPTION_SECONDS,       /* double *seconds, 0 or more */
    OPTION_FLAG,          /* bool *flag becomes true */
    OPTION_TEXT,          /* const char **text */
    OPTION_FLAG_AND_TEXT, /* *flag becomes true; =TEXT may follow and sets *text */
    OPTION_CHOICE,        /* long *number becomes the index into choices; below 0: no default */
};

struct option_spec {
    const char *name; /* without the dashes; NULL ends the table */
    char letter;      /* -letter is the same; 0: none */
    enum option_kind kind;
    const char *value_name; /* for --help; NULL for a flag */
    const char *help;
    long *number;
    long min, max;
    uint64_t *count;
    uint64_t least, most;
    double *seconds;
    bool *flag; /* with other kinds: becomes true if the option is given; may be NULL */
    const char **text;
    const char *const *choices; /* NULL-terminated */
};

struct option_spec option_number(const char *name, long *number, long min, long max,
                                 const char *help);
struct option_spec option_count(const char *name, uint64_t *count, uint64_t least, uint64_t most,
                                const char *help);
struct option_spec option_seconds(const char *name, double *seconds, const char *help);
struct option_spec option_flag(const char *name, bool *flag, const char *help);
struct option_spec option_text(const char *name, const char *value_name, const char **text,
                               const char *help);
struct option_spec option_choice(const char *name, long *number, const char *const *choices,
                                 const char *help);

struct option_page {
    const char *summary; /* what the program does, one sentence */
    const char *operand; /* names of the operands, separated by blanks; NULL if there are none.
                          * [NAME] at the end is optional; NAME... stands for one or more */
    const struct option_spec *options; /* NULL: none but --help */
};

/* Stores the values and returns the operands, as many as the page names; NULL ends them. */
char **options_parse(int argc, char **argv, const struct option_page *page);

/* An operand that is a number; `name` is its name in the page. */
long operand_number(const char *name, const char *value, long min, long max);

/* An operand that is a number above 0, with digits behind a point or without. */
double operand_positive(const char *name, const char *value);

/* An operand that is one of `count` names: its index. The names are the first members, const char
 * *, of structs of `stride` bytes that follow each other. */
size_t operand_choice(const char *name, const char *value, const void *first, size_t count,
                      size_t stride);
#define OPERAND_CHOICE(name, value, table)                                                         \
    operand_choice((name), (value), (table), sizeof(table) / sizeof((table)[0]), sizeof((table)[0]))

/* The command line of a program that takes one operand, CASE, and no options: its index in such a
 * table. */
size_t options_case(int argc, char **argv, const char *summary, const void *first, size_t count,
                    size_t stride);
#define OPTIONS_CASE(argc, argv, summary, table)                                                   \
    options_case((argc), (argv), (summary), (table), sizeof(table) / sizeof((table)[0]),           \
                 sizeof((table)[0]))

/* For errors that the table cannot describe: print the sentence, and end with status 2. */
void options_refuse(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#ifdef __cplusplus
}
#endif

#endif
