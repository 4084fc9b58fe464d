/* SPDX-License-Identifier: MIT */
/*
 * poll.h - pollers: functions that look for what other programs or devices have completed, where
 * nothing tells the runtime about it. For libraries whose threads wait for such completions, as
 * libpirn-mpi does for messages.
 *
 *     #include <pirn/poll.h>
 *
 *     static pirn_poller_t poller;
 *
 *     pirn_poller_add(&poller, NULL, look, &outstanding);      once
 *
 *     add my request to `outstanding`;                         a thread that waits
 *     pirn_poller_wait(&poller, &mine, NULL);                  look() posts it
 *
 * Each poller has a thread of the runtime's, which calls its function. The threads that wait do not
 * run meanwhile, and no CPU is kept busy for them for long. When the function is called:
 *   - It is called soon after pirn_poller_tell or _wait: when the threads that are ready then
 *     have had a turn. So one call looks for the requests of all of them.
 *   - It is called again in the same way, as long as it finds something.
 *   - After a look in vain it is called by a CPU that has nothing to run, at once, for
 *     PIRN_POLL_EAGER_NS after the last time that something was told or found. In the second half
 *     of this time the CPU is offered to other programs between two looks. If others have taken
 *     such offers and given the CPU back soon, it is offered from the beginning, as long as one
 *     thread at a time waits (pirn_poller_done).
 *   - Then it is called after PIRN_POLL_LEAST_NS, and each time after twice as long, at most
 *     PIRN_POLL_MOST_NS. In between the CPU sleeps.
 *   - If all CPUs are busy after a look in vain, its thread is made ready PIRN_POLL_MOST_NS later,
 *     by the monitor.
 *   - It is not called when nothing is outstanding.
 *
 * A process without a poller pays nothing for this but a comparison in CPUs that have nothing to
 * run. Linux and the simulator; boards have no pollers. The conventions are those of pirn.h.
 */
#ifndef PIRN_POLL_H
#define PIRN_POLL_H

#include <pirn/pirn.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pirn_label; /* label.h */

#define PIRN_POLL_EAGER_NS 200000u
#define PIRN_POLL_LEAST_NS 20000u
#define PIRN_POLL_MOST_NS 1000000u

/* What a look has found. */
enum pirn_poll {
    PIRN_POLL_NONE,    /* nothing is outstanding: no look until pirn_poller_tell */
    PIRN_POLL_PENDING, /* something is outstanding, and nothing new is complete */
    PIRN_POLL_FOUND,   /* something was complete, and its threads were woken; or something has made
                        * progress, and would make more if it were looked for at once */
    PIRN_POLL_DONE,    /* from pirn_poller_done alone */
};

typedef struct pirn_poller {
    uint64_t opaque[10];
} pirn_poller_t;

/*
 * Add a poller, which must stay where it is until it is removed: its thread is created, with the
 * stack, priority and name of `attr` (as pirn_create; NULL: the default stack, class and priority
 * of the caller, the name "poller"; `detached` has no effect). It blocks the signals that its
 * creator blocks, and does not keep the program running.
 *
 * look(arg) is called in this thread, by one thread at a time. It may use every function of the
 * API, and may wait; but while it waits nothing is looked for. It must not remove the poller.
 *
 * 0, -EINVAL: `look` is NULL; else as pirn_create. Context: threads. No cancellation point. The
 * child of a fork has no pollers.
 */
int pirn_poller_add(pirn_poller_t *poller, const pirn_attr_t *attr,
                    enum pirn_poll (*look)(void *arg), void *arg);

/*
 * Something is outstanding, or may be complete: what the caller has written before is seen by a
 * look that begins after this call. Context: threads. No cancellation point.
 */
void pirn_poller_tell(pirn_poller_t *poller);

/*
 * pirn_poller_tell, and wait for `found` (pirn_sem_wait; with the label as pirn_sem_wait_as if it
 * is not NULL). Only the poller's function may post `found`: the caller's CPU goes to the
 * poller's thread at once, so no other CPU is woken for it. Context: threads. No cancellation
 * point.
 */
void pirn_poller_wait(pirn_poller_t *poller, pirn_sem_t *found, const struct pirn_label *label);

/*
 * For the end of a look that has completed the last thing that was outstanding, if one thread
 * waits for that: `return pirn_poller_done(&poller, &found);`. The semaphore is posted after the
 * look, and the poller's thread leaves its CPU to the thread that waits, at once, so that no
 * other CPU is woken for it. Context: the poller's function.
 */
enum pirn_poll pirn_poller_done(pirn_poller_t *poller, pirn_sem_t *found);

/*
 * Remove the poller: waits until its thread has ended. Afterwards the function is not called any
 * more, and the poller's memory may be used for something else. No other thread may use the poller
 * any more. Context: threads. No cancellation point.
 */
void pirn_poller_remove(pirn_poller_t *poller);

/*
 * For a thread that looks again and again by itself, as within a library that waits in this way:
 * between two looks, let another ready thread run. If none is ready, or if `always` is true, the
 * processor is offered to other programs (sched_yield), which may have to complete what the thread
 * looks for. Context: threads; a foreign kernel thread offers its processor. No cancellation point.
 */
void pirn_poll_pause(bool always);

#ifdef __cplusplus
}
#endif

#endif
