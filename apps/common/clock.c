/* SPDX-License-Identifier: MIT
 *
 * Wall-clock time (see clock.h).
 */
#include "clock.h"

#include "check.h"

#include <errno.h>
#include <time.h>

double clock_seconds(void)
{
    struct timespec now;

    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
        check_rc(errno, "clock_gettime");
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
