/* SPDX-License-Identifier: MIT */
/*
 * policies.c - the organizations that exist, and those that a program registers.
 */
#include <errno.h>
#include <string.h>

#include "cpu.h"

extern const struct sched_policy sched_single, sched_central, sched_dist, sched_steal,
    sched_request;

#define REGISTERED_MAX 8

static const struct sched_policy *const builtin[] = {&sched_steal, &sched_single, &sched_central,
                                                     &sched_dist, &sched_request};
static const struct sched_policy *registered[REGISTERED_MAX];

static const struct sched_policy *sched_at(unsigned i)
{
    if (i < ARRAY_SIZE(builtin)) {
        return builtin[i];
    }
    i -= (unsigned)ARRAY_SIZE(builtin);
    return i < REGISTERED_MAX ? registered[i] : NULL;
}

const char *sched_name(unsigned i)
{
    const struct sched_policy *policy = sched_at(i);
    return policy != NULL ? policy->name : NULL;
}

const struct sched_policy *sched_find(const char *name, size_t length)
{
    const struct sched_policy *policy;
    for (unsigned i = 0; (policy = sched_at(i)) != NULL; i++) {
        if (strlen(policy->name) == length && memcmp(policy->name, name, length) == 0) {
            return policy;
        }
    }
    return NULL;
}

int sched_register(const struct sched_policy *policy)
{
    if (at_load_rlx(&rt.started) != 0) {
        return -EBUSY;
    }
    if (sched_find(policy->name, strlen(policy->name)) != NULL) {
        return -EEXIST;
    }
    for (unsigned i = 0; i < REGISTERED_MAX; i++) {
        if (registered[i] == NULL) {
            registered[i] = policy;
            return 0;
        }
    }
    return -ENOSPC;
}

int sched_choice(const char *values, const char *value)
{
    size_t length = strlen(value);
    int index = 0;
    for (const char *p = values; *p != '\0'; index++) {
        size_t n = strcspn(p, "|");
        if (n == length && memcmp(p, value, n) == 0) {
            return index;
        }
        p += n + (p[n] == '|');
    }
    return -1;
}
