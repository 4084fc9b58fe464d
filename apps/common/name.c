/* SPDX-License-Identifier: MIT
 *
 * The program's name and its last words (see name.h).
 */
#include "name.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *name;

void app_name_set(const char *new_name)
{
    name = new_name;
}

const char *app_name(void)
{
    return name != NULL ? name : "app";
}

void app_name_default(const char *path)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;

    if (name == NULL)
        name = slash != NULL ? slash + 1 : path;
}

void app_die(const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "%s: %s\n", app_name(), text);
    exit(EXIT_FAILURE);
}
