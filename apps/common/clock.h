/* SPDX-License-Identifier: MIT
 *
 * Wall-clock time for the closing lines of the applications.
 */
#ifndef APPS_COMMON_CLOCK_H
#define APPS_COMMON_CLOCK_H

/* Seconds since an arbitrary start; never goes back. */
double clock_seconds(void);

#endif
