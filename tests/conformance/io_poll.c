/* SPDX-License-Identifier: MIT */
/*
 * io_poll.c - poll, select and epoll_wait: time-outs, results, many threads. io_poll_errors.c has
 * the rest.
 */
#include "harness.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>

static int fd[2], other[2];
static char in[16];
static flag_t about_to_call, returned, stop, turns;

static void *yields(void *arg)
{
    while (flag_get(&stop) == 0) {
        flag_add(&turns, 1);
        sched_yield();
    }
    return arg;
}

/* Each way to wait for the end `fd[0]`: `ms` < 0 = for ever. Returns what the call returned. */
static int wait_poll(int ms)
{
    struct pollfd p = {fd[0], POLLIN, 0};
    return poll(&p, 1, ms);
}

static const struct timespec *spec(struct timespec *t, int ms)
{
    *t = (struct timespec){ms / 1000, ms % 1000 * NS_PER_MS};
    return ms < 0 ? NULL : t;
}

static int wait_ppoll(int ms)
{
    struct pollfd p = {fd[0], POLLIN, 0};
    struct timespec t;
    return ppoll(&p, 1, spec(&t, ms), NULL);
}

static int wait_select(int ms)
{
    struct timeval t = {ms / 1000, ms % 1000 * 1000};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fd[0], &set);
    return select(fd[0] + 1, &set, NULL, NULL, ms < 0 ? NULL : &t);
}

static int wait_pselect(int ms)
{
    struct timespec t;
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fd[0], &set);
    return pselect(fd[0] + 1, &set, NULL, NULL, spec(&t, ms), NULL);
}

static int epoll_for(int in_fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = in_fd};
    int e = epoll_create1(EPOLL_CLOEXEC);
    CHECK(e >= 0);
    OK(epoll_ctl(e, EPOLL_CTL_ADD, in_fd, &event));
    return e;
}

static int wait_epoll(int ms)
{
    struct epoll_event event;
    int e = epoll_for(fd[0]);
    int n = epoll_wait(e, &event, 1, ms);
    close(e);
    return n;
}

static int wait_epoll_pwait(int ms)
{
    struct epoll_event event;
    int e = epoll_for(fd[0]);
    int n = epoll_pwait(e, &event, 1, ms, NULL);
    close(e);
    return n;
}

struct way {
    const char *name;
    int (*wait)(int ms);
};

static const struct way ways[] = {
    {"poll", wait_poll},       {"ppoll", wait_ppoll},      {"select", wait_select},
    {"pselect", wait_pselect}, {"epoll_wait", wait_epoll}, {"epoll_pwait", wait_epoll_pwait},
};

/* With a time-out of zero the call returns at once. */
static void of_zero_time_asks(const void *row)
{
    const struct way *w = row;
    OK(pipe(fd));
    OK(w->wait(0));
    CHECK_EQ(write(fd[1], "x", 1), 1);
    CHECK_EQ(w->wait(0), 1);
    CHECK_EQ(read(fd[0], in, 1), 1);
    OK(w->wait(0));
}

static void lasts_its_time_while_others_run(const void *row)
{
    const struct way *w = row;
    struct timespec before, after;
    OK(pipe(fd));
    pthread_t t = start(yields, NULL);
    flag_wait(&turns, 1);
    int turns_before = flag_get(&turns);
    clock_gettime(CLOCK_MONOTONIC, &before);
    OK(w->wait(50));
    clock_gettime(CLOCK_MONOTONIC, &after);
    CHECK(ns_between(&before, &after) >= 50 * NS_PER_MS);
    CHECK(flag_get(&turns) > turns_before);
    flag_set(&stop, 1);
    join(t);
}

/* Nothing is consumed: all threads that wait for one byte return. */
static const struct way *the_way;

static void *waits(void *arg)
{
    flag_add(&about_to_call, 1);
    CHECK_EQ(the_way->wait(-1), 1);
    flag_add(&returned, 1);
    return arg;
}

