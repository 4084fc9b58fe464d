/* SPDX-License-Identifier: MIT */
/* attr_np.c - GNU attributes of threads: CPU sets and signal masks. */
#include "harness.h"

#include <signal.h>

static void init(pthread_attr_t *a)
{
    memset(a, 0xa5, sizeof(*a));
    OK(pthread_attr_init(a));
}

CASE(affinity_is_all_by_default)
{
    pthread_attr_t a;
    cpu_set_t got;
    init(&a);
    OK(pthread_attr_getaffinity_np(&a, sizeof(got), &got));
    CHECK_EQ(CPU_COUNT(&got), CPU_SETSIZE);
    OK(pthread_attr_destroy(&a));
}

CASE(affinity_is_kept)
{
    pthread_attr_t a;
    cpu_set_t cpus, got;
    init(&a);
    CPU_ZERO(&cpus);
    CPU_SET(3, &cpus);
    CPU_SET(100, &cpus);
    OK(pthread_attr_setaffinity_np(&a, sizeof(cpus), &cpus));
    OK(pthread_attr_getaffinity_np(&a, sizeof(got), &got));
    CHECK(CPU_EQUAL(&got, &cpus));
    CPU_CLR(100, &cpus);
    OK(pthread_attr_setaffinity_np(&a, 8, &cpus));
    OK(pthread_attr_getaffinity_np(&a, sizeof(got), &got));
    CHECK(CPU_EQUAL(&got, &cpus));
    OK(pthread_attr_setaffinity_np(&a, 0, &cpus)); /* none: all CPUs again */
    OK(pthread_attr_getaffinity_np(&a, sizeof(got), &got));
    CHECK_EQ(CPU_COUNT(&got), CPU_SETSIZE);
    OK(pthread_attr_destroy(&a));
}

CASE(affinity_is_einval_when_it_does_not_fit)
{
    pthread_attr_t a;
    cpu_set_t cpus, got;
    init(&a);
    CPU_ZERO(&cpus);
    CPU_SET(100, &cpus);
    OK(pthread_attr_setaffinity_np(&a, sizeof(cpus), &cpus));
    CHECK_EQ(pthread_attr_getaffinity_np(&a, 8, &got), EINVAL);
    OK(pthread_attr_destroy(&a));
}

static void *own_affinity(void *arg)
{
    OK(pthread_getaffinity_np(pthread_self(), sizeof(cpu_set_t), arg));
    return NULL;
}

/* The first CPU that this process may use. */
static cpu_set_t one_cpu(void)
{
    cpu_set_t all, one;
    OK(sched_getaffinity(0, sizeof(all), &all));
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &all)) {
            CPU_SET(i, &one);
            break;
        }
    }
    return one;
}

CASE(affinity_is_given_to_the_thread)
{
    pthread_attr_t a;
    cpu_set_t cpus = one_cpu(), got;
    init(&a);
    OK(pthread_attr_setaffinity_np(&a, sizeof(cpus), &cpus));
    join(start_with(&a, own_affinity, &got));
    CHECK(CPU_EQUAL(&got, &cpus));
    OK(pthread_attr_destroy(&a));
}

CASE(affinity_without_a_cpu_is_einval_at_create)
{
    pthread_attr_t a;
    pthread_t t;
    cpu_set_t cpus;
    init(&a);
    CPU_ZERO(&cpus);
    OK(pthread_attr_setaffinity_np(&a, sizeof(cpus), &cpus));
    CHECK_EQ(pthread_create(&t, &a, own_affinity, &cpus), EINVAL);
    OK(pthread_attr_destroy(&a));
}

CASE(affinity_is_returned_by_getattr)
{
    pthread_attr_t a;
    cpu_set_t cpus = one_cpu(), got;
    OK(pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus));
    OK(pthread_getattr_np(pthread_self(), &a));
    OK(pthread_attr_getaffinity_np(&a, sizeof(got), &got));
    CHECK(CPU_EQUAL(&got, &cpus));
    OK(pthread_attr_destroy(&a));
}

CASE(sigmask_is_none_by_default)
{
    pthread_attr_t a;
    sigset_t mask;
    init(&a);
    CHECK_EQ(pthread_attr_getsigmask_np(&a, &mask), PTHREAD_ATTR_NO_SIGMASK_NP);
    OK(pthread_attr_destroy(&a));
}

CASE(sigmask_is_kept)
{
    pthread_attr_t a;
    sigset_t mask, got;
    init(&a);
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    OK(pthread_attr_setsigmask_np(&a, &mask));
    OK(pthread_attr_getsigmask_np(&a, &got));
    CHECK_EQ(sigismember(&got, SIGUSR1), 1);
    CHECK_EQ(sigismember(&got, SIGUSR2), 0);
    OK(pthread_attr_setsigmask_np(&a, NULL));
    CHECK_EQ(pthread_attr_getsigmask_np(&a, &got), PTHREAD_ATTR_NO_SIGMASK_NP);
    OK(pthread_attr_destroy(&a));
}

static void *own_mask(void *arg)
{
    OK(pthread_sigmask(SIG_BLOCK, NULL, arg));
    return NULL;
}

CASE(sigmask_is_given_to_the_thread)
{
    NOT_SANITIZED("threads have no masks of their own there");
    pthread_attr_t a;
    sigset_t mask, got, mine;
    init(&a);
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    OK(pthread_attr_setsigmask_np(&a, &mask));
    sigemptyset(&mine);
    sigaddset(&mine, SIGUSR1);
    OK(pthread_sigmask(SIG_SETMASK, &mine, NULL));
    join(start_with(&a, own_mask, &got));
    CHECK_EQ(sigismember(&got, SIGUSR2), 1);
    CHECK_EQ(sigismember(&got, SIGUSR1), 0);
    OK(pthread_sigmask(SIG_SETMASK, NULL, &got)); /* the creator's is unchanged */
    CHECK_EQ(sigismember(&got, SIGUSR1), 1);
    CHECK_EQ(sigismember(&got, SIGUSR2), 0);
    OK(pthread_attr_destroy(&a));
}

static char given[1 << 18] __attribute__((aligned(4096)));

static void *checks_its_stack(void *arg)
{
    pthread_attr_t a;
    void *low;
    size_t size;
    OK(pthread_getattr_np(pthread_self(), &a));
    OK(pthread_attr_getstack(&a, &low, &size));
    CHECK(low == given && size == sizeof(given));
    OK(pthread_attr_destroy(&a));
    return arg;
}

CASE(getattr_tells_the_stack_that_was_given)
{
    pthread_attr_t a;
    init(&a);
    OK(pthread_attr_setstack(&a, given, sizeof(given)));
    pthread_t t;
    OK(pthread_create(&t, &a, checks_its_stack, NULL));
    join(t);
    OK(pthread_attr_destroy(&a));
}
