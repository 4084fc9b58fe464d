/* SPDX-License-Identifier: MIT */
/*
 * events.c - a device's interrupts set event flags, send messages and start a timer, while threads
 * wait for them and others compute and yield: each event is had once, none is lost.
 */
#include "alarm.h"
#include "check_board.h"

#include <errno.h>
#include <pirn/flags.h>
#include <pirn/irq.h>
#include <pirn/queue.h>
#include <pirn/timer.h>
#include <stdio.h>

#define ALARMS 400u
#define BUSY 4
#define PERIOD_NS 200000u
#define SOON_NS 100000u

enum { TICK = 1, END = 2, FULL = 4 };

struct report {
    uint16_t number, check;
    uint8_t kind;
};

static struct report room[4];
static pirn_queue_t reports = PIRN_QUEUE_INIT(room);
static pirn_flags_t events = PIRN_FLAGS_INIT;
static pirn_timer_t timer;

/* Written by the handler. */
static unsigned alarms, edges, lost, starts, replaced;
/* Written by one thread each. */
static unsigned ticks, received, rings;
static unsigned done;

static void on_alarm(void *unused)
{
    struct report r = {(uint16_t)alarms, (uint16_t)(alarms * 7), 1};
    (void)unused;
    alarm_clear();
    edges += (pirn_flags_set(&events, TICK) & TICK) == 0;
    int error = pirn_queue_trysend(&reports, &r);
    CHECK(error == 0 || error == -EAGAIN);
    if (error != 0) {
        lost++;
        pirn_flags_set(&events, FULL);
    }
    replaced += pirn_timer_stop(&timer);
    starts++;
    CHECK(pirn_timer_start(&timer, pirn_now() + SOON_NS * (alarms % 4), 0) == 0);
    if (__atomic_add_fetch(&alarms, 1, __ATOMIC_RELEASE) < ALARMS) {
        alarm_in(PERIOD_NS);
    }
}

/* No alarm comes after the last one, so the timer that it started rings. */
static void on_timer(void *unused)
{
    (void)unused;
    rings++;
    if (__atomic_load_n(&alarms, __ATOMIC_ACQUIRE) == ALARMS) {
        pirn_flags_set(&events, END);
    }
}

static void *counts_ticks(void *unused)
{
    uint32_t got;
    do {
        CHECK(pirn_flags_wait(&events, TICK | END, PIRN_FLAGS_ANY, &got) == 0);
        ticks += pirn_flags_trywait(&events, TICK, PIRN_FLAGS_CLEAR, NULL) == 0;
    } while (!(got & END));
    return unused;
}

static void *receives(void *unused)
{
    struct report r;
    int last = -1;
    for (;;) {
        pirn_queue_receive(&reports, &r);
        if (r.kind == 0) {
            return unused;
        }
        CHECK(r.kind == 1 && r.check == (uint16_t)(r.number * 7) && (int)r.number > last);
        last = r.number;
        received++;
        if (received % 16 == 0) {
            /* However slow the alarms are, they fill the queue, or end. */
            pirn_flags_trywait(&events, FULL, PIRN_FLAGS_CLEAR, NULL);
            CHECK(pirn_flags_wait(&events, FULL | END, PIRN_FLAGS_ANY, NULL) == 0);
        }
    }
}

static void *keeps_busy(void *arg)
{
    while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
        if ((uintptr_t)arg % 2 == 0) {
            pirn_yield();
        } else {
            pirn_sleep(50000);
        }
    }
    return NULL;
}

int main(void)
{
    static const struct report last = {0, 0, 0};
    pirn_thread_t counter, receiver, busy[BUSY];
    CHECK(pirn_timer_init(&timer, on_timer, NULL) == 0);
    CHECK(pirn_create(&counter, NULL, counts_ticks, NULL) == 0);
    CHECK(pirn_create(&receiver, NULL, receives, NULL) == 0);
    for (uintptr_t i = 0; i < BUSY; i++) {
        CHECK(pirn_create(&busy[i], NULL, keeps_busy, (void *)i) == 0);
    }
    CHECK(pirn_irq_attach(ALARM_SOURCE, on_alarm, NULL) == 0);
    alarm_in(PERIOD_NS);
    CHECK(pirn_join(counter, NULL) == 0);
    CHECK(pirn_irq_attach(ALARM_SOURCE, NULL, NULL) == 0);
    pirn_queue_send(&reports, &last);
    CHECK(pirn_join(receiver, NULL) == 0);
    __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < BUSY; i++) {
        CHECK(pirn_join(busy[i], NULL) == 0);
    }
    replaced += pirn_timer_stop_sync(&timer);
    CHECK(alarms == ALARMS && ticks == edges && ticks != 0);
    CHECK(received + lost == ALARMS && received != 0 && lost != 0);
    CHECK(starts == ALARMS && rings == starts - replaced && rings != 0);
    printf("%u alarms, done\n", alarms);
    return 0;
}
