/* SPDX-License-Identifier: MIT */
/*
 * slack.c - when a worker that sleeps asks to be woken: port/env/linux/linux_slack.c, whose source
 * this program has.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "linux.h"

enum { US = 1000, MS = 1000 * US };
#define S (UINT64_C(1000) * MS)
#define NOW (7 * S)

static int failures;

static void expect(uint64_t left, bool polls, uint64_t early)
{
    uint64_t is = slack_earlier(NOW + left, NOW, polls);
    if (is != NOW + left - early) {
        fprintf(stderr, "FAILED: %" PRIu64 " ns left, %s: %" PRIu64 " ns early, not %" PRIu64 "\n",
                left, polls ? "polls" : "sleeps", NOW + left - is, early);
        failures++;
    }
}

int main(void)
{
    slack_is(50 * US);
    for (int polls = 0; polls <= 1; polls++) {
        expect(MS, polls, 50 * US);
        expect(51 * US, polls, 50 * US);
        expect(50 * US, polls, 0); /* it would return at once */
        expect(1, polls, 0);
        expect(0, polls, 0);
    }
    expect(S, false, 50 * US);
    expect(S, true, MS);
    expect(1000 * S, true, 100 * MS); /* the kernel's limit */
    if (slack_earlier(UINT64_MAX, NOW, true) != UINT64_MAX ||
        slack_earlier(NOW - 1, NOW, false) != NOW - 1) {
        fprintf(stderr, "FAILED: no deadline, or one that is over, is changed\n");
        failures++;
    }
    slack_is(10 * MS); /* what was asked for is left: only the kernel's own is taken off */
    expect(S, false, 50 * US);
    slack_is(0); /* real-time threads have none */
    expect(MS, false, 0);
    expect(S, true, 0);

    if (prctl(PR_SET_TIMERSLACK, 20 * US) == 0) {
        slack_init();
        expect(MS, false, 20 * US);
    } else {
        printf("slack: the thread's own is not set here\n");
    }
    printf("slack: %d failures\n", failures);
    return failures != 0;
}
