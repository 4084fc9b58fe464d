/* SPDX-License-Identifier: MIT */
/*
 * febit_lines.h - Full/Empty words by lines of memory that the hardware knows as full or empty: for
 * febit.c, where line_is_used().
 */
#ifndef PIRN_SYNC_FEBIT_LINES_H
#define PIRN_SYNC_FEBIT_LINES_H

#include "line.h"
#include "sync.h"

/* Kinds of access, and of waiters. */
enum fe_kind { FE_READ, FE_TAKE, FE_WRITE };

/* Nobody uses the word. */
void fe_lines_init(struct rt_fe *w);

/* As rt_fe_write_until and so on. Outside the runtime. */
int fe_lines_access(struct rt_fe *w, uint64_t *value, enum fe_kind kind, uint64_t deadline);
void fe_lines_force(struct rt_fe *w, bool full, uint64_t value);
bool fe_lines_full(const struct rt_fe *w);

#endif
