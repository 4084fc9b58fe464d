/* SPDX-License-Identifier: MIT */
/*
 * suite_calls.c - system calls of the POSIX layer (src/posix/linux/posix_io.c): announced to the
 * runtime or not; ended by signals and by cancellation requests, at every step on the way into the
 * kernel and out of it. There are two kinds of descriptors: streams, whose calls try and wait in
 * the runtime, and devices, whose calls wait in the kernel. One unit at a time can be read; the
 * units read and the units left must equal those written.
 */
#include "posix_suite.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>

enum { THREADS = 3, SENDS = 3 };

static struct {
    int handled, over, ready, taken, given;
    int fd;
} g;

static int some_fd(void)
{
    return (int)test_random(2) * SIM_FD_DEVICES + (int)test_random(2);
}

static void begin(void)
{
    memset(&g, 0, sizeof(g));
    g.fd = some_fd();
}

static void counts(int signal)
{
    (void)signal;
    TEST_ADD(&g.handled, 1);
}

/* Cancellation points, as the functions with the C library's names are (abi_glibc_io.c). */
static long read_unit(int fd)
{
    char unit;
    posix_point();
    long n = pirn_posix_read(fd, &unit, 1);
    if (error_of(n) == ECANCELED) {
        posix_point();
        CHECK(!"a read that was cancelled does not end the thread");
    }
    if (n == 1) {
        TEST_ADD(&g.taken, 1);
    }
    return n;
}

static void write_unit(int fd)
{
    while (sim_fd_get(fd) != 0) {
        pirn_sleep(1 + test_random(100));
    }
    g.given++;
    sim_fd_set(fd, POLLIN);
}

static void *reads(void *arg)
{
    TEST_ADD(&g.ready, 1);
    for (int i = 0; i < SENDS; i++) {
        CHECK(read_unit(g.fd) == 1);
        if (test_random(2) != 0) {
            do_something();
        }
    }
    return arg;
}

static void test_reads_take_what_is_written(void *unused)
{
    pthread_t t[THREADS];
    (void)unused;
    begin();
    for (int i = 0; i < THREADS; i++) {
        t[i] = begin_thread(reads, NULL);
    }
    for (int i = 0; i < THREADS * SENDS; i++) {
        write_unit(g.fd);
        do_something();
    }
    for (int i = 0; i < THREADS; i++) {
        end_thread(t[i]);
    }
    CHECK(g.taken == THREADS * SENDS && sim_fd_get(g.fd) == 0);
}

/* Handlers with SA_RESTART: the call continues. */
static void test_signals_restart_calls(void *unused)
{
    pthread_t t[THREADS];
    (void)unused;
    begin();
    handle(SIGUSR1, counts, SA_RESTART);
    for (int i = 0; i < THREADS; i++) {
        t[i] = begin_thread(reads, NULL);
    }
    wait_for(&g.ready, THREADS);
    for (int i = 0; i < THREADS * SENDS; i++) {
        if (test_random(2) != 0) {
            pirn_pthread_kill(t[test_random(THREADS)], SIGUSR1); /* it may have ended */
        } else {
            sim_kill(SIGUSR1);
        }
        write_unit(g.fd);
    }
    for (int i = 0; i < THREADS; i++) {
        end_thread(t[i]);
    }
    CHECK(g.taken == THREADS * SENDS && sim_fd_get(g.fd) == 0);
}

/* Handlers without it: EINTR, and only if one has run. */
static void *reads_until_over(void *arg)
{
    int before = 0;
    TEST_ADD(&g.ready, 1);
    while (!TEST_GET(&g.over)) {
        long n = read_unit(g.fd);
        if (n < 0) {
            CHECK(error_of(n) == EINTR);
            int now = TEST_GET(&g.handled);
            CHECK(now > before);
            before = now;
        } else {
            CHECK(n == 1);
        }
        if (test_random(4) == 0) {
            do_something();
        }
    }
    return arg;
}

