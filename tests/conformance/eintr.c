/* SPDX-License-Identifier: MIT */
/*
 * eintr.c - the effect of a signal handler on a waiting thread: the call fails with EINTR, or
 * continues (SA_RESTART); the functions of threads never return EINTR. A row for each call.
 *
 * Length: a table of calls, each with the few lines that make it.
 */
#include "busy_handler.h"
#include "harness.h"

#include <aio.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>

static flag_t about_to_wait, handled, done;
static int fd[2];
static sem_t s;
static pid_t child;

static void counts(int number)
{
    (void)number;
    flag_add(&handled, 1);
}

static flag_t tried;

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

static void pipe_setup(void)
{
    OK(pipe(fd));
}

static void full_pipe_setup(void)
{
    static char buffer[65536];
    pipe_setup();
    OK(fcntl(fd[1], F_SETFL, O_NONBLOCK));
    while (write(fd[1], buffer, sizeof(buffer)) > 0) {
    }
    while (write(fd[1], buffer, 1) > 0) {
    }
    OK(fcntl(fd[1], F_SETFL, 0));
}

static void socket_setup(void)
{
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
}

static void semaphore_setup(void)
{
    OK(sem_init(&s, 0, 0));
}

static void shared_semaphore_setup(void)
{
    OK(sem_init(&s, 1, 0));
}

/* It ends when the pipe is closed. */
static void child_setup(void)
{
    pipe_setup();
    child = fork();
    if (child == 0) {
        char c;
        close(fd[1]);
        CHECK(read(fd[0], &c, 1) >= 0);
        _exit(0);
    }
    close(fd[0]);
}

/* Each returns 0 or the error. */
static int error_of(long result)
{
    return result == -1 ? get_errno() : 0;
}

static int call_sem_wait(void)
{
    return error_of(sem_wait(&s));
}
static int call_sem_timedwait(void)
{
    struct timespec at = after_ms(CLOCK_REALTIME, LONG_MS);
    return error_of(sem_timedwait(&s, &at));
}
static int call_sem_clockwait(void)
{
    struct timespec at = after_ms(CLOCK_MONOTONIC, LONG_MS);
    return error_of(sem_clockwait(&s, CLOCK_MONOTONIC, &at));
}
static int call_read(void)
{
    char c;
    return error_of(read(fd[0], &c, 1));
}
static int call_write(void)
{
    return error_of(write(fd[1], "x", 1));
}
static int call_recv(void)
{
    char c;
    return error_of(recv(fd[0], &c, 1, 0));
}
static int call_waitpid(void)
{
    return error_of(waitpid(child, NULL, 0));
}
static int call_poll(void)
{
    struct pollfd p = {fd[0], POLLIN, 0};
    return error_of(poll(&p, 1, LONG_MS));
}
static int call_select(void)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fd[0], &set);
    return error_of(select(fd[0] + 1, &set, NULL, NULL, NULL));
}
static int call_epoll_wait(void)
{
    struct epoll_event event = {.events = EPOLLIN};
    int e = epoll_create1(0);
    OK(epoll_ctl(e, EPOLL_CTL_ADD, fd[0], &event));
    return error_of(epoll_wait(e, &event, 1, LONG_MS));
}

static int call_nanosleep(void)
{
    struct timespec time = {.tv_sec = LONG_MS / 1000};
    return error_of(nanosleep(&time, NULL));
}
static int call_clock_nanosleep(void)
{
    struct timespec at = after_ms(CLOCK_MONOTONIC, LONG_MS);
    return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}
static int call_pause(void)
{
    return error_of(pause());
}
static int call_sigsuspend(void)
{
    sigset_t none;
    sigemptyset(&none);
    return error_of(sigsuspend(&none));
}
static int call_sigtimedwait(void)
{
    struct timespec time = {.tv_sec = LONG_MS / 1000};
    sigset_t others;
    sigemptyset(&others);
    sigaddset(&others, SIGUSR2);
    return error_of(sigtimedwait(&others, NULL, &time));
}
static int call_ppoll(void)
{
    struct timespec time = {.tv_sec = LONG_MS / 1000};
    sigset_t none;
    sigemptyset(&none);
    return error_of(ppoll(NULL, 0, &time, &none));
}
static int call_pselect(void)
{
    struct timespec time = {.tv_sec = LONG_MS / 1000};
    sigset_t none;
    sigemptyset(&none);
    return error_of(pselect(0, NULL, NULL, NULL, &time, &none));
}

