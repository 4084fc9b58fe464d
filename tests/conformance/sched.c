/* SPDX-License-Identifier: MIT */
/*
 * sched.c - scheduling of threads: policies and priorities, yield, CPU sets, CPU-time clocks.
 * SCHED_FIFO on one CPU shows the order, because there it is certain which thread runs.
 */
#include "harness.h"

#include <grp.h>
#include <sys/resource.h>

static int policy_of(pthread_t t, int *priority)
{
    struct sched_param param;
    int policy;
    OK(pthread_getschedparam(t, &policy, &param));
    *priority = param.sched_priority;
    return policy;
}

static int set(pthread_t t, int policy, int priority)
{
    struct sched_param param = {.sched_priority = priority};
    return pthread_setschedparam(t, policy, &param);
}

static void need_realtime(void)
{
    int error = set(pthread_self(), SCHED_FIFO, 10);
    if (error == EPERM && geteuid() != 0) {
        case_unsupported("SCHED_FIFO needs a privilege (EPERM)");
    }
    OK(error);
}

static void drop_privileges(void)
{
    struct rlimit none = {0, 0};
    OK(setrlimit(RLIMIT_RTPRIO, &none));
    if (geteuid() == 0) {
        OK(setgroups(0, NULL));
        OK(setgid(65534));
        OK(setuid(65534));
    }
}

static void expect(pthread_t t, int policy, int priority)
{
    int got;
    CHECK_EQ(policy_of(t, &got), policy);
    CHECK_EQ(got, priority);
}

static flag_t go;

static void *waits(void *arg)
{
    flag_wait(&go, 1);
    return arg;
}

CASE(threads_are_other_at_first)
{
    pthread_t t = start(waits, NULL);
    expect(pthread_self(), SCHED_OTHER, 0);
    expect(t, SCHED_OTHER, 0);
    flag_set(&go, 1);
    join(t);
}

CASE(setschedparam_is_seen)
{
    need_realtime();
    pthread_t t = start(waits, NULL);
    OK(set(t, SCHED_RR, 7));
    expect(t, SCHED_RR, 7);
    OK(set(t, SCHED_FIFO, sched_get_priority_max(SCHED_FIFO)));
    expect(t, SCHED_FIFO, sched_get_priority_max(SCHED_FIFO));
    OK(set(t, SCHED_OTHER, 0));
    expect(t, SCHED_OTHER, 0);
    expect(pthread_self(), SCHED_FIFO, 10);
    OK(set(pthread_self(), SCHED_OTHER, 0));
    flag_set(&go, 1);
    join(t);
}

CASE(setschedparam_other_needs_no_privilege)
{
    drop_privileges();
    OK(set(pthread_self(), SCHED_OTHER, 0));
    expect(pthread_self(), SCHED_OTHER, 0);
}

CASE(setschedparam_is_einval_for_other_policies)
{
    CHECK_EQ(set(pthread_self(), 1234, 0), EINVAL);
    CHECK_EQ(set(pthread_self(), -1, 0), EINVAL);
    expect(pthread_self(), SCHED_OTHER, 0);
}

CASE(setschedparam_is_einval_outside_the_range)
{
    CHECK_EQ(set(pthread_self(), SCHED_OTHER, 1), EINVAL);
    CHECK_EQ(set(pthread_self(), SCHED_FIFO, sched_get_priority_max(SCHED_FIFO) + 1), EINVAL);
    CHECK_EQ(set(pthread_self(), SCHED_FIFO, sched_get_priority_min(SCHED_FIFO) - 1), EINVAL);
    CHECK_EQ(set(pthread_self(), SCHED_RR, sched_get_priority_max(SCHED_RR) + 1), EINVAL);
    expect(pthread_self(), SCHED_OTHER, 0);
}

CASE(setschedparam_is_eperm_without_privilege)
{
    drop_privileges();
    int error = set(pthread_self(), SCHED_FIFO, 1);
    if (error == 0) {
        case_unsupported("SCHED_FIFO needs no privilege here");
    }
    CHECK_EQ(error, EPERM);
    CHECK_EQ(set(pthread_self(), SCHED_RR, 1), EPERM);
    expect(pthread_self(), SCHED_OTHER, 0);
}

