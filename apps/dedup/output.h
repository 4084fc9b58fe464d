/* SPDX-License-Identifier: MIT
 *
 * The file that is written: never one that is there already, and gone again if the program fails.
 */
#ifndef APPS_DEDUP_OUTPUT_H
#define APPS_DEDUP_OUTPUT_H

#include <stddef.h>
#include <stdio.h>

FILE *input_open(const char *path);

/* One at a time. */
void output_open(const char *path);
void output_write(const void *data, size_t size);
void output_close(void);

#endif
