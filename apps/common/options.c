/* SPDX-License-Identifier: MIT
 *
 * Table-driven command line (see options.h).
 */
#include "options.h"

#include "check.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2, MAX_OPTIONS = 16 };

static void __attribute__((noreturn, format(printf, 1, 2))) usage_error(const char *format, ...)
{
    va_list args;

    fprintf(stderr, "%s: ", app_name());
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\nTry '%s --help'.\n", app_name());
    exit(EXIT_USAGE);
}

static void print_help(const struct option_page *page)
{
    printf("Usage: %s [OPTION]...%s%s\n%s\n\n", app_name(), page->operand ? " " : "",
           page->operand ? page->operand : "", page->summary);
    for (const struct option_spec *o = page->options; o->name; o++) {
        bool optional = o->kind == OPTION_FLAG_AND_TEXT;
        const char *equals = o->value_name == NULL ? "" : optional ? "[=" : "=";
        char left[48];

        char letter[] = {'-', o->letter, ',', ' ', '\0'};

        snprintf(left, sizeof left, "%s--%s%s%s%s", o->letter ? letter : "", o->name, equals,
                 o->value_name ? o->value_name : "", optional ? "]" : "");
        printf("  %-22s %s", left, o->help);
        if (o->kind == OPTION_NUMBER)
            printf(" (%ld to %ld; default %ld)", o->min, o->max, *o->number);
        if (o->kind == OPTION_CHOICE)
            printf(" (default %s)", o->choices[*o->number]);
        putchar('\n');
    }
    printf("  %-22s %s\n", "--help", "print this page");
    exit(EXIT_SUCCESS);
}

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
        usage_error("--%s=%s: not a whole number from %ld to %ld", o->name, value, o->min, o->max);
    *o->number = number;
}

long operand_number(const char *name, const char *value, long min, long max)
{
    long number;

    if (!whole_number(value, min, max, &number))
        usage_error("%s '%s': not a whole number from %ld to %ld", name, value, min, max);
    return number;
}

static void parse_choice(const struct option_spec *o, const char *value)
{
    char valid[128] = "";

    for (long i = 0; o->choices[i]; i++) {
        if (strcmp(o->choices[i], value) == 0) {
            *o->number = i;
            return;
        }
        snprintf(valid + strlen(valid), sizeof valid - strlen(valid), "%s%s", i ? ", " : "",
                 o->choices[i]);
    }
    usage_error("--%s=%s: not one of: %s", o->name, value, valid);
}

static void store(const struct option_spec *o, const char *value)
{
    if (o->kind == OPTION_NUMBER)
        parse_number(o, value);
    if (o->kind == OPTION_CHOICE)
        parse_choice(o, value);
    if (o->kind == OPTION_FLAG || o->kind == OPTION_FLAG_AND_TEXT)
        *o->flag = true;
    if (o->text && value) {
        if (*value == '\0')
            usage_error("--%s: the value is empty; give %s", o->name, o->value_name);
        *o->text = value;
    }
}

static int argument_of(enum option_kind kind)
{
    if (kind == OPTION_FLAG)
        return no_argument;
    return kind == OPTION_FLAG_AND_TEXT ? optional_argument : required_argument;
}

static int words(const char *text)
{
    int count = text ? 1 : 0;

    for (; text && *text; text++)
        count += *text == ' ';
    return count;
}

/* The name of operand `index`, as the page says it, into `name`. */
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
    char name[32];

    if (given > wanted)
        usage_error("'%s': one operand too many", argv[optind + wanted]);
    if (given < wanted)
        usage_error("%s is missing", operand_name(page, given, name, sizeof name));
    return argv + optind;
}

static int index_of(const struct option_page *page, int letter)
{
    int index = 0;

    while (page->options[index].letter != letter)
        index++;
    return index;
}

char **options_parse(int argc, char **argv, const struct option_page *page)
{
    struct option table[MAX_OPTIONS + 2] = {{0}};
    char letters[MAX_OPTIONS + 2] = ":";
    int count = 0;
    int index = 0;
    int seen;

    for (; page->options[count].name && count < MAX_OPTIONS; count++) {
        table[count].name = page->options[count].name;
        table[count].has_arg = argument_of(page->options[count].kind);
        if (page->options[count].letter)
            strncat(letters, &page->options[count].letter, 1);
    }
    table[count].name = "help";
    while ((seen = getopt_long(argc, argv, letters, table, &index)) != -1) {
        if (seen == '?')
            usage_error("'%s': no such option, or it takes no value", argv[optind - 1]);
        if (seen == ':')
            usage_error("'%s': the value is missing", argv[optind - 1]);
        if (seen != 0)
            index = index_of(page, seen);
        if (index == count)
            print_help(page);
        store(&page->options[index], optarg);
    }
    return take_operands(argc, argv, page);
}
