/* SPDX-License-Identifier: MIT
 *
 * The rows of the micro benchmarks. The files rows*.c implement them once; the systems' threads
 * come from the header that SYS_HEADER names (sys_pthread.h, sys_pirn.h, ...; contract in sys.h).
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

/* A sleep: processor time, and how late it ended; nanoseconds. */
struct sleeps {
    double cpu, late_p50, late_p99;
};

struct row {
    const char *name;
    uint64_t unit; /* count is a multiple of it: operations that cannot be done singly */
    uint64_t (*run)(uint64_t count);
};

#define MEMORY_THREADS 10000
#define WAKEUPS 20000
#define CROWD 10000
#define CONNECTIONS 9900 /* 19,800 descriptors: a limit of 20,000 is common */
#define DESCRIPTORS (2 * CONNECTIONS + 100)

#ifdef __cplusplus
extern "C" {
#endif

/* Each ends with name == 0, and has the rows that the system can do. */
extern const struct row rows[];           /* rows.c: single operations */
extern const struct row tree_rows[];      /* rows_trees.c */
extern const struct row condition_rows[]; /* rows_condition.c */
extern const struct row wait_rows[];      /* rows_waits.c */

/* Rows that are not a time per operation. */
double memory_bytes(void);
void wakeup_run(struct wakeup *result);
int sleep_run(struct sleeps *result); /* 0: the system cannot sleep */

#ifdef __cplusplus
}
#endif

#endif
