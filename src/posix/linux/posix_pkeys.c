/* SPDX-License-Identifier: MIT */
/*
 * posix_pkeys.c - pkey_alloc, which tells the port that threads have rights of their own from now
 * on (linux_pkeys.c). The other functions of pkeys(7) are the C library's.
 */
#include <sys/syscall.h>

#include "../posix.h"
#include "port_posix.h"

int pirn_posix_pkey_alloc(unsigned flags, unsigned rights)
{
    port_pkeys_begin();
    return (int)syscall(SYS_pkey_alloc, flags, rights);
}
