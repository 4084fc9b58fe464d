/* SPDX-License-Identifier: MIT
 *
 * The output file. It never overwrites an existing file, and it is removed if the program fails.
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
