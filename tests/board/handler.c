/* SPDX-License-Identifier: MIT */
/*
 * handler.c - handlers of interrupts that do what handlers must not do: the program ends with a
 * message that names the interrupt and the function. And one that does what it may.
 *
 *     handler CASE [WHEN]     WHEN: the thread that is interrupted: busy (default); idle, the core
 *                             sleeps; small, a thread whose stack is the smallest
 *
 * Case quiet: nothing runs for 4 s, and only a handler could wake a thread.
 */
#include "alarm.h"
#include "check_board.h"
#include "common/options.h"

#include <errno.h>
#include <pirn/flags.h>
#include <pirn/irq.h>
#include <pirn/queue.h>
#include <pirn/timer.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOON_NS 1000000u
#define LATE_NS 4000000000u

static pirn_mutex_t mutex = PIRN_MUTEX_INIT;
static pirn_mutex_t settling = PIRN_MUTEX_INIT;
static pirn_cond_t cond = PIRN_COND_INIT, never = PIRN_COND_INIT;
static bool settled; /* (settling) */
static pirn_sem_t empty = PIRN_SEM_INIT(0), rang = PIRN_SEM_INIT(0), timed = PIRN_SEM_INIT(0);
static pirn_flags_t flags = PIRN_FLAGS_INIT;
static char bytes[2];
static pirn_queue_t queue = PIRN_QUEUE_INIT(bytes);
static pirn_timer_t timer;
static pirn_barrier_t barrier;
static pirn_rwlock_t rwlock = PIRN_RWLOCK_INIT;
static pirn_thread_t sleeper;
static pthread_mutex_t pmutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t pcond = PTHREAD_COND_INITIALIZER;
static sem_t psem;
static pthread_spinlock_t spin;
static volatile bool handled;
static unsigned posted;

static void waits_for_semaphore(void)
{
    pirn_sem_wait(&empty);
}

static void waits_until(void)
{
    pirn_sem_wait_until(&empty, pirn_now() + 1000);
}

static void waits_for_flags(void)
{
    pirn_flags_wait(&flags, 2, PIRN_FLAGS_CLEAR, NULL);
}

static void waits_for_message(void)
{
    char byte;
    pirn_queue_receive(&queue, &byte);
}

static void waits_for_mutex(void)
{
    pirn_mutex_lock(&mutex);
}

static void waits_for_condition(void)
{
    pirn_mutex_t own = PIRN_MUTEX_INIT;
    pirn_mutex_lock(&own);
    pirn_cond_wait(&cond, &own);
}

static void waits_at_barrier(void)
{
    pirn_barrier_wait(&barrier);
}

static void waits_to_write(void)
{
    pirn_rwlock_wrlock(&rwlock);
}

static void sleeps(void)
{
    pirn_sleep(1000);
}

static void yields(void)
{
    pirn_yield();
}

static void joins(void)
{
    pirn_join(sleeper, NULL);
}

static void ends(void)
{
    pirn_exit(NULL);
}

static void allocates(void)
{
    static void *volatile kept; /* else the compiler leaves both out */
    kept = malloc(100);
    free(kept);
}

static void prints(void)
{
    printf("from a handler\n");
}

static void waits_for_posix_semaphore(void)
{
    sem_wait(&psem);
}

static void waits_for_posix_mutex(void)
{
    pthread_mutex_lock(&pmutex);
}

static void waits_for_posix_condition(void)
{
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&own);
    pthread_cond_wait(&pcond, &own);
}

static void waits_for_posix_spin(void)
{
    pthread_spin_lock(&spin);
}

static void sleeps_posix(void)
{
    usleep(1000);
}

static void *does_nothing(void *arg)
{
    return arg;
}

static void rings(void *unused)
{
    (void)unused;
    pirn_sem_post(&timed);
}

