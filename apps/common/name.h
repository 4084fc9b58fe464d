/* SPDX-License-Identifier: MIT
 *
 * The program's name, and the message that starts with it and ends the program.
 */
#ifndef APPS_COMMON_NAME_H
#define APPS_COMMON_NAME_H

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the name that starts every message; call it first in main. */
void app_name_set(const char *name);
const char *app_name(void);

/* The last part of a path becomes the name, if none is set. */
void app_name_default(const char *path);

/* Prints "name: message" and ends with status 1. Any thread may call it. */
void app_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#ifdef __cplusplus
}
#endif

#endif