static void tells_all_threads(const void *row)
{
    pthread_t t[20];
    the_way = row;
    OK(pipe(fd));
    for (size_t i = 0; i < COUNT(t); i++) {
        t[i] = start(waits, NULL);
    }
    flag_wait(&about_to_call, COUNT(t));
    give_way();
    CHECK_EQ(flag_get(&returned), 0);
    CHECK_EQ(write(fd[1], "x", 1), 1);
    for (size_t i = 0; i < COUNT(t); i++) {
        join(t[i]);
    }
}

/* Beside a thread that reads the same descriptor: both are served. */
static void *reads_two(void *arg)
{
    flag_add(&about_to_call, 1);
    CHECK_EQ(read(fd[0], in, 1), 1);
    return arg;
}

static void waits_beside_a_reader(const void *row)
{
    the_way = row;
    OK(pipe(fd));
    pthread_t reader = start(reads_two, NULL), t = start(waits, NULL);
    flag_wait(&about_to_call, 2);
    give_way();
    CHECK_EQ(write(fd[1], "xy", 2), 2); /* one byte is left in any case */
    join(reader);
    join(t);
    CHECK_EQ(read(fd[0], in, 2), 1);
}

static void returns_at_the_end_of_the_pipe(const void *row)
{
    the_way = row;
    OK(pipe(fd));
    pthread_t t = start(waits, NULL);
    flag_wait(&about_to_call, 1);
    give_way();
    OK(close(fd[1]));
    join(t);
}

static const char *suffix;

static const char *name_of(const void *row)
{
    char *name = malloc(96);
    snprintf(name, 96, "%s_%s", ((const struct way *)row)->name, suffix);
    return name;
}

static void add(void (*run)(const void *), const char *name)
{
    suffix = name;
    cases_add(run, ways, sizeof(ways[0]), COUNT(ways), name_of);
}

static __attribute__((constructor)) void add_all(void)
{
    add(of_zero_time_asks, "of_zero_time_asks");
    add(lasts_its_time_while_others_run, "lasts_its_time_while_others_run");
    add(tells_all_threads, "tells_all_threads");
    add(waits_beside_a_reader, "waits_beside_a_reader");
    add(returns_at_the_end_of_the_pipe, "returns_at_the_end_of_the_pipe");
}

/* Results. */

static void *writes_other(void *arg)
{
    flag_wait(&about_to_call, 1);
    give_way();
    CHECK_EQ(write(other[1], "x", 1), 1);
    return arg;
}

static void two_pipes(void)
{
    OK(pipe(fd));
    OK(pipe(other));
}

CASE(poll_tells_which)
{
    two_pipes();
    struct pollfd p[4] = {
        {fd[0], POLLIN, -1}, {other[0], POLLIN, -1}, {-1, POLLIN, -1}, {fd[0], 0, -1}};
    pthread_t t = start(writes_other, NULL);
    flag_set(&about_to_call, 1);
    CHECK_EQ(poll(p, 4, -1), 1);
    join(t);
    CHECK_EQ(p[0].revents, 0);
    CHECK_EQ(p[1].revents, POLLIN);
    CHECK_EQ(p[2].revents, 0); /* a negative descriptor is passed over */
    CHECK_EQ(p[3].revents, 0);
}

CASE(poll_tells_what_was_not_asked_for)
{
    two_pipes();
    OK(close(fd[1]));    /* of fd[0]: no writer */
    OK(close(other[0])); /* of other[1]: no reader */
    int closed = dup(STDIN_FILENO);
    OK(close(closed));
    struct pollfd p[3] = {{fd[0], 0, 0}, {other[1], 0, 0}, {closed, POLLIN, 0}};
    CHECK_EQ(poll(p, 3, -1), 3);
    CHECK_EQ(p[0].revents, POLLHUP);
    CHECK_EQ(p[1].revents, POLLERR);
    CHECK_EQ(p[2].revents, POLLNVAL);
}

