/* SPDX-License-Identifier: MIT */
/*
 * capacities.c - see capacities.h. The table of turns is constant after capacity_init.
 */
#include "capacities.h"

#include <string.h>

#if RT_CAPACITIES
/* Turns for each CPU before they begin again. */
#define TURNS 8u

static bool on;
static uint16_t turns[TURNS * RT_MAX_CPUS]; /* (C) */

int sched_set_capacity(const char *value, const char **why)
{
    (void)why;
    on = sched_choice("on|off", value) == 0;
    return 0;
}

/* Each turn goes to the CPU that would do one thread more in the least time. */
static void turns_make(void)
{
    uint32_t given[RT_MAX_CPUS] = {0};
    for (unsigned n = 0; n < TURNS * rt.ncpu; n++) {
        unsigned best = 0;
        for (unsigned i = 1; i < rt.ncpu; i++) {
            if ((given[i] + 1) * rt_capacity(best) < (given[best] + 1) * rt_capacity(i)) {
                best = i;
            }
        }
        given[best]++;
        turns[n] = (uint16_t)best;
    }
}

void capacity_init(void)
{
    rt.by_capacity = rt.asymmetric && on;
    if (rt.by_capacity && RT_POLICY.pinned) {
        turns_make();
    }
}

unsigned capacity_turn_of(uint32_t n)
{
    return turns[n % (TURNS * rt.ncpu)];
}

#endif
