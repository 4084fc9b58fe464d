/* SPDX-License-Identifier: MIT
 *
 * Task affinity: a thread depends on data that others produce, and the scheduler should run it
 * where their caches are. The functions are not the program's own: libpirn-pthread may have them,
 * or a preloaded library that asks the kernel. They are weak, so that one binary runs with any of
 * these, and without.
 */
#ifndef APPS_WAVEMIX_AFFINITY_H
#define APPS_WAVEMIX_AFFINITY_H

#include <pthread.h>

/* Declare, or take back, that `consumer` reads what `producer` writes. 0, or ESRCH (no such
 * thread), EINVAL (a thread and itself), ELOOP (a circle), ENOSPC (the consumer has too many
 * producers), ENOENT (del: there is no such dependency). Any thread may call them for any
 * consumer. */
int pthread_add_taskaffinity_np(pthread_t consumer, pthread_t producer) __attribute__((weak));
int pthread_del_taskaffinity_np(pthread_t consumer, pthread_t producer) __attribute__((weak));

/* Ends the program if no library has the functions. */
void affinity_require(void);

/* Declares that mixer0 depends on wave0 and wave1, and so on; threads[i] is node i. An error ends
 * the program, and names the two threads. */
void affinity_declare(const pthread_t *threads);

#endif
