/* SPDX-License-Identifier: MIT */
/*
 * signal_info.c - a handler finds what the kernel says of its signal, wherever that has come:
 * SIGPROF of a timer on the process's CPU time, while its threads do nothing but call the runtime,
 * or wait so that its workers idle. Ends when enough signals have been handled.
 */
#include <semaphore.h>
#include <signal.h>
#include <time.h>

#include "check.h"

enum { THREADS = 3, ENOUGH = 300, VALUE = 4711 };

static _Atomic unsigned handled, wrong;
static sem_t sem[THREADS];

static void handler(int signal, siginfo_t *info, void *context)
{
    (void)context;
    wrong += signal != SIGPROF || info->si_signo != SIGPROF || info->si_code != SI_TIMER ||
             info->si_value.sival_int != VALUE;
    handled++;
}

/* Two that yield to each other. */
static void *yields(void *arg)
{
    while (handled < ENOUGH) {
        sched_yield();
    }
    return arg;
}

/* Each wakes the next one and waits: the workers sleep and wake up. */
static void *passes(void *arg)
{
    size_t i = (size_t)arg;
    while (handled < ENOUGH) {
        CHECK(sem_wait(&sem[i]) == 0 || errno == EINTR);
        OK(sem_post(&sem[(i + 1) % THREADS]));
    }
    OK(sem_post(&sem[(i + 1) % THREADS]));
    return arg;
}

static void run(void *(*fn)(void *))
{
    pthread_t t[THREADS];
    handled = wrong = 0;
    for (size_t i = 0; i < THREADS; i++) {
        OK(sem_init(&sem[i], 0, i == 0));
    }
    for (size_t i = 0; i < THREADS; i++) {
        t[i] = start(fn, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    printf("%u signals, %u of them without what the kernel says\n", handled, wrong);
    CHECK_EQ(wrong, 0);
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigevent event = {
        .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF, .sigev_value = {.sival_int = VALUE}};
    struct itimerspec often = {{0, 1000000}, {0, 1000000}};
    timer_t timer;
    OK(sigaction(SIGPROF, &action, NULL));
    OK(timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer));
    OK(timer_settime(timer, 0, &often, NULL));
    run(yields);
    run(passes);
    OK(timer_delete(timer));
    return 0;
}
