/* SPDX-License-Identifier: MIT */
/*
 * linux_slack.c (Linux) - when a worker that sleeps until a deadline asks the kernel to wake it.
 *
 * Callers: workers without work (port_cpu_idle), and port_init.
 *
 * The kernel may end a sleep late by the thread's timer slack (PR_SET_TIMERSLACK in prctl(2)), 50
 * us unless somebody has changed it, so that it can wake several sleepers at once. It does: on a
 * CPU without other interrupts a sleep ends when the slack is over. A wait for descriptors that
 * has a limit may be later by a thousandth of the limit, by a two-hundredth if the thread is
 * nice, at most by 100 ms. So a worker asks for a time that is earlier by as much. The slack
 * itself is left alone, because new programs inherit it.
 *
 * If an interrupt ends the sleep before its deadline, the worker finds that nothing is due, and
 * sleeps again. The rest is then shorter than the slack. So it asks for the deadline itself, and
 * may be late.
 */
#include "linux.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define USUAL_NS 50000u /* the kernel's. A larger slack was asked for */
#define SHARE 1000u     /* of the limit of a wait for descriptors */
#define SHARE_MOST_NS UINT64_C(100000000)

static uint64_t slack; /* (C) from port_init on */

void slack_init(void)
{
    long now = syscall(SYS_prctl, PR_GET_TIMERSLACK, 0, 0, 0, 0);
    slack_is(now > 0 ? (uint64_t)now : 0); /* a filter may refuse it; real-time threads have none */
}

void slack_is(uint64_t ns)
{
    slack = ns < USUAL_NS ? ns : USUAL_NS;
}

uint64_t slack_earlier(uint64_t deadline, uint64_t now, bool polls)
{
    uint64_t left = deadline > now ? deadline - now : 0, early = slack;
    if (polls && left / SHARE > early) {
        early = left / SHARE < SHARE_MOST_NS ? left / SHARE : SHARE_MOST_NS;
    }
    return deadline == UINT64_MAX || left <= early || slack == 0 ? deadline : deadline - early;
}
