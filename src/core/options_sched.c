/* SPDX-License-Identifier: MIT */
/* options_sched.c - option sched: a policy, and options of its own. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "options.h"
#include "runtime.h"

static int set_sched_option(const struct pirn_policy *policy, char *text, const char **why)
{
    static char message[512];
    struct text out = {message, sizeof(message), 0};
    char *equals = strchr(text, '=');
    const char *value = equals != NULL ? equals + 1 : "";
    if (equals != NULL) {
        *equals = '\0';
    }
    const struct pirn_policy_option *o = policy->options;
    while (o != NULL && o->name != NULL && strcmp(o->name, text) != 0) {
        o++;
    }
    *why = message;
    if (o == NULL || o->name == NULL) {
        struct nearest near = nearest_begin(text);
        text_add(&out, "%s has no option \"%.64s\"; it has%s", policy->name, text,
                 policy->options != NULL ? ":" : " none");
        for (o = policy->options; o != NULL && o->name != NULL; o++) {
            text_add(&out, " %s=%s", o->name, o->values);
            nearest_look(&near, o->name);
        }
        nearest_add(&out, &near);
        return -EINVAL;
    }
    text_add(&out, "option %s of %s takes %s, not \"%.64s\"", o->name, policy->name, o->values,
             value);
    if (equals == NULL || (o->values[0] != '<' && sched_choice(o->values, value) < 0)) {
        return -EINVAL;
    }
    return o->set(value, why);
}

static int unknown_sched(const char *name, size_t length, const char **why)
{
    static char message[640];
    struct text out = {message, sizeof(message), 0};
    text_add(&out, "there is no policy \"%.*s\"; there are:", length < 64 ? (int)length : 64, name);
    char typed[RT_WORD_MAX];
    snprintf(typed, sizeof(typed), "%.*s", (int)(length < RT_WORD_MAX ? length : 0), name);
    struct nearest near = nearest_begin(typed);
    const struct pirn_policy *known;
    for (unsigned i = 0; (known = sched_at(i)) != NULL; i++) {
        text_add(&out, " %s", known->name);
        nearest_look(&near, known->name);
    }
    nearest_add(&out, &near);
    if (sched_refusal() != NULL) {
        text_add(&out, "; refused when it was registered: %s", sched_refusal());
    }
    *why = message;
    return -EINVAL;
}

int options_set_sched(const char *value, const char **why)
{
    static char copy[512];
    if (strlen(value) >= sizeof(copy)) {
        return -EINVAL;
    }
    strcpy(copy, value);
    size_t length = strcspn(copy, ":");
    const struct pirn_policy *chosen = sched_find(copy, length);
    if (chosen == NULL) {
        return unknown_sched(copy, length, why);
    }
    for (const struct pirn_policy_option *o = chosen->options; o != NULL && o->name != NULL; o++) {
        o->set(o->deflt, why);
    }
    char *next = copy + length;
    while (*next != '\0') {
        char *text = next + 1;
        next = text + strcspn(text, ",");
        char end = *next;
        *next = '\0';
        int error = set_sched_option(chosen, text, why);
        if (error != 0) {
            return error;
        }
        *next = end;
    }
    sched_use(&rt.policy, chosen);
    return 0;
}
