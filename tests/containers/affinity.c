/* SPDX-License-Identifier: MIT */
/*
 * affinity.c - the processors of a running process change from outside.
 *
 *   affinity hard|soft SHRINK GROW [ROUNDS]
 *
 * SHRINK and GROW are commands of the shell that leave the process, $PID, only processor $ONE, and
 * give back both, $ONE and $OTHER. hard: the process may then not choose $OTHER itself. Threads run
 * meanwhile, two of them with a set of their own. Prints "affinity: done"; status 77: there is only
 * one processor.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            printf("FAILED %s:%d: %s, after: %s\n", __FILE__, __LINE__, #cond, step);              \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { THREADS = 6, ON_ONE = 0, ON_OTHER = 1 };

static const char *step = "the start";
static unsigned long rounds = 150; /* of each thread before it is looked at, and meanwhile */
static int one, other;
static int stop;
static struct seat {
    pthread_t thread;
    unsigned long rounds;
    unsigned long seen; /* bit 0: it has run on `one`; 1: on `other`; 2: on another one */
} seats[THREADS];

static cpu_set_t set_of(int first, int second)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(first, &set);
    CPU_SET(second, &set);
    return set;
}

/* The thread computes, so that others wait for its worker. It sleeps now and then: a worker takes a
 * set on when it switches. */
static void *runs(void *arg)
{
    struct seat *seat = arg;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        unsigned cpu = 0;
        for (volatile int i = 0; i < 20000; i++) {
        }
        syscall(SYS_getcpu, &cpu, NULL, NULL);
        unsigned long bit = (int)cpu == one ? 1 : (int)cpu == other ? 2 : 4;
        __atomic_or_fetch(&seat->seen, bit, __ATOMIC_RELAXED);
        if (__atomic_add_fetch(&seat->rounds, 1, __ATOMIC_RELAXED) % 50 == 0) {
            usleep(1000);
        }
        sched_yield();
    }
    return NULL;
}

/* Every thread goes on for that many rounds. */
static void all_go_on(unsigned long number)
{
    unsigned long from[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        from[i] = __atomic_load_n(&seats[i].rounds, __ATOMIC_RELAXED);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        while (__atomic_load_n(&seats[i].rounds, __ATOMIC_RELAXED) - from[i] < number) {
            sched_yield();
        }
    }
}

/* Threads have settled; from now on they are seen on these processors only. */
static void check_seen(unsigned thread, unsigned long bits)
{
    unsigned long seen = __atomic_load_n(&seats[thread].seen, __ATOMIC_RELAXED);
    if ((seen & ~bits) != 0 || seen == 0) {
        printf("FAILED: thread %u has run on the processors of bits %lx, not %lx, after: %s\n",
               thread, seen, bits, step);
        exit(1);
    }
}

static void settle(void)
{
    all_go_on(rounds);
    for (unsigned i = 0; i < THREADS; i++) {
        __atomic_store_n(&seats[i].seen, 0, __ATOMIC_RELAXED);
    }
    all_go_on(rounds);
}

static void check_set(unsigned thread, cpu_set_t want)
{
    cpu_set_t got;
    CHECK(pthread_getaffinity_np(seats[thread].thread, sizeof(got), &got) == 0);
    if (!CPU_EQUAL(&got, &want)) {
        printf(
            "FAILED: pthread_getaffinity_np: thread %u has %d processors, should have %d, after: %s\n",
            thread, CPU_COUNT(&got), CPU_COUNT(&want), step);
        exit(1);
    }
}

static void change(const char *command)
{
    step = command;
    int status = system(command);
    if (status != 0) {
        printf("FAILED: status %d of %s\n", status, command);
        exit(1);
    }
}

static void find_processors(void)
{
    cpu_set_t all;
    CHECK(sched_getaffinity(0, sizeof(all), &all) == 0);
    if (CPU_COUNT(&all) < 2) {
        printf("affinity: skipped: the process may use one processor only\n");
        exit(77);
    }
    for (one = 0; !CPU_ISSET(one, &all); one++) {
    }
    for (other = one + 1; !CPU_ISSET(other, &all); other++) {
    }
    cpu_set_t both = set_of(one, other);
    CHECK(sched_setaffinity(0, sizeof(both), &both) == 0);
}

static void setenv_number(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", value);
    CHECK(setenv(name, text, 1) == 0);
}

static void threads_start(void)
{
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&seats[i].thread, NULL, runs, &seats[i]) == 0);
    }
    cpu_set_t mine = set_of(one, one);
    CHECK(pthread_setaffinity_np(seats[ON_ONE].thread, sizeof(mine), &mine) == 0);
    mine = set_of(other, other);
    CHECK(pthread_setaffinity_np(seats[ON_OTHER].thread, sizeof(mine), &mine) == 0);
}

static void check_shrunk(void)
{
    settle();
    for (unsigned i = 0; i < THREADS; i++) {
        check_seen(i, 1);
        check_set(i, set_of(one, one));
    }
}

/* A thread may leave what taskset has chosen, but no cpuset and no running processors. */
static void check_choice(bool hard)
{
    cpu_set_t mine = set_of(other, other);
    step = "the thread's own choice";
    int error = pthread_setaffinity_np(seats[ON_OTHER].thread, sizeof(mine), &mine);
    CHECK(error == (hard ? EINVAL : 0));
    settle();
    check_seen(ON_OTHER, hard ? 1 : 2);
    check_seen(ON_ONE, 1);
    check_seen(ON_OTHER + 1, 1);
    check_set(ON_OTHER, hard ? set_of(one, one) : mine);
}

static void check_grown(void)
{
    settle();
    check_seen(ON_ONE, 1);
    check_seen(ON_OTHER, 2);
    for (unsigned i = ON_OTHER + 1; i < THREADS; i++) {
        check_seen(i, 3);
        check_set(i, set_of(one, other));
    }
    check_set(ON_ONE, set_of(one, one));
    check_set(ON_OTHER, set_of(other, other));
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    CHECK(argc == 4 || argc == 5);
    rounds = argc == 5 ? strtoul(argv[4], NULL, 10) : rounds;
    bool hard = strcmp(argv[1], "hard") == 0;
    find_processors();
    setenv_number("PID", getpid());
    setenv_number("ONE", one);
    setenv_number("OTHER", other);
    unsetenv("LD_PRELOAD");
    threads_start();
    check_grown();
    for (int i = 0; i < 2; i++) {
        change(argv[2]);
        check_shrunk();
        check_choice(hard);
        change(argv[3]);
        check_grown();
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK(pthread_join(seats[i].thread, NULL) == 0);
    }
    printf("affinity: done\n");
    return 0;
}
