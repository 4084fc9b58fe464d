/* SPDX-License-Identifier: MIT */
/*
 * io_eintr.c - the effect of a handler on a call that waits, calls.h: EINTR, or it continues
 * (SA_RESTART). The signal is sent to the thread, or to the process, whose other threads block it.
 * eintr.c has the waits for objects and for time.
 */
#include "busy_handler.h"
#include "calls.h"

#include <fcntl.h>
#include <signal.h>

static flag_t handled, tried;

static void counts(int number)
{
    (void)number;
    flag_add(&handled, 1);
}

static void is_busy_and_counts(int number)
{
    int error = get_errno();
    busy_calls();
    counts(number);
    set_errno(error);
}

static void *is_sent_a_signal(void *arg)
{
    flag_wait(&tried, 1);
    return arg;
}

static void mask(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    OK(pthread_sigmask(how, &set, NULL));
}

/* Installs the handler. If signals cannot be sent to threads, waiting for one would be
 * pointless. */
static void handle_by(void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    OK(sigaction(SIGUSR1, &action, NULL));
    pthread_t t = start(is_sent_a_signal, NULL);
    OK(pthread_kill(t, SIGUSR1));
    flag_wait(&handled, 1);
    flag_set(&handled, 0);
    flag_set(&tried, 1);
    join(t);
}

static void handle(int flags)
{
    handle_by(counts, flags);
}

/* A signal that comes before the wait does not count, so repeat. */
static void interrupt_until_it_returns(pthread_t t, bool process)
{
    while (!call_has_returned()) {
        if (process) {
            OK(kill(getpid(), SIGUSR1));
        } else {
            OK(pthread_kill(t, SIGUSR1));
        }
        give_way();
    }
    join(t);
    CHECK(flag_get(&handled) >= 1);
    CHECK_EQ(call_result(), EINTR);
}

static void is_eintr(const void *row)
{
    handle(0);
    interrupt_until_it_returns(call_start(row), false);
}

static void is_eintr_in_spite_of_restart(const void *row)
{
    handle(SA_RESTART);
    interrupt_until_it_returns(call_start(row), false);
}

static void is_eintr_after_a_busy_handler(const void *row)
{
    busy_begin();
    handle_by(is_busy_and_counts, 0);
    interrupt_until_it_returns(call_start(row), false);
}

static void is_eintr_by_a_signal_to_the_process(const void *row)
{
    handle(0);
    pthread_t t = call_start(row);
    mask(SIG_BLOCK);
    interrupt_until_it_returns(t, true);
}

static void goes_on(const struct call *c)
{
    pthread_t t = call_start(c);
    for (int i = 1; i <= 3; i++) {
        OK(pthread_kill(t, SIGUSR1));
        flag_wait(&handled, i); /* in the waiting thread, while it waits */
        give_way();
        CHECK(!call_has_returned());
    }
    c->satisfy();
    join(t);
    OK(call_result());
}

static void goes_on_with_restart(const void *row)
{
    handle(SA_RESTART);
    goes_on(row);
}

static void goes_on_after_a_busy_handler_with_restart(const void *row)
{
    busy_begin();
    handle_by(is_busy_and_counts, SA_RESTART);
    goes_on(row);
}

static void goes_on_after_a_handler(const void *row)
{
    handle(0);
    goes_on(row);
}

static flag_t opened;

static void *opens_files(void *arg)
{
    for (int i = 0; i < 3000 || !flag_get(&handled); i++) {
        int fd = open("/proc/self/exe", O_RDONLY);
        CHECK(fd >= 0);
        close(fd);
    }
    flag_set(&opened, 1);
    return arg;
}

/* An open that waits for no event, with signals at any time. */
CASE(open_of_a_file_is_not_ended_by_signals)
{
    handle(0);
    pthread_t t = start(opens_files, NULL);
    while (!flag_get(&opened)) {
        OK(pthread_kill(t, SIGUSR1));
        sched_yield();
    }
    join(t);
    CHECK(flag_get(&handled) >= 1);
}

static const char *suffix;

static const char *name_of(const void *row)
{
    char *name = malloc(96);
    snprintf(name, 96, "%s_%s", ((const struct call *)row)->name, suffix);
    return name;
}

static void add_case(const struct call *c, void (*run)(const void *), const char *name)
{
    suffix = name;
    cases_add(run, c, sizeof(*c), 1, name_of);
}

static void add(const struct call_table *t)
{
    for (const struct call *c = t->calls; c != t->calls + t->count; c++) {
        if (c->handler == HIDDEN) {
            add_case(c, goes_on_after_a_handler, "goes_on_after_a_handler");
            continue;
        }
        add_case(c, is_eintr, "is_eintr");
        add_case(c, is_eintr_after_a_busy_handler, "is_eintr_after_a_busy_handler");
        add_case(c, is_eintr_by_a_signal_to_the_process, "is_eintr_by_a_signal_to_the_process");
        if (c->handler == RESTARTS) {
            add_case(c, goes_on_with_restart, "goes_on_with_restart");
            add_case(c, goes_on_after_a_busy_handler_with_restart,
                     "goes_on_after_a_busy_handler_with_restart");
        } else {
            add_case(c, is_eintr_in_spite_of_restart, "is_eintr_in_spite_of_restart");
        }
    }
}

static __attribute__((constructor)) void add_all(void)
{
    add(&descriptor_calls);
    add(&process_calls);
}
