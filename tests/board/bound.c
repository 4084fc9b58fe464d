/* SPDX-License-Identifier: MIT */
/*
 * bound.c - CPU sets of POSIX threads: a thread that is created for a CPU, or binds itself to one,
 * runs there, whatever interrupts it. Policies that cannot bind say so.
 *
 *     bound can|cannot
 */
#include "check_board.h"
#include "common/options.h"

#include <errno.h>
#include <pirn/pirn.h>
#include <pthread.h>
#include <stdint.h>

#define ROUNDS 50
#define STEPS 20000u
#define MOST 8u

static unsigned cpus;

static cpu_set_t only(unsigned cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return set;
}

static void computes(void)
{
    for (volatile unsigned i = 0; i < STEPS; i++) {
    }
}

static void *stays(void *arg)
{
    unsigned first = (unsigned)(uintptr_t)arg;
    cpu_set_t set, got;
    CHECK(pirn_cpu_self() == (int)first);
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned cpu = (first + i / 10) % cpus;
        set = only(cpu);
        CHECK(pthread_setaffinity_np(pthread_self(), sizeof(set), &set) == 0);
        computes();
        sched_yield();
        CHECK(pirn_cpu_self() == (int)cpu);
        CHECK(pthread_getaffinity_np(pthread_self(), sizeof(got), &got) == 0);
        CHECK(CPU_EQUAL(&got, &set) && CPU_COUNT(&got) == 1);
    }
    return NULL;
}

static void can(void)
{
    pthread_t threads[MOST];
    pthread_attr_t attr;
    cpu_set_t set = only(cpus), got;
    CHECK(pthread_attr_init(&attr) == 0);
    CHECK(pthread_attr_setaffinity_np(&attr, sizeof(set), &set) == 0);
    CHECK(pthread_create(&threads[0], &attr, stays, NULL) == EINVAL);
    for (unsigned i = 0; i < MOST; i++) {
        set = only(i % cpus);
        CHECK(pthread_attr_setaffinity_np(&attr, sizeof(set), &set) == 0);
        CHECK(pthread_attr_getaffinity_np(&attr, sizeof(got), &got) == 0 && CPU_EQUAL(&got, &set));
        CHECK(pthread_create(&threads[i], &attr, stays, (void *)(uintptr_t)(i % cpus)) == 0);
    }
    for (unsigned i = 0; i < MOST; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
}

static void cannot(void)
{
    cpu_set_t set = only(0);
    int expected = cpus == 1 ? 0 : ENOTSUP;
    CHECK(pthread_setaffinity_np(pthread_self(), sizeof(set), &set) == expected);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"can", can}, {"cannot", cannot}};
    cpu_set_t set;
    size_t which = OPTIONS_CASE(argc, argv, "CPU sets of threads.", cases);
    cpus = pirn_cpu_count();
    CHECK(pthread_getaffinity_np(pthread_self(), sizeof(set), &set) == 0);
    CHECK((unsigned)CPU_COUNT(&set) == cpus);
    CHECK(pthread_setaffinity_np(pthread_self(), sizeof(set), &set) == 0);
    CHECK(pthread_setaffinity_np(pthread_self(), sizeof(set) - 1, &set) == EINVAL);
    CPU_ZERO(&set);
    CHECK(pthread_setaffinity_np(pthread_self(), sizeof(set), &set) == EINVAL);
    cases[which].run();
    puts("done");
    return 0;
}
