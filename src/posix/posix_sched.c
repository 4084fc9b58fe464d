/* SPDX-License-Identifier: MIT */
/*
 * posix_sched.c - class, priority, weight, producers and demands of threads; concurrency;
 * sched_yield. A request that the scheduler cannot serve returns an error.
 */
#include <errno.h>

#include "demand.h"
#include "posix.h"
#include "producers.h"
#include "runtime.h"

static int policy_of(enum sched_class class)
{
    return class == SCHED_CLASS_FIFO ? SCHED_FIFO
           : class == SCHED_CLASS_RR ? SCHED_RR
                                     : SCHED_OTHER;
}

/* Priorities: 1 to 99 for SCHED_FIFO and SCHED_RR, 0 for SCHED_OTHER. If the discipline has no
 * classes, a real-time class gives EPERM, the error that programs without the privilege get and are
 * prepared for. */
int posix_sched_translate(int policy, int priority, unsigned weight, struct sched_params *params)
{
    if (policy != SCHED_OTHER && policy != SCHED_FIFO && policy != SCHED_RR) {
        return sched_get_priority_min(policy) < 0 ? EINVAL : ENOTSUP;
    }
    if (priority < sched_get_priority_min(policy) || priority > sched_get_priority_max(policy)) {
        return EINVAL;
    }
    enum sched_class class = policy == SCHED_FIFO ? SCHED_CLASS_FIFO
                             : policy == SCHED_RR ? SCHED_CLASS_RR
                                                  : SCHED_CLASS_OTHER;
    *params = (struct sched_params){class, (unsigned)priority, weight};
    rt_self();
    int error = -rt_sched_valid(params);
    return error == ENOTSUP && class != SCHED_CLASS_OTHER ? EPERM : error;
}

int pirn_pthread_getschedparam(pthread_t thread, int *policy, struct sched_param *param)
{
    const struct thread *t = posix_thread(thread);
    if (t == NULL) {
        return ESRCH;
    }
    struct sched_params params = rt_thread_sched(t);
    *policy = policy_of(params.class);
    *param = (struct sched_param){.sched_priority = (int)params.priority};
    return 0;
}

int pirn_pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *param)
{
    struct thread *t = posix_thread(thread);
    struct sched_params params;
    if (t == NULL) {
        return ESRCH;
    }
    int error =
        posix_sched_translate(policy, param->sched_priority, rt_thread_sched(t).weight, &params);
    if (error == 0) {
        rt_thread_set_sched(t, &params, true);
    }
    return error;
}

int pirn_pthread_setschedprio(pthread_t thread, int priority)
{
    struct thread *t = posix_thread(thread);
    if (t == NULL) {
        return ESRCH;
    }
    struct sched_params params = rt_thread_sched(t);
    int error = posix_sched_translate(policy_of(params.class), priority, params.weight, &params);
    if (error == 0) {
        rt_thread_set_sched(t, &params, false);
    }
    return error;
}

int pirn_pthread_setweight_np(pthread_t thread, unsigned weight)
{
    struct thread *t = posix_thread(thread);
    if (t == NULL) {
        return ESRCH;
    }
    struct sched_params params = rt_thread_sched(t);
    if (weight < 1 || weight > SCHED_WEIGHT_MAX) {
        return EINVAL;
    }
    params.weight = weight;
    rt_self();
    int error = -rt_sched_valid(&params);
    if (error == 0) {
        rt_thread_set_sched(t, &params, false);
    }
    return error;
}

int pirn_pthread_getweight_np(pthread_t thread, unsigned *weight)
{
    const struct thread *t = posix_thread(thread);
    if (t == NULL) {
        return ESRCH;
    }
    *weight = rt_thread_sched(t).weight;
    return 0;
}

int pirn_pthread_add_taskaffinity_np(pthread_t consumer, pthread_t producer)
{
    rt_self();
    return -rt_producer_add(posix_thread(consumer), posix_thread(producer));
}

int pirn_pthread_del_taskaffinity_np(pthread_t consumer, pthread_t producer)
{
    rt_self();
    return -rt_producer_del(posix_thread(consumer), posix_thread(producer));
}

_Static_assert(sizeof(struct pthread_demand_np) == sizeof(struct rt_demand), "pthread_demand_np");
_Static_assert(offsetof(struct pthread_demand_np, group) == offsetof(struct rt_demand, group),
               "pthread_demand_np");

int pirn_pthread_setdemand_np(pthread_t thread, const struct pthread_demand_np *demand)
{
    rt_self();
    return -rt_demand_set(posix_thread(thread), (const struct rt_demand *)demand);
}

int pirn_pthread_getdemand_np(pthread_t thread, struct pthread_demand_np *demand)
{
    rt_self();
    return -rt_demand_get(posix_thread(thread), (struct rt_demand *)demand);
}

/* A hint of how many threads should make progress at once. The number of workers is fixed at start,
 * so the level is kept and returned, as POSIX requires, and has no effect. */
static _Atomic(int) concurrency;

int pirn_pthread_setconcurrency(int level)
{
    if (level < 0) {
        return EINVAL;
    }
    at_store_rlx(&concurrency, level);
    return 0;
}

int pirn_pthread_getconcurrency(void)
{
    return at_load_rlx(&concurrency);
}

int pirn_pthread_num_processors_np(void)
{
    rt_self();
    return (int)rt.ncpu;
}

/* On a foreign kernel thread this is the kernel's sched_yield. Where the architecture can return by
 * a jump, abi_glibc.c exports the name as such a jump. */
int pirn_posix_sched_yield(void)
{
    rt_yield();
    return 0;
}
