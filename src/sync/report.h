/* SPDX-License-Identifier: MIT */
/*
 * report.h - reports of threads and their waits: when the program is in a deadlock (option
 * "deadlock"), and when a signal asks for a report (option "dump").
 *
 * A deadlock is reported if every thread waits, and nothing can wake one of them any more. When the
 * last CPU goes to sleep it calls rt_report_idle. After a while in which no CPU has moved, the port
 * calls rt_report_turn, on a kernel thread that is no carrier, or on that CPU while it sleeps. It
 * looks, in this order, for:
 *   1. timers, waits for descriptors: a CPU will be woken, and will say again that it sleeps;
 *   2. outsiders, which are no user threads (port_outsiders): other kernel threads, which may call
 *      the API; handlers of signals or interrupts, which may come at any time;
 *   3. threads that do not wait, or wait for something that comes from outside (a call, a sleep);
 *   4. whether a CPU has moved since 1.
 * No report is false: user threads run on CPUs only, or on carriers in calls. If nothing was found
 * and no CPU has moved between 1 and 4, then no user thread ran in between, because 3 would have
 * found those in calls. So the results of 1 and 3 were true at the same time. From then on only an
 * outsider could wake a thread; there was none at 2, and only user threads and outsiders make new
 * ones. A carrier that is being made counts as an outsider until it has begun. A port that cannot
 * tell says that there are outsiders.
 *
 * With outsiders there is no telling. But where nothing has run for long (option quiet), that is
 * reported, and the program goes on: an interrupt that was not enabled looks like this.
 *
 * A look may be too early, and an outsider that ends later tells nobody. So the look is repeated,
 * at intervals that double.
 */
#ifndef PIRN_SYNC_REPORT_H
#define PIRN_SYNC_REPORT_H

#include "cpu.h"

/* The name of each enum wait_reason; of fixed width, for debuggers: layout.c has a copy. */
#define REPORT_TEXT_MAX 20
#define REPORT_TEXTS                                                                               \
    {                                                                                              \
        [WAIT_NONE] = "nothing", [WAIT_MUTEX] = "mutex", [WAIT_COND] = "condition",                \
        [WAIT_SEM] = "semaphore", [WAIT_RDLOCK] = "rwlock to read",                                \
        [WAIT_WRLOCK] = "rwlock to write", [WAIT_BARRIER] = "barrier", [WAIT_ONCE] = "once",       \
        [WAIT_JOIN] = "end of thread", [WAIT_SLEEP] = "sleep", [WAIT_FE_FULL] = "full word",       \
        [WAIT_FE_EMPTY] = "empty word", [WAIT_CALL] = "call", [WAIT_IO] = "descriptor",            \
        [WAIT_SIGNAL] = "signal", [WAIT_FUTEX] = "futex", [WAIT_FLAGS] = "event flags",            \
        [WAIT_MESSAGE] = "message", [WAIT_ROOM] = "room in queue", [WAIT_TIMER] = "timer",         \
        [WAIT_POLL] = "poll", [WAIT_LABEL] = "label",                                              \
    }
extern const char rt_wait_text[WAIT_REASONS][REPORT_TEXT_MAX];

/* The core calls these two by its table (core/objects.h). */
void rt_report_start(void);
void rt_report_idle(void);

#endif