CASE(setschedprio_is_seen)
{
    need_realtime();
    OK(pthread_setschedprio(pthread_self(), 20));
    expect(pthread_self(), SCHED_FIFO, 20);
    OK(set(pthread_self(), SCHED_OTHER, 0));
    OK(pthread_setschedprio(pthread_self(), 0));
    expect(pthread_self(), SCHED_OTHER, 0);
}

CASE(setschedprio_is_einval_outside_the_range)
{
    CHECK_EQ(pthread_setschedprio(pthread_self(), 1), EINVAL);
    CHECK_EQ(pthread_setschedprio(pthread_self(), -1), EINVAL);
    expect(pthread_self(), SCHED_OTHER, 0);
}

CASE(setschedprio_is_einval_outside_the_range_of_fifo)
{
    need_realtime();
    CHECK_EQ(pthread_setschedprio(pthread_self(), sched_get_priority_max(SCHED_FIFO) + 1), EINVAL);
    CHECK_EQ(pthread_setschedprio(pthread_self(), sched_get_priority_min(SCHED_FIFO) - 1), EINVAL);
    expect(pthread_self(), SCHED_FIFO, 10);
}

CASE(setschedprio_is_eperm_without_privilege)
{
    need_realtime();
    drop_privileges();
    int error = pthread_setschedprio(pthread_self(), 20);
    if (error == 0) {
        case_unsupported("SCHED_FIFO needs no privilege here");
    }
    CHECK_EQ(error, EPERM);
    expect(pthread_self(), SCHED_FIFO, 10);
}

static void init_fifo(pthread_attr_t *a, int inherit, int priority)
{
    struct sched_param param = {.sched_priority = priority};
    OK(pthread_attr_init(a));
    OK(pthread_attr_setinheritsched(a, inherit));
    OK(pthread_attr_setschedpolicy(a, SCHED_FIFO));
    OK(pthread_attr_setschedparam(a, &param));
}

static void *tells_own(void *arg)
{
    (void)arg;
    int priority;
    int policy = policy_of(pthread_self(), &priority);
    return (void *)(long)(policy * 100 + priority);
}

CASE(explicit_attributes_are_given_to_the_thread)
{
    pthread_attr_t a;
    need_realtime();
    init_fifo(&a, PTHREAD_EXPLICIT_SCHED, 5);
    CHECK_EQ((long)join(start_with(&a, tells_own, NULL)), SCHED_FIFO * 100 + 5);
    OK(pthread_attr_destroy(&a));
}

CASE(inherited_attributes_are_the_creators)
{
    pthread_attr_t a;
    init_fifo(&a, PTHREAD_INHERIT_SCHED, 5); /* not used */
    CHECK_EQ((long)join(start_with(&a, tells_own, NULL)), SCHED_OTHER * 100);
    need_realtime();
    CHECK_EQ((long)join(start_with(&a, tells_own, NULL)), SCHED_FIFO * 100 + 10);
    CHECK_EQ((long)in_thread(tells_own, NULL), SCHED_FIFO * 100 + 10);
    OK(pthread_attr_destroy(&a));
}

static char order[64];
static flag_t notes;

static void note(char c)
{
    order[flag_add(&notes, 1) - 1] = c;
}

static void *notes_once(void *arg)
{
    note(*(char *)arg);
    return NULL;
}

static pthread_t start_fifo(int priority, void *(*fn)(void *), void *arg)
{
    pthread_attr_t a;
    init_fifo(&a, PTHREAD_EXPLICIT_SCHED, priority);
    pthread_t t = start_with(&a, fn, arg);
    OK(pthread_attr_destroy(&a));
    return t;
}

CASE(fifo_runs_the_higher_at_once)
{
    need_realtime();
    need_one_cpu();
    note('a');
    pthread_t low = start_fifo(5, notes_once, "d");
    pthread_t high = start_fifo(20, notes_once, "b");
    note('c');
    join(high);
    join(low);
    OK(strcmp(order, "abcd"));
}

CASE(fifo_runs_equals_in_order)
{
    need_realtime();
    need_one_cpu();
    pthread_t t[3];
    static char names[] = "xyz";
    for (int i = 0; i < 3; i++) {
        t[i] = start_fifo(10, notes_once, &names[i]);
    }
    note('w'); /* no thread of the same priority runs before we wait */
    for (int i = 0; i < 3; i++) {
        join(t[i]);
    }
    OK(strcmp(order, "wxyz"));
}

