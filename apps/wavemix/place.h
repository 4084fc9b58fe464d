/* SPDX-License-Identifier: MIT
 *
 * Where threads of wavemix run, and may run.
 */
#ifndef APPS_WAVEMIX_PLACE_H
#define APPS_WAVEMIX_PLACE_H

#include <pthread.h>
#include <stdbool.h>

enum pin { PIN_NONE, PIN_WAVES, PIN_ALL };

extern const char *const pin_names[]; /* as the option has them; NULL ends them */

/* The number of the worker that runs the caller, if the threads library is Pirn; else of the CPU.
 * A worker is a kernel thread: unless PIRN_BIND=1 binds it, the kernel may move it to another CPU,
 * which does not count. */
int place_here(void);

/* The threads library is Pirn. */
bool place_is_worker(void);

/* What place_here counts: "worker" or "cpu". */
const char *place_kind(void);

/* Ends the program if the process may not use as many CPUs as the pins name. */
void place_require(enum pin pin);

/* Pins the waves, or all threads; threads[i] is node i. CPU number k of the graph's table is the
 * k-th that the process may use. */
void place_pin(const pthread_t *threads, enum pin pin);

#endif
