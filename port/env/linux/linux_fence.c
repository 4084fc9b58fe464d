/* SPDX-License-Identifier: MIT */
/*
 * linux_fence.c (Linux) - the heavy fence: membarrier makes all processors that run the process
 * pass a full fence. Where the system lacks or refuses it at the start, light fences are full ones.
 *
 * A process registers for it once. While the process has one thread the kernel does so at once;
 * later it first waits until all processors have passed a quiet state, 8 to 24 ms, which would be
 * most of the life of a short program. So a constructor registers. Where it came too late (a
 * library's constructor had started a kernel thread, or the program loads Pirn later) light fences
 * stay full.
 *
 * A filter of system calls that the program installs later (seccomp) may refuse it then, to one
 * kernel thread or to all. Light fences that others have made count on it. So:
 *   1. The first heavy fence that is refused clears port_fence_asymmetric. A processor sees that at
 *      the latest when it has passed a full fence; from then on its light fences are full ones.
 *   2. While `fences` is CHANGING, some may not have passed one. Each heavy fence then visits all
 *      processors (affinity_visit_all). After a visit it is FULL, for good.
 *   3. `fences` is CHANGING before port_fence_asymmetric is cleared: a heavy fence that finds the
 *      latter cleared finds CHANGING, or that a visit is over. ORDER(fences)
 */
#include "linux.h"
#include "port_calls.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

bool port_fence_asymmetric;

extern const char __libc_single_threaded __attribute__((weak)); /* glibc 2.32 */

static bool registered; /* (C) by the constructor */

enum { FENCES_LIGHT = 0, FENCES_CHANGING, FENCES_FULL };
static uint32_t fences; /* (A) */

static bool has_one_thread(void)
{
    return &__libc_single_threaded != NULL ? __libc_single_threaded != 0
                                           : syscall(SYS_gettid) == getpid();
}

static bool fence_register(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

static __attribute__((constructor)) void register_early(void)
{
    int saved = errno;
    registered = has_one_thread() && fence_register();
    errno = saved;
}

void fence_init(void)
{
    fences = FENCES_LIGHT;
    port_fence_asymmetric = (registered || has_one_thread()) && fence_register();
    if (!port_fence_asymmetric) {
        rt_fences_full();
    }
}

bool fence_by_kernel(void)
{
    int saved = errno;
    bool asymmetric = __atomic_load_n(&port_fence_asymmetric, __ATOMIC_RELAXED);
    if (asymmetric && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) {
        errno = saved;
        return true;
    }
    errno = saved;
    if (asymmetric) {
        uint32_t light = FENCES_LIGHT;
        __atomic_compare_exchange_n(&fences, &light, FENCES_CHANGING, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST); /* ORDER(fences) */
        rt_fences_full();
        __atomic_store_n(&port_fence_asymmetric, false, __ATOMIC_SEQ_CST);
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return __atomic_load_n(&fences, __ATOMIC_SEQ_CST) != FENCES_CHANGING; /* ORDER(fences) */
}

void fence_visited(void)
{
    RT_ASSERT(!__atomic_load_n(&port_fence_asymmetric, __ATOMIC_RELAXED));
    __atomic_store_n(&fences, FENCES_FULL, __ATOMIC_SEQ_CST); /* ORDER(fences) */
}

void port_fence_heavy(void)
{
    if (!fence_by_kernel()) {
        affinity_visit_all();
    }
}