static void *takes_turns(void *arg)
{
    for (int i = 0; i < 5; i++) {
        note(*(char *)arg);
        OK(sched_yield());
    }
    return NULL;
}

CASE(yield_of_fifo_goes_to_the_tail)
{
    need_realtime();
    need_one_cpu();
    pthread_t a = start_fifo(10, takes_turns, "a"), b = start_fifo(10, takes_turns, "b");
    join(a);
    join(b);
    OK(strcmp(order, "ababababab"));
}

static flag_t finished;

static void *counts_until(void *other)
{
    while (flag_get(other) == 0) {
    }
    flag_set(&finished, 1);
    return NULL;
}

static void *sets(void *flag)
{
    flag_set(flag, 1);
    return NULL;
}

/* A thread that computes gives the CPU away at the end of its slice. */
CASE(rr_shares_the_cpu)
{
    static flag_t flag;
    need_realtime();
    need_one_cpu();
    OK(set(pthread_self(), SCHED_RR, 10));
    pthread_t a = start(counts_until, &flag), b = start(sets, &flag);
    join(a);
    join(b);
    CHECK_EQ(flag_get(&finished), 1);
}

CASE(other_shares_the_cpu)
{
    static flag_t flag;
    cpu_set_t one = first_cpu();
    OK(pthread_setaffinity_np(pthread_self(), sizeof(one), &one));
    pthread_t a = start(counts_until, &flag), b = start(sets, &flag);
    join(a);
    join(b);
    CHECK_EQ(flag_get(&finished), 1);
}

/* A ready thread that is raised above the caller runs at once. */
CASE(setschedprio_lets_the_higher_run)
{
    need_realtime();
    need_one_cpu();
    pthread_t t = start_fifo(5, notes_once, "b");
    note('a');
    OK(pthread_setschedprio(t, 20));
    note('c');
    join(t);
    OK(strcmp(order, "abc"));
}

