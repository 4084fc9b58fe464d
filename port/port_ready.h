/* SPDX-License-Identifier: MIT */
/*
 * port_ready.h - ready threads in queues of the hardware, and lines of memory for which threads
 * wait there: policy "hw".
 *
 * PORT_READY (port_env.h): true where the hardware may have such queues, one for each CPU or for
 * several. A CPU gives a thread to its own queue, and takes the next one from any. Threads leave a
 * queue in the order in which they came; the hardware decides which queue is next.
 *
 * All calls: interrupts are disabled, nothing blocks, no cancellation point. A thread that was
 * given is taken once. The giver's earlier writes are visible to the taker, as by a release and an
 * acquire.
 *
 *   port_ready_room()        threads that a queue has room for; 0: this machine has no queues
 *   port_ready_give(t)       false: the queue is full, and nothing was done
 *   port_ready_take(cycles)  waits for a thread, at most about so many cycles of the CPU; no thread
 *                            of the CPU runs meanwhile. NULL: there was none, or other CPUs have
 *                            got it. If only one CPU takes, NULL means that all queues are empty
 *   port_ready_count()       threads in all queues, those included that were given before, and
 *                            those that have been woken
 *
 * A line is full or empty; one that is all 0 and has never been used is empty. Every call is a full
 * fence for the caller's earlier accesses; one that finds the state which a port_line_set has made
 * sees what was written before that.
 *
 *   port_line_take(l, full, kept)  if the line is full (empty), make it empty (full): true. kept:
 *                                  for a thread that port_line_wait has let wait for it
 *   port_line_set(l, full)         make it full (empty). True: this has woken a thread, which
 *                                  port_ready_take returns to some CPU, once. The line is kept for
 *                                  that thread: others find it in the other state, until the thread
 *                                  has taken it, or it is set again
 *   port_line_wait(l, full, t)     t waits until the line is full (empty). False: it is, or the
 *                                  hardware has no room; nothing was done. Otherwise t may run on
 *                                  another CPU at once. Who waited last is woken first
 *   port_line_full(l)              is it full, and not kept? For hints
 *   port_line_forget()             in the child of a fork: all lines are empty, nobody waits
 */
#ifndef PIRN_PORT_READY_H
#define PIRN_PORT_READY_H

#include "port.h"

#if PORT_READY && !defined(PORT_READY_INLINE)
unsigned port_ready_room(void);
bool port_ready_give(struct thread *t);
struct thread *port_ready_take(unsigned cycles);
unsigned port_ready_count(void);

struct port_line {
    uint32_t word;
};
bool port_line_take(struct port_line *l, bool full, bool kept);
bool port_line_set(struct port_line *l, bool full);
bool port_line_wait(struct port_line *l, bool full, struct thread *t);
bool port_line_full(const struct port_line *l);
void port_line_forget(void);
#elif !PORT_READY
struct port_line {
    uint32_t word;
};
#endif

#endif
