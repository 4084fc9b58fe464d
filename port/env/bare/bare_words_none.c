/* SPDX-License-Identifier: MIT */
/* bare_words_none.c (bare) - a program without arguments and environment: settings are left out. */
#include "bare.h"
#include "port_files.h"

int process_arguments(char ***argv)
{
    static char *none[] = {NULL};
    *argv = none;
    return 0;
}

const char *process_name(void)
{
    return "";
}

void port_program_facts(struct port_program_facts *facts)
{
    *facts = (struct port_program_facts){.program = "", .machine = PORT_ARCH_NAME, .pid = 1};
}
