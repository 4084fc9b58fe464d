/* SPDX-License-Identifier: MIT */
/*
 * futex.c - the system call futex, made by the C library's syscall: how libraries with locks of
 * their own wait (futex(2)). And other calls that may block, made in the same way.
 */
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "harness.h"

static uint32_t word, other;
static flag_t waiting, woken, failed;

static long futex(uint32_t *at, int op, uint32_t value, const struct timespec *limit,
                  uint32_t *second, uint32_t third)
{
    return syscall(SYS_futex, at, op, value, limit, second, third);
}

static uint32_t load(uint32_t *at)
{
    return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

static void store(uint32_t *at, uint32_t value)
{
    __atomic_store_n(at, value, __ATOMIC_RELEASE);
}

/* Wait until the word is not 0 any more. */
static void await(uint32_t *at, int op)
{
    while (load(at) == 0) {
        long result = futex(at, op, 0, NULL, NULL, FUTEX_BITSET_MATCH_ANY);
        if (result != 0 && get_errno() != EAGAIN && get_errno() != EINTR) {
            flag_add(&failed, 1);
            return;
        }
    }
}

static void *waits(void *arg)
{
    flag_add(&waiting, 1);
    await(&word, *(int *)arg);
    flag_add(&woken, 1);
    return NULL;
}

static int plain = FUTEX_WAIT, own = FUTEX_WAIT_PRIVATE, by_bits = FUTEX_WAIT_BITSET_PRIVATE;

/* They may not wait yet: whoever comes later sees the new value. */
static void wakes_all(int *op, int wake, int threads)
{
    pthread_t t[100];
    word = 0;
    for (int i = 0; i < threads; i++) {
        t[i] = start(waits, op);
    }
    flag_wait(&waiting, threads);
    usleep(2000);
    store(&word, 1);
    long n = futex(&word, wake, INT_MAX, NULL, NULL, FUTEX_BITSET_MATCH_ANY);
    CHECK(n >= 0 && n <= threads);
    for (int i = 0; i < threads; i++) {
        join(t[i]);
    }
    CHECK_EQ(flag_get(&woken), threads);
    CHECK_EQ(flag_get(&failed), 0);
}

CASE(futex_wakes_all_that_wait)
{
    wakes_all(&plain, FUTEX_WAKE, 20);
}

CASE(futex_wakes_all_that_wait_in_this_process)
{
    wakes_all(&own, FUTEX_WAKE_PRIVATE, 100);
}

CASE(futex_wakes_all_that_wait_for_any_bit)
{
    wakes_all(&by_bits, FUTEX_WAKE_BITSET_PRIVATE, 20);
}

CASE(futex_wait_fails_when_the_value_differs)
{
    word = 7;
    FAILS(futex(&word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0), EAGAIN);
    FAILS(futex(&word, FUTEX_WAIT, 0, NULL, NULL, 0), EAGAIN);
    struct timespec past = {0, 0};
    FAILS(futex(&word, FUTEX_WAIT_PRIVATE, 0, &past, NULL, 0), EAGAIN);
    FAILS(futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 0, &past, NULL, FUTEX_BITSET_MATCH_ANY), EAGAIN);
}

static void *limits(void *arg)
{
    struct timespec interval = {0, 20 * NS_PER_MS}, until = after_ms(CLOCK_MONOTONIC, 20);
    FAILS(futex(&word, FUTEX_WAIT_PRIVATE, 0, &interval, NULL, 0), ETIMEDOUT);
    CHECK(has_passed(CLOCK_MONOTONIC, &until));
    until = after_ms(CLOCK_MONOTONIC, 20);
    FAILS(futex(&word, FUTEX_WAIT, 0, &interval, NULL, 0), ETIMEDOUT);
    CHECK(has_passed(CLOCK_MONOTONIC, &until));
    until = after_ms(CLOCK_MONOTONIC, 20);
    FAILS(futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 0, &until, NULL, FUTEX_BITSET_MATCH_ANY),
          ETIMEDOUT);
    CHECK(has_passed(CLOCK_MONOTONIC, &until));
    until = after_ms(CLOCK_REALTIME, 20);
    FAILS(futex(&word, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME, 0, &until, NULL,
                FUTEX_BITSET_MATCH_ANY),
          ETIMEDOUT);
    CHECK(has_passed(CLOCK_REALTIME, &until));
    struct timespec past = {1, 0};
    FAILS(futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 0, &past, NULL, FUTEX_BITSET_MATCH_ANY),
          ETIMEDOUT);
    return arg;
}

