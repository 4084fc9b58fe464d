/* SPDX-License-Identifier: MIT */
/*
 * relax.c - port_relax leaves errno alone, although signals end its sleeps.
 *
 * The signals come from another kernel thread: the interrupt of a timer would end the sleep as if
 * its time were over.
 */
#include "port.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#define SIGNALS 2000
#define SLEEPS (UINT32_MAX - 1) /* a round in which it sleeps */

static int signals;

static void on_signal(int signal)
{
    (void)signal;
    __atomic_fetch_add(&signals, 1, __ATOMIC_RELAXED);
}

static void *disturb(void *main_thread)
{
    while (__atomic_load_n(&signals, __ATOMIC_RELAXED) < SIGNALS) {
        pthread_kill(*(pthread_t *)main_thread, SIGUSR1);
    }
    return NULL;
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    pthread_t self = pthread_self(), other;
    int seen = 0;
    sigaction(SIGUSR1, &action, NULL);
    if (pthread_create(&other, NULL, disturb, &self) != 0) {
        perror("relax: pthread_create");
        return 1;
    }
    errno = 0;
    while (__atomic_load_n(&signals, __ATOMIC_RELAXED) < SIGNALS) {
        port_relax(SLEEPS);
        seen = seen != 0 ? seen : errno;
    }
    pthread_join(other, NULL);
    if (seen != 0) {
        fprintf(stderr, "relax: failed: errno became %d\n", seen);
        return 1;
    }
    puts("relax: done");
    return 0;
}
