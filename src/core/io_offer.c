/* SPDX-License-Identifier: MIT */
/*
 * io_offer.c - before a thread waits for a descriptor, it lets the CPU's other threads run, and
 * tries once more: io.h. On a busy CPU what it waits for has often come by then, and a second
 * attempt costs less than a wait: no request to the port, no report, no CPU that fetches reports.
 *
 * It is the caller that gains or loses, so each CPU learns: an attempt that was in vain again is
 * followed by so many waits without an offer, up to OFFER_SKIPS; each offer halves that number. An
 * attempt costs a small part of a wait, so offers go on even where few find anything. Rejected: an
 * offer before the first attempt, for descriptors where the second one found something. It makes
 * a read of data that are there wait for all others.
 *
 * To the policy the thread is one that has waited and is woken at once, not one that yields:
 * threads that yield pay more than they have used (sched/classq.c). Real-time threads do not offer
 * their CPU to others.
 * Invariant: as for a yield, the thread enters a queue after the switch (POST_OFFER). io_skips and
 * io_lost are the CPU's own (O).
 */
#include "io.h"
#include "switch.h"
#include "wake.h"

#define OFFER_SKIPS 7u

bool rt_io_offer(void)
{
    unsigned long irq;
    rt_self(); /* a caller that has lost its CPU gets one */
    struct cpu *cpu = rt_enter(&irq);
    struct thread *next = NULL;
    RT_ASSERT(cpu != NULL);
    if (cpu->io_skips != 0) {
        cpu->io_skips--;
    } else if (sched_class_of(cpu->current) == SCHED_CLASS_OTHER && (next = rt_pick(cpu)) != NULL) {
        cpu->io_lost /= 2;
        switch_to(cpu, next, POST_OFFER, NULL);
    }
    rt_leave(irq);
    return next != NULL;
}

void rt_io_offer_lost(void)
{
    unsigned long irq;
    rt_self();
    struct cpu *cpu = rt_enter(&irq);
    unsigned lost = cpu->io_lost * 4u + 3;
    cpu->io_lost = cpu->io_skips = (uint8_t)(lost < OFFER_SKIPS ? lost : OFFER_SKIPS);
    rt_leave(irq);
}
