/* SPDX-License-Identifier: MIT
 *
 * Files of options, in the format of the PARSEC program blackscholes, and of prices.
 */
#ifndef APPS_BLACKSCHOLES_PORTFOLIO_H
#define APPS_BLACKSCHOLES_PORTFOLIO_H

#include "price.h"

#include <stddef.h>

struct portfolio {
    size_t count;
    struct option *options;
};

/* Reads the whole file. An error in it ends the program, with file, line and value. */
void portfolio_read(struct portfolio *portfolio, const char *path);

/* Writes the number of prices, then one price a line, with 9 digits, which distinguish all
 * floats. */
void prices_write(const char *path, const float *prices, size_t count);

#endif
