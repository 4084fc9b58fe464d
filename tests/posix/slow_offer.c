/* SPDX-License-Identifier: MIT */
/*
 * slow_offer.c - a poller's thread offers its processor to other programs (sched_yield), and the
 * kernel takes long to come back (slow.h). Meanwhile the runtime gives the thread's CPU to others;
 * the thread must get one again before it goes on.
 */
#include <pirn/poll.h>

#include "slow.h"

enum { LATE_MS = 60, TIMES = 16 };

static flag_t looks;

/* So late after it was told that the poller's thread offers its processor (PIRN_POLL_EAGER_NS). */
static enum pirn_poll look(void *arg)
{
    struct timespec until = after_ms(CLOCK_MONOTONIC, 0);
    until.tv_nsec += PIRN_POLL_EAGER_NS * 6 / 10;
    (void)arg;
    until.tv_sec += until.tv_nsec / NS_PER_S;
    until.tv_nsec %= NS_PER_S;
    while (!has_passed(CLOCK_MONOTONIC, &until)) {
    }
    flag_add(&looks, 1);
    return PIRN_POLL_PENDING;
}

int main(void)
{
    pirn_poller_t poller;
    slow_begin(SYS_sched_yield, LATE_MS);
    OK(pirn_poller_add(&poller, NULL, look, NULL));
    for (int i = 0; i < TIMES; i++) {
        int before = flag_get(&looks);
        pirn_poller_tell(&poller);
        while (flag_get(&looks) - before < 2) { /* the next one is after the offer and a wait */
            usleep(1000);
        }
    }
    pirn_poller_remove(&poller);
    slow_end();
    printf("slow offer: %d looks\n", flag_get(&looks));
    return 0;
}
