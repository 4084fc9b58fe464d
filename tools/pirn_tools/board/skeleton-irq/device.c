/* SPDX-License-Identifier: MIT */
/* A device, its handler, and the thread that works for it. */
#include "device.h"

#include "alarm.h"

#include <errno.h>
#include <pirn/irq.h>
#include <pirn/watchdog.h>
#include <pthread.h>
#include <semaphore.h>

#define EVENT_NS 500000u /* from one event to the next */
#define PERIOD_MS 10     /* of the watchdog */
#define PRIORITY 80

static sem_t events;
static volatile int posted, petted;
static int total;

/* Interrupts are disabled. Whatever is long belongs into the thread. */
static void on_alarm(void *unused)
{
    (void)unused;
    alarm_clear();
    sem_post(&events); /* the thread runs when the handler returns */
    if (++posted < total) {
        alarm_in(EVENT_NS);
    }
}

/* An interrupt handler, too. A board's watchdog device is restarted here. */
static void pet(void)
{
    petted++;
}

static void *consume(void *taken)
{
    int *count = taken;
    while (*count < total) {
        sem_wait(&events);
        ++*count;
    }
    return NULL;
}

static int start(pthread_t *thread, int *taken)
{
    const struct sched_param param = {.sched_priority = PRIORITY};
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
    pthread_attr_setschedparam(&attr, &param);
    int error = pthread_create(thread, &attr, consume, taken);
    pthread_attr_destroy(&attr);
    return -error;
}

int device_run(int wanted)
{
    pthread_t thread;
    int taken = 0;
    total = wanted;
    posted = 0;
    if (sem_init(&events, 0, 0) != 0) {
        return -errno;
    }
    int error = start(&thread, &taken);
    if (error != 0) {
        return error;
    }
    error = pirn_watchdog(PERIOD_MS * 1000000u, pet);
    if (error == 0) {
        error = pirn_irq_attach(ALARM_SOURCE, on_alarm, NULL);
    }
    if (error != 0) {
        return error; /* the thread waits for ever: the program is to end */
    }
    alarm_in(EVENT_NS); /* on this core, to which its interrupts come now */
    pthread_join(thread, NULL);
    pirn_watchdog(PERIOD_MS * 1000000u, NULL);
    pirn_irq_attach(ALARM_SOURCE, NULL, NULL);
    sem_destroy(&events);
    return taken;
}

int device_petted(void)
{
    return petted;
}
