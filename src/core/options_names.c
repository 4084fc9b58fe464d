/* SPDX-License-Identifier: MIT */
/*
 * options_names.c - options that the user gives and that do not exist, and the valid word that a
 * mistyped one is nearest to. Called by options_load.
 *
 * A mistyped option ends a program that is linked with the runtime, before anything runs with wrong
 * settings. A preloaded library is in many programs that have not asked for it, such as all
 * children of a shell: they get a warning, once.
 */
#include <string.h>

#include "check.h"
#include "options.h"
#include "port.h"
#include "port_options.h"
#include "text.h"

/* Variables that the pirn command, CMake's presets and the benchmarks read: where library, builds
 * and boards are. */
static const char *const tools_names[] = {"apps", "board", "boards", "build", "library"};

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static char small(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Letters to insert, leave out, replace, or swap with their neighbour, to make one word of the
 * other; case does not count. Row i of the table: the first i letters of a. */
static unsigned word_distance(const char *a, const char *b)
{
    uint8_t table[RT_WORD_MAX][RT_WORD_MAX];
    size_t na = strlen(a), nb = strlen(b);
    if (na >= RT_WORD_MAX || nb >= RT_WORD_MAX) {
        return RT_WORD_MAX;
    }
    for (unsigned i = 0; i <= na; i++) {
        for (unsigned j = 0; j <= nb; j++) {
            if (i == 0 || j == 0) {
                table[i][j] = (uint8_t)(i + j);
                continue;
            }
            bool same = small(a[i - 1]) == small(b[j - 1]);
            unsigned n = table[i - 1][j - 1] + (same ? 0u : 1u);
            n = least(n, least(table[i - 1][j], table[i][j - 1]) + 1u);
            if (i > 1 && j > 1 && small(a[i - 1]) == small(b[j - 2]) &&
                small(a[i - 2]) == small(b[j - 1])) {
                n = least(n, table[i - 2][j - 2] + 1u);
            }
            table[i][j] = (uint8_t)n;
        }
    }
    return table[na][nb];
}

/* One letter of three may be wrong. */
struct nearest nearest_begin(const char *word)
{
    unsigned most = (unsigned)strlen(word) / 3;
    return (struct nearest){.word = word, .distance = (most > 1 ? most : 1) + 1};
}

void nearest_look(struct nearest *near, const char *valid)
{
    unsigned distance = word_distance(near->word, valid);
    if (distance < near->distance) {
        near->distance = distance;
        strcpy(near->best, valid); /* it fits: its distance is that of a short word */
    }
}

void nearest_add(struct text *out, const struct nearest *near)
{
    if (near->best[0] != '\0') {
        text_add(out, "; did you mean \"%s\"?", near->best);
    }
}

static bool name_known(const char *name, struct nearest *near)
{
    for (const struct rt_option *o = rt_options; o->name != NULL; o++) {
        if (strcmp(o->name, name) == 0) {
            return true;
        }
        nearest_look(near, o->name);
    }
    for (unsigned i = 0; i < sizeof(tools_names) / sizeof(tools_names[0]); i++) {
        if (strcmp(tools_names[i], name) == 0) {
            return true;
        }
        nearest_look(near, tools_names[i]);
    }
    return false;
}

/* Copy a word of a list into a buffer, if it fits. */
static void list_add(struct text *list, const char *name)
{
    if (list->used + strlen(name) + 1 < list->size) {
        text_add(list, " %s", name);
    }
}

/* The environment variable of an option, as the user has written it. */
static void variable_add(struct text *out, const char *name)
{
    text_add(out, "PIRN_");
    for (; *name != '\0'; name++) {
        bool is_small = *name >= 'a' && *name <= 'z', is_capital = *name >= 'A' && *name <= 'Z';
        char c = is_small ? (char)(*name - 'a' + 'A') : is_capital ? small(*name) : *name;
        text_add(out, "%c", c < ' ' || c > '~' ? '?' : c);
    }
}

/* A line for each variable. */
static void name_ignored(const char *name, const struct nearest *near, const char *known)
{
    char line[448] = "";
    struct text out = {line, sizeof(line), 0};
    text_add(&out, "pirn: ");
    variable_add(&out, name);
    text_add(&out, " is ignored: there is no such option; ");
    if (near->best[0] != '\0') {
        text_add(&out, "did you mean ");
        variable_add(&out, near->best);
        text_add(&out, "?");
    } else {
        text_add(&out, "there are:%s", known);
    }
    rt_say("%s\n", line);
}

static void name_refused(const char *name, const struct nearest *near, const char *known)
{
    char line[448] = "";
    struct text out = {line, sizeof(line), 0};
    text_add(&out, "there is no option \"%s\"; there are:%s", name, known);
    nearest_add(&out, near);
    rt_refuse("pirn: %s\n", line);
}

void options_check_names(void)
{
    static bool said; /* a child of a fork does not say it again */
    char known[256] = "";
    struct text all = {known, sizeof(known), 0};
    const char *name;
    for (const struct rt_option *o = rt_options; o->name != NULL; o++) {
        list_add(&all, o->name);
    }
    for (unsigned i = 0; (name = port_option_name(i)) != NULL; i++) {
        struct nearest near = nearest_begin(name);
        if (name_known(name, &near)) {
            continue;
        }
        if (!port_preloaded()) {
            name_refused(name, &near, known);
        } else if (!said) {
            name_ignored(name, &near, known);
        }
    }
    said = true;
}