static int call_lio_listio(void)
{
    static char c;
    static struct aiocb one;
    struct aiocb *list[] = {&one};
    one = (struct aiocb){
        .aio_fildes = fd[0], .aio_buf = &c, .aio_nbytes = 1, .aio_lio_opcode = LIO_READ};
    return error_of(lio_listio(LIO_WAIT, list, 1, NULL));
}

static void no_setup(void) {}

static void post(void)
{
    OK(sem_post(&s));
}
static void send_byte(void)
{
    CHECK_EQ(write(fd[1], "x", 1), 1);
}
static void take_bytes(void)
{
    static char buffer[65536];
    CHECK(read(fd[0], buffer, sizeof(buffer)) > 0);
}
static void end_child(void)
{
    close(fd[1]);
}

struct wait {
    const char *name;
    int (*call)(void);
    void (*setup)(void);
    void (*satisfy)(void); /* or NULL: nothing but a signal ends it in time */
    bool restarts;         /* with SA_RESTART */
};

static const struct wait waits[] = {
    {"sem_wait", call_sem_wait, semaphore_setup, post, true},
    {"sem_timedwait", call_sem_timedwait, semaphore_setup, post, true},
    {"shared_sem_wait", call_sem_wait, shared_semaphore_setup, post, true},
    {"shared_sem_timedwait", call_sem_timedwait, shared_semaphore_setup, post, true},
    {"sem_clockwait", call_sem_clockwait, semaphore_setup, post, true},
    {"read", call_read, pipe_setup, send_byte, true},
    {"write", call_write, full_pipe_setup, take_bytes, true},
    {"recv", call_recv, socket_setup, send_byte, true},
    {"waitpid", call_waitpid, child_setup, end_child, true},
    {"poll", call_poll, pipe_setup, send_byte, false},
    {"select", call_select, pipe_setup, send_byte, false},
    {"epoll_wait", call_epoll_wait, pipe_setup, send_byte, false},
    {"nanosleep", call_nanosleep, no_setup, NULL, false},
    {"clock_nanosleep", call_clock_nanosleep, no_setup, NULL, false},
    {"pause", call_pause, no_setup, NULL, false},
    {"sigsuspend", call_sigsuspend, no_setup, NULL, false},
    {"sigtimedwait", call_sigtimedwait, no_setup, NULL, false},
    {"ppoll", call_ppoll, no_setup, NULL, false},
    {"pselect", call_pselect, no_setup, NULL, false},
    {"lio_listio", call_lio_listio, pipe_setup, send_byte, true},
};

static int result;

static void *calls(void *arg)
{
    const struct wait *w = arg;
    flag_set(&about_to_wait, 1);
    result = w->call();
    flag_set(&done, 1);
    return NULL;
}

static pthread_t wait_begins(const struct wait *w)
{
    w->setup();
    pthread_t t = start(calls, (void *)w);
    flag_wait(&about_to_wait, 1);
    give_way();
    return t;
}

/* A signal that comes before the wait does not count, so repeat. */
static void interrupt_until_done(pthread_t t)
{
    while (flag_get(&done) == 0) {
        OK(pthread_kill(t, SIGUSR1));
        give_way();
    }
}

static void is_eintr(const void *row)
{
    handle(0);
    pthread_t t = wait_begins(row);
    interrupt_until_done(t);
    join(t);
    CHECK_EQ(result, EINTR);
    CHECK(flag_get(&handled) >= 1);
}

static void is_eintr_after_a_busy_handler(const void *row)
{
    busy_begin();
    handle_by(is_busy_and_counts, 0);
    pthread_t t = wait_begins(row);
    interrupt_until_done(t);
    join(t);
    CHECK_EQ(result, EINTR);
}