CASE(poll_tells_both_directions)
{
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
    struct pollfd p = {fd[0], POLLIN | POLLOUT, 0};
    CHECK_EQ(poll(&p, 1, -1), 1);
    CHECK_EQ(p.revents, POLLOUT);
    CHECK_EQ(write(fd[1], "x", 1), 1);
    CHECK_EQ(poll(&p, 1, -1), 1);
    CHECK_EQ(p.revents, POLLIN | POLLOUT);
    OK(shutdown(fd[1], SHUT_WR));
    p.events = POLLRDHUP;
    CHECK_EQ(poll(&p, 1, -1), 1);
    CHECK_EQ(p.revents, POLLRDHUP);
}

CASE(poll_knows_files_as_ready)
{
    int file = open("/proc/self/exe", O_RDONLY);
    struct pollfd p = {file, POLLIN, 0};
    CHECK_EQ(poll(&p, 1, -1), 1);
    CHECK_EQ(p.revents, POLLIN);
}

CASE(poll_of_no_descriptor_sleeps)
{
    struct timespec before, after;
    pthread_t t = start(yields, NULL);
    clock_gettime(CLOCK_MONOTONIC, &before);
    OK(poll(NULL, 0, 20));
    clock_gettime(CLOCK_MONOTONIC, &after);
    CHECK(ns_between(&before, &after) >= 20 * NS_PER_MS);
    flag_wait(&turns, 1);
    flag_set(&stop, 1);
    join(t);
}

/* One descriptor, once to read and once to write, by two threads. */
static void *waits_to_write(void *arg)
{
    struct pollfd p = {fd[0], POLLOUT, 0};
    flag_add(&about_to_call, 1);
    CHECK_EQ(poll(&p, 1, -1), 1);
    CHECK_EQ(p.revents, POLLOUT);
    flag_add(&returned, 1);
    return arg;
}

static void *waits_to_read(void *arg)
{
    struct pollfd p = {fd[0], POLLIN, 0};
    flag_add(&about_to_call, 1);
    CHECK_EQ(poll(&p, 1, -1), 1);
    CHECK_EQ(p.revents, POLLIN);
    flag_add(&returned, 2);
    return arg;
}

static int also[2];

static void *reads_one(void *arg)
{
    flag_set(&about_to_call, 1);
    CHECK_EQ(read(fd[0], in, 1), 1);
    return arg;
}

static void *polls_both(void *arg)
{
    struct pollfd p[2] = {{fd[0], POLLIN, 0}, {also[0], POLLIN, 0}};
    flag_set(&about_to_call, 1);
    CHECK_EQ(poll(p, 2, -1), 1);
    return arg;
}

/* A descriptor that poll waited for, but that did not end the wait, is closed. Its number is given
 * to another file, for which a thread then waits. */
CASE(numbers_left_over_from_a_poll_mean_the_new_file)
{
    for (int i = 0; i < 3; i++) {
        pthread_t t;
        OK(pipe(fd));
        OK(pipe(also));
        flag_set(&about_to_call, 0);
        t = start(polls_both, NULL);
        flag_wait(&about_to_call, 1);
        give_way();
        CHECK_EQ(write(also[1], "x", 1), 1);
        join(t);
        int was = fd[0];
        OK(close(fd[0]));
        OK(close(fd[1]));
        OK(pipe(fd));
        CHECK_EQ(fd[0], was);
        flag_set(&about_to_call, 0);
        t = start(reads_one, NULL);
        flag_wait(&about_to_call, 1);
        give_way();
        CHECK_EQ(write(fd[1], "y", 1), 1);
        join(t);
        OK(close(fd[0]));
        OK(close(fd[1]));
        OK(close(also[0]));
        OK(close(also[1]));
    }
}