CASE(futex_wait_ends_at_its_limit)
{
    limits(NULL);
    in_thread(limits, NULL);
}

static void *bad(void *arg)
{
    struct timespec t = {0, NS_PER_S}, negative = {-1, 0};
    FAILS(futex(&word, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0), EINVAL);
    FAILS(futex(&word, FUTEX_WAIT_PRIVATE, 0, &negative, NULL, 0), EINVAL);
    FAILS(futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, 0), EINVAL);
    FAILS(futex(&word, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, 0), EINVAL);
    FAILS(futex((uint32_t *)((char *)&word + 1), FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0), EINVAL);
    FAILS(futex(&word, 99, 0, NULL, NULL, 0), ENOSYS);
    return arg;
}

CASE(futex_refuses_bad_arguments)
{
    bad(NULL);
    in_thread(bad, NULL);
}

static void *waits_once(void *arg)
{
    flag_add(&waiting, 1);
    long result = futex(&word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    flag_add(result == 0 ? &woken : &failed, 1);
    return arg;
}

CASE(futex_wakes_as_many_as_asked)
{
    pthread_t t[5];
    int left = (int)COUNT(t);
    for (size_t i = 0; i < COUNT(t); i++) {
        t[i] = start(waits_once, NULL);
    }
    flag_wait(&waiting, (int)COUNT(t));
    while (left != 0) {
        long n = futex(&word, FUTEX_WAKE_PRIVATE, 2, NULL, NULL, 0);
        CHECK(n >= 0 && n <= 2);
        left -= (int)n;
        sched_yield();
    }
    for (size_t i = 0; i < COUNT(t); i++) {
        join(t[i]);
    }
    CHECK_EQ(flag_get(&woken), COUNT(t));
    CHECK_EQ(futex(&word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0), 0);
}

static void *waits_for_bits(void *arg)
{
    flag_add(&waiting, 1);
    long result = futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, (uint32_t)(long)arg);
    flag_add(result == 0 ? &woken : &failed, 1);
    return NULL;
}

CASE(futex_wakes_those_with_the_bits)
{
    pthread_t first = start(waits_for_bits, (void *)1), second = start(waits_for_bits, (void *)2);
    flag_wait(&waiting, 2);
    while (futex(&word, FUTEX_WAKE_BITSET_PRIVATE, 9, NULL, NULL, 2) != 1) {
        sched_yield();
    }
    join(second);
    CHECK_EQ(flag_get(&woken), 1);
    while (futex(&word, FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0) != 1) {
        sched_yield();
    }
    join(first);
    CHECK_EQ(flag_get(&failed), 0);
}

/* All are woken in the end, whether they were moved or woken at once. */
static void *waits_for_two(void *arg)
{
    flag_add(&waiting, 1);
    await(&word, FUTEX_WAIT_PRIVATE);
    await(&other, FUTEX_WAIT_PRIVATE);
    flag_add(&woken, 1);
    return arg;
}

CASE(futex_requeue_moves_or_wakes)
{
    pthread_t t[8];
    for (size_t i = 0; i < COUNT(t); i++) {
        t[i] = start(waits_for_two, NULL);
    }
    flag_wait(&waiting, (int)COUNT(t));
    usleep(2000);
    FAILS(syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE_PRIVATE, 1, 100L, &other, 5), EAGAIN);
    store(&word, 1);
    CHECK(syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE_PRIVATE, 1, 100L, &other, 1) >= 0);
    store(&other, 1);
    CHECK(futex(&other, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0) >= 0);
    for (size_t i = 0; i < COUNT(t); i++) {
        join(t[i]);
    }
    CHECK_EQ(flag_get(&woken), COUNT(t));
}

CASE(futex_wake_op_changes_and_wakes)
{
    pthread_t t = start(waits, &own);
    flag_wait(&waiting, 1);
    usleep(2000);
    store(&word, 1);
    long n = syscall(SYS_futex, &word, FUTEX_WAKE_OP_PRIVATE, 1, 1L, &other,
                     FUTEX_OP(FUTEX_OP_ADD, 3, FUTEX_OP_CMP_EQ, 0));
    CHECK(n >= 0);
    CHECK_EQ(load(&other), 3);
    join(t);
}

static uint32_t *shared_word;

static void child_waits(void)
{
    await(shared_word, FUTEX_WAIT);
}

