/* SPDX-License-Identifier: MIT */
/*
 * busy_handler.h - a handler that makes calls of its own. Their effects, and the signals that end
 * them, must not affect the interrupted call. For eintr.c and io_eintr.c.
 */
#ifndef CONFORMANCE_BUSY_HANDLER_H
#define CONFORMANCE_BUSY_HANDLER_H

#include "harness.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/select.h>

static int busy_file = -1;

static void busy_begin(void)
{
    busy_file = memfd_create("busy", MFD_CLOEXEC);
    CHECK(busy_file >= 0);
}

/* A file that cannot be tried without waiting, a sleep, and polls that find nothing. */
static void busy_calls(void)
{
    static const char text[] = "a handler's line\n";
    struct timespec soon = {.tv_nsec = 1000};
    struct timeval none = {0, 0};
    char back[4];
    CHECK_EQ(write(busy_file, text, sizeof(text)), sizeof(text));
    CHECK_EQ(pread(busy_file, back, sizeof(back), 0), sizeof(back));
    OK(nanosleep(&soon, NULL));
    OK(poll(NULL, 0, 0));
    OK(select(0, NULL, NULL, NULL, &none));
    OK(fsync(busy_file));
}

#endif
