/* SPDX-License-Identifier: MIT */
/*
 * without_cpu.c - threads that have no CPU of the runtime call functions of it. They have lost it
 * in a system call of their own that sleeps while others are ready, or they begin without one
 * (programs that set handlers past the library). The functions must act as at any other time.
 *
 * usage: posix-without-cpu testcancel|affinity|poller|timer
 */
#include <pirn/poll.h>
#include <pirn/timer.h>
#include <signal.h>

#include "../raw.h"
#include "check.h"

enum { SLEEPS = 20, SLEEP_NS = 5000000, WANTED = 10 };

static flag_t stop, lost, calls;

static void *yields(void *arg)
{
    while (!flag_get(&stop)) {
        sched_yield();
    }
    return arg;
}

/* The runtime's signals end some of the calls. */
static void lose_cpu(void)
{
    struct timespec sleep = {0, SLEEP_NS};
    for (int i = 0; i < SLEEPS; i++) {
        raw_call(SYS_nanosleep, (long)&sleep, 0, 0, 0);
    }
}

/* The only function that it calls is a cancellation point. */
static void *tests(void *arg)
{
    lose_cpu();
    flag_set(&lost, 1);
    for (;;) {
        pthread_testcancel();
    }
    return arg;
}

static void testcancel(void)
{
    pthread_t t = start(tests, NULL);
    flag_wait(&lost, 1);
    OK(pthread_cancel(t));
    CHECK(join(t) == PTHREAD_CANCELED);
}

static void *binds_itself(void *arg)
{
    cpu_set_t all, one, got;
    int first = 0;
    OK(sched_getaffinity(0, sizeof(all), &all));
    while (!CPU_ISSET(first, &all)) {
        first++;
    }
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    lose_cpu();
    OK(sched_setaffinity(0, sizeof(one), &one));
    usleep(1000);
    CPU_ZERO(&got);
    OK(sched_getaffinity(0, sizeof(got), &got));
    CHECK(CPU_EQUAL(&got, &one));
    return arg;
}

static void affinity(void)
{
    join(start(binds_itself, NULL));
}

/* ---- threads that begin without a CPU ---- */

static void nothing(int signal)
{
    (void)signal;
}

/* A handler on a signal stack for a signal of the C library's own: linux_direct.c. */
static void set_past_library(void)
{
    struct sigaction action = {.sa_handler = nothing, .sa_flags = SA_ONSTACK};
    FAILS(sigaction(SIGRTMIN - 1, &action, NULL), EINVAL);
}

static enum pirn_poll look(void *arg)
{
    (void)arg;
    flag_add(&calls, 1);
    return PIRN_POLL_PENDING;
}

static void poller(void)
{
    pirn_poller_t poller;
    set_past_library();
    OK(pirn_poller_add(&poller, NULL, look, NULL));
    pirn_poller_tell(&poller);
    flag_wait(&calls, WANTED);
    pirn_poller_remove(&poller);
}

static void fires(void *arg)
{
    (void)arg;
    flag_add(&calls, 1);
}

static void timer(void)
{
    static pirn_timer_t timer;
    set_past_library();
    OK(pirn_timer_init(&timer, fires, NULL));
    OK(pirn_timer_start(&timer, 0, NS_PER_MS));
    flag_wait(&calls, WANTED);
    CHECK(pirn_timer_stop_sync(&timer));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"testcancel", testcancel}, {"affinity", affinity}, {"poller", poller}, {"timer", timer}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (argc == 2 && strcmp(argv[1], cases[i].name) == 0) {
            pthread_t other = start(yields, NULL);
            cases[i].run();
            flag_set(&stop, 1);
            join(other);
            return 0;
        }
    }
    fprintf(stderr, "usage: posix-without-cpu testcancel|affinity|poller|timer\n");
    return 2;
}
