/* SPDX-License-Identifier: MIT */
/*
 * port_ready.h - ready threads in queues of the hardware: policy "hw".
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
 *   port_ready_count()       threads in all queues, those included that were given before
 */
#ifndef PIRN_PORT_READY_H
#define PIRN_PORT_READY_H

#include "port.h"

#if PORT_READY && !defined(PORT_READY_INLINE)
unsigned port_ready_room(void);
bool port_ready_give(struct thread *t);
struct thread *port_ready_take(unsigned cycles);
unsigned port_ready_count(void);
#endif

#endif
