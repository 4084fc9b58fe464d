/* SPDX-License-Identifier: MIT */
#ifndef DEVICE_H
#define DEVICE_H

/* Have the device interrupt `wanted` times, and take each event in a thread of high priority.
 * Returns how many the thread has taken, or a negative number: -errno. */
int device_run(int wanted);

/* How often the watchdog has been served. */
int device_petted(void);

#endif
