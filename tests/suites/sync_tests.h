/* SPDX-License-Identifier: MIT */
/*
 * sync_tests.h - the part that the files sync_*.c of suite sync share: the list of tests, and
 * helpers.
 *
 * Every object is tested for being woken, timing out, being removed (rt_wait_remove; simulator
 * only: the public API has no cancellation yet), and for the races between these. The oracles are
 * conservation (units posted = units taken), exclusion, and that the test ends at all: a lost
 * wake-up is a deadlock in the simulator.
 */
#ifndef PIRN_TESTS_SYNC_TESTS_H
#define PIRN_TESTS_SYNC_TESTS_H

#include <errno.h>
#include <string.h>

#include "suite.h"

#define SYNC_TESTS_EVERYWHERE(X)                                                                   \
    X(mutex_excludes_when_contended)                                                               \
    X(mutex_trylock_is_refused_when_held)                                                          \
    X(mutex_times_out_when_held)                                                                   \
    X(mutex_is_locked_in_time_when_released)                                                       \
    X(mutex_ends_once_when_unlock_races_timeout)                                                   \
    X(mutex_wakes_next_when_first_times_out)                                                       \
    X(mutex_is_not_touched_when_freed_after_unlock)                                                \
    X(mutex_is_handed_over_when_waiter_loses_long)                                                 \
    X(mutex_wakes_another_when_woken_one_cannot_run)                                               \
    X(mutex_excludes_when_foreign_threads_lock)                                                    \
    X(mutex_ends_once_when_foreign_times_out)                                                      \
    X(cond_passes_items_when_buffer_is_bounded)                                                    \
    X(cond_signal_is_seen_when_sent_under_mutex)                                                   \
    X(cond_broadcast_wakes_all_when_many_wait)                                                     \
    X(cond_holds_mutex_when_timed_out)                                                             \
    X(cond_signal_goes_to_next_when_first_times_out)                                               \
    X(cond_ends_once_when_broadcast_races_timeout)                                                 \
    X(cond_passes_turns_when_foreign_threads_wait)                                                 \
    X(sem_keeps_units_when_contended)                                                              \
    X(sem_refuses_when_value_is_out_of_range)                                                      \
    X(sem_times_out_when_nobody_posts)                                                             \
    X(sem_ends_once_when_post_races_timeout)                                                       \
    X(sem_keeps_units_when_many_time_out)                                                          \
    X(sem_is_not_touched_when_freed_after_wait)                                                    \
    X(sem_passes_turns_when_two_threads_alternate)                                                 \
    X(sem_passes_turns_when_foreign_thread_alternates)                                             \
    X(sem_keeps_units_when_foreign_threads_time_out)                                               \
    X(rwlock_excludes_when_contended)                                                              \
    X(rwlock_admits_all_readers_when_shared)                                                       \
    X(rwlock_wakes_all_readers_when_writer_leaves)                                                 \
    X(rwlock_times_out_when_writer_holds)                                                          \
    X(rwlock_times_out_when_reader_holds)                                                          \
    X(rwlock_lets_readers_in_when_writer_gives_up)                                                 \
    X(rwlock_lets_readers_in_when_writer_gives_up_and_reader_leaves)                               \
    X(rwlock_ends_once_when_unlock_races_timeout)                                                  \
    X(rwlock_is_not_touched_when_freed_after_unlock)                                               \
    X(rwlock_excludes_when_foreign_threads_lock)                                                   \
    X(barrier_opens_when_all_have_arrived)                                                         \
    X(barrier_is_reused_when_rounds_follow)                                                        \
    X(barrier_is_not_touched_when_reset_by_serial_thread)                                          \
    X(barrier_opens_when_foreign_thread_arrives)                                                   \
    X(barrier_refuses_when_count_is_zero)                                                          \
    X(once_runs_once_when_contended)                                                               \
    X(once_wakes_all_when_words_share_a_queue)                                                     \
    X(once_runs_once_when_nested)                                                                  \
    X(once_runs_once_when_foreign_threads_call)                                                    \
    X(fe_passes_values_when_contended)                                                             \
    X(fe_serves_all_readers_when_filled)                                                           \
    X(fe_times_out_when_empty_or_full)                                                             \
    X(fe_ends_once_when_write_races_timeout)                                                       \
    X(fe_ends_once_when_take_races_timeout)                                                        \
    X(fe_wakes_when_overwritten_or_purged)                                                         \
    X(fe_passes_values_when_foreign_thread_writes)                                                 \
    X(join_ends_once_when_exit_races_timeout)                                                      \
    X(join_can_be_followed_by_detach_when_timed_out)                                               \
    X(join_is_refused_when_another_joins)                                                          \
    X(join_takes_value_when_foreign_thread_joins)                                                  \
    X(join_releases_stack_when_joiner_creates_at_once)                                             \
    X(sleep_ends_in_order_when_deadlines_differ)                                                   \
    X(sleep_returns_at_once_when_deadline_is_past)                                                 \
    X(sleep_lasts_when_foreign_thread_sleeps)                                                      \
    X(timers_are_disarmed_when_woken_in_any_order)

