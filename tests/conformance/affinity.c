/* SPDX-License-Identifier: MIT */
/* affinity.c - CPU sets of threads that run at the same time. See also sched.c. */
#include "harness.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 6
#define ROUNDS 200

static int cpus[CPU_SETSIZE], ncpus;

static void find_cpus(void)
{
    cpu_set_t all;
    OK(sched_getaffinity(0, sizeof(all), &all));
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &all)) {
            cpus[ncpus++] = i;
        }
    }
}

static cpu_set_t only(int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return one;
}

/* Each thread stays on its CPU, except every third, which may run anywhere. */
static void *stays(void *arg)
{
    long me = (long)arg;
    int cpu = cpus[me % ncpus];
    cpu_set_t one = only(cpu), got;
    if (me % 3 != 2) {
        OK(pthread_setaffinity_np(pthread_self(), sizeof(one), &one));
    }
    for (int i = 0; i < ROUNDS; i++) {
        if (me % 3 != 2) {
            CHECK_EQ(sched_getcpu(), cpu);
        }
        sched_yield();
    }
    OK(pthread_getaffinity_np(pthread_self(), sizeof(got), &got));
    CHECK_EQ(CPU_COUNT(&got), me % 3 != 2 ? 1 : ncpus);
    return NULL;
}

CASE(set_holds_whoever_ran_before)
{
    pthread_t t[THREADS];
    find_cpus();
    for (long i = 0; i < THREADS; i++) {
        t[i] = start(stays, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
}

/* wanted: the CPU of the threads, valid while seq is even and does not change. */
static flag_t seq, wanted, looked, stop;

static void *is_where_it_was_sent(void *arg)
{
    while (flag_get(&stop) == 0) {
        int before = flag_get(&seq);
        int want = flag_get(&wanted);
        int cpu = sched_getcpu();
        if (flag_get(&seq) == before && before % 2 == 0 && want >= 0) {
            CHECK_EQ(cpu, want);
            flag_add(&looked, 1);
        }
        sched_yield();
    }
    return arg;
}

static void send(const pthread_t *t, int n, int cpu)
{
    cpu_set_t one = only(cpu);
    flag_add(&seq, 1);
    for (int i = 0; i < n; i++) {
        OK(pthread_setaffinity_np(t[i], sizeof(one), &one));
    }
    flag_set(&wanted, cpu);
    flag_add(&seq, 1);
}

static void send_about(int n)
{
    pthread_t t[3];
    find_cpus();
    flag_set(&wanted, -1);
    for (int i = 0; i < n; i++) {
        t[i] = start(is_where_it_was_sent, NULL);
    }
    for (int round = 0; round < ROUNDS; round++) {
        send(t, n, cpus[round % ncpus]);
        int seen = flag_get(&looked);
        while (round % 20 < 2 && flag_get(&looked) < seen + n) {
            sched_yield();
        }
        sched_yield();
    }
    flag_set(&stop, 1);
    for (int i = 0; i < n; i++) {
        join(t[i]);
    }
    CHECK(flag_get(&looked) > 0);
}

/* Mostly for threads that are about to run. */
CASE(set_counts_when_setaffinity_returns)
{
    send_about(3);
}

/* Also for a thread that is running. */
CASE(set_counts_for_a_thread_that_runs)
{
    send_about(1);
}

/* A lock that blocks its waiters in the kernel; each thread opens the file for itself. */
static char locked[] = "/tmp/conformance-affinity-XXXXXX";

static void *waits_in_the_kernel(void *arg)
{
    int fd = open(locked, O_RDWR);
    CHECK(fd >= 0);
    while (flag_get(&stop) == 0) {
        OK(flock(fd, LOCK_EX));
        OK(flock(fd, LOCK_UN));
        sched_yield();
    }
    close(fd);
    return arg;
}

static void *stays_where_it_is(void *arg)
{
    int cpu = *(int *)arg;
    cpu_set_t one = only(cpu);
    OK(pthread_setaffinity_np(pthread_self(), sizeof(one), &one));
    while (flag_get(&stop) == 0) {
        CHECK_EQ(sched_getcpu(), cpu);
        sched_yield();
    }
    return NULL;
}

/* A kernel thread whose thread gets another set while it waits in the kernel, and which then runs
 * other threads. */
CASE(set_during_a_call_changes_no_other_thread)
{
    enum { CALLERS = 3 };
    pthread_t t[CALLERS], pinned[4];
    NOT_SANITIZED("a call that blocks keeps its worker in these builds");
    find_cpus();
    int fd = mkstemp(locked);
    CHECK(fd >= 0);
    for (int i = 0; i < CALLERS; i++) {
        t[i] = start(waits_in_the_kernel, NULL);
    }
    for (int i = 0; i < 4; i++) {
        pinned[i] = start(stays_where_it_is, &cpus[i % ncpus]);
    }
    for (int round = 0; round < ROUNDS / 4; round++) {
        cpu_set_t one = only(cpus[round % ncpus]);
        OK(flock(fd, LOCK_EX));
        usleep(2000);
        for (int i = 0; i < CALLERS; i++) {
            OK(pthread_setaffinity_np(t[i], sizeof(one), &one));
        }
        OK(flock(fd, LOCK_UN));
        usleep(500);
    }
    flag_set(&stop, 1);
    for (int i = 0; i < CALLERS; i++) {
        join(t[i]);
    }
    for (int i = 0; i < 4; i++) {
        join(pinned[i]);
    }
    unlink(locked);
}

static void *tells_its_cpus(void *arg)
{
    OK(pthread_getaffinity_np(pthread_self(), sizeof(cpu_set_t), arg));
    return NULL;
}

/* A set in the attribute takes precedence over the creator's. */
CASE(attribute_goes_before_the_creators)
{
    cpu_set_t all, one, got;
    pthread_attr_t a;
    find_cpus();
    OK(sched_getaffinity(0, sizeof(all), &all));
    OK(pthread_attr_init(&a));
    OK(pthread_attr_setaffinity_np(&a, sizeof(all), &all));
    one = only(cpus[0]);
    OK(pthread_setaffinity_np(pthread_self(), sizeof(one), &one));
    join(start_with(&a, tells_its_cpus, &got));
    CHECK(CPU_EQUAL(&got, &all));
    join(start(tells_its_cpus, &got));
    CHECK(CPU_EQUAL(&got, &one));
    OK(pthread_attr_destroy(&a));
}

/* CPUs that the process may not use do not appear in the set. */
CASE(cpus_that_do_not_exist_are_left_out)
{
    cpu_set_t set, got, all;
    find_cpus();
    OK(sched_getaffinity(0, sizeof(all), &all));
    set = all;
    CPU_SET(CPU_SETSIZE - 1, &set);
    OK(pthread_setaffinity_np(pthread_self(), sizeof(set), &set));
    tells_its_cpus(&got);
    CHECK(CPU_EQUAL(&got, &all));
    set = only(CPU_SETSIZE - 1);
    if (!CPU_ISSET(CPU_SETSIZE - 1, &all)) {
        CHECK_EQ(pthread_setaffinity_np(pthread_self(), sizeof(set), &set), EINVAL);
    }
}

/* What gettid returns is a thread's id for these functions. */
static void *names_itself(void *arg)
{
    cpu_set_t one = only(cpus[(long)arg % ncpus]), got;
    OK(sched_setaffinity(gettid(), sizeof(one), &one));
    sched_yield();
    CPU_ZERO(&got);
    OK(sched_getaffinity(gettid(), sizeof(got), &got));
    CHECK(CPU_EQUAL(&got, &one));
    CHECK_EQ(sched_getcpu(), cpus[(long)arg % ncpus]);
    return NULL;
}

CASE(gettid_names_the_caller)
{
    NOT_SANITIZED("threads share TLS in these builds");
    pthread_t t[THREADS];
    cpu_set_t got;
    find_cpus();
    for (long i = 0; i < THREADS; i++) {
        t[i] = start(names_itself, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    OK(sched_getaffinity(0, sizeof(got), &got));
    CHECK_EQ(CPU_COUNT(&got), ncpus);
}

/* LLVM's OpenMP binds its threads by system calls, and asks by one how large the sets are. */
static void *binds_itself(void *arg)
{
    cpu_set_t one = only(cpus[(long)arg % ncpus]), got;
    long filled = syscall(SYS_sched_getaffinity, 0, sizeof(got), &got);
    CHECK(filled > 0 && filled <= (long)sizeof(got));
    for (int i = 0; i < 20; i++) {
        OK(syscall(SYS_sched_setaffinity, 0, sizeof(one), &one));
        sched_yield();
        CPU_ZERO(&got);
        CHECK_EQ(syscall(SYS_sched_getaffinity, 0, sizeof(got), &got), filled);
        CHECK(CPU_EQUAL(&got, &one));
        CHECK_EQ(sched_getcpu(), cpus[(long)arg % ncpus]);
    }
    return NULL;
}

static void *is_free(void *arg)
{
    cpu_set_t got;
    for (int i = 0; i < 20; i++) {
        CPU_ZERO(&got);
        CHECK(syscall(SYS_sched_getaffinity, 0, sizeof(got), &got) > 0);
        CHECK_EQ(CPU_COUNT(&got), ncpus);
        sched_yield();
    }
    return arg;
}

CASE(system_calls_name_the_caller)
{
    NOT_SANITIZED("syscall is the C library's in these builds");
    pthread_t t[THREADS];
    find_cpus();
    for (long i = 0; i < THREADS; i++) {
        t[i] = start(i % 2 != 0 ? is_free : binds_itself, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    FAILS(syscall(SYS_sched_setaffinity, 0, sizeof(cpu_set_t), NULL), EFAULT);
}
