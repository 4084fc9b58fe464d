/* SPDX-License-Identifier: MIT
 *
 * pirn-kernel: loads the scheduler with task affinity into the kernel, and looks after it.
 */
#include "tool.h"

#include "common/name.h"
#include "common/options.h"

#include <stdlib.h>
#include <string.h>

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} commands[] = {
    {"load", command_load, "load the scheduler, with options"},
    {"unload", command_unload, "unload it; threads go on under the kernel's own"},
    {"status", command_status, "what is loaded, or why it ended"},
    {"counters", command_counters, "print the counters"},
    {"events", command_events, "print what happens to consumers, as it happens"},
    {"add", command_add, "CONSUMER PRODUCER: declare a dependency"},
    {"delete", command_delete, "CONSUMER PRODUCER: delete it"},
    {"list", command_list, "list the declared dependencies"},
    {"run", command_run, "PROGRAM [ARGUMENT]...: run it with policy SCHED_EXT"},
};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

static int print_help(void)
{
    printf("Usage: pirn-kernel COMMAND [OPTION]... [OPERAND]...\n"
           "A scheduler with task affinity for the kernel's class sched_ext.\n\n");
    for (size_t i = 0; i < COMMANDS; i++)
        printf("  %-10s %s\n", commands[i].name, commands[i].help);
    printf("\nCONSUMER and PRODUCER are numbers or names of threads. 'pirn-kernel COMMAND --help'\n"
           "prints the options of a command.\n");
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    static char name[64];
    size_t which;

    app_name_set("pirn-kernel");
    if (argc < 2)
        options_refuse("the command is missing");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return print_help();
    which = OPERAND_CHOICE("COMMAND", argv[1], commands);
    snprintf(name, sizeof name, "pirn-kernel %s", commands[which].name);
    app_name_set(name);
    return commands[which].run(argc - 1, argv + 1);
}