static void goes_on(const void *row)
{
    const struct wait *w = row;
    handle(SA_RESTART);
    pthread_t t = wait_begins(w);
    for (int i = 1; i <= 3; i++) {
        OK(pthread_kill(t, SIGUSR1));
        flag_wait(&handled, i); /* in the waiting thread, while it waits */
        give_way();
        CHECK_EQ(flag_get(&done), 0);
    }
    w->satisfy();
    join(t);
    OK(result);
}

static const char *suffix;

static const char *name_of(const void *row)
{
    char *name = malloc(64);
    snprintf(name, 64, "%s_%s", ((const struct wait *)row)->name, suffix);
    return name;
}

static void is_eintr_in_spite_of_restart(const void *row)
{
    handle(SA_RESTART);
    pthread_t t = wait_begins(row);
    interrupt_until_done(t);
    join(t);
    CHECK_EQ(result, EINTR);
}

static __attribute__((constructor)) void add(void)
{
    for (const struct wait *w = waits; w != waits + COUNT(waits); w++) {
        suffix = "is_eintr";
        cases_add(is_eintr, w, sizeof(*w), 1, name_of);
        suffix = "is_eintr_after_a_busy_handler";
        cases_add(is_eintr_after_a_busy_handler, w, sizeof(*w), 1, name_of);
        suffix = w->restarts ? "goes_on_with_restart" : "is_eintr_in_spite_of_restart";
        cases_add(w->restarts ? goes_on : is_eintr_in_spite_of_restart, w, sizeof(*w), 1, name_of);
    }
}

static struct timespec left;
static int64_t slept_ns;

static void *sleeps(void *arg)
{
    struct timespec time = {.tv_sec = LONG_MS / 1000}, before, after;
    (void)arg;
    clock_gettime(CLOCK_MONOTONIC, &before);
    flag_set(&about_to_wait, 1);
    FAILS(nanosleep(&time, &left), EINTR);
    clock_gettime(CLOCK_MONOTONIC, &after);
    slept_ns = ns_between(&before, &after);
    flag_set(&done, 1);
    return NULL;
}

CASE(nanosleep_is_eintr_and_tells_what_is_left)
{
    handle(SA_RESTART); /* makes no difference here */
    pthread_t t = start(sleeps, NULL);
    flag_wait(&about_to_wait, 1);
    give_way();
    interrupt_until_done(t);
    join(t);
    int64_t rest = (int64_t)left.tv_sec * NS_PER_S + left.tv_nsec;
    CHECK(rest > 0 && rest < LONG_MS * NS_PER_MS);
    CHECK(rest + slept_ns >= LONG_MS * NS_PER_MS);
}

static void *sleeps_on_clock(void *absolute)
{
    struct timespec time = {.tv_sec = LONG_MS / 1000};
    left = (struct timespec){-7, -7};
    if (absolute != NULL) {
        time = after_ms(CLOCK_MONOTONIC, LONG_MS);
    }
    flag_set(&about_to_wait, 1);
    int flags = absolute != NULL ? TIMER_ABSTIME : 0;
    CHECK_EQ(clock_nanosleep(CLOCK_MONOTONIC, flags, &time, &left), EINTR);
    flag_set(&done, 1);
    return NULL;
}

CASE(clock_nanosleep_is_eintr_and_tells_what_is_left)
{
    handle(0);
    pthread_t t = start(sleeps_on_clock, NULL);
    flag_wait(&about_to_wait, 1);
    interrupt_until_done(t);
    join(t);
    CHECK(left.tv_sec >= 0 && left.tv_sec <= LONG_MS / 1000);
}

/* An absolute time does not change, so the rest is not returned. */
CASE(clock_nanosleep_until_a_time_is_eintr)
{
    handle(0);
    pthread_t t = start(sleeps_on_clock, &done);
    flag_wait(&about_to_wait, 1);
    interrupt_until_done(t);
    join(t);
    CHECK_EQ(left.tv_sec, -7);
}

/* Whole seconds: part of the last second has passed. The kernel's timer may report up to 50 us
 * (its slack) more than the requested time, so the signal may come that early once, but not each
 * time. */
