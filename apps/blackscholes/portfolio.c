/* SPDX-License-Identifier: MIT
 *
 * Files of options (see portfolio.h). The first line has the number of options, each further one
 * an option:  S K r divq v T P|C divs DGrefval
 */
#include "portfolio.h"

#include "check.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_SIZE = 256, MOST_OPTIONS = 100000000, NAME_SIZE = 96, WORDS = 9 };

struct reader {
    FILE *file;
    const char *path;
    size_t line;
    char text[LINE_SIZE];
};

#define fault(r, ...) fault_at((r)->path, (r)->line, __VA_ARGS__)
static void __attribute__((noreturn, format(printf, 3, 4)))
fault_at(const char *path, size_t line, const char *format, ...)
{
    char text[192];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    app_die("%.*s: line %zu: %s", NAME_SIZE, path, line, text);
}

/* False at the end of the file. */
static bool next_line(struct reader *r)
{
    r->line++;
    if (fgets(r->text, sizeof r->text, r->file) == NULL) {
        if (ferror(r->file))
            fault(r, "cannot read: %s", strerror(errno));
        return false;
    }
    if (strchr(r->text, '\n') == NULL && !feof(r->file))
        fault(r, "longer than %d bytes", LINE_SIZE - 2);
    return true;
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

static size_t read_count(struct reader *r)
{
    char *end;
    long count;

    if (!next_line(r))
        fault(r, "the file is empty; the number of options is wanted");
    errno = 0;
    count = strtol(r->text, &end, 10);
    r->text[strcspn(r->text, "\r\n")] = '\0';
    if (end == r->text || !is_blank(end) || errno != 0 || count < 1 || count > MOST_OPTIONS)
        fault(r, "'%.40s': the number of options is wanted, 1 to %d", r->text, MOST_OPTIONS);
    return (size_t)count;
}

static float read_number(const struct reader *r, const char *name, const char *word, bool above_0)
{
    char *end;
    double value = strtod(word, &end);

    if (end == word || *end != '\0' || !isfinite(value) || !isfinite((float)value))
        fault(r, "%s '%.40s': a number is wanted", name, word);
    if (above_0 && !((float)value > 0.0f))
        fault(r, "%s '%.40s': a number above 0 is wanted", name, word);
    return (float)value;
}

static void refuse_dividend(const struct reader *r, const char *name, const char *word)
{
    if (read_number(r, name, word, false) != 0.0f)
        fault(r, "%s '%.40s': shares with dividends are not computed; 0 is wanted", name, word);
}

static bool read_kind(const struct reader *r, const char *word)
{
    if (strcmp(word, "P") != 0 && strcmp(word, "C") != 0)
        fault(r, "kind '%.40s': P (put) or C (call) is wanted", word);
    return word[0] == 'P';
}

static void read_option(struct reader *r, struct option *o)
{
    char *words[WORDS + 1] = {NULL};
    char *rest = r->text;
    int count = 0;

    while (count <= WORDS && (words[count] = strtok_r(rest, " \t\r\n", &rest)) != NULL)
        count++;
    if (count != WORDS)
        fault(r, "%s values; S K r divq v T P|C divs DGrefval are wanted",
              count > WORDS ? "more than 9" : "fewer than 9");
    o->spot = read_number(r, "S", words[0], true);
    o->strike = read_number(r, "K", words[1], true);
    o->rate = read_number(r, "r", words[2], false);
    refuse_dividend(r, "divq", words[3]);
    o->volatility = read_number(r, "v", words[4], true);
    o->years = read_number(r, "T", words[5], true);
    o->put = read_kind(r, words[6]);
    refuse_dividend(r, "divs", words[7]);
    o->reference = read_number(r, "DGrefval", words[8], false);
}

void portfolio_read(struct portfolio *p, const char *path)
{
    struct reader r = {.file = fopen(path, "r"), .path = path};

    if (r.file == NULL)
        app_die("cannot open '%.*s': %s", NAME_SIZE, path, strerror(errno));
    p->count = read_count(&r);
    p->options = array_alloc(p->count, sizeof *p->options);
    for (size_t i = 0; i < p->count; i++) {
        if (!next_line(&r))
            fault(&r, "the file ends after %zu of %zu options", i, p->count);
        read_option(&r, &p->options[i]);
    }
    while (next_line(&r))
        if (!is_blank(r.text))
            fault(&r, "more than the %zu options that line 1 announces", p->count);
    fclose(r.file);
}

void prices_write(const char *path, const float *prices, size_t count)
{
    FILE *file = fopen(path, "w");
    bool good;

    if (file == NULL)
        app_die("cannot open '%.*s' for writing: %s", NAME_SIZE, path, strerror(errno));
    good = fprintf(file, "%zu\n", count) > 0;
    for (size_t i = 0; i < count && good; i++)
        good = fprintf(file, "%.9g\n", (double)prices[i]) > 0;
    if (fclose(file) != 0 || !good)
        app_die("cannot write '%.*s': %s", NAME_SIZE, path, strerror(errno));
}
