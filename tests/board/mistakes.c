/* SPDX-License-Identifier: MIT */
/*
 * mistakes.c - mistakes of programs on boards, one for each CASE. Most end the program with a
 * message; others get the error that POSIX names. The list, with those that other programs of this
 * folder make: docs/results/board-mistakes.md.
 *
 *     mistakes CASE
 *
 * Code here must not be what a compiler sees through: volatile pointers hide what they point to.
 */
#include "alarm.h"
#include "check_board.h"
#include "common/options.h"

#include <assert.h>
#include <errno.h>
#include <pirn/irq.h>
#include <pirn/static.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SOON_NS 1000000u

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem;
static volatile bool rang;
static volatile int never;
static void *volatile null;

static void *does_nothing(void *arg)
{
    return arg;
}

/* The runtime has started. */
static pthread_t start(void *(*fn)(void *))
{
    pthread_t t;
    CHECK(pthread_create(&t, NULL, fn, NULL) == 0);
    return t;
}

static void run(void *(*fn)(void *))
{
    CHECK(pthread_join(start(fn), NULL) == 0);
}

static void alarm_calls(void (*fn)(void *))
{
    CHECK(pirn_irq_attach(ALARM_SOURCE, fn, NULL) == 0);
    alarm_in(SOON_NS);
    while (!rang) {
    }
}

/* ---- locks ---- */

static void relocks(void)
{
    run(does_nothing);
    pthread_mutex_lock(&mutex);
    pthread_mutex_lock(&mutex);
}

static void relocks_early(void)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_lock(&mutex);
}

static void *keeps(void *arg)
{
    pthread_mutex_lock(&mutex);
    return arg;
}

static void locks_what_an_ended_thread_has(void)
{
    run(keeps);
    pthread_mutex_lock(&mutex);
}

static void unlocks_what_another_has(void)
{
    pthread_mutexattr_t attr;
    CHECK(pthread_mutexattr_init(&attr) == 0);
    CHECK(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK) == 0);
    CHECK(pthread_mutex_init(&mutex, &attr) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == EPERM);
    run(keeps);
    CHECK(pthread_mutex_unlock(&mutex) == EPERM);
}

static void *locks_the_other_order(void *arg)
{
    pthread_mutex_lock(&second);
    sem_post(&sem);
    pthread_mutex_lock(&mutex);
    return arg;
}

static void locks_in_two_orders(void)
{
    CHECK(sem_init(&sem, 0, 0) == 0);
    pthread_mutex_lock(&mutex);
    start(locks_the_other_order);
    sem_wait(&sem);
    pthread_mutex_lock(&second);
}

static void signals_before_the_wait(void)
{
    pthread_mutex_lock(&mutex);
    pthread_cond_signal(&cond);
    pthread_cond_wait(&cond, &mutex);
}

static void waits_for_an_interrupt_that_never_comes(void)
{
    CHECK(sem_init(&sem, 0, 0) == 0);
    CHECK(pirn_irq_attach(PIRN_IRQ_PRIORITIES * 1000u, NULL, NULL) == -EINVAL);
    sem_wait(&sem);
}

/* ---- objects that are none ---- */

static void uses_a_destroyed_mutex(void)
{
    CHECK(pthread_mutex_lock(&mutex) == 0);
    CHECK(pthread_mutex_destroy(&mutex) == EBUSY);
    CHECK(pthread_mutex_unlock(&mutex) == 0 && pthread_mutex_destroy(&mutex) == 0);
    CHECK(pthread_mutex_lock(&mutex) == EINVAL && pthread_mutex_unlock(&mutex) == EINVAL);
}

static void *room_of(size_t size, int byte)
{
    void *volatile room = malloc(size);
    CHECK(room != NULL);
    return memset(room, byte, size);
}

static void uses_a_mutex_never_initialized(void)
{
    CHECK(pthread_mutex_lock(room_of(sizeof(pthread_mutex_t), 0x5a)) == EINVAL);
    CHECK(pthread_mutex_lock(room_of(sizeof(pthread_mutex_t), 0xff)) == EINVAL);
}

static void uses_a_condition_never_initialized(void)
{
    pthread_cond_signal(room_of(sizeof(pthread_cond_t), 0x5a));
}

static void frees_twice(void)
{
    void *volatile p = malloc(100);
    free(p);
    free(p);
}