static void *sleeps_seconds(void *arg)
{
    struct timespec before, after;
    unsigned rest = LONG_MS / 1000;
    flag_set(&about_to_wait, 1);
    for (int i = 0; i < 5 && rest == LONG_MS / 1000; i++) {
        clock_gettime(CLOCK_MONOTONIC, &before);
        rest = sleep(LONG_MS / 1000);
        clock_gettime(CLOCK_MONOTONIC, &after);
    }
    CHECK(rest < LONG_MS / 1000);
    CHECK((int64_t)(rest + 1) * NS_PER_S >= LONG_MS * NS_PER_MS - ns_between(&before, &after));
    flag_set(&done, 1);
    return arg;
}

CASE(sleep_tells_what_is_left)
{
    handle(0);
    pthread_t t = start(sleeps_seconds, NULL);
    flag_wait(&about_to_wait, 1);
    interrupt_until_done(t);
    join(t);
}

static void *selects(void *arg)
{
    const struct timeval long_time = {.tv_sec = LONG_MS / 1000};
    struct timeval time = long_time;
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    flag_set(&about_to_wait, 1);
    FAILS(select(0, NULL, NULL, NULL, &time), EINTR);
    clock_gettime(CLOCK_MONOTONIC, &after);
    CHECK(time.tv_sec < long_time.tv_sec);
    CHECK((int64_t)(time.tv_sec + 1) * NS_PER_S >=
          LONG_MS * NS_PER_MS - ns_between(&before, &after));
    flag_set(&done, 1);
    return arg;
}

static flag_t sent;
static struct timespec awake;

static void *sleeps_until_awake(void *arg)
{
    OK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &awake, NULL));
    CHECK(flag_get(&sent) == 0 || flag_get(&handled) == 1);
    return arg;
}

/* The time of two threads is over at once; the first that runs sends the other a signal. */
CASE(nanosleep_returns_after_the_handler_of_a_late_signal)
{
    struct sigaction action = {.sa_handler = counts, .sa_flags = SA_RESTART};
    need_one_cpu();
    OK(sigaction(SIGUSR1, &action, NULL));
    for (int i = 0; i < 30; i++) {
        flag_set(&sent, 0);
        flag_set(&handled, 0);
        awake = after_ms(CLOCK_MONOTONIC, 3);
        struct timespec before = awake;
        before.tv_nsec -= before.tv_nsec > 0;
        pthread_t t = start(sleeps_until_awake, NULL);
        OK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &before, NULL));
        OK_OR(pthread_kill(t, SIGUSR1), ESRCH);
        flag_set(&sent, 1);
        join(t);
    }
}

CASE(select_that_is_eintr_tells_what_is_left)
{
    handle(SA_RESTART); /* makes no difference here */
    pthread_t t = start(selects, NULL);
    flag_wait(&about_to_wait, 1);
    interrupt_until_done(t);
    join(t);
}

static void *sleeps_microseconds(void *arg)
{
    flag_set(&about_to_wait, 1);
    FAILS(usleep(LONG_MS * 1000u), EINTR);
    flag_set(&done, 1);
    return arg;
}

CASE(usleep_is_eintr)
{
    handle(0);
    pthread_t t = start(sleeps_microseconds, NULL);
    flag_wait(&about_to_wait, 1);
    interrupt_until_done(t);
    join(t);
}

/* The functions of threads: interrupted three times, then satisfied. */
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static pthread_t target;
static bool is_open;
static flag_t go;

