/* SPDX-License-Identifier: MIT */
/*
 * sched.c - what the scheduler cannot do per thread yet: each says so by its error
 * number, none pretends.
 */
#include <errno.h>
#include <sys/syscall.h>

#include "posix.h"

int pirn_pthread_getschedparam(pthread_t thread, int *policy, struct sched_param *param)
{
    (void)thread;
    *policy = SCHED_OTHER;
    *param = (struct sched_param){0};
    return 0;
}

/* EPERM is what programs without the privilege get, and are prepared for. */
int pirn_pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *param)
{
    (void)thread;
    int priority = param->sched_priority;
    int min = sched_get_priority_min(policy);
    if (min < 0 || priority < min || priority > sched_get_priority_max(policy)) {
        return EINVAL;
    }
    return policy == SCHED_OTHER ? 0 : EPERM;
}

int pirn_pthread_setschedprio(pthread_t thread, int priority)
{
    (void)thread;
    return priority == 0 ? 0 : EINVAL;
}

/* A hint how many threads should make progress at once. The number of workers is chosen at start:
 * the level is kept and told, as POSIX wants it, and changes nothing. */
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

/* The CPU time of a thread would need a look at the clock at every switch. */
int pirn_pthread_getcpuclockid(pthread_t thread, clockid_t *clock)
{
    (void)thread;
    (void)clock;
    return ENOENT;
}

/* To itself a thread may send: the signal is delivered before the call returns. */
int pirn_pthread_kill(pthread_t thread, int number)
{
    if (number < 0 || number >= NSIG) {
        return EINVAL;
    }
    if (number == 0) {
        return 0;
    }
    if (posix_thread(thread) != rt_self()) {
        return ENOSYS;
    }
    return syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), number) == 0 ? 0 : errno;
}

int pirn_pthread_sigqueue(pthread_t thread, int number, const union sigval value)
{
    (void)thread;
    (void)number;
    (void)value;
    return ENOSYS;
}
