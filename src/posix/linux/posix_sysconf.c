/* SPDX-License-Identifier: MIT */
/*
 * posix_sysconf.c - sysconf. The smallest stack size is ours, all else the C library's.
 */
#include <dlfcn.h>

#include "../posix.h"

typedef long (*sysconf_fn)(int);

/* Not instrumented: the sanitizers ask for the page size before they are ready for instrumented
 * code. */
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
