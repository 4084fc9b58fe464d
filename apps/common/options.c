/* SPDX-License-Identifier: MIT
 *
 * Table-driven command line (see options.h).
 */
#include "options.h"

#include "name.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2, MAX_OPTIONS = 30, COLUMNS = 98 };

static void __attribute__((noreturn)) usage_exit(void)
{
    fprintf(stderr, "\nTry '%s --help'.\n", app_name());
    exit(EXIT_USAGE);
}

void options_refuse(const char *format, ...)
{
    va_list args;

    fprintf(stderr, "%s: ", app_name());
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    usage_exit();
}

static bool optional_value(const struct option_spec *o)
{
    return o->kind == OPTION_FLAG_AND_TEXT;
}

/* The text after an option's help: its valid values and the default. */
static void print_range(const struct option_spec *o)
{
    if (o->kind == OPTION_NUMBER)
        printf(" (%ld to %ld; default %ld)", o->min, o->max, *o->number);
    if (o->kind == OPTION_COUNT && o->most == UINT64_MAX)
        printf(" (default %" PRIu64 ")", *o->count);
    if (o->kind == OPTION_COUNT && o->most != UINT64_MAX)
        printf(" (%" PRIu64 " to %" PRIu64 "; default %" PRIu64 ")", o->least, o->most, *o->count);
    if (o->kind == OPTION_CHOICE && *o->number >= 0)
        printf(" (default %s)", o->choices[*o->number]);
}

static void print_help(const struct option_page *page)
{
    printf("Usage: %s [OPTION]...%s%s\n%s\n\n", app_name(), page->operand ? " " : "",
           page->operand ? page->operand : "", page->summary);
    for (const struct option_spec *o = page->options; o != NULL && o->name; o++) {
        const char *equals = o->value_name == NULL ? "" : optional_value(o) ? "[=" : "=";
        char left[48];

        char letter[] = {'-', o->letter, ',', ' ', '\0'};

        snprintf(left, sizeof left, "%s--%s%s%s%s", o->letter ? letter : "", o->name, equals,
                 o->value_name ? o->value_name : "", optional_value(o) ? "]" : "");
        printf("  %-22s %s", left, o->help);
        print_range(o);
        putchar('\n');
    }
    printf("  %-22s %s\n", "--help", "print this page");
    exit(EXIT_SUCCESS);
}

/* ---- values ---- */

static bool whole_number(const char *value, long min, long max, long *number)
{
    char *end;

    errno = 0;
    *number = strtol(value, &end, 10);
    return end != value && *end == '\0' && errno == 0 && *number >= min && *number <= max;
}

static void parse_number(const struct option_spec *o, const char *value)
{
    long number;

    if (!whole_number(value, o->min, o->max, &number))
        options_refuse("--%s=%s: not a whole number from %ld to %ld", o->name, value, o->min,
                       o->max);
    *o->number = number;
}

static void parse_count(const struct option_spec *o, const char *value)
{
    char *end;

    errno = 0;
    *o->count = strtoull(value, &end, 10);
    if (*value < '0' || *value > '9' || *end != '\0' || errno != 0 || *o->count < o->least ||
        *o->count > o->most)
        options_refuse("--%s=%s: not a whole number from %" PRIu64 " to %" PRIu64, o->name, value,
                       o->least, o->most);
}

static void parse_seconds(const struct option_spec *o, const char *value)
{
    char *end;

    *o->seconds = strtod(value, &end);
    if (end == value || *end != '\0' || !isfinite(*o->seconds) || *o->seconds < 0)
        options_refuse("--%s=%s: not a number of seconds, 0 or more", o->name, value);
}

/* Print the error, then the valid words, in lines. */
static void __attribute__((noreturn))
refuse_word(const char *what, const char *why, const void *first, size_t count, size_t stride)
{
    size_t column = (size_t)fprintf(stderr, "%s: %s: %s:", app_name(), what, why);

    for (size_t i = 0; i < count; i++) {
        const char *word = *(const char *const *)((const char *)first + i * stride);
        bool fits = column + strlen(word) + 2 < COLUMNS;

        if (!fits)
            column = 2;
        column +=
            (size_t)fprintf(stderr, "%s%s%s", fits ? " " : "\n   ", word, i + 1 < count ? "," : "");
    }
    usage_exit();
}

static const char not_one_of[] = "not one of";

/* The index of the word; `count` if it is none of them. */
static size_t find_word(const char *value, const void *first, size_t count, size_t stride)
{
    size_t i = 0;

    while (i < count &&
           strcmp(*(const char *const *)((const char *)first + i * stride), value) != 0)
        i++;
    return i;
}

static void parse_choice(const struct option_spec *o, const char *value)
{
    char what[128];
    size_t count = 0;

    while (o->choices[count])
        count++;
    *o->number = (long)find_word(value, o->choices, count, sizeof o->choices[0]);
    if ((size_t)*o->number < count)
        return;
    snprintf(what, sizeof what, "--%s=%s", o->name, value);
    refuse_word(what, not_one_of, o->choices, count, sizeof o->choices[0]);
}

static void parse_text(const struct option_spec *o, const char *value)
{
    if (*value == '\0')
        options_refuse("--%s: the value is empty; give %s", o->name, o->value_name);
    *o->text = value;
}

static void store(const struct option_spec *o, const char *value)
{
    if (o->flag)
        *o->flag = true;
    if (o->kind == OPTION_NUMBER)
        parse_number(o, value);
    if (o->kind == OPTION_COUNT)
        parse_count(o, value);
    if (o->kind == OPTION_SECONDS)
        parse_seconds(o, value);
    if (o->kind == OPTION_CHOICE)
        parse_choice(o, value);
    if (o->text && value)
        parse_text(o, value);
}

