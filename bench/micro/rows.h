/* SPDX-License-Identifier: MIT
 *
 * The rows of the micro benchmarks. rows.c implements them once; the systems' threads come from
 * the header that SYS_HEADER names (sys_pthread.h, sys_pirn.h, ...; contract in sys.h).
 *
 * A row does `count` operations and returns the nanoseconds that they took, clocked around the
 * whole loop. main.c chooses count so that a sample takes at least 30 ms.
 */
#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H

#include <stdint.h>

struct wakeup {
    uint64_t p50, p99, p999;
};

struct row {
    const char *name;
    uint64_t unit; /* count is a multiple of it: operations that cannot be done singly */
    uint64_t (*run)(uint64_t count);
};

#define MEMORY_THREADS 10000
#define WAKEUPS 20000

#ifdef __cplusplus
extern "C" {
#endif

extern const struct row rows[]; /* ends with name == 0 */

/* Rows that are not a time per operation. */
double memory_bytes(void);
void wakeup_run(struct wakeup *result);

#ifdef __cplusplus
}
#endif

#endif
