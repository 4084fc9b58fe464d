/* SPDX-License-Identifier: MIT */
/*
 * posix_affinity_bare.c (bare) - CPU sets of threads: all CPUs, or one, to which the thread is
 * bound (core/bind.h). CPUs that do not exist count for nothing, as on Linux. A thread binds only
 * itself, or is created bound.
 */
#include <errno.h>

#include "../posix.h"
#include "bind.h"
#include "runtime.h"

_Static_assert(RT_MAX_CPUS <= CPU_SETSIZE, "cpu_set_t");

static uint32_t all_cpus(void)
{
    rt_self(); /* starts the runtime */
    return UINT32_MAX >> (32 - rt.ncpu);
}

int posix_cpus_translate(uint32_t cpus, int *cpu)
{
    uint32_t all = all_cpus();
    *cpu = -1;
    cpus &= all;
    if (cpus == 0) {
        return EINVAL;
    }
    if (cpus == all) {
        return 0;
    }
    if ((cpus & (cpus - 1)) != 0) {
        return ENOTSUP;
    }
    for (*cpu = 0; (cpus >> *cpu & 1) == 0; ++*cpu) {
    }
    return -rt_bind_possible((unsigned)*cpu);
}

int pirn_pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *set)
{
    int cpu, error = size >= sizeof(*set) ? posix_cpus_translate(set->__bits, &cpu) : EINVAL;
    if (error != 0) {
        return error;
    }
    if (thread != rt_self()) {
        return rt_bound(thread) == cpu ? 0 : ENOTSUP;
    }
    return -rt_bind(cpu);
}

int pirn_pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *set)
{
    if (size < sizeof(*set)) {
        return EINVAL;
    }
    int cpu = rt_bound(thread);
    memset(set, 0, size);
    set->__bits = cpu >= 0 ? 1u << cpu : all_cpus();
    return 0;
}

/* Whether there are such CPUs is known when the thread is created; where no policy could bind it,
 * nothing is kept. */
int pirn_pthread_attr_setaffinity_np(pthread_attr_t *attr, size_t size, const cpu_set_t *set)
{
    if (set != NULL && size != 0 && size < sizeof(*set)) {
        return EINVAL;
    }
    if (set != NULL && size != 0 && set->__bits == 0) {
        return EINVAL;
    }
    if (!RT_BINDS && set != NULL && size != 0) {
        int cpu, error = posix_cpus_translate(set->__bits, &cpu);
        return error != 0 ? error : cpu >= 0 ? ENOTSUP : 0;
    }
    ((struct posix_attr *)attr)->cpus = set != NULL && size != 0 ? set->__bits : 0;
    return 0;
}

int pirn_pthread_attr_getaffinity_np(const pthread_attr_t *attr, size_t size, cpu_set_t *set)
{
    uint32_t cpus = ((const struct posix_attr *)attr)->cpus;
    if (size < sizeof(*set)) {
        return EINVAL;
    }
    memset(set, 0, size);
    set->__bits = cpus != 0 ? cpus : UINT32_MAX;
    return 0;
}
