/* SPDX-License-Identifier: MIT */
/*
 * posix_sysconf.c - sysconf: the smallest stack is ours, the rest the C library's.
 */
#include <dlfcn.h>

#include "../posix.h"

typedef long (*sysconf_fn)(int);

/* The sanitizers ask for the size of a page before they are ready for code that they watch. */
__attribute__((no_sanitize("address", "thread"))) long pirn_posix_sysconf(int name)
{
    static sysconf_fn next;
    if (name == _SC_THREAD_STACK_MIN) {
        return (long)posix_stack_least(true);
    }
    sysconf_fn libc = __atomic_load_n(&next, __ATOMIC_RELAXED);
    if (unlikely(libc == NULL)) {
        libc = (sysconf_fn)dlsym(RTLD_NEXT, "sysconf"); /* NOLINT: a pointer to a function */
        __atomic_store_n(&next, libc, __ATOMIC_RELAXED);
    }
    return libc(name);
}