/* ---- operands ---- */

long operand_number(const char *name, const char *value, long min, long max)
{
    long number;

    if (!whole_number(value, min, max, &number))
        options_refuse("%s '%s': not a whole number from %ld to %ld", name, value, min, max);
    return number;
}

double operand_positive(const char *name, const char *value)
{
    char *end;
    double number = strtod(value, &end);

    if (end == value || *end != '\0' || !isfinite(number) || number <= 0)
        options_refuse("%s '%s': not a number above 0", name, value);
    return number;
}

size_t operand_choice(const char *name, const char *value, const void *first, size_t count,
                      size_t stride)
{
    char what[128];
    size_t i = find_word(value, first, count, stride);

    if (i < count)
        return i;
    snprintf(what, sizeof what, "%s '%s'", name, value);
    refuse_word(what, not_one_of, first, count, stride);
}

static int words(const char *text)
{
    int count = text ? 1 : 0;

    for (; text && *text; text++)
        count += *text == ' ';
    return count;
}

/* Write the name of operand `index`, as in the page, into `name`. */
static const char *operand_name(const struct option_page *page, int index, char *name, size_t size)
{
    const char *start = page->operand;

    while (index-- > 0)
        start = strchr(start, ' ') + 1;
    snprintf(name, size, "%.*s", (int)strcspn(start, " "), start);
    return name;
}

static char **take_operands(int argc, char **argv, const struct option_page *page)
{
    int given = argc - optind;
    int wanted = words(page->operand);
    bool optional = page->operand && strchr(page->operand, '[');
    bool more = page->operand && strstr(page->operand, "...");
    char name[32];

    if (given > wanted && !more)
        options_refuse("'%s': one operand too many", argv[optind + wanted]);
    if (given < wanted - optional)
        options_refuse("%s is missing", operand_name(page, given, name, sizeof name));
    return argv + optind;
}

/* ---- options ---- */

struct option_spec option_number(const char *name, long *number, long min, long max,
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

struct option_spec option_count(const char *name, uint64_t *count, uint64_t least, uint64_t most,
                                const char *help)
{
    return (struct option_spec){.name = name,
                                .kind = OPTION_COUNT,
                                .value_name = "N",
                                .help = help,
                                .count = count,
                                .least = least,
                                .most = most};
}

struct option_spec option_seconds(const char *name, double *seconds, const char *help)
{
    return (struct option_spec){.name = name,
                                .kind = OPTION_SECONDS,
                                .value_name = "SECONDS",
                                .help = help,
                                .seconds = seconds};
}

struct option_spec option_flag(const char *name, bool *flag, const char *help)
{
    return (struct option_spec){.name = name, .kind = OPTION_FLAG, .help = help, .flag = flag};
}

struct option_spec option_text(const char *name, const char *value_name, const char **text,
                               const char *help)
{
    return (struct option_spec){
        .name = name, .kind = OPTION_TEXT, .value_name = value_name, .help = help, .text = text};
}

struct option_spec option_choice(const char *name, long *number, const char *const *choices,
                                 const char *help)
{
    return (struct option_spec){.name = name,
                                .kind = OPTION_CHOICE,
                                .value_name = "NAME",
                                .help = help,
                                .number = number,
                                .choices = choices};
}

static int argument_of(enum option_kind kind)
{
    if (kind == OPTION_FLAG)
        return no_argument;
    return kind == OPTION_FLAG_AND_TEXT ? optional_argument : required_argument;
}

static int index_of(const struct option_page *page, int letter)
{
    int index = 0;

    while (page->options[index].letter != letter)
        index++;
    return index;
}

/* For getopt_long: the table, and the letters. Returns how many options there are. */
static int make_tables(const struct option_page *page, struct option *table, char *letters)
{
    int count = 0;

    *letters++ = ':';
    for (; page->options && page->options[count].name && count < MAX_OPTIONS; count++) {
        const struct option_spec *o = &page->options[count];

        table[count].name = o->name;
        table[count].has_arg = argument_of(o->kind);
        if (o->letter)
            *letters++ = o->letter;
        if (o->letter && table[count].has_arg == required_argument)
            *letters++ = ':';
    }
    *letters = '\0';
    table[count].name = "help";
    return count;
}

static void __attribute__((noreturn))
refuse_option(const char *given, const struct option *table, size_t count)
{
    char what[64];

    snprintf(what, sizeof what, "'%s'", given);
    refuse_word(what, "no such option, or it takes no value; there are", table, count,
                sizeof table[0]);
}

char **options_parse(int argc, char **argv, const struct option_page *page)
{
    struct option table[MAX_OPTIONS + 2] = {{0}};
    char letters[2 * MAX_OPTIONS + 2];
    int count = make_tables(page, table, letters);
    int index = 0;
    int seen;

    app_name_default(argv[0]);
    while ((seen = getopt_long(argc, argv, letters, table, &index)) != -1) {
        if (seen == '?')
            refuse_option(argv[optind - 1], table, (size_t)count + 1);
        if (seen == ':')
            options_refuse("'%s': the value is missing", argv[optind - 1]);
        if (seen != 0)
            index = index_of(page, seen);
        if (index == count)
            print_help(page);
        store(&page->options[index], optarg);
    }
    return take_operands(argc, argv, page);
}

size_t options_case(int argc, char **argv, const char *summary, const void *first, size_t count,
                    size_t stride)
{
    const struct option_page page = {.summary = summary, .operand = "CASE"};

    return operand_choice("CASE", options_parse(argc, argv, &page)[0], first, count, stride);
}
