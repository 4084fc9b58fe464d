/* SPDX-License-Identifier: MIT
 *
 * Command lines of the applications: a table of long options, over getopt_long.
 * A wrong option or value ends the process with status 2 and a sentence that
 * names the option, the value and what would be valid.
 */
#ifndef APPS_COMMON_OPTIONS_H
#define APPS_COMMON_OPTIONS_H

#include <stdbool.h>

enum option_kind {
    OPTION_NUMBER,        /* long *number, min … max */
    OPTION_FLAG,          /* bool *flag becomes true */
    OPTION_TEXT,          /* const char **text */
    OPTION_FLAG_AND_TEXT, /* *flag becomes true; =TEXT may follow and sets *text */
    OPTION_CHOICE,        /* long *number becomes the index into choices */
};

struct option_spec {
    const char *name; /* without the dashes; NULL ends the table */
    char letter;      /* -letter is the same; 0: none. Flags only */
    enum option_kind kind;
    const char *value_name; /* for --help; NULL for a flag */
    const char *help;
    long *number;
    long min, max;
    bool *flag;
    const char **text;
    const char *const *choices; /* NULL-terminated */
};

static inline struct option_spec option_number(const char *name, long *number, long min, long max,
                                               const char *help)
{
    return (struct option_spec){.name = name,
                                .kind = OPTION_NUMBER,
                                .value_name = "N",
                                .help = help,
                                .number = number,
                                .min = min,
                                .max = max};
}

struct option_page {
    const char *summary; /* what the program does, one sentence */
    const char *operand; /* names of the operands, blanks between them; NULL if none is taken */
    const struct option_spec *options;
};

/* Stores the values and returns the operands, as many as the page names. */
char **options_parse(int argc, char **argv, const struct option_page *page);

/* An operand that is a number; `name` is as the page says it. */
long operand_number(const char *name, const char *value, long min, long max);

#endif
