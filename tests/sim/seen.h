/* SPDX-License-Identifier: MIT */
/*
 * seen.h - a set of hashes: counts distinct schedules.
 */
#ifndef PIRN_TESTS_SEEN_H
#define PIRN_TESTS_SEEN_H

#include <stddef.h>
#include <stdint.h>

void seen_clear(void);
void seen_add(uint64_t hash);
size_t seen_count(void);

#endif
