/* SPDX-License-Identifier: MIT */
/*
 * posix_identity.c - setuid and its relatives. User and group ids belong to the process (POSIX), so
 * every kernel thread must change its ids. Where user threads have descriptors of their own, the C
 * library's way to reach all threads would never end, so port/libc/glibc/glibc_everywhere.c does
 * it; elsewhere the C library's way is used.
 *
 * A call that fails changes nothing in any thread.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../posix.h"
#include "port_posix.h"

/* The C library's function of that name. */
#define NEXT(name)                                                                                 \
    ((__typeof__(&name))dlsym(RTLD_NEXT, #name)) /* NOLINT: a pointer to a function */

static int everywhere(long number, long a, long b, long c)
{
    int error = port_everywhere(number, a, b, c);
    return error == 0 ? 0 : posix_fail(-error);
}

int pirn_posix_setuid(uid_t id)
{
    return port_tls_own ? everywhere(SYS_setuid, id, 0, 0) : NEXT(setuid)(id);
}

int pirn_posix_setgid(gid_t id)
{
    return port_tls_own ? everywhere(SYS_setgid, id, 0, 0) : NEXT(setgid)(id);
}

int pirn_posix_setreuid(uid_t real, uid_t effective)
{
    return port_tls_own ? everywhere(SYS_setreuid, real, effective, 0)
                        : NEXT(setreuid)(real, effective);
}

int pirn_posix_setregid(gid_t real, gid_t effective)
{
    return port_tls_own ? everywhere(SYS_setregid, real, effective, 0)
                        : NEXT(setregid)(real, effective);
}

int pirn_posix_setresuid(uid_t real, uid_t effective, uid_t saved)
{
    return port_tls_own ? everywhere(SYS_setresuid, real, effective, saved)
                        : NEXT(setresuid)(real, effective, saved);
}

int pirn_posix_setresgid(gid_t real, gid_t effective, gid_t saved)
{
    return port_tls_own ? everywhere(SYS_setresgid, real, effective, saved)
                        : NEXT(setresgid)(real, effective, saved);
}

int pirn_posix_seteuid(uid_t id)
{
    const uid_t keep = (uid_t)-1;
    if (!port_tls_own) {
        return NEXT(seteuid)(id);
    }
    return id == keep ? posix_fail(EINVAL) : everywhere(SYS_setresuid, keep, id, keep);
}

int pirn_posix_setegid(gid_t id)
{
    const gid_t keep = (gid_t)-1;
    if (!port_tls_own) {
        return NEXT(setegid)(id);
    }
    return id == keep ? posix_fail(EINVAL) : everywhere(SYS_setresgid, keep, id, keep);
}

int pirn_posix_setgroups(size_t count, const gid_t *list)
{
    return port_tls_own ? everywhere(SYS_setgroups, (long)count, (long)(uintptr_t)list, 0)
                        : NEXT(setgroups)(count, list);
}

/* Calls setgroups here: the C library's initgroups calls its own. */
int pirn_posix_initgroups(const char *user, gid_t group)
{
    if (!port_tls_own) {
        return NEXT(initgroups)(user, group);
    }
    gid_t *list = NULL;
    int room = 64, count;
    for (;;) {
        gid_t *larger = realloc(list, (size_t)room * sizeof(*list));
        if (larger == NULL) {
            free(list);
            return posix_fail(ENOMEM);
        }
        list = larger;
        count = room;
        if (getgrouplist(user, group, list, &count) >= 0) {
            break;
        }
        room = count > room ? count : 2 * room;
    }
    long most = sysconf(_SC_NGROUPS_MAX);
    count = most > 0 && count > most ? (int)most : count;
    int result = pirn_posix_setgroups((size_t)count, list);
    int error = errno;
    free(list);
    errno = error;
    return result;
}
