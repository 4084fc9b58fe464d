/* SPDX-License-Identifier: MIT */
/*
 * main.c - pirn-fault WHAT [ARGUMENT]: one trouble a run.
 */
#include <string.h>

#include "fault.h"

static int usage(void)
{
    fprintf(
        stderr,
        "usage: pirn-fault start | overflow joinable|detached|static|sized|elsewhere | memory MB CACHED | scarce | "
        "given\n");
    return 64;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "start") == 0 && argc == 2) {
        pirn_self(); /* bad options end the program here */
    } else if (strcmp(what, "overflow") == 0 && argc == 3) {
        fault_overflow(argv[2]);
    } else if (strcmp(what, "memory") == 0 && argc == 4) {
        fault_memory((unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]));
    } else if (strcmp(what, "scarce") == 0 && argc == 2) {
        fault_scarce();
    } else if (strcmp(what, "given") == 0 && argc == 2) {
        fault_given();
    } else {
        return usage();
    }
    printf("done\n");
    return 0;
}