static void test_signals_interrupt_calls(void *unused)
{
    (void)unused;
    begin();
    handle(SIGUSR1, counts, 0);
    pthread_t t = begin_thread(reads_until_over, NULL);
    wait_for(&g.ready, 1);
    for (int i = 1; i <= SENDS; i++) {
        OK(pirn_pthread_kill(t, SIGUSR1));
        if (test_random(2) != 0) {
            write_unit(g.fd);
        }
        wait_for(&g.handled, i);
    }
    TEST_SET(&g.over, 1);
    while (pirn_pthread_tryjoin_np(t, NULL) == EBUSY) { /* it may not have seen the end yet */
        if (sim_fd_get(g.fd) == 0) {
            write_unit(g.fd);
        }
        pirn_sleep(100);
    }
    CHECK(g.taken + (sim_fd_get(g.fd) != 0) == g.given);
}

/* A request that comes at any moment ends the thread, and no unit is lost with it. */
static void *reads_for_ever(void *arg)
{
    TEST_ADD(&g.ready, 1);
    for (;;) {
        read_unit(g.fd);
        if (test_random(4) == 0) {
            do_something();
            posix_point();
        }
    }
    return arg;
}

static void test_requests_end_calls(void *unused)
{
    pthread_t t[THREADS];
    (void)unused;
    begin();
    if (test_random(2) != 0) {
        handle(SIGUSR1, counts, test_random(2) != 0 ? SA_RESTART : 0);
    }
    for (int i = 0; i < THREADS; i++) {
        t[i] = begin_thread(reads_for_ever, NULL);
    }
    wait_for(&g.ready, test_random(THREADS + 1));
    for (int i = 0; i < THREADS; i++) {
        if (test_random(2) != 0) {
            write_unit(g.fd);
        }
        OK(pirn_pthread_cancel(t[i]));
        CHECK(end_thread(t[i]) == PTHREAD_CANCELED);
    }
    CHECK(g.taken + (sim_fd_get(g.fd) != 0) == g.given);
}

/* With cancellation disabled, and in a call that is no cancellation point, no request ends it. */
static void *is_protected(void *arg)
{
    int old;
    OK(pirn_pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old));
    TEST_ADD(&g.ready, 1);
    CHECK(read_unit(g.fd) == 1);
    if (g.fd >= SIM_FD_DEVICES && test_random(2) != 0) {
        OK(pirn_pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old));
        TEST_ADD(&g.ready, 1);
        CHECK(pirn_posix_flock(g.fd, LOCK_EX) == 1); /* the model's flock: as a read */
        TEST_ADD(&g.taken, 1);
    } else {
        TEST_ADD(&g.ready, 1);
        CHECK(read_unit(g.fd) == 1);
        OK(pirn_pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old));
    }
    at_fence_seq(); /* a kernel's locks order what comes behind a read after a write */
    posix_point();
    return arg;
}

static void test_requests_wait_where_they_must(void *unused)
{
    (void)unused;
    begin();
    pthread_t t = begin_thread(is_protected, NULL);
    wait_for(&g.ready, 1); /* it is protected */
    if (test_random(2) != 0) {
        do_something();
    }
    write_unit(g.fd);
    OK(pirn_pthread_cancel(t));
    wait_for(&g.ready, 2);
    write_unit(g.fd);
    CHECK(end_thread(t) == PTHREAD_CANCELED);
    CHECK(g.taken == 2);
}

/* Computes; a request comes anywhere, with or without the CPU. */
static void *computes(void *arg)
{
    int old;
    OK(pirn_pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old));
    TEST_ADD(&g.ready, 1);
    for (;;) {
        sim_pause();
        if (test_random(8) == 0) {
            sim_libc_call(test_random(100));
        }
    }
    return arg;
}

/* Without ticks a running thread acts at once; a ready one is not interrupted. */
static void test_requests_end_threads_that_compute(void *unused)
{
    (void)unused;
    begin();
    if (!test_preempts()) {
        return;
    }
    pthread_t t = begin_thread(computes, NULL);
    wait_for(&g.ready, 1);
    OK(pirn_pthread_cancel(t));
    CHECK(end_thread(t) == PTHREAD_CANCELED);
}

static void *pauses(void *arg)
{
    TEST_ADD(&g.ready, 1);
    posix_point();
    int error = error_of(pirn_posix_pause());
    if (error == ECANCELED) {
        posix_point();
    }
    CHECK(error == EINTR && TEST_GET(&g.handled) > 0);
    return arg;
}

