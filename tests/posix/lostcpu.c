/* SPDX-License-Identifier: MIT */
/*
 * lostcpu.c - a signal interrupts a waiting thread, which loses its CPU in the handler: the handler
 * sleeps in a system call that the runtime does not know. When the handler has returned the thread
 * waits again. It must then wait as any other thread: be woken once, continue once, and be
 * cancelled.
 */
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#include "../raw.h"
#include "check.h"

enum { SLEEPS = 20, SLEEP_NS = 5000000, OTHERS = 2 };

static pthread_mutex_t mutex;
static pthread_barrier_t barrier;
static sem_t semaphore, entered;
static flag_t handled, went_on, stop;

static void handler(int signal)
{
    struct timespec sleep = {0, SLEEP_NS};
    (void)signal;
    for (int i = 0; i < SLEEPS; i++) { /* the runtime's signal ends one */
        raw_call(SYS_nanosleep, (long)&sleep, 0, 0, 0);
    }
    flag_add(&handled, 1);
}

static void *computes(void *arg)
{
    while (!flag_get(&stop)) {
        sched_yield();
    }
    return arg;
}

static void *locks(void *arg)
{
    sem_post(&entered);
    CHECK(pthread_mutex_lock(&mutex) == 0);
    flag_add(&went_on, 1);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    return arg;
}

static void *meets(void *arg)
{
    sem_post(&entered);
    pthread_barrier_wait(&barrier);
    flag_add(&went_on, 1);
    return arg;
}

static void *takes(void *arg)
{
    sem_post(&entered);
    CHECK(sem_wait(&semaphore) == 0);
    flag_add(&went_on, 1);
    return arg;
}

static void *waits_for_signal(void *arg)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sem_post(&entered);
    while (sigwaitinfo(&set, NULL) != SIGUSR2) {
    }
    flag_add(&went_on, 1);
    return arg;
}

/* Interrupt the waiting thread t, and see it waiting again. */
static void interrupt(pthread_t t)
{
    int before = flag_get(&handled);
    while (sem_wait(&entered) != 0) {
    }
    give_way();
    CHECK(pthread_kill(t, SIGUSR1) == 0);
    while (flag_get(&handled) == before) {
        usleep(1000);
    }
    give_way();
    CHECK(flag_get(&went_on) == 0);
}

static void ends(pthread_t t, uintptr_t value)
{
    void *result = NULL;
    CHECK(pthread_join(t, &result) == 0);
    CHECK((uintptr_t)result == value);
    CHECK(flag_get(&went_on) == 1);
    flag_set(&went_on, 0);
}

static pthread_t begin(void *(*fn)(void *), uintptr_t value)
{
    pthread_t t;
    CHECK(pthread_create(&t, NULL, fn, (void *)value) == 0);
    return t;
}

static void mutex_case(int protocol)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setprotocol(&attr, protocol);
    CHECK(pthread_mutex_init(&mutex, &attr) == 0);
    CHECK(pthread_mutex_lock(&mutex) == 0);
    pthread_t t = begin(locks, 1);
    interrupt(t);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    ends(t, 1);
    CHECK(pthread_mutex_destroy(&mutex) == 0);
}

static void barrier_case(void)
{
    CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
    pthread_t t = begin(meets, 2);
    interrupt(t);
    pthread_barrier_wait(&barrier);
    ends(t, 2);
    CHECK(pthread_barrier_destroy(&barrier) == 0);
}

static void semaphore_case(void)
{
    CHECK(sem_init(&semaphore, 0, 0) == 0);
    pthread_t t = begin(takes, 3);
    interrupt(t);
    sem_post(&semaphore);
    ends(t, 3);
}

static void signal_case(void)
{
    pthread_t t = begin(waits_for_signal, 4);
    interrupt(t);
    CHECK(pthread_kill(t, SIGUSR2) == 0);
    ends(t, 4);
}

int main(void)
{
    pthread_t other[OTHERS];
    sigset_t set;
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    CHECK(sem_init(&entered, 0, 0) == 0);
    for (int i = 0; i < OTHERS; i++) {
        other[i] = begin(computes, 0);
    }
    for (int round = 0; round < 3; round++) {
        mutex_case(PTHREAD_PRIO_NONE);
        mutex_case(PTHREAD_PRIO_INHERIT);
        barrier_case();
        semaphore_case();
        signal_case();
    }
    flag_set(&stop, 1);
    for (int i = 0; i < OTHERS; i++) {
        CHECK(pthread_join(other[i], NULL) == 0);
    }
    printf("%d handlers\n", flag_get(&handled));
    return 0;
}