/* What it may. */
static void does_its_work(void)
{
    pirn_thread_t t;
    char byte;
    CHECK(pirn_now() != 0 && pirn_cpu_self() >= 0);
    CHECK(pirn_sem_post(&empty) == 0 && pirn_sem_trywait(&empty) == 0);
    CHECK(pirn_flags_set(&flags, 5) == 0 && pirn_flags_get(&flags) == 5);
    CHECK(pirn_flags_trywait(&flags, 1, PIRN_FLAGS_CLEAR, NULL) == 0);
    CHECK(pirn_flags_trywait(&flags, 1, 0, NULL) == -EAGAIN && pirn_flags_clear(&flags, 4) == 4);
    CHECK(pirn_queue_trysend(&queue, "a") == 0 && pirn_queue_trysend(&queue, "b") == 0);
    CHECK(pirn_queue_trysend(&queue, "c") == -EAGAIN && pirn_queue_count(&queue) == 2);
    CHECK(pirn_queue_tryreceive(&queue, &byte) == 0 && byte == 'a');
    CHECK(pirn_queue_tryreceive(&queue, &byte) == 0 && byte == 'b');
    CHECK(pirn_timer_start(&timer, pirn_now() + LATE_NS, 0) == 0 && pirn_timer_stop(&timer));
    CHECK(pirn_timer_start(&timer, 0, 0) == 0);
    pirn_cond_signal(&cond);
    pirn_cond_broadcast(&cond);
    CHECK(pthread_cond_signal(&pcond) == 0 && pthread_cond_broadcast(&pcond) == 0);
    CHECK(sem_post(&psem) == 0 && sem_trywait(&psem) == 0);
    CHECK(pirn_create(&t, NULL, does_nothing, NULL) == 0 && pirn_detach(t) == 0);
    posted++;
}

static void dumps(void)
{
    pirn_dump();
}

static const struct doing {
    const char *name;
    void (*fn)(void);
} doings[] = {
    {"sem", waits_for_semaphore},
    {"until", waits_until},
    {"flags", waits_for_flags},
    {"queue", waits_for_message},
    {"mutex", waits_for_mutex},
    {"cond", waits_for_condition},
    {"barrier", waits_at_barrier},
    {"rwlock", waits_to_write},
    {"sleep", sleeps},
    {"yield", yields},
    {"join", joins},
    {"exit", ends},
    {"malloc", allocates},
    {"printf", prints},
    {"posix-sem", waits_for_posix_semaphore},
    {"posix-mutex", waits_for_posix_mutex},
    {"posix-cond", waits_for_posix_condition},
    {"posix-spin", waits_for_posix_spin},
    {"posix-sleep", sleeps_posix},
    {"allowed", does_its_work},
    {"dump", dumps},
    {"quiet", does_its_work},
};
static const struct doing *doing;

static void on_alarm(void *unused)
{
    (void)unused;
    alarm_clear();
    doing->fn();
    handled = true;
    pirn_sem_post(&rang);
}

/* And waits for ever. */
static void *holds(void *unused)
{
    pirn_mutex_lock(&mutex);
    pthread_mutex_lock(&pmutex);
    pirn_rwlock_wrlock(&rwlock);
    pthread_spin_lock(&spin);
    pirn_mutex_lock(&settling);
    for (settled = true;;) {
        pirn_cond_wait(&never, &settling);
    }
    return unused;
}

/* It waits, and is not the thread that an interrupt comes in: who waits for a condition has its
 * mutex no more. */
static void settles(void)
{
    for (bool done = false; !done; pirn_yield()) {
        pirn_mutex_lock(&settling);
        done = settled;
        pirn_mutex_unlock(&settling);
    }
}

static void *is_busy(void *unused)
{
    while (!handled) {
        pirn_now();
    }
    return unused;
}

static void busy_small(void)
{
    pirn_attr_t attr = {.stack_size = pirn_stack_min(), .name = "small"};
    pirn_thread_t t;
    CHECK(pirn_create(&t, &attr, is_busy, NULL) == 0);
    CHECK(pirn_join(t, NULL) == 0);
}

int main(int argc, char **argv)
{
    const struct option_page page = {.summary = "Handlers that do what they must not.",
                                     .operand = "CASE [WHEN]"};
    enum { BUSY, IDLE, SMALL };
    static const char *const whens[] = {"busy", "idle", "small"};
    char **operand = options_parse(argc, argv, &page);
    doing = &doings[OPERAND_CHOICE("CASE", operand[0], doings)];
    size_t when = operand[1] != NULL ? OPERAND_CHOICE("WHEN", operand[1], whens) : BUSY;
    CHECK(pirn_barrier_init(&barrier, 2) == 0 && sem_init(&psem, 0, 0) == 0);
    CHECK(pirn_timer_init(&timer, rings, NULL) == 0);
    CHECK(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE) == 0);
    const pirn_attr_t attr = {.name = "holder"};
    CHECK(pirn_create(&sleeper, &attr, holds, NULL) == 0);
    settles();
    CHECK(pirn_irq_attach(ALARM_SOURCE, on_alarm, NULL) == 0);
    alarm_in(strcmp(doing->name, "quiet") == 0 ? LATE_NS : SOON_NS);
    if (when == BUSY) {
        is_busy(NULL);
    } else if (when == SMALL) {
        busy_small();
    }
    pirn_sem_wait(&rang);
    if (doing->fn == does_its_work) {
        pirn_sem_wait(&timed); /* the timer that the handler has started */
        CHECK(posted == 1);
    }
    puts("done");
    exit(0);
}
