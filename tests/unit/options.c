/* SPDX-License-Identifier: MIT */
/*
 * options.c - the table of options: a default equals the value of its printed form; the ends of a
 * range, and every word of a choice, are stored unchanged; values outside end the program with
 * status 2.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpu.h"
#include "options.h"

static void check(bool holds, const char *option, const char *what)
{
    if (!holds) {
        printf("FAILED %s: %s\n", option, what);
        exit(1);
    }
}

static uint64_t stored(const struct rt_option *o)
{
    uint8_t byte;
    uint32_t word;
    uint64_t value;
    switch (o->size) {
    case 1:
        memcpy(&byte, o->place, 1);
        return byte;
    case 4:
        memcpy(&word, o->place, 4);
        return word;
    default:
        check(o->size == 8, o->name, "the variable has 1, 4 or 8 bytes");
        memcpy(&value, o->place, 8);
        return value;
    }
}

/* As PIRN_NAME=value would be read; NULL: not given. */
static void load(const struct rt_option *o, const char *value)
{
    char name[32] = "PIRN_";
    for (size_t i = 0; o->name[i] != '\0'; i++) {
        name[5 + i] = (char)(o->name[i] - 'a' + 'A');
    }
    if (value != NULL) {
        setenv(name, value, 1);
    } else {
        unsetenv(name);
    }
    memset(o->place, 0xff, o->size);
    options_load_of(o->name);
    unsetenv(name);
}

static uint64_t loaded(const struct rt_option *o, const char *value)
{
    load(o, value);
    return stored(o);
}

static uint64_t load_number(const struct rt_option *o, uint64_t n)
{
    char value[32];
    snprintf(value, sizeof(value), "%llu", (unsigned long long)n);
    return loaded(o, value);
}

static void refused(const struct rt_option *o, const char *value)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        close(STDERR_FILENO);
        load(o, value);
        _exit(0);
    }
    check(waitpid(child, &status, 0) == child, o->name, "a child");
    check(WIFEXITED(status) && WEXITSTATUS(status) == 2, o->name, value);
}

static void check_range(const struct rt_option *o)
{
    uint64_t scale = o->type == OPTION_IS_DURATION ? 1000 : 1;
    char value[32];
    check(o->least <= o->deflt && o->deflt <= o->most, o->name, "the default is in the range");
    check(load_number(o, o->least) == o->least * scale, o->name, "the least value");
    check(load_number(o, o->most) == o->most * scale, o->name, "the greatest value");
    snprintf(value, sizeof(value), "%llu", (unsigned long long)o->most + 1);
    refused(o, value);
    snprintf(value, sizeof(value), "%lld", (long long)o->least - 1);
    refused(o, value);
    refused(o, "");
}

static void check_choice(const struct rt_option *o)
{
    char words[128];
    uint64_t i = 0;
    snprintf(words, sizeof(words), "%s", o->values);
    for (char *word = strtok(words, "|"); word != NULL; word = strtok(NULL, "|"), i++) {
        check(loaded(o, word) == i, o->name, "a word's index");
    }
    check(i > 1 && o->deflt < i, o->name, "the default is one of the words");
    refused(o, o->values);
    refused(o, "");
}

static void check_number(const struct rt_option *o)
{
    char text[64] = "";
    struct text out = {text, sizeof(text), 0};
    options_add_default(&out, o);
    check(o->place != NULL, o->name, "the value is stored");
    check(loaded(o, NULL) == loaded(o, text), o->name, "the default and its printed form");
    if (o->type == OPTION_IS_CHOICE) {
        check_choice(o);
    } else {
        check_range(o);
    }
}

static void check_text(const struct rt_option *o)
{
    char name[RT_PATH_MAX + 1], *at = o->place;
    memset(name, 'x', sizeof(name));
    memcpy(name, "json:", 5);
    check(o->place != NULL && o->size == RT_PATH_MAX, o->name, "the name has its room");
    name[o->size - 1] = '\0';
    load(o, name);
    check(strcmp(at, name) == 0, o->name, "the longest name");
    name[o->size - 1] = 'x';
    name[o->size] = '\0';
    refused(o, name);
    refused(o, "");
    load(o, "off");
    check(at[0] == '\0', o->name, "off");
    load(o, NULL);
    check(at[0] == '\0', o->name, "the default");
}

/* Names of threads. */
static void check_names(const struct rt_option *o)
{
    static const char *const wrong[] = {"", "a", "a:", ":b", "a:b:c", "a:b,", ",a:b", "a:b,c"};
    char names[1024], *at = o->place;
    check(o->place != NULL && o->size < sizeof(names), o->name, "the names have their room");
    memset(names, 'x', sizeof(names));
    names[1] = ':';
    names[o->size - 1] = '\0';
    load(o, names);
    check(strcmp(at, names) == 0, o->name, "the longest text");
    names[o->size - 1] = 'x';
    names[o->size] = '\0';
    refused(o, names);
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        refused(o, wrong[i]);
    }
    load(o, "wave*:mixer?,off:on");
    check(strcmp(at, "wave*:mixer?,off:on") == 0, o->name, "two rules");
    load(o, "off");
    check(at[0] == '\0', o->name, "off");
    load(o, NULL);
    check(at[0] == '\0', o->name, "the default");
}

int main(void)
{
    unsigned n = 0;
    for (const struct rt_option *o = rt_options; o->name != NULL; o++, n++) {
        if (o->type == OPTION_IS_TEXT && o->custom_type != NULL) {
            check_names(o);
        } else if (o->type == OPTION_IS_TEXT) {
            check_text(o);
        } else if (strcmp(o->name, "children") == 0) { /* posix_children.c reads it by itself */
            check(o->place == NULL && o->lacks == NULL, o->name, "is stored nowhere");
        } else if (o->type != OPTION_IS_CUSTOM) {
            check_number(o);
        }
        for (const struct rt_option *other = rt_options; other != o; other++) {
            check(strcmp(o->name, other->name) != 0, o->name, "one option has this name");
        }
    }
    check(n > 20, "the table", "has all options");
    puts("done");
    return 0;
}
