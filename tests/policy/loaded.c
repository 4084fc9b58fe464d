/* SPDX-License-Identifier: MIT */
/* loaded.c - adds the example's policy to the program that loads this library. */
#include <stdio.h>

#include "example.h"

__attribute__((constructor)) static void add(void)
{
    if (pirn_sched_register(&example_home) != 0) {
        fprintf(stderr, "%s\n", pirn_sched_refusal());
    }
}
