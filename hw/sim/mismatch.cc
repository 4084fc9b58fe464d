/* SPDX-License-Identifier: MIT
 *
 * mismatch.cc - texts of mismatches.
 */
#include "mismatch.h"

#include <cstdarg>
#include <cstdio>

std::string format(const char *pattern, ...)
{
    char text[400];
    va_list list;
    va_start(list, pattern);
    vsnprintf(text, sizeof text, pattern, list);
    va_end(list);
    return text;
}
