/* SPDX-License-Identifier: MIT */
/*
 * late_start.c - a process that has more than one thread before Pirn's constructor runs, as where a
 * library's own constructor starts one: light fences stay full ones, and threads wake one another.
 * With "early" it has one thread: a constructor has registered for membarrier, where the system
 * has it.
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "late.h"
#include "port.h"

/* What the C library says of the process. */
extern char __libc_single_threaded __attribute__((weak));

/* Before all constructors. */
static void looks_threaded(int argc, char **argv, char **environment)
{
    (void)environment;
    if (&__libc_single_threaded != NULL && argc > 1 && strcmp(argv[1], "late") == 0) {
        __libc_single_threaded = 0;
    }
}

static __attribute__((section(".preinit_array"), used)) void (*first)(int, char **,
                                                                      char **) = looks_threaded;

/* The kernel refuses a heavy fence to a process that has not registered. */
static bool registered(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

int main(int argc, char **argv)
{
    bool late = argc > 1 && strcmp(argv[1], "late") == 0;
    long can = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    if (can < 0 || (can & MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) {
        printf("late start: skipped: the system has no membarrier\n");
        return 77;
    }
    if (late && &__libc_single_threaded == NULL) {
        printf("late start: skipped: the C library does not tell whether there is one thread\n");
        return 77;
    }
    CHECK(registered() == !late);
    threads_go_on();
    CHECK(port_fence_asymmetric == !late);
    CHECK(registered() == !late);
    errno = 123;
    port_fence_heavy();
    CHECK(errno == 123);
    threads_go_on();
    printf("late start: done\n");
    return 0;
}
