/* SPDX-License-Identifier: MIT */
/*
 * options_describe.c - the description of options and policies, as JSON: the result of
 * pirn_describe, from which pirn run, its manual page and pirn sched list are made.
 */
#include <string.h>

#include "../sched/policy.h"
#include "check.h"
#include "config.h"
#include "options.h"

/* Most bytes of the description: the library's part, and that of each registered policy. */
#define DESCRIBE_OWN 16384
#define DESCRIBE_REGISTERED 4096

static void emit_member(struct text *out, const char *name, const char *value)
{
    text_add(out, ",\"%s\":", name);
    text_add_json(out, value != NULL ? value : "", value != NULL ? strlen(value) : 0);
}

/* A list; of free text ("<file>") what it is. */
static void emit_values(struct text *out, const char *values)
{
    if (values[0] == '<') {
        text_add(out, ",\"values\":");
        text_add_json(out, values + 1, strcspn(values + 1, ">"));
        return;
    }
    text_add(out, ",\"values\":[");
    for (const char *p = values; *p != '\0';) {
        size_t n = strcspn(p, "|");
        text_add(out, "%s", p == values ? "" : ",");
        text_add_json(out, p, n);
        p += n + (p[n] == '|');
    }
    text_add(out, "]");
}

static void emit_sched(struct text *out, const struct pirn_policy *policy)
{
    text_add(out, "{\"name\":");
    text_add_json(out, policy->name, strlen(policy->name));
    emit_member(out, "help", policy->help);
    text_add(out, ",\"options\":[");
    for (const struct pirn_policy_option *o = policy->options; o != NULL && o->name != NULL; o++) {
        text_add(out, "%s{\"name\":", o == policy->options ? "" : ",");
        text_add_json(out, o->name, strlen(o->name));
        emit_values(out, o->values);
        emit_member(out, "default", o->deflt);
        emit_member(out, "help", o->help);
        text_add(out, "}");
    }
    text_add(out, "]}");
}

bool options_describe_fits(const struct pirn_policy *policy)
{
    struct text out = {NULL, 0, 0};
    emit_sched(&out, policy);
    return out.used <= DESCRIBE_REGISTERED;
}

/* PIRN_CPUS, of cpus */
static void emit_env(struct text *out, const char *name)
{
    text_add(out, ",\"env\":\"PIRN_");
    for (; *name != '\0'; name++) {
        text_add(out, "%c", *name - 'a' + 'A');
    }
    text_add(out, "\"");
}

/* A member whose value `add` writes. */
static void emit_added(struct text *out, const char *name,
                       void (*add)(struct text *out, const struct rt_option *o),
                       const struct rt_option *o)
{
    char value[256] = "";
    struct text text = {value, sizeof(value), 0};
    add(&text, o);
    RT_VERIFY(text.used < sizeof(value));
    emit_member(out, name, value);
}

static void emit_option(struct text *out, const struct rt_option *o)
{
    static const char *const types[] = {
        [OPTION_IS_FLAG] = "flag",     [OPTION_IS_NUMBER] = "number",
        [OPTION_IS_SIZE] = "size",     [OPTION_IS_DURATION] = "number",
        [OPTION_IS_CHOICE] = "choice", [OPTION_IS_TEXT] = "output"};
    text_add(out, "{\"name\":");
    text_add_json(out, o->name, strlen(o->name));
    emit_env(out, o->name);
    emit_member(out, "type", o->custom_type != NULL ? o->custom_type : types[o->type]);
    emit_added(out, "default", options_add_default, o);
    if (o->pthread != NULL) {
        emit_member(out, "default_pthread", o->pthread);
    }
    emit_added(out, "values", options_add_values, o);
    emit_member(out, "help", o->help);
    text_add(out, "}");
}

const char *options_describe(void)
{
    static char json[DESCRIBE_OWN + SCHED_REGISTERED_MAX * (DESCRIBE_REGISTERED + 1)];
    struct text out = {json, sizeof(json), 0};
    text_add(&out, "{\"version\":\"%s\",\"options\":[", RT_VERSION);
    for (const struct rt_option *o = rt_options; o->name != NULL; o++) {
        text_add(&out, "%s", o == rt_options ? "" : ",");
        emit_option(&out, o);
    }
    text_add(&out, "],\"policies\":[");
    const struct pirn_policy *policy;
    for (unsigned i = 0; (policy = sched_at(i)) != NULL; i++) {
        text_add(&out, "%s", i == 0 ? "" : ",");
        emit_sched(&out, policy);
    }
    text_add(&out, "]}");
    RT_VERIFY(out.used < sizeof(json));
    return json;
}
