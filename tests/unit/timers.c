/* SPDX-License-Identifier: MIT */
/*
 * timers.c - what needs a process of its own about software timers, on Linux and on boards:
 *
 *     timers setup     their thread has the stack, descriptor, name and priority of the program's
 *     timers end       main calls pirn_exit while a periodic timer runs: the program ends
 *     timers fork      (Linux) the child of a fork sets up timers of its own
 */
#include <errno.h>
#include <pirn/static.h>
#include <pirn/timer.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#ifdef __linux__
#include <sys/wait.h>
#include <unistd.h>
#endif

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            printf("timers.c:%d: %s\n", __LINE__, #cond);                                          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define PERIOD_NS 1000000u

static pirn_sem_t rang = PIRN_SEM_INIT(0);
static pirn_timer_t timer;
static PIRN_STACK(stack, 64u << 10);
static pirn_thread_storage_t storage;
static char name[16];
static uintptr_t place;
static pirn_thread_t thread;
static pirn_sched_t sched;

static void rings(void *unused)
{
    (void)unused;
    thread = pirn_self();
    place = (uintptr_t)&unused;
    snprintf(name, sizeof(name), "%s", pirn_name(thread));
    pirn_get_sched(thread, &sched);
    pirn_sem_post(&rang);
}

static void ring_once(void)
{
    CHECK(pirn_timer_init(&timer, rings, NULL) == 0);
    CHECK(pirn_timer_start(&timer, pirn_now() + PERIOD_NS, 0) == 0);
    pirn_sem_wait(&rang);
    CHECK(!pirn_timer_stop_sync(&timer));
}

static void setup(void)
{
    const pirn_sched_t urgent = {.sched_class = PIRN_CLASS_FIFO, .priority = 7};
    pirn_attr_t attr = {.stack = stack,
                        .stack_size = 1024,
                        .storage = &storage,
                        .name = "clockwork",
                        .detached = true,
                        .sched = &urgent};
    CHECK(pirn_timer_setup(&attr) == -EINVAL); /* and may be repeated */
    attr.stack_size = sizeof(stack);
    CHECK(pirn_timer_setup(&attr) == 0 && pirn_timer_setup(&attr) == -EBUSY);
    ring_once();
    CHECK(strcmp(name, "clockwork") == 0 && thread == (pirn_thread_t)&storage);
    CHECK(place > (uintptr_t)stack && place < (uintptr_t)stack + sizeof(stack));
    CHECK(sched.sched_class == PIRN_CLASS_FIFO && sched.priority == 7);
}

static void *waits_for_more(void *unused)
{
    for (int i = 0; i < 3; i++) {
        pirn_sem_wait(&rang);
    }
    puts("done");
    return unused;
}

static void end(void)
{
    pirn_thread_t t;
    CHECK(pirn_timer_init(&timer, rings, NULL) == 0);
    CHECK(pirn_timer_start(&timer, 0, PERIOD_NS) == 0);
    CHECK(pirn_create(&t, NULL, waits_for_more, NULL) == 0 && pirn_detach(t) == 0);
    pirn_exit(NULL);
}

#ifdef __linux__
static void fork_child(void)
{
    int status = 0;
    CHECK(pirn_timer_init(&timer, rings, NULL) == 0);
    CHECK(pirn_timer_start(&timer, 0, PERIOD_NS) == 0);
    pirn_sem_wait(&rang);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        CHECK(pirn_sem_init(&rang, 0) == 0);
        ring_once();
        CHECK(strcmp(name, "timers") == 0);
        _exit(7);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    CHECK(pirn_timer_stop_sync(&timer));
    CHECK(pirn_sem_init(&rang, 0) == 0); /* it has rung while the child ran */
    ring_once();                         /* in the parent nothing has changed */
}
#endif

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"setup", setup},
    {"end", end},
#ifdef __linux__
    {"fork", fork_child},
#endif
};

int main(int argc, char **argv)
{
    cases[OPTIONS_CASE(argc, argv, "Software timers.", cases)].run();
    puts("done");
    return 0;
}