/* A signal before the wait does not end it, so it is sent until the thread has ended. */
static void test_pause_ends_after_a_handler(void *unused)
{
    (void)unused;
    begin();
    handle(SIGUSR1, counts, SA_RESTART);
    pthread_t t = begin_thread(pauses, NULL);
    wait_for(&g.ready, 1);
    if (test_random(2) != 0) {
        OK(pirn_pthread_cancel(t));
        end_thread(t);
        return;
    }
    while (pirn_pthread_tryjoin_np(t, NULL) == EBUSY) {
        OK(pirn_pthread_kill(t, SIGUSR1));
        pirn_sleep(1000);
    }
}

/* The caller would make a call again that no handler has ended. */
static void *calls_once(void *arg)
{
    TEST_ADD(&g.ready, 1);
    while (TEST_GET(&g.over) == 0) {
        long result = IO_CALL(IO_BLOCKS | IO_ONCE, SYS_ppoll, NULL, 0, NULL, NULL, 8);
        int error = error_of(result);
        CHECK(error == EINTR || (error == IO_DISTURBED && posix_signals_ran() == RAN_NOTHING));
    }
    return arg;
}

static void test_a_disturbed_call_hides_no_handler(void *unused)
{
    (void)unused;
    begin();
    handle(SIGUSR1, counts, test_random(2) != 0 ? SA_RESTART : 0);
    pthread_t t = begin_thread(calls_once, NULL);
    wait_for(&g.ready, 1);
    for (int n = 0; pirn_pthread_tryjoin_np(t, NULL) == EBUSY; n++) {
        OK(pirn_pthread_kill(t, SIGUSR1));
        TEST_SET(&g.over, n >= SENDS);
        pirn_sleep(test_random(1000) * (unsigned)(n + 1)); /* it must come to its next call */
    }
}

/* Under a lent mask, for a descriptor that never becomes ready. */
static void *polls(void *arg)
{
    struct pollfd fd = {.fd = (int)test_random(2), .events = POLLIN};
    sigset_t open;
    mask_with(SIG_BLOCK, SIGUSR1);
    OK(pirn_pthread_sigmask(SIG_BLOCK, NULL, &open));
    sigdelset(&open, SIGUSR1);
    TEST_ADD(&g.ready, 1);
    for (int n = 1; n <= SENDS; n++) {
        while (TEST_GET(&g.handled) < n) {
            CHECK(error_of(pirn_posix_ppoll(&fd, 1, NULL, &open)) == EINTR);
        }
        CHECK(mask_has(SIGUSR1));
        TEST_ADD(&g.taken, 1);
    }
    return arg;
}

static void test_ppoll_misses_nothing(void *unused)
{
    (void)unused;
    begin();
    handle(SIGUSR1, counts, test_random(2) != 0 ? SA_RESTART : 0);
    mask_with(SIG_BLOCK, SIGUSR1);
    pthread_t t = begin_thread(polls, NULL);
    wait_for(&g.ready, 1);
    for (int n = 1; n <= SENDS; n++) {
        if (test_random(2) != 0) {
            sim_kill(SIGUSR1);
        } else {
            OK(pirn_pthread_kill(t, SIGUSR1));
        }
        wait_for(&g.taken, n);
    }
    end_thread(t);
}

/* Handlers run under the thread's own mask. */
static void looks_at_its_mask(void *unused)
{
    (void)unused;
    CHECK(mask_has(SIGUSR1));
    TEST_ADD(&g.over, 1);
}

static pthread_key_t key;

static void *polls_for_ever(void *arg)
{
    OK(pirn_pthread_setspecific(key, &g));
    return polls(arg);
}

static void test_a_request_ends_ppoll_under_the_own_mask(void *unused)
{
    (void)unused;
    begin();
    OK(pirn_pthread_key_create(&key, looks_at_its_mask));
    handle(SIGUSR1, counts, 0);
    pthread_t t = begin_thread(polls_for_ever, NULL);
    wait_for(&g.ready, 1);
    OK(pirn_pthread_cancel(t));
    CHECK(end_thread(t) == PTHREAD_CANCELED && g.over == 1);
    OK(pirn_pthread_key_delete(key));
}

