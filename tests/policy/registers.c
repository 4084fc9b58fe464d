/* SPDX-License-Identifier: MIT */
/* registers.c - linked with a program, adds the policies of the tests before main. */
#include <stdio.h>
#include <stdlib.h>

#include "list.h"

__attribute__((constructor)) static void register_all(void)
{
    static const struct pirn_policy *const all[] = {POLICY_TABLES};
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (pirn_sched_register(all[i]) != 0) {
            fprintf(stderr, "%s\n", pirn_sched_refusal());
            exit(1);
        }
    }
}
