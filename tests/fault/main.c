/* SPDX-License-Identifier: MIT */
/*
 * main.c - pirn-fault WHAT [ARGUMENT]...: one trouble a run.
 */
#include "common/options.h"
#include "fault.h"

static void start(char **arguments)
{
    (void)arguments;
    pirn_self(); /* bad options end the program here */
}

static void overflow(char **arguments)
{
    static const char *const which[] = {"joinable", "detached", "static", "sized", "elsewhere"};
    fault_overflow(which[OPERAND_CHOICE("WHICH", arguments[0], which)]);
}

static void memory(char **arguments)
{
    enum { MOST = 1 << 20 };
    fault_memory((unsigned)operand_number("MB", arguments[0], 0, MOST),
                 (unsigned)operand_number("CACHED", arguments[1], 0, MOST));
}

static void scarce(char **arguments)
{
    (void)arguments;
    fault_scarce();
}

static void given(char **arguments)
{
    (void)arguments;
    fault_given();
}

static const struct {
    const char *name, *arguments;
    int count;
    void (*run)(char **arguments);
} troubles[] = {
    {"start", "none", 0, start},        {"overflow", "WHICH", 1, overflow},
    {"memory", "MB CACHED", 2, memory}, {"scarce", "none", 0, scarce},
    {"given", "none", 0, given},
};

int main(int argc, char **argv)
{
    const struct option_page page = {.summary = "One trouble a run.",
                                     .operand = "WHAT [ARGUMENT...]"};
    char **operands = options_parse(argc, argv, &page);
    size_t i = OPERAND_CHOICE("WHAT", operands[0], troubles);
    int count = 0;
    while (operands[1 + count] != NULL) {
        count++;
    }
    if (count != troubles[i].count) {
        options_refuse("%s: %d arguments; it takes: %s", operands[0], count, troubles[i].arguments);
    }
    troubles[i].run(operands + 1);
    printf("done\n");
    return 0;
}