/* As above, after a time-out. */
CASE(numbers_left_over_from_a_time_out_mean_the_new_file)
{
    OK(pipe(fd));
    CHECK_EQ(wait_poll(1), 0);
    OK(close(fd[0]));
    OK(close(fd[1]));
    OK(pipe(fd));
    pthread_t t = start(reads_one, NULL);
    flag_wait(&about_to_call, 1);
    give_way();
    CHECK_EQ(write(fd[1], "y", 1), 1);
    join(t);
}

CASE(poll_by_two_threads_for_two_directions)
{
    static char buffer[65536];
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
    while (send(fd[0], buffer, 4096, MSG_DONTWAIT) > 0) {
    }
    pthread_t r = start(waits_to_read, NULL), w = start(waits_to_write, NULL);
    flag_wait(&about_to_call, 2);
    give_way();
    CHECK_EQ(flag_get(&returned), 0);
    CHECK_EQ(write(fd[1], "x", 1), 1);
    join(r);
    CHECK_EQ(flag_get(&returned), 2);
    while (recv(fd[1], buffer, sizeof(buffer), MSG_DONTWAIT) > 0) {
    }
    join(w);
}

CASE(select_tells_which)
{
    fd_set readable, writable, exceptional;
    two_pipes();
    FD_ZERO(&readable);
    FD_ZERO(&writable);
    FD_ZERO(&exceptional);
    FD_SET(fd[0], &readable);
    FD_SET(other[0], &readable);
    FD_SET(fd[0], &exceptional);
    int max = other[1] > fd[1] ? other[1] : fd[1];
    pthread_t t = start(writes_other, NULL);
    flag_set(&about_to_call, 1);
    CHECK_EQ(select(max + 1, &readable, NULL, &exceptional, NULL), 1);
    join(t);
    CHECK(!FD_ISSET(fd[0], &readable) && FD_ISSET(other[0], &readable));
    CHECK(!FD_ISSET(fd[0], &exceptional));
    FD_SET(fd[1], &writable);
    CHECK_EQ(select(max + 1, &readable, &writable, NULL, NULL), 2); /* bits, not descriptors */
    CHECK(FD_ISSET(other[0], &readable) && FD_ISSET(fd[1], &writable));
}

/* select ignores descriptors from nfds on. */
CASE(select_looks_at_the_first_only)
{
    struct timeval none = {0, 0};
    fd_set set;
    OK(pipe(fd));
    CHECK_EQ(write(fd[1], "x", 1), 1);
    FD_ZERO(&set);
    FD_SET(fd[0], &set);
    OK(select(fd[0], &set, NULL, NULL, &none));
    FD_ZERO(&set);
    FD_SET(fd[0], &set);
    CHECK_EQ(select(FD_SETSIZE, &set, NULL, NULL, &none), 1);
}

CASE(select_clears_the_sets_after_its_time)
{
    struct timeval time = {.tv_usec = 1000};
    fd_set set;
    OK(pipe(fd));
    FD_ZERO(&set);
    FD_SET(fd[0], &set);
    OK(select(fd[0] + 1, &set, NULL, NULL, &time));
    CHECK(!FD_ISSET(fd[0], &set));
}

CASE(select_of_no_descriptor_sleeps)
{
    struct timeval time = {.tv_usec = 20000};
    struct timespec before, after;
    pthread_t t = start(yields, NULL);
    clock_gettime(CLOCK_MONOTONIC, &before);
    OK(select(0, NULL, NULL, NULL, &time));
    clock_gettime(CLOCK_MONOTONIC, &after);
    CHECK(ns_between(&before, &after) >= 20 * NS_PER_MS);
    flag_wait(&turns, 1);
    flag_set(&stop, 1);
    join(t);
}

CASE(pselect_does_not_change_the_time)
{
    const struct timespec time = {.tv_nsec = 5 * NS_PER_MS};
    struct timespec copy = time;
    OK(pselect(0, NULL, NULL, NULL, &copy, NULL));
    CHECK(copy.tv_sec == time.tv_sec && copy.tv_nsec == time.tv_nsec);
}