static int call_mutex(void)
{
    return pthread_mutex_lock(&m);
}
static int call_timed_mutex(void)
{
    struct timespec at = after_ms(CLOCK_REALTIME, LONG_MS);
    return pthread_mutex_timedlock(&m, &at);
}
static int call_cond(void)
{
    int error = pthread_mutex_lock(&m);
    while (error == 0 && !is_open) {
        error = pthread_cond_wait(&c, &m); /* 0 without a signal is allowed */
    }
    pthread_mutex_unlock(&m);
    return error;
}
static int call_timed_cond(void)
{
    struct timespec at = after_ms(CLOCK_REALTIME, LONG_MS);
    int error = pthread_mutex_lock(&m);
    while (error == 0 && !is_open) {
        error = pthread_cond_timedwait(&c, &m, &at);
    }
    pthread_mutex_unlock(&m);
    return error;
}
static int call_read_lock(void)
{
    return pthread_rwlock_rdlock(&lock);
}
static int call_write_lock(void)
{
    return pthread_rwlock_wrlock(&lock);
}
static int call_barrier(void)
{
    int error = pthread_barrier_wait(&barrier);
    return error == PTHREAD_BARRIER_SERIAL_THREAD ? 0 : error;
}
static int call_join(void)
{
    return pthread_join(target, NULL);
}
static int call_spin(void)
{
    return pthread_spin_lock(&spin);
}

static void *waits_for_go(void *arg)
{
    flag_wait(&go, 1);
    return arg;
}

static void mutex_setup(void)
{
    OK(pthread_mutex_lock(&m));
}
static void cond_setup(void) {}
static void lock_setup(void)
{
    OK(pthread_rwlock_wrlock(&lock));
}
static void barrier_setup(void)
{
    OK(pthread_barrier_init(&barrier, NULL, 2));
}
static void join_setup(void)
{
    target = start(waits_for_go, NULL);
}
static void spin_setup(void)
{
    OK(pthread_spin_init(&spin, 0));
    OK(pthread_spin_lock(&spin));
}

static void unlock_mutex(void)
{
    OK(pthread_mutex_unlock(&m));
}
static void signal_cond(void)
{
    OK(pthread_mutex_lock(&m));
    is_open = true;
    OK(pthread_cond_broadcast(&c));
    OK(pthread_mutex_unlock(&m));
}
static void unlock_lock(void)
{
    OK(pthread_rwlock_unlock(&lock));
}
static void come_to_barrier(void)
{
    OK_OR(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
}
static void end_target(void)
{
    flag_set(&go, 1);
}
static void unlock_spin(void)
{
    OK(pthread_spin_unlock(&spin));
}

static const struct wait uninterrupted[] = {
    {"mutex_lock", call_mutex, mutex_setup, unlock_mutex, true},
    {"mutex_timedlock", call_timed_mutex, mutex_setup, unlock_mutex, true},
    {"cond_wait", call_cond, cond_setup, signal_cond, true},
    {"cond_timedwait", call_timed_cond, cond_setup, signal_cond, true},
    {"rwlock_rdlock", call_read_lock, lock_setup, unlock_lock, true},
    {"rwlock_wrlock", call_write_lock, lock_setup, unlock_lock, true},
    {"barrier_wait", call_barrier, barrier_setup, come_to_barrier, true},
    {"join", call_join, join_setup, end_target, true},
    {"spin_lock", call_spin, spin_setup, unlock_spin, true},
};

static void is_never_eintr(const void *row)
{
    const struct wait *w = row;
    handle(0);
    pthread_t t = wait_begins(w);
    for (int i = 1; i <= 3; i++) {
        OK(pthread_kill(t, SIGUSR1));
        flag_wait(&handled, i); /* the handler runs in a thread that waits */
    }
    give_way();
    CHECK_EQ(flag_get(&done), 0);
    w->satisfy();
    join(t);
    OK(result);
}

static __attribute__((constructor)) void add_uninterrupted(void)
{
    suffix = "is_never_eintr";
    cases_add(is_never_eintr, uninterrupted, sizeof(uninterrupted[0]), COUNT(uninterrupted),
              name_of);
}

/* The handler may run before the wait is checked again, or after. */
static void is_satisfied_beside_a_handler(const void *row)
{
    const struct wait *w = row;
    handle(0);
    pthread_t t = wait_begins(w);
    OK(pthread_kill(t, SIGUSR1));
    w->satisfy();
    join(t);
    OK(result);
    flag_wait(&handled, 1);
}

static __attribute__((constructor)) void add_satisfied(void)
{
    suffix = "is_satisfied_beside_a_handler";
    cases_add(is_satisfied_beside_a_handler, uninterrupted, sizeof(uninterrupted[0]),
              COUNT(uninterrupted), name_of);
}
