/* SPDX-License-Identifier: MIT */
/*
 * report.h - who waits for what, for people: when the program is in a deadlock for good (option
 * "deadlock"), and when a signal asks for it (option "dump").
 *
 * A deadlock is reported if every thread waits, and nothing can wake one of them any more. When the
 * last CPU goes to sleep it says so (rt_report_idle); the port then calls rt_report_turn, on a
 * kernel thread that is no carrier, or on that CPU while it sleeps, after a while in which no CPU
 * has moved. It looks, in this order, for:
 *   1. timers, waits for descriptors: a CPU will be woken, and will say again that it sleeps;
 *   2. what the program has beside user threads (port_outsiders): other kernel threads, which may
 *      call us; handlers of signals or interrupts, which may come at any time;
 *   3. threads that do not wait, or wait for something that comes from outside (a call, a sleep);
 *   4. whether a CPU has moved since 1.
 * Never falsely: user threads run on CPUs only, or on carriers in calls. If nobody was found and no
 * CPU has moved between 1 and 4, then no user thread ran in between, since those in calls would
 * have been found by 3; so what 1 and 3 saw was true at once. From then on only an outsider could
 * wake somebody: there was none at 2, and only user threads and outsiders make new ones. A carrier
 * that is being made counts as one until it has begun. Where the port cannot tell, it says that
 * there are outsiders.
 *
 * Looking may be too early (an outsider that ends later tells nobody): it is repeated then, at
 * intervals that double.
 */
#ifndef PIRN_SYNC_REPORT_H
#define PIRN_SYNC_REPORT_H

#include "cpu.h"

/* What a thread waits for, by enum wait_reason; fixed width, for debuggers (layout.h). */
#define REPORT_TEXT_MAX 20
extern const char rt_wait_text[WAIT_REASONS][REPORT_TEXT_MAX];

/* The core calls these two by its table (core/objects.h). */
void rt_report_start(void);
void rt_report_idle(void);

#endif
