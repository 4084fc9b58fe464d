/* SPDX-License-Identifier: MIT */
/*
 * alarm.c - a device's interrupts (here the alarm of RISC-V virt's real-time clock) post a
 * semaphore for which a thread waits, while others compute, yield and allocate (P5): every one is
 * seen. What pirn_irq_attach refuses.
 */
#include <errno.h>
#include <pirn/irq.h>
#include <pirn/pirn.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            printf("FAILED %s:%d: %s\n", __FILE__, __LINE__, #cond);                               \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define SOURCE 11
#define RTC 0x101000u
enum {
    TIME_LOW = 0x00,
    TIME_HIGH = 0x04,
    ALARM_LOW = 0x08,
    ALARM_HIGH = 0x0c,
    ENABLE = 0x10,
    CLEAR = 0x1c
};

#define ALARMS 200
#define BUSY 6
#define PERIOD_NS 300000u

static pirn_sem_t rang = PIRN_SEM_INIT(0);
static unsigned alarms, done;

static void put(unsigned at, uint32_t value)
{
    *(volatile uint32_t *)(uintptr_t)(RTC + at) = value;
}

static uint32_t get(unsigned at)
{
    return *(volatile uint32_t *)(uintptr_t)(RTC + at);
}

static void alarm_in(uint32_t ns)
{
    uint64_t now = get(TIME_LOW); /* latches the upper half */
    now |= (uint64_t)get(TIME_HIGH) << 32;
    put(ALARM_HIGH, (uint32_t)((now + ns) >> 32));
    put(ALARM_LOW, (uint32_t)(now + ns));
}

static void on_alarm(void *unused)
{
    (void)unused;
    put(CLEAR, 1);
    CHECK(pirn_sem_post(&rang) == 0);
    if (++alarms < ALARMS) {
        alarm_in(PERIOD_NS);
    }
}

static void *waits(void *unused)
{
    for (int i = 0; i < ALARMS; i++) {
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

int main(void)
{
    pirn_thread_t waiter, busy[BUSY];
    CHECK(pirn_irq_attach(100000, on_alarm, NULL) == -EINVAL);
    CHECK(pirn_irq_attach(0, on_alarm, NULL) == -EINVAL);
    CHECK(pirn_irq_attach(10, on_alarm, NULL) == -EINVAL); /* the console */
    CHECK(pirn_create(&waiter, NULL, waits, NULL) == 0);
    for (uintptr_t i = 0; i < BUSY; i++) {
        CHECK(pirn_create(&busy[i], NULL, keeps_busy, (void *)i) == 0);
    }
    CHECK(pirn_irq_attach(SOURCE, on_alarm, NULL) == 0);
    put(ENABLE, 1);
    alarm_in(PERIOD_NS);
    CHECK(pirn_join(waiter, NULL) == 0);
    for (int i = 0; i < BUSY; i++) {
        CHECK(pirn_join(busy[i], NULL) == 0);
    }
    CHECK(pirn_irq_attach(SOURCE, NULL, NULL) == 0);
    CHECK(pirn_sem_value(&rang) == 0);
    printf("%u alarms, done\n", alarms);
    return 0;
}
