/* SPDX-License-Identifier: MIT */
/*
 * abi_glibc.c - exports the POSIX names, for programs built with glibc's headers.
 *
 * The names carry no version. The dynamic linker lets an unversioned definition satisfy a reference
 * to any version (pthread_create@GLIBC_2.34 as well as pthread_cond_wait@GLIBC_2.3.2), so the
 * library precedes libc when it is linked or preloaded. Each name is a jump to the layer's
 * function.
 *
 * Beside the POSIX names there are those that glibc's own headers and libstdc++ call.
 */

#include "../posix_mutex.h"

/* Names that older headers do not have (glibc 2.31: execveat, pthread_attr_setsigmask_np). */
#define PTHREAD(ret, name, params, args) ret pthread_##name params;
#define POSIX(ret, name, params, args) ret name params;
#include "posix_more.def"
#undef PTHREAD
#undef POSIX

#define PTHREAD(ret, name, params, args)                                                           \
    EXPORT ret pthread_##name params                                                               \
    {                                                                                              \
        return pirn_pthread_##name args;                                                           \
    }
#define POSIX(ret, name, params, args)                                                             \
    EXPORT ret name params                                                                         \
    {                                                                                              \
        return pirn_posix_##name args;                                                             \
    }
#include "../posix.def"
#include "posix_more.def"

#ifdef PORT_ARCH_RETURN_BY_JUMP
PORT_ARCH_RETURN_BY_JUMP_VIA(sched_yield, rt_yield_way);
#else
EXPORT int sched_yield(void)
{
    return pirn_posix_sched_yield();
}
#endif

EXPORT void pthread_exit(void *ret)
{
    pirn_pthread_exit(ret);
}

EXPORT void thrd_exit(int result)
{
    pirn_posix_thrd_exit(result);
}

EXPORT sem_t *sem_open(const char *name, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    sem_t *sem = posix_sem_vopen(name, flags, args);
    va_end(args);
    return sem;
}

/* pthread_cleanup_push and pthread_cleanup_pop of <pthread.h> in C. The header declares these names
 * weak and without the visibility that is needed. These definitions get both right. */
#define HANDLER(name, function)                                                                    \
    EXPORT void name(__pthread_unwind_buf_t *buf)                                                  \
    {                                                                                              \
        function(buf);                                                                             \
    }
HANDLER(__pthread_register_cancel, posix_cleanup_register)
HANDLER(__pthread_unregister_cancel, posix_cleanup_unregister)
HANDLER(__pthread_register_cancel_defer, posix_cleanup_register_defer)
HANDLER(__pthread_unregister_cancel_restore, posix_cleanup_unregister_restore)
HANDLER(__pthread_unwind_next, posix_cleanup_next)

/* A second name for a function of this file. It is defined in the assembler, because the headers
 * rename some of these names and give others attributes that an alias would have to repeat. */
#define ALSO(name, of) __asm__(".globl " #name "\n\t.set " #name ", " #of);
ALSO(pthread_yield, sched_yield)
ALSO(__sched_yield, sched_yield)
ALSO(__nanosleep, nanosleep)
ALSO(_IO_flockfile, flockfile)
ALSO(_IO_ftrylockfile, ftrylockfile)
ALSO(_IO_funlockfile, funlockfile)
ALSO(__sysconf, sysconf)
ALSO(__pthread_key_create, pthread_key_create)
ALSO(__pthread_getspecific, pthread_getspecific)
ALSO(__pthread_setspecific, pthread_setspecific)
ALSO(__pthread_once, pthread_once)
ALSO(__pthread_mutex_init, pthread_mutex_init)
ALSO(__pthread_mutex_destroy, pthread_mutex_destroy)
ALSO(__pthread_mutex_lock, pthread_mutex_lock)
ALSO(__pthread_mutex_trylock, pthread_mutex_trylock)
ALSO(__pthread_mutex_unlock, pthread_mutex_unlock)
ALSO(__pthread_mutexattr_init, pthread_mutexattr_init)
ALSO(__pthread_mutexattr_destroy, pthread_mutexattr_destroy)
ALSO(__pthread_mutexattr_settype, pthread_mutexattr_settype)
ALSO(pthread_mutexattr_setkind_np, pthread_mutexattr_settype)
ALSO(pthread_mutexattr_getkind_np, pthread_mutexattr_gettype)
ALSO(pthread_mutexattr_setrobust_np, pthread_mutexattr_setrobust)
ALSO(pthread_mutexattr_getrobust_np, pthread_mutexattr_getrobust)
ALSO(pthread_mutex_consistent_np, pthread_mutex_consistent)
ALSO(__pthread_rwlock_init, pthread_rwlock_init)
ALSO(__pthread_rwlock_destroy, pthread_rwlock_destroy)
ALSO(__pthread_rwlock_rdlock, pthread_rwlock_rdlock)
ALSO(__pthread_rwlock_tryrdlock, pthread_rwlock_tryrdlock)
ALSO(__pthread_rwlock_wrlock, pthread_rwlock_wrlock)
ALSO(__pthread_rwlock_trywrlock, pthread_rwlock_trywrlock)
ALSO(__pthread_rwlock_unlock, pthread_rwlock_unlock)
