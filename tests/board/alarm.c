/* SPDX-License-Identifier: MIT */
/*
 * alarm.c - a device's interrupts post a semaphore for which a thread waits, while others compute,
 * yield and allocate: no interrupt is lost. Also the calls that pirn_irq_attach refuses.
 */
#include "alarm.h"
#include "check_board.h"
#include "common/options.h"

#include <errno.h>
#include <pirn/irq.h>
#include <pirn/pirn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUSY 6
#define PERIOD_NS 300000u
#define OFTEN 3000
#define OFTEN_NS 20000u
#define LATE_NS 400000000u

static pirn_sem_t rang = PIRN_SEM_INIT(0);
static unsigned alarms, done, wanted = 200;
static uint32_t period_ns = PERIOD_NS;

static void on_alarm(void *unused)
{
    (void)unused;
    alarm_clear();
    CHECK(pirn_sem_post(&rang) == 0);
    if (++alarms < wanted) {
        alarm_in(period_ns);
    }
}

static void *waits(void *unused)
{
    for (unsigned i = 0; i < wanted; i++) {
        pirn_sem_wait(&rang);
    }
    __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
    return unused;
}

static void *keeps_busy(void *arg)
{
    while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
        if ((uintptr_t)arg % 3 == 0) {
            pirn_yield();
        } else if ((uintptr_t)arg % 3 == 1) {
            free(malloc(100));
            pirn_yield();
        } else {
            pirn_sleep(50000);
        }
    }
    return NULL;
}

/* All threads wait, for an interrupt that comes later than the runtime looks for a deadlock; and
 * then for nothing, because there is no handler any more. */
static void one_then_none(void)
{
    alarms = wanted; /* one more alarm */
    CHECK(pirn_irq_attach(ALARM_SOURCE, on_alarm, NULL) == 0);
    alarm_in(LATE_NS);
    pirn_sem_wait(&rang);
    CHECK(pirn_irq_attach(ALARM_SOURCE, NULL, NULL) == 0);
    puts("one alarm");
    pirn_sem_wait(&rang);
}

int main(int argc, char **argv)
{
    enum { IS_LATE, IS_OFTEN };
    static const char *const kinds[] = {"late", "often"};
    const struct option_page page = {.summary = "Threads wait for a device.", .operand = "[KIND]"};
    const char *kind = options_parse(argc, argv, &page)[0];
    size_t which = kind != NULL ? OPERAND_CHOICE("KIND", kind, kinds) : SIZE_MAX;
    if (which == IS_LATE) {
        one_then_none();
    } else if (which == IS_OFTEN) {
        wanted = OFTEN;
        period_ns = OFTEN_NS;
    }
    pirn_thread_t waiter, busy[BUSY];
    CHECK(pirn_irq_attach(100000, on_alarm, NULL) == -EINVAL);
    CHECK(pirn_irq_attach(CONSOLE_SOURCE, on_alarm, NULL) == -EINVAL);
    CHECK(pirn_create(&waiter, NULL, waits, NULL) == 0);
    for (uintptr_t i = 0; i < BUSY; i++) {
        CHECK(pirn_create(&busy[i], NULL, keeps_busy, (void *)i) == 0);
    }
    CHECK(pirn_irq_attach(ALARM_SOURCE, on_alarm, NULL) == 0);
    alarm_in(period_ns);
    CHECK(pirn_join(waiter, NULL) == 0);
    for (int i = 0; i < BUSY; i++) {
        CHECK(pirn_join(busy[i], NULL) == 0);
    }
    CHECK(pirn_irq_attach(ALARM_SOURCE, NULL, NULL) == 0);
    CHECK(pirn_sem_value(&rang) == 0);
    printf("%u alarms, done\n", alarms);
    return 0;
}