static void *wakes_child(void *arg)
{
    pid_t child = child_start(child_waits);
    usleep(5000);
    store(shared_word, 1);
    CHECK(futex(shared_word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0) >= 0);
    child_ends_well(child);
    return arg;
}

static void *waits_shared(void *arg)
{
    flag_set(&waiting, 1);
    await(shared_word, FUTEX_WAIT);
    return arg;
}

static void child_wakes(void)
{
    store(shared_word, 1);
    CHECK(futex(shared_word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0) >= 0);
}

static void share_word(void)
{
    shared_word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared_word != MAP_FAILED);
}

CASE(futex_wakes_another_process)
{
    share_word();
    in_thread(wakes_child, NULL);
}

CASE(futex_is_woken_by_another_process)
{
    share_word();
    pthread_t t = start(waits_shared, NULL);
    flag_wait(&waiting, 1);
    usleep(5000);
    child_ends_well(child_start(child_wakes));
    join(t);
}

/* A child of fork has nobody that waits. */
static void child_has_no_waiters(void)
{
    CHECK_EQ(futex(&word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0), 0);
    pthread_t t = start(waits, &own);
    flag_wait(&waiting, 2);
    store(&word, 1);
    CHECK(futex(&word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0) >= 0);
    join(t);
}

CASE(futex_waiters_stay_with_the_parent)
{
    pthread_t t = start(waits, &own);
    flag_wait(&waiting, 1);
    usleep(2000);
    in_child(child_has_no_waiters);
    store(&word, 1);
    CHECK(futex(&word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0) >= 0);
    join(t);
}

static flag_t handled;

static void on_signal(int signal)
{
    (void)signal;
    flag_add(&handled, 1);
}

static void handle(int flags)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
    OK(sigaction(SIGUSR1, &action, NULL));
}

static void *is_interrupted(void *arg)
{
    flag_set(&waiting, 1);
    FAILS(futex(&word, FUTEX_WAIT_PRIVATE, 0, arg, NULL, 0), EINTR);
    return NULL;
}

/* The signal may come before the wait; then there is another one. */
static void interrupts(pthread_t t)
{
    flag_wait(&waiting, 1);
    while (pthread_tryjoin_np(t, NULL) == EBUSY) {
        OK(pthread_kill(t, SIGUSR1));
        usleep(1000);
    }
}

CASE(futex_wait_ends_when_a_handler_has_run)
{
    handle(0);
    interrupts(start(is_interrupted, NULL));
}

CASE(futex_wait_with_a_limit_ends_when_a_handler_has_run)
{
    static struct timespec limit = {LONG_MS / 1000, 0};
    handle(SA_RESTART);
    interrupts(start(is_interrupted, &limit));
}

static void *is_restarted(void *arg)
{
    flag_set(&waiting, 1);
    OK(futex(&word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0));
    flag_set(&woken, 1);
    return arg;
}

CASE(futex_wait_goes_on_when_handlers_restart)
{
    handle(SA_RESTART);
    pthread_t t = start(is_restarted, NULL);
    flag_wait(&waiting, 1);
    usleep(2000);
    OK(pthread_kill(t, SIGUSR1));
    flag_wait(&handled, 1);
    CHECK_EQ(flag_get(&woken), 0);
    while (futex(&word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) != 1) {
        sched_yield();
    }
    join(t);
}

static void *is_no_point(void *arg)
{
    flag_set(&waiting, 1);
    await(&word, FUTEX_WAIT_PRIVATE);
    flag_set(&woken, 1);
    pthread_testcancel();
    return arg;
}

CASE(futex_wait_is_no_cancellation_point)
{
    pthread_t t = start(is_no_point, NULL);
    flag_wait(&waiting, 1);
    OK(pthread_cancel(t));
    usleep(2000);
    CHECK_EQ(flag_get(&woken), 0);
    store(&word, 1);
    CHECK(futex(&word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) >= 0);
    CHECK(join(t) == PTHREAD_CANCELED);
    CHECK_EQ(flag_get(&woken), 1);
}

/* A mutex of a library's own. */
static uint32_t mutex;
static long visits;

