/* SPDX-License-Identifier: MIT */
/*
 * native_features.c (Linux) - what the library says to `pirn doctor` and `pirn run`: what this
 * process gets, and whether the options in its environment are valid.
 */
#include "cpu.h"
#include "options.h"
#include "port_features.h"
#include "runtime.h"
#include "text.h"

#include <pirn/pirn.h>
#include <string.h>

static void add_feature(struct text *out, const char *name, const char *state, const char *why)
{
    const char *comma = out->buffer[out->used - 1] == '[' ? "" : ",";
    text_add(out, "%s{\"name\":\"%s\",\"state\":\"%s\",\"why\":", comma, name, state);
    text_add_json(out, why, strlen(why));
    text_add(out, "}");
}

/* Why calls that the program does not announce keep their worker; "": they do not. */
static const char *calls_why_not(void)
{
    return !PORT_CALLS_BLOCK            ? "not on this architecture, or with a sanitizer"
           : !rt_personality.take_calls ? "programs announce their calls under the native API"
           : rt.spares == 0             ? "option spares is 0"
                                        : "";
}

EXPORT const char *pirn_features(void)
{
    static char json[4096];
    struct text out = {json, sizeof(json), 0};
    struct port_feature f;
    rt_self();
    text_add(&out, "{\"version\":\"%s\",\"policy\":\"%s\",\"workers\":%u,\"features\":[",
             RT_VERSION, rt_policy_name(), rt.ncpu);
    add_feature(&out, "preempt", rt.preempt ? "yes" : "no", rt.preempt ? "" : rt_why_no_preempt);
    const char *no_calls = calls_why_not();
    add_feature(&out, "calls", no_calls[0] == '\0' ? "yes" : "no", no_calls);
    for (unsigned i = 0; port_feature(i, &f); i++) {
        add_feature(&out, f.name, f.state, f.why);
    }
    text_add(&out, "]}");
    RT_VERIFY(out.used < sizeof(json));
    return json;
}

EXPORT const char *pirn_check_options(void)
{
    return options_check();
}
