/* SPDX-License-Identifier: MIT */
/*
 * obeys.c - for check_secure.py: a program that starts the runtime.
 *
 *   obeys             creates a thread and joins it; prints nothing
 *   obeys describe    prints the options of the library
 *   obeys environment prints whether the process has AT_SECURE, and its PIRN_ variables
 */
#include <pirn/pirn.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "common/options.h"

extern char **environ;

static void *yields(void *arg)
{
    pirn_yield();
    return arg;
}

static int threads(void)
{
    pirn_thread_t t;
    return pirn_create(&t, NULL, yields, NULL) == 0 && pirn_join(t, NULL) == 0 ? 0 : 1;
}

static int say_environment(void)
{
    printf("secure %lu\n", getauxval(AT_SECURE));
    for (char **e = environ; *e != NULL; e++) {
        if (strncmp(*e, "PIRN_", 5) == 0 || strncmp(*e, "OTHER_", 6) == 0) {
            printf("%s\n", *e);
        }
    }
    return 0;
}

static int describe(void)
{
    return puts(pirn_describe()) < 0;
}

static const struct {
    const char *name;
    int (*run)(void);
} cases[] = {{"threads", threads}, {"describe", describe}, {"environment", say_environment}};

int main(int argc, char **argv)
{
    const struct option_page page = {.summary = "Obeys its environment; CASE: threads if missing.",
                                     .operand = "[CASE]"};
    const char *name = options_parse(argc, argv, &page)[0];
    return cases[name != NULL ? OPERAND_CHOICE("CASE", name, cases) : 0].run();
}