static void raise_limit(void)
{
    struct rlimit limit;
    OK(getrlimit(RLIMIT_NOFILE, &limit));
    limit.rlim_cur = limit.rlim_max;
    OK(setrlimit(RLIMIT_NOFILE, &limit));
    if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < 1100) {
        case_unsupported("no more than 1024 descriptors (RLIMIT_NOFILE)");
    }
}

/* select supports FD_SETSIZE descriptors; the other calls support those above. */
CASE(descriptors_above_those_of_select_are_waited_for)
{
    raise_limit();
    two_pipes();
    fd[0] = fcntl(fd[0], F_DUPFD, FD_SETSIZE + 5);
    CHECK(fd[0] >= FD_SETSIZE);
    pthread_t t = start(waits_to_read, NULL), reader;
    flag_wait(&about_to_call, 1);
    give_way();
    CHECK_EQ(write(fd[1], "x", 1), 1);
    join(t);
    CHECK_EQ(read(fd[0], in, 8), 1);
    reader = start(reads_two, NULL);
    flag_wait(&about_to_call, 2);
    give_way();
    CHECK_EQ(write(fd[1], "x", 1), 1);
    join(reader);
}

/* epoll. */

CASE(epoll_wait_tells_which_with_its_data)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = 0x123456789abcdefu};
    two_pipes();
    int e = epoll_for(fd[0]);
    OK(epoll_ctl(e, EPOLL_CTL_ADD, other[0], &event));
    pthread_t t = start(writes_other, NULL);
    flag_set(&about_to_call, 1);
    CHECK_EQ(epoll_wait(e, &event, 1, -1), 1);
    join(t);
    CHECK(event.data.u64 == 0x123456789abcdefu && event.events == EPOLLIN);
}

static int shared_epoll;

static void *waits_for_one(void *arg)
{
    struct epoll_event event;
    flag_add(&about_to_call, 1);
    CHECK_EQ(epoll_wait(shared_epoll, &event, 1, -1), 1);
    flag_add(&returned, 1);
    return arg;
}

/* Edge-triggered: an event wakes one of the waiting threads. */
CASE(epoll_wait_tells_one_thread_of_an_edge)
{
    enum { THREADS = 5 };
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    pthread_t t[THREADS];
    OK(pipe(fd));
    shared_epoll = epoll_create1(0);
    OK(epoll_ctl(shared_epoll, EPOLL_CTL_ADD, fd[0], &event));
    for (int i = 0; i < THREADS; i++) {
        t[i] = start(waits_for_one, NULL);
    }
    flag_wait(&about_to_call, THREADS);
    for (int i = 0; i < THREADS; i++) {
        give_way();
        CHECK_EQ(flag_get(&returned), i);
        CHECK_EQ(write(fd[1], "x", 1), 1);
        flag_wait(&returned, i + 1);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
}

/* A descriptor that is added while a thread waits counts. */
CASE(epoll_wait_knows_descriptors_added_meanwhile)
{
    struct epoll_event event = {.events = EPOLLIN};
    two_pipes();
    shared_epoll = epoll_for(fd[0]);
    pthread_t t = start(waits_for_one, NULL);
    flag_wait(&about_to_call, 1);
    give_way();
    CHECK_EQ(write(other[1], "x", 1), 1);
    OK(epoll_ctl(shared_epoll, EPOLL_CTL_ADD, other[0], &event));
    join(t);
}

/* Other calls can wait for an epoll descriptor. */
CASE(poll_waits_for_an_epoll_descriptor)
{
    two_pipes();
    struct pollfd p = {epoll_for(other[0]), POLLIN, 0};
    pthread_t t = start(writes_other, NULL);
    flag_set(&about_to_call, 1);
    CHECK_EQ(poll(&p, 1, -1), 1);
    join(t);
}
