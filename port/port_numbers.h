/* SPDX-License-Identifier: MIT */
/*
 * port_numbers.h - numbers of system calls that are newer than the C library whose headers the
 * build uses (glibc 2.31 knows those of Linux 5.4). The kernel that runs may have them, or says
 * ENOSYS.
 */
#ifndef PIRN_PORT_NUMBERS_H
#define PIRN_PORT_NUMBERS_H

#include <sys/syscall.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

#endif
