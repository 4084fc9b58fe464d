/* SPDX-License-Identifier: MIT */
/*
 * classes_tests.h - the part that the files of suite classes share: classes.c, classes_sent.c,
 * classes_ticks.c.
 */
#ifndef PIRN_TESTS_CLASSES_TESTS_H
#define PIRN_TESTS_CLASSES_TESTS_H

#include "suite.h"

enum { CLASSES_TOP = 99, CLASSES_CPUS = 64, CLASSES_LOG = 600 };

struct classes_log {
    int gate, started, used;
    int busy[CLASSES_CPUS]; /* by CPU: it has run a blocker, or main, and does so for ever */
    int what[CLASSES_LOG], cpu[CLASSES_LOG];
};
extern struct classes_log classes_log;

bool classes_shmac(void);
bool classes_one_cpu(void); /* no other CPU, and no ticks except test_tick's */
void classes_log_clear(void);
void classes_note(int what);
void *classes_notes(void *what); /* a thread that notes */
void classes_sched_self(enum pirn_class class, unsigned priority, unsigned weight);
pirn_thread_t classes_spawn(enum pirn_class class, unsigned priority, unsigned weight,
                            void *(*fn)(void *), void *arg);
void classes_gate_close(void); /* no thread below the top runs from here on */
void classes_gate_open(void);
void classes_end(pirn_thread_t *t, int n); /* join them; main is as before */

/* classes_sent.c */
void test_woken_thread_runs_when_it_becomes_urgent_meanwhile(void *unused);
void test_woken_thread_runs_when_its_cpu_makes_it_urgent_meanwhile(void *unused);
void test_urgent_thread_does_not_wait_for_main_that_has_just_gone_on(void *unused);

/* affinity_pushes.c */
void test_preceded_consumer_goes_to_another_producers_cpu(void *unused);

/* classes_ticks.c, simulator */
void test_other_threads_share_by_weight(void *unused);
void test_late_thread_starts_at_its_creators_time(void *unused);
void test_sleeper_has_bounded_credit(void *unused);
void test_woken_threads_are_before_those_who_compute(void *unused);
void test_rr_rotates_at_each_slice_and_fifo_does_not(void *unused);
void test_holder_runs_before_others_when_it_inherits(void *unused);

#endif
