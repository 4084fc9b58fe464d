/* SPDX-License-Identifier: MIT */
/* The tests of suite core in files of their own; the table is in core.c. */
#ifndef PIRN_TESTS_CORE_TESTS_H
#define PIRN_TESTS_CORE_TESTS_H

void test_tls_belongs_to_its_thread_when_others_run(void *unused);
void test_tls_is_there_when_stack_or_descriptor_is_the_callers(void *unused);

#endif