/* Tests that must see that a thread is blocked, or end its wait. */
#define SYNC_TESTS_SIMULATED(X)                                                                    \
    X(mutex_wakes_next_when_first_is_removed)                                                      \
    X(cond_holds_mutex_when_removed)                                                               \
    X(cond_signal_wakes_one_when_many_wait)                                                        \
    X(sem_serves_in_order_when_many_wait)                                                          \
    X(sem_hands_over_when_waiter_is_queued)                                                        \
    X(sem_ends_once_when_removal_races_post)                                                       \
    X(sem_runs_waiter_next_when_posted_on_one_cpu)                                                 \
    X(rwlock_refuses_readers_when_writer_is_preferred)                                             \
    X(rwlock_lets_readers_in_when_writer_is_removed)                                               \
    X(rwlock_serves_in_order_when_many_wait)                                                       \
    X(fe_ends_once_when_removal_races_write)                                                       \
    X(join_can_be_repeated_when_removed)                                                           \
    X(sleep_ends_early_when_removed)                                                               \
    X(removal_is_refused_when_wait_is_untimed)                                                     \
    X(omutex_excludes_when_contended)                                                              \
    X(omutex_excludes_when_foreign_threads_lock)                                                   \
    X(omutex_times_out_when_held)                                                                  \
    X(omutex_ends_once_when_unlock_races_timeout)                                                  \
    X(omutex_hands_over_when_first_is_removed)                                                     \
    X(omutex_is_not_touched_when_freed_after_unlock)                                               \
    X(robust_is_handed_over_when_owner_ends)                                                       \
    X(robust_tells_next_when_owner_has_ended)                                                      \
    X(robust_is_lost_when_not_repaired)                                                            \
    X(robust_ends_once_when_owner_end_races_timeout)                                               \
    X(robust_tells_each_death_once_when_many_end)                                                  \
    X(robust_all_are_given_up_when_owner_holds_several)                                            \
    X(omutex_stays_locked_when_owner_ends)                                                         \
    X(cond_tells_death_when_owner_ends)                                                            \
    X(cond_passes_when_mutex_has_owner)                                                            \
    X(prio_passes_along_chain_when_owners_wait)                                                    \
    X(prio_is_undone_along_chain_when_last_gives_up)                                               \
    X(prio_follows_when_base_changes_in_chain)                                                     \
    X(prio_moves_to_next_owner_when_handed_over)                                                   \
    X(prio_reorders_queue_when_waiter_is_boosted)                                                  \
    X(prio_is_highest_of_all_when_several_are_held)                                                \
    X(prio_ends_as_it_began_when_all_races)                                                        \
    X(prio_ends_when_owners_wait_in_a_cycle)                                                       \
    X(prio_tells_policy_when_it_changes)                                                           \
    X(prio_is_passed_when_foreign_thread_waits)                                                    \
    X(ceiling_rules_while_held_in_any_order)                                                       \
    X(ceiling_refuses_when_caller_is_above)                                                        \
    X(ceiling_is_given_with_mutex_when_handed_over)                                                \
    X(shared_mutex_excludes_when_contended)                                                        \
    X(shared_wait_leaves_cpu_when_user_thread_waits)                                               \
    X(shared_mutex_times_out_when_held)                                                            \
    X(robust_shared_mutex_excludes_when_owners_end)                                                \
    X(robust_shared_mutex_is_found_when_process_ends)                                              \
    X(robust_shared_mutex_is_lost_when_not_repaired)                                               \
    X(robust_shared_mutex_times_out_when_held)                                                     \
    X(robust_shared_mutex_passes_when_cond_waits)                                                  \
    X(shared_sem_keeps_units_when_contended)                                                       \
    X(shared_sem_wakes_each_when_posted)                                                           \
    X(shared_rwlock_excludes_when_contended)                                                       \
    X(shared_rwlock_lets_readers_in_when_writer_gives_up)                                          \
    X(shared_barrier_opens_when_all_have_arrived)                                                  \
    X(shared_barrier_is_not_touched_when_destroyed)                                                \
    X(shared_cond_passes_turns_when_broadcast)                                                     \
    X(shared_cond_signal_wakes_one_each_when_many_wait)                                            \
    X(shared_cond_signal_lets_one_return_when_others_arrive)                                       \
    X(shared_cond_is_not_touched_when_destroyed_after_broadcast)                                   \
    X(futex_excludes_when_words_share_queues)                                                      \
    X(futex_wakes_as_many_as_asked)                                                                \
    X(futex_passes_turns_when_words_change)                                                        \
    X(futex_ends_once_when_wake_races_timeout)                                                     \
    X(removal_ends_wait_when_foreign_thread_waits)                                                 \
    X(cancel_ends_wait_when_nobody_posts)                                                          \
    X(cancel_takes_no_unit_when_post_races)                                                        \
    X(cancel_takes_no_signal_when_signal_races)                                                    \
    X(cancel_leaves_thread_joinable_when_joiner_is_cancelled)                                      \
    X(cancel_ends_no_wait_that_is_no_point)                                                        \
    X(cancel_ends_wait_for_lock_when_asynchronous)                                                 \
    X(cancel_waits_when_disabled)                                                                  \
    X(cancel_is_harmless_when_thread_ends)                                                         \
    X(cancel_touches_nothing_when_detached_thread_has_ended)                                       \
    X(cancel_is_noticed_when_thread_is_in_a_call)

