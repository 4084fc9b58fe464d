/* SPDX-License-Identifier: MIT */
/*
 * posix_sleep_kernel.c - sleeping in the kernel: for kernel threads that are no workers, programs
 * that have not started the runtime, and clocks of the kernel. A cancellation point.
 */
#include <errno.h>
#include <sys/syscall.h>

#include "posix_clock.h"
#include "posix_io.h"
#include "posix_platform.h"

int posix_sleep_elsewhere(clockid_t clock, int flags, const struct timespec *time,
                          struct timespec *left)
{
    if (clock == CLOCK_THREAD_CPUTIME_ID) {
        return EINVAL;
    }
    if (clock >= CLOCK_OURS) {
        return posix_clock_sleep(clock);
    }
    posix_point();
    if (IO_CALL(IO_BLOCKS, SYS_clock_nanosleep, clock, flags, time, left) == 0) {
        return 0;
    }
    if (errno == ECANCELED) {
        posix_point();
    }
    return errno;
}