/* ---- threads ---- */

PIRN_THREAD_ROOM(worker, 32768, does_nothing, NULL);

static void joins_twice(void)
{
    pthread_t t = start(does_nothing);
    CHECK(pthread_join(t, NULL) == 0 && pthread_join(t, NULL) != 0);
    CHECK(pthread_join(pthread_self(), NULL) == EDEADLK);
    t = start(does_nothing);
    CHECK(pthread_detach(t) == 0 && pthread_join(t, NULL) != 0);
}

static void frees_a_static_thread_twice(void)
{
    CHECK(pirn_static_create(&worker) == 0 && pirn_static_create(&worker) == -EBUSY);
    CHECK(pirn_static_join(&worker, NULL) == 0);
    CHECK(pirn_static_join(&worker, NULL) == -ESRCH);
}

static void asks_for_priorities_that_are_none(void)
{
    const struct sched_param high = {.sched_priority = 200}, none = {.sched_priority = 0};
    pthread_attr_t attr;
    CHECK(pthread_attr_init(&attr) == 0 && pthread_attr_setschedpolicy(&attr, SCHED_FIFO) == 0);
    CHECK(pthread_attr_setschedparam(&attr, &high) == EINVAL);
    CHECK(pthread_setschedparam(pthread_self(), SCHED_FIFO, &none) == EINVAL);
    CHECK(pthread_setschedparam(pthread_self(), 77, &high) == EINVAL);
}

static void asks_for_a_stack_too_small(void)
{
    static char room[512];
    pthread_attr_t attr;
    CHECK(pthread_attr_init(&attr) == 0 && pthread_attr_setstacksize(&attr, 100) == EINVAL);
    CHECK(pthread_attr_setstack(&attr, room, sizeof(room)) == EINVAL);
}

/* ---- the processor ---- */

static void writes_to_null(void)
{
    *(volatile int *)null = 5;
}

static void *calls_null(void *arg)
{
    ((void (*)(void))null)();
    return arg;
}

static void divides_by_zero(void)
{
    printf("%d\n", 7 / never);
}

static void jumps_to_null(void)
{
    run(calls_null);
}

/* In main, before it has called the runtime. */
static void reads_what_is_not_there(void)
{
    printf("%d\n", *(volatile int *)0xf0000000u);
}

/* ---- handlers, and the end ---- */

static void on_fault(void *unused)
{
    (void)unused;
    alarm_clear();
    *(volatile int *)0xf0000000u = 5;
}

static void on_endless(void *unused)
{
    (void)unused;
    alarm_clear();
    for (;;) {
    }
}

static void faults_in_a_handler(void)
{
    alarm_calls(on_fault);
}

static void stays_in_a_handler(void)
{
    alarm_calls(on_endless);
}

static void aborts(void)
{
    abort();
}

static void asserts(void)
{
    assert(never == 1);
}

static const struct {
    const char *name;
    void (*fn)(void);
} cases[] = {
    {"relock", relocks},
    {"relock-early", relocks_early},
    {"held-at-end", locks_what_an_ended_thread_has},
    {"unlock", unlocks_what_another_has},
    {"two-orders", locks_in_two_orders},
    {"lost-signal", signals_before_the_wait},
    {"no-interrupt", waits_for_an_interrupt_that_never_comes},
    {"destroyed", uses_a_destroyed_mutex},
    {"garbage-mutex", uses_a_mutex_never_initialized},
    {"garbage-cond", uses_a_condition_never_initialized},
    {"free-twice", frees_twice},
    {"join-twice", joins_twice},
    {"static-twice", frees_a_static_thread_twice},
    {"priority", asks_for_priorities_that_are_none},
    {"stack-small", asks_for_a_stack_too_small},
    {"null-write", writes_to_null},
    {"null-call", jumps_to_null},
    {"divide", divides_by_zero},
    {"fault-in-main", reads_what_is_not_there},
    {"fault-in-handler", faults_in_a_handler},
    {"endless-handler", stays_in_a_handler},
    {"abort", aborts},
    {"assert", asserts},
};

int main(int argc, char **argv)
{
    const struct option_page page = {.summary = "A mistake.", .operand = "CASE"};
    cases[OPERAND_CHOICE("CASE", options_parse(argc, argv, &page)[0], cases)].fn();
    puts("done");
    return 0;
}
