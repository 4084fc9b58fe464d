/* SPDX-License-Identifier: MIT */
/*
 * classq_test.h - what the tests of ready queues with classes share.
 */
#ifndef PIRN_TESTS_CLASSQ_TEST_H
#define PIRN_TESTS_CLASSQ_TEST_H

#include "../../src/sched/classq.h"

uint32_t below(uint32_t n); /* at random */
struct thread *make_thread(void);
void test_unranked(void);
void repeat(void); /* says what repeats a failure */

#endif
