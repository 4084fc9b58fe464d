/* SPDX-License-Identifier: MIT */
/*
 * objects_tests.h - suite objects: the objects of <pirn/flags.h>, <pirn/queue.h> and
 * <pirn/timer.h>. Its list of tests; the helpers are those of suite sync.
 *
 * The oracles: what a thread waited for is there when it returns; each event is had once; and the
 * test ends at all, since a lost wake-up is a deadlock in the simulator.
 */
#ifndef PIRN_TESTS_OBJECTS_TESTS_H
#define PIRN_TESTS_OBJECTS_TESTS_H

#include <pirn/flags.h>
#include <pirn/queue.h>
#include <pirn/timer.h>

#include "sync_tests.h"

#define OBJECTS_TESTS_EVERYWHERE(X)                                                                \
    X(flags_keep_word_when_nobody_waits)                                                           \
    X(flags_refuse_when_arguments_are_bad)                                                         \
    X(flags_time_out_when_bits_do_not_come)                                                        \
    X(flags_end_once_when_set_races_timeout)                                                       \
    X(flags_wait_for_all_when_bits_come_apart)                                                     \
    X(flags_wake_all_when_set_once)                                                                \
    X(flags_go_to_one_when_cleared_by_waiters)                                                     \
    X(flags_pass_turns_when_two_threads_alternate)                                                 \
    X(flags_pass_turns_when_foreign_thread_alternates)                                             \
    X(flags_are_not_touched_when_freed_after_wait)                                                 \
    X(queue_keeps_order_when_nobody_waits)                                                         \
    X(queue_refuses_when_arguments_are_bad)                                                        \
    X(queue_keeps_order_when_many_send)                                                            \
    X(queue_delivers_each_once_when_many_receive)                                                  \
    X(queue_ends_once_when_send_races_timeout)                                                     \
    X(queue_ends_once_when_receive_races_timeout)                                                  \
    X(queue_passes_turns_when_two_threads_alternate)                                               \
    X(queue_passes_turns_when_foreign_thread_alternates)                                           \
    X(queue_is_not_touched_when_freed_after_receive)                                               \
    X(timer_rings_once_when_it_has_no_period)                                                      \
    X(timer_refuses_when_arguments_are_bad)                                                        \
    X(timer_does_not_drift_when_function_is_late)                                                  \
    X(timer_rings_no_more_when_stopped)                                                            \
    X(timer_has_the_last_start_when_started_again)                                                 \
    X(timer_rings_again_when_function_starts_it)                                                   \
    X(timer_stop_waits_when_function_runs)                                                         \
    X(timer_is_not_touched_when_freed_by_function)                                                 \
    X(timers_ring_in_order_when_deadlines_differ)                                                  \
    X(timer_rings_when_foreign_thread_starts_it)                                                   \
    X(timers_have_one_thread_when_first_ones_race)

/* Tests that must see that a thread is blocked, or end its wait. */
#define OBJECTS_TESTS_SIMULATED(X)                                                                 \
    X(flags_give_all_the_same_word_when_one_clears)                                                \
    X(flags_wake_nobody_when_bits_are_missing)                                                     \
    X(flags_clear_nothing_when_waiter_is_removed)                                                  \
    X(queue_serves_senders_in_order_when_full)                                                     \
    X(queue_serves_receivers_in_order_when_empty)                                                  \
    X(queue_keeps_message_when_receiver_is_removed)

#ifdef PIRN_SIM
#define OBJECTS_TESTS(X) OBJECTS_TESTS_EVERYWHERE(X) OBJECTS_TESTS_SIMULATED(X)
#else
#define OBJECTS_TESTS(X) OBJECTS_TESTS_EVERYWHERE(X)
#endif

OBJECTS_TESTS(SYNC_DECLARE)

#endif