#ifdef PIRN_SIM
#define SYNC_TESTS(X) SYNC_TESTS_EVERYWHERE(X) SYNC_TESTS_SIMULATED(X)
#else
#define SYNC_TESTS(X) SYNC_TESTS_EVERYWHERE(X)
#endif

#define SYNC_DECLARE(name) void test_##name(void *);
SYNC_TESTS(SYNC_DECLARE)

/* A step of the simulator is 5 ns; a real machine gets a thousand times as long. */
static inline uint64_t test_ns(uint64_t ns)
{
    return test_simulated() ? ns : ns * 1000;
}

static inline uint64_t test_after(uint64_t ns)
{
    return pirn_now() + test_ns(ns);
}

/* Longer than any test: reaching it is a failure. */
static inline uint64_t test_far(void)
{
    return pirn_now() + 20000000000u;
}

/* Foreign threads cannot be joined: they count down as their last access to the test's memory. */
static inline void test_await_zero(int *left)
{
    while (TEST_GET(left) != 0) {
        pirn_sleep(test_ns(100));
    }
}

/* Exclusion oracle: at most one inside. */
struct room {
    int inside;
    int visits; /* by the thread inside */
};

static inline void room_visit(struct room *room)
{
    CHECK(TEST_ADD(&room->inside, 1) == 1);
    room->visits++;
    if (test_random(2) != 0) {
        test_pause();
    }
    CHECK(TEST_ADD(&room->inside, -1) == 0);
}

#ifdef PIRN_SIM
#include "cpu.h"

/* t is queued, or about to be with the queue's lock held: an operation on the object finds it. */
static inline void test_await_blocked(pirn_thread_t t)
{
    while (at_load_acq(&t->state) != THREAD_BLOCKED) {
        pirn_sleep(50);
    }
}

/* End t's timed wait from outside: true if this call did it. */
static inline bool test_remove(pirn_thread_t t)
{
    unsigned long irq;
    rt_enter(&irq);
    bool removed = rt_wait_remove(t);
    rt_leave(irq);
    return removed;
}

/* A thread that is blocked can be removed only once its context is saved. */
static inline void test_remove_surely(pirn_thread_t t)
{
    while (!test_remove(t)) {
        pirn_sleep(10);
    }
}
#endif

#endif
