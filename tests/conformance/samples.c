/* SPDX-License-Identifier: MIT */
/* samples.c - one case of each outcome, for test_run.py. */
#include "harness.h"

#include <signal.h>

CASE(passes) {}

CASE(passes_from_a_thread)
{
    case_passed();
}

CASE(fails)
{
    CHECK_EQ(1 + 1, 3);
}

CASE(fails_by_errno)
{
    FAILS(close(-1), EINTR);
}

CASE(dies)
{
    raise(SIGABRT);
}

CASE(ends_early)
{
    exit(0);
}

CASE(hangs)
{
    for (;;) {
        pause();
    }
}

CASE(leaves_a_child_behind)
{
    if (fork() == 0) {
        for (;;) {
            pause();
        }
    }
}

CASE(is_unsupported)
{
    case_unsupported("for example");
}
