/* SPDX-License-Identifier: MIT */
/*
 * deadlock.c - programs in which every thread waits: for ever, or for an event that comes later
 * than the runtime looks for a deadlock. "hello" is the console's input.
 *
 *     deadlock CASE
 */
#include "check_board.h"

#include <pirn/flags.h>
#include <pirn/queue.h>
#include <pirn/timer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"

#define LATER_NS 400000000u

static pirn_mutex_t a = PIRN_MUTEX_INIT, b = PIRN_MUTEX_INIT;
static pirn_sem_t ready = PIRN_SEM_INIT(0), go = PIRN_SEM_INIT(0), never = PIRN_SEM_INIT(0);

static pirn_thread_t start(const char *name, void *(*fn)(void *))
{
    pirn_thread_t t;
    CHECK(pirn_create(&t, NULL, fn, NULL) == 0);
    pirn_set_name(t, name);
    return t;
}

static __attribute__((noinline)) void lock_both(pirn_mutex_t *first, pirn_mutex_t *second)
{
    pirn_mutex_lock(first);
    pirn_sem_post(&ready);
    pirn_sem_wait(&go);
    pirn_mutex_lock(second);
    pirn_mutex_unlock(second);
    pirn_mutex_unlock(first);
}

static void *takes_b(void *unused)
{
    lock_both(&a, &b);
    return unused;
}

static void *takes_a(void *unused)
{
    lock_both(&b, &a);
    return unused;
}

static void cycle(void)
{
    pirn_thread_t t = start("takes-b", takes_b);
    start("takes-a", takes_a);
    for (int i = 0; i < 2; i++) {
        pirn_sem_wait(&ready);
    }
    for (int i = 0; i < 2; i++) {
        pirn_sem_post(&go);
    }
    pirn_join(t, NULL);
}

static void alone(void)
{
    pirn_sem_wait(&never);
}

static void *sleeps(void *unused)
{
    pirn_sleep(LATER_NS);
    pirn_sem_post(&go);
    return unused;
}

/* Another thread sleeps. */
static void timer(void)
{
    pirn_thread_t t = start("sleeps", sleeps);
    pirn_sem_wait(&go);
    CHECK(pirn_join(t, NULL) == 0);
}

static char bytes[1], other_bytes[1];
static pirn_queue_t full = PIRN_QUEUE_INIT(bytes), empty = PIRN_QUEUE_INIT(other_bytes);
static pirn_flags_t flags = PIRN_FLAGS_INIT;
static pirn_timer_t clockwork;

static void *receives(void *unused)
{
    char byte;
    pirn_queue_receive(&empty, &byte);
    return unused;
}

static void *sends(void *unused)
{
    pirn_queue_send(&full, "a");
    pirn_queue_send(&full, "b");
    return unused;
}

static void rings(void *unused)
{
    (void)unused;
    pirn_flags_set(&flags, 1);
}

/* The only timer is stopped. */
static void events(void)
{
    start("receives", receives);
    start("sends", sends);
    CHECK(pirn_timer_init(&clockwork, rings, NULL) == 0);
    CHECK(pirn_timer_start(&clockwork, pirn_now() + LATER_NS, 0) == 0);
    CHECK(pirn_timer_stop(&clockwork));
    pirn_flags_wait(&flags, 1, PIRN_FLAGS_CLEAR, NULL);
}

/* A timer rings later. */
static void rings_later(void)
{
    CHECK(pirn_timer_init(&clockwork, rings, NULL) == 0);
    CHECK(pirn_timer_start(&clockwork, pirn_now() + LATER_NS, 0) == 0);
    pirn_flags_wait(&flags, 1, PIRN_FLAGS_CLEAR, NULL);
}

static void *reads(void *unused)
{
    char line[64];
    puts("ready");
    CHECK(fgets(line, sizeof(line), stdin) != NULL);
    pirn_sem_post(&go);
    return unused;
}

/* Another thread waits for input; afterwards no thread waits for an event that can come. */
static void input(void)
{
    pirn_thread_t t = start("reads", reads);
    pirn_sem_wait(&go);
    CHECK(pirn_join(t, NULL) == 0);
}

static void input_then_nothing(void)
{
    input();
    puts("read");
    alone();
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"cycle", cycle},
             {"alone", alone},
             {"timer", timer},
             {"events", events},
             {"alarm", rings_later},
             {"input", input},
             {"input-then-nothing", input_then_nothing}};

int main(int argc, char **argv)
{
    cases[OPTIONS_CASE(argc, argv, "Deadlocks, and what looks like them.", cases)].run();
    puts("done");
    return 0;
}