/* Ready descriptors are reported, even if a signal comes. */
static void *polls_and_reads(void *arg)
{
    struct pollfd fds[2] = {{.fd = 0, .events = POLLIN}, {.fd = 1, .events = POLLIN}};
    static const struct timespec soon = {0, 3000};
    TEST_ADD(&g.ready, 1);
    for (int n = 0; n < SENDS;) {
        int got = pirn_posix_ppoll(fds, 2, test_random(2) != 0 ? &soon : NULL, NULL);
        CHECK(got >= 0 || error_of(got) == EINTR);
        for (int i = 0; i < 2 && got > 0; i++) {
            n += (fds[i].revents & POLLIN) && read_unit(i) == 1;
        }
    }
    return arg;
}

static void test_poll_sees_what_is_ready(void *unused)
{
    (void)unused;
    begin();
    handle(SIGUSR1, counts, SA_RESTART);
    pthread_t t = begin_thread(polls_and_reads, NULL);
    wait_for(&g.ready, 1);
    for (int n = 0; n < SENDS; n++) {
        if (test_random(2) != 0) {
            OK(pirn_pthread_kill(t, SIGUSR1));
        }
        write_unit((int)test_random(2));
    }
    end_thread(t);
    CHECK(g.taken == SENDS);
}

static void *sleeps(void *arg)
{
    struct timespec time = {0, 20000}, left = {0, 0};
    uint64_t begun = pirn_now();
    TEST_ADD(&g.ready, 1);
    int error = error_of(pirn_posix_nanosleep(&time, &left));
    uint64_t slept = pirn_now() - begun;
    CHECK(error == 0 || (error == EINTR && TEST_GET(&g.handled) > 0));
    CHECK(error == 0 ? slept >= 20000 : slept + (uint64_t)left.tv_nsec >= 20000);
    return arg;
}

static void test_sleeping_ends_after_a_handler(void *unused)
{
    (void)unused;
    begin();
    handle(SIGUSR1, counts, SA_RESTART);
    pthread_t t = begin_thread(sleeps, NULL);
    wait_for(&g.ready, 1);
    pirn_sleep(test_random(30000));
    pirn_pthread_kill(t, SIGUSR1);
    end_thread(t);
}

/* Foreign kernel threads make the calls directly. */
static void foreign_reads(void *unused)
{
    (void)unused;
    char unit;
    CHECK(pirn_posix_read(g.fd, &unit, 1) == 1);
    TEST_ADD(&g.taken, 1);
    TEST_ADD(&g.over, 1);
}

static void test_foreign_threads_make_calls(void *unused)
{
    (void)unused;
    begin();
    g.fd = SIM_FD_DEVICES;
    test_foreign(foreign_reads, NULL);
    pthread_t t = begin_thread(reads, NULL);
    for (int i = 0; i <= SENDS; i++) {
        write_unit(g.fd);
    }
    end_thread(t);
    wait_for(&g.over, 1);
    CHECK(g.taken == SENDS + 1);
}

static const struct test tests[] = {
    {"reads_take_what_is_written", test_reads_take_what_is_written, 0},
    {"signals_restart_calls", test_signals_restart_calls, 0},
    {"signals_interrupt_calls", test_signals_interrupt_calls, 0},
    {"requests_end_calls", test_requests_end_calls, 0},
    {"requests_wait_where_they_must", test_requests_wait_where_they_must, 0},
    {"requests_end_threads_that_compute", test_requests_end_threads_that_compute, 0},
    {"pause_ends_after_a_handler", test_pause_ends_after_a_handler, 0},
    {"a_disturbed_call_hides_no_handler", test_a_disturbed_call_hides_no_handler, 0},
    {"ppoll_misses_nothing", test_ppoll_misses_nothing, 0},
    {"a_request_ends_ppoll_under_the_own_mask", test_a_request_ends_ppoll_under_the_own_mask, 0},
    {"poll_sees_what_is_ready", test_poll_sees_what_is_ready, 0},
    {"sleeping_ends_after_a_handler", test_sleeping_ends_after_a_handler, 0},
    {"foreign_threads_make_calls", test_foreign_threads_make_calls, 0},
    {NULL, NULL, 0},
};

const struct suite suite_calls = {"calls", tests, NULL, false};