static void *counts(void *arg)
{
    for (int i = 0; i < 300; i++) {
        uint32_t free = 0;
        if (!__atomic_compare_exchange_n(&mutex, &free, 1, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED)) {
            while (__atomic_exchange_n(&mutex, 2, __ATOMIC_ACQUIRE) != 0) {
                futex(&mutex, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
            }
        }
        visits++;
        if (i % 16 == 0) {
            sched_yield();
        }
        if (__atomic_exchange_n(&mutex, 0, __ATOMIC_RELEASE) == 2) {
            futex(&mutex, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        }
    }
    return arg;
}

CASE(mutex_of_a_library_excludes)
{
    pthread_t t[40];
    for (size_t i = 0; i < COUNT(t); i++) {
        t[i] = start(counts, NULL);
    }
    for (size_t i = 0; i < COUNT(t); i++) {
        join(t[i]);
    }
    CHECK_EQ(visits, 300 * (long)COUNT(t));
}

/* ---- other calls by syscall() ---- */

static int ends[2];

static void *reads(void *arg)
{
    char c = 0;
    struct iovec iov = {&c, 1};
    flag_add(&waiting, 1);
    CHECK_EQ(arg == NULL ? syscall(SYS_read, ends[0], &c, 1) : syscall(SYS_readv, ends[0], &iov, 1),
             1);
    CHECK_EQ(c, 'x');
    return NULL;
}

CASE(read_by_number_waits_for_data)
{
    OK(pipe(ends));
    pthread_t t = start(reads, NULL), u = start(reads, &ends);
    flag_wait(&waiting, 2);
    usleep(2000);
    CHECK_EQ(syscall(SYS_write, ends[1], "xx", 2), 2);
    join(t);
    join(u);
}

CASE(calls_by_number_set_errno)
{
    in_thread(limits, NULL); /* there is a runtime */
    FAILS(syscall(SYS_read, -1, NULL, 0), EBADF);
    FAILS(syscall(SYS_close, -1), EBADF);
    FAILS(syscall(SYS_dup3, 0, 0, 0), EINVAL);
    FAILS(syscall(SYS_fsync, -1), EBADF);
    FAILS(syscall(SYS_connect, -1, NULL, 0), EBADF);
    FAILS(syscall(SYS_wait4, -1, NULL, 0, NULL), ECHILD);
    FAILS(syscall(-7L), ENOSYS);
    CHECK_EQ(syscall(SYS_getpid), getpid());
}

static void *receives(void *arg)
{
    char text[8];
    flag_set(&waiting, 1);
    CHECK_EQ(syscall(SYS_recvfrom, ends[0], text, sizeof(text), 0, NULL, NULL), 3);
    return arg;
}

CASE(receive_by_number_waits_for_data)
{
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    pthread_t t = start(receives, NULL);
    flag_wait(&waiting, 1);
    usleep(2000);
    CHECK_EQ(syscall(SYS_sendto, ends[1], "abc", 3, 0, NULL, 0), 3);
    join(t);
}

/* 0: the call began too late, and found no file or the next one. */
static void *reads_first(void *arg)
{
    char c = 0;
    flag_set(&waiting, 1);
    bool got = syscall(SYS_read, ends[0], &c, 1) == 1 && c == 'x';
    return got ? arg : NULL;
}

static bool keeps_its_file(useconds_t us)
{
    int next[2];
    OK(pipe(ends));
    flag_set(&waiting, 0);
    pthread_t t = start(reads_first, &ends);
    flag_wait(&waiting, 1);
    usleep(us);
    OK(syscall(SYS_close, ends[0]));
    OK(pipe(next)); /* the number means another file now */
    CHECK_EQ(next[0], ends[0]);
    (void)!write(ends[1], "x", 1);           /* EPIPE: too late */
    CHECK_EQ(write(next[1], "wrong", 5), 5); /* for a call that began too late */
    return join(t) != NULL;
}

/* As io_closed.c: the call keeps its file, and is tried with growing delays until it has begun. */
CASE(close_by_number_leaves_the_reader_its_file)
{
    bool kept = false;
    signal(SIGPIPE, SIG_IGN);
    for (useconds_t us = 2000; !kept && us < 4000000; us *= 2) {
        kept = keeps_its_file(us);
    }
    CHECK(kept);
}

CASE(read_by_number_is_no_cancellation_point)
{
    OK(pipe(ends));
    pthread_t t = start(reads, NULL);
    flag_wait(&waiting, 1);
    OK(pthread_cancel(t));
    usleep(2000);
    CHECK_EQ(write(ends[1], "x", 1), 1);
    CHECK(join(t) == NULL);
}

/* Another call of Linux alone. The rights of threads: tests/posix/pkeys.c. */
CASE(pkey_alloc_refuses_unknown_flags)
{
    set_errno(0);
    CHECK_EQ(pkey_alloc(1, 0), -1);
    CHECK(get_errno() == EINVAL || get_errno() == ENOSYS);
}
