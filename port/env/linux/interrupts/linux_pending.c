/* SPDX-License-Identifier: MIT */
/*
 * linux_pending.c (Linux) - signals that the main thread has blocked and raised before threads had
 * signals of their own (linux_signals.c): they are pending for the kernel thread, and must become
 * pending for the user thread. Called once, by port_signals_start, before the carrier's mask lets
 * them in.
 */
#include "linux.h"
#include "port_posix.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* No system call tells them apart from signals that are pending for the process. Without /proc:
 * none. */
static uint64_t pending_here(void)
{
    static const char name[] = "\nSigPnd:\t";
    char text[4096];
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
    long size = fd >= 0 ? syscall(SYS_read, fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0) {
        syscall(SYS_close, fd);
    }
    text[size > 0 ? size : 0] = '\0';
    const char *at = strstr(text, name);
    return at != NULL ? strtoull(at + sizeof(name) - 1, NULL, 16) : 0;
}

/* The kernel gives those of the thread before those of the process. */
void pending_fetch(const struct port_signal_upcalls *up)
{
    static const struct timespec none = {0, 0};
    uint64_t set = port_signals_of_kernel() != 0 ? pending_here() : 0;
    siginfo_t info;
    RT_ASSERT(port_irq_is_on()); /* the layer above takes its locks */
    while (set != 0 && syscall(SYS_rt_sigtimedwait, &set, &info, &none, sizeof(set)) > 0) {
        up->arrived(&info, true);
        set = pending_here();
    }
}
