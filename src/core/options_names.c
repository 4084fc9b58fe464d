/* SPDX-License-Identifier: MIT */
/*
 * options_names.c - options that the user gives and that do not exist. Called by options_load.
 *
 * A mistyped option ends a program that is linked with the runtime, before anything runs with wrong
 * settings. A preloaded library is in many programs that have not asked for it, such as all
 * children of a shell: they get a warning.
 */
#include <string.h>

#include "check.h"
#include "options.h"
#include "port.h"
#include "port_options.h"
#include "text.h"

/* Variables that the pirn command, CMake's presets and the benchmarks read: where library, builds
 * and boards are. */
static const char *const tools_names[] = {"apps", "board", "boards", "build", "library"};

static bool name_known(const char *name)
{
    for (const struct rt_option *o = rt_options; o->name != NULL; o++) {
        if (strcmp(o->name, name) == 0) {
            return true;
        }
    }
    for (unsigned i = 0; i < sizeof(tools_names) / sizeof(tools_names[0]); i++) {
        if (strcmp(tools_names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Copy a word of a list into a buffer, if it fits. */
static void list_add(struct text *list, const char *name)
{
    if (list->used + strlen(name) + 1 < list->size) {
        text_add(list, " %s", name);
    }
}

void options_check_names(void)
{
    char known[256] = "", unknown[128] = "";
    struct text all = {known, sizeof(known), 0}, others = {unknown, sizeof(unknown), 0};
    const char *name;
    for (const struct rt_option *o = rt_options; o->name != NULL; o++) {
        list_add(&all, o->name);
    }
    for (unsigned i = 0; (name = port_option_name(i)) != NULL; i++) {
        if (!name_known(name)) {
            if (!port_preloaded()) {
                rt_refuse("pirn: there is no option \"%s\"; there are:%s\n", name, known);
            }
            list_add(&others, name);
        }
    }
    if (others.used != 0) {
        rt_say("pirn: ignored, since there are no such options:%s; there are:%s\n", unknown, known);
    }
}