CASE(yield_returns_zero)
{
    for (int i = 0; i < 1000; i++) {
        OK(sched_yield());
    }
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
CASE(pthread_yield_is_sched_yield)
{
    OK(pthread_yield());
}
#pragma GCC diagnostic pop

static void *yields(void *arg)
{
    while (flag_get(&go) == 0) {
        sched_yield();
    }
    return arg;
}

CASE(yield_lets_all_others_run)
{
    pthread_t t[20];
    for (int i = 0; i < 20; i++) {
        t[i] = start(yields, NULL);
    }
    flag_set(&go, 1);
    for (int i = 0; i < 20; i++) {
        join(t[i]);
    }
}

CASE(concurrency_is_kept)
{
    OK(pthread_getconcurrency());
    OK(pthread_setconcurrency(3));
    CHECK_EQ(pthread_getconcurrency(), 3);
    OK(pthread_setconcurrency(0));
    OK(pthread_getconcurrency());
}

CASE(concurrency_is_einval_below_zero)
{
    OK(pthread_setconcurrency(2));
    CHECK_EQ(pthread_setconcurrency(-1), EINVAL);
    CHECK_EQ(pthread_getconcurrency(), 2);
}

CASE(priorities_have_a_range)
{
    static const int policies[] = {SCHED_FIFO, SCHED_RR};
    for (size_t i = 0; i < COUNT(policies); i++) {
        int most = sched_get_priority_max(policies[i]), least = sched_get_priority_min(policies[i]);
        CHECK(most - least + 1 >= 32);
    }
    CHECK(sched_get_priority_max(SCHED_OTHER) >= sched_get_priority_min(SCHED_OTHER));
}

CASE(priorities_are_einval_for_other_policies)
{
    FAILS(sched_get_priority_max(1234), EINVAL);
    FAILS(sched_get_priority_min(1234), EINVAL);
}

CASE(rr_interval_is_returned)
{
    struct timespec t = {-1, -1};
    OK(sched_rr_get_interval(0, &t));
    CHECK(t.tv_sec >= 0 && t.tv_nsec >= 0 && t.tv_nsec < NS_PER_S);
}

CASE(rr_interval_is_esrch_for_no_process)
{
    struct timespec t;
    FAILS(sched_rr_get_interval(INT_MAX, &t), ESRCH);
}

CASE(rr_interval_is_einval_below_zero)
{
    struct timespec t;
    FAILS(sched_rr_get_interval(-1, &t), EINVAL);
}

CASE(affinity_is_the_process_at_first)
{
    cpu_set_t all, mine;
    CPU_ZERO(&mine);
    OK(sched_getaffinity(0, sizeof(all), &all));
    OK(pthread_getaffinity_np(pthread_self(), sizeof(mine), &mine));
    CHECK(CPU_EQUAL(&mine, &all));
}

static void *own_affinity(void *arg)
{
    CPU_ZERO((cpu_set_t *)arg);
    OK(pthread_getaffinity_np(pthread_self(), sizeof(cpu_set_t), arg));
    return NULL;
}

CASE(affinity_is_kept_and_inherited)
{
    cpu_set_t one = first_cpu(), got;
    OK(pthread_setaffinity_np(pthread_self(), sizeof(one), &one));
    own_affinity(&got);
    CHECK(CPU_EQUAL(&got, &one));
    in_thread(own_affinity, &got);
    CHECK(CPU_EQUAL(&got, &one));
}

CASE(affinity_of_another_thread)
{
    cpu_set_t one = first_cpu(), got, mine, before;
    own_affinity(&before);
    pthread_t t = start(waits, NULL);
    OK(pthread_setaffinity_np(t, sizeof(one), &one));
    CPU_ZERO(&got);
    OK(pthread_getaffinity_np(t, sizeof(got), &got));
    CHECK(CPU_EQUAL(&got, &one));
    own_affinity(&mine);
    CHECK(CPU_EQUAL(&mine, &before));
    flag_set(&go, 1);
    join(t);
}

CASE(affinity_is_where_the_thread_runs)
{
    cpu_set_t all;
    OK(sched_getaffinity(0, sizeof(all), &all));
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &all)) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(i, &one);
            OK(pthread_setaffinity_np(pthread_self(), sizeof(one), &one));
            CHECK_EQ(sched_getcpu(), i);
        }
    }
}

CASE(affinity_is_einval_without_a_cpu)
{
    cpu_set_t none, before, after;
    CPU_ZERO(&none);
    own_affinity(&before);
    CHECK_EQ(pthread_setaffinity_np(pthread_self(), sizeof(none), &none), EINVAL);
    own_affinity(&after);
    CHECK(CPU_EQUAL(&before, &after));
}

CASE(affinity_is_einval_when_the_set_is_too_small)
{
    cpu_set_t set;
    CHECK_EQ(pthread_getaffinity_np(pthread_self(), 1, &set), EINVAL);
}

/* On Linux the process 0 is the calling thread. */
CASE(sched_setaffinity_of_zero_is_the_threads)
{
    cpu_set_t one = first_cpu(), got;
    OK(sched_setaffinity(0, sizeof(one), &one));
    own_affinity(&got);
    CHECK(CPU_EQUAL(&got, &one));
}

#ifdef ON_PIRN
#include <pirn/pthread_np.h>

CASE(weight_is_kept)
{
    unsigned weight;
    OK(pthread_getweight_np(pthread_self(), &weight));
    CHECK_EQ(weight, 10);
    OK(pthread_setweight_np(pthread_self(), 100));
    OK(pthread_getweight_np(pthread_self(), &weight));
    CHECK_EQ(weight, 100);
}

CASE(weight_is_einval_outside_the_range)
{
    CHECK_EQ(pthread_setweight_np(pthread_self(), 0), EINVAL);
    CHECK_EQ(pthread_setweight_np(pthread_self(), 101), EINVAL);
}
#endif

/* A variable that was never given a thread. */
CASE(calls_are_esrch_for_a_thread_of_zero)
{
    struct sched_param param = {0};
    volatile pthread_t none = 0;
    int policy;
    CHECK_EQ(pthread_getschedparam(none, &policy, &param), ESRCH);
    CHECK_EQ(pthread_setschedparam(none, SCHED_OTHER, &param), ESRCH);
    CHECK_EQ(pthread_setschedprio(none, 0), ESRCH);
}
