/* SPDX-License-Identifier: MIT
 *
 * Assertions of these tests: one that fails prints its place and ends the process.
 */
#ifndef KERNEL_TESTS_CHECK_H
#define KERNEL_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK_EQUAL(wanted, got) check_equal((wanted), (got), #got, __FILE__, __LINE__)

static inline void check_equal(long wanted, long got, const char *what, const char *file, int line)
{
    if (wanted == got)
        return;
    fprintf(stderr, "%s:%d: %s is %ld, not %ld\n", file, line, what, got, wanted);
    exit(EXIT_FAILURE);
}

#endif
