/* SPDX-License-Identifier: MIT */
/*
 * io_many.c - a thousand threads at once in calls that wait, half of them for data from the other
 * half. On one worker nothing moves unless a waiting thread gives it away. Checksums show that
 * every byte came, once, in order.
 */
#include "harness.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum { PAIRS = 500, BYTES = 64 * 1024, SMALL_PIPE = 4096 };

struct pair {
    int fd[2];
    uint64_t sent, received;
    int index;
    pthread_t reader, writer;
};

static struct pair pairs[PAIRS];
static flag_t waiting, started;

/* FNV-1a: depends on the order. */
static uint64_t checksum(uint64_t sum, const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sum = (sum ^ p[i]) * 0x100000001b3u;
    }
    return sum;
}

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static void raise_limit(rlim_t wanted)
{
    struct rlimit limit;
    OK(getrlimit(RLIMIT_NOFILE, &limit));
    if (limit.rlim_cur >= wanted) {
        return;
    }
    if (limit.rlim_max < wanted) {
        case_unsupported("too few descriptors (RLIMIT_NOFILE)");
    }
    limit.rlim_cur = wanted;
    OK(setrlimit(RLIMIT_NOFILE, &limit));
}

static pthread_t start_small(void *(*fn)(void *), void *arg)
{
    pthread_attr_t attr;
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setstacksize(&attr, 128 * 1024));
    pthread_t t = start_with(&attr, fn, arg);
    OK(pthread_attr_destroy(&attr));
    return t;
}

/* Reads of any size, until the end. */
static void *reads(void *arg)
{
    struct pair *p = arg;
    uint64_t random = (uint64_t)p->index * 2 + 1;
    unsigned char buffer[8192];
    flag_add(&waiting, 1);
    for (;;) {
        ssize_t n = read(p->fd[0], buffer, next_random(&random) % sizeof(buffer) + 1);
        CHECK(n >= 0);
        if (n == 0) {
            return NULL;
        }
        p->received = checksum(p->received, buffer, (size_t)n);
    }
}

/* Writes of any size: larger ones than the pipe holds, too. */
static void *writes(void *arg)
{
    struct pair *p = arg;
    uint64_t random = (uint64_t)p->index * 2 + 2;
    unsigned char buffer[3 * SMALL_PIPE];
    flag_wait(&started, 1);
    for (size_t left = BYTES; left > 0;) {
        size_t n = next_random(&random) % sizeof(buffer) + 1;
        n = n < left ? n : left;
        for (size_t i = 0; i < n; i++) {
            buffer[i] = (unsigned char)next_random(&random);
        }
        CHECK_EQ(write(p->fd[1], buffer, n), n);
        p->sent = checksum(p->sent, buffer, n);
        left -= n;
    }
    OK(close(p->fd[1]));
    return NULL;
}

static void start_pairs(void *(*reader)(void *), void *(*writer)(void *))
{
    for (int i = 0; i < PAIRS; i++) {
        pairs[i].index = i;
        pairs[i].reader = start_small(reader, &pairs[i]);
    }
    flag_wait(&waiting, PAIRS); /* all of them, though none has anything to read */
    for (int i = 0; i < PAIRS; i++) {
        pairs[i].writer = start_small(writer, &pairs[i]);
    }
    flag_set(&started, 1);
}

static void join_pairs(void)
{
    for (int i = 0; i < PAIRS; i++) {
        join(pairs[i].writer);
        join(pairs[i].reader);
        CHECK(pairs[i].sent == pairs[i].received && pairs[i].sent != 0);
    }
}

CASE(a_thousand_threads_read_and_write_pipes)
{
    raise_limit(2 * PAIRS + 64);
    for (int i = 0; i < PAIRS; i++) {
        OK(pipe(pairs[i].fd));
        (void)fcntl(pairs[i].fd[1], F_SETPIPE_SZ, SMALL_PIPE); /* so that writers wait, too */
    }
    start_pairs(reads, writes);
    join_pairs();
}

/* There and back: both wait in turn. */
enum { ROUNDS = 100 };

static void *answers(void *arg)
{
    struct pair *p = arg;
    uint64_t value;
    flag_add(&waiting, 1);
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_EQ(recv(p->fd[0], &value, sizeof(value), MSG_WAITALL), sizeof(value));
        p->received = checksum(p->received, (unsigned char *)&value, sizeof(value));
        value = ~value;
        CHECK_EQ(send(p->fd[0], &value, sizeof(value), 0), sizeof(value));
    }
    return NULL;
}

static void *asks(void *arg)
{
    struct pair *p = arg;
    uint64_t random = (uint64_t)p->index;
    flag_wait(&started, 1);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t answer, value = (uint64_t)next_random(&random) << 20 | (uint64_t)p->index;
        p->sent = checksum(p->sent, (unsigned char *)&value, sizeof(value));
        CHECK_EQ(write(p->fd[1], &value, sizeof(value)), sizeof(value));
        CHECK_EQ(read(p->fd[1], &answer, sizeof(answer)), sizeof(answer));
        CHECK(answer == ~value);
    }
    return NULL;
}

CASE(a_thousand_threads_ask_and_answer_over_sockets)
{
    raise_limit(2 * PAIRS + 64);
    for (int i = 0; i < PAIRS; i++) {
        OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i].fd));
    }
    start_pairs(answers, asks);
    join_pairs();
}

/* poll before each read, all at one pipe: each byte wakes all, one gets it. */
static int shared[2];
static flag_t taken;
enum { POLLERS = 100, TOKENS = 200 };

static void *polls_and_takes(void *arg)
{
    struct pollfd p = {shared[0], POLLIN, 0};
    char c;
    for (;;) {
        CHECK_EQ(poll(&p, 1, -1), 1);
        ssize_t n = read(shared[0], &c, 1);
        if (n == 0) {
            return arg;
        }
        if (n == 1) {
            flag_add(&taken, 1);
        } else {
            CHECK_EQ(get_errno(), EAGAIN); /* another one was faster */
        }
    }
}

CASE(a_hundred_threads_poll_one_pipe)
{
    static pthread_t t[POLLERS];
    OK(pipe2(shared, O_NONBLOCK));
    for (int i = 0; i < POLLERS; i++) {
        t[i] = start_small(polls_and_takes, NULL);
    }
    for (int i = 1; i <= TOKENS; i++) {
        CHECK_EQ(write(shared[1], "x", 1), 1);
        if (i % 10 == 0) {
            flag_wait(&taken, i);
        }
    }
    OK(close(shared[1]));
    for (int i = 0; i < POLLERS; i++) {
        join(t[i]);
    }
    CHECK_EQ(flag_get(&taken), TOKENS);
}

/* Threads that block and end, while others are created: descriptor numbers are used again. */
static void *comes_and_goes(void *arg)
{
    struct pair *p = arg;
    for (int i = 0; i < 20; i++) {
        int ends[2];
        char c = 0;
        OK(pipe(ends));
        CHECK_EQ(write(p->fd[0], &ends[1], sizeof(int)), sizeof(int)); /* the writer */
        CHECK_EQ(read(ends[0], &c, 1), 1);
        CHECK_EQ(c, 'z');
        OK(close(ends[0]));
    }
    OK(close(p->fd[0]));
    return NULL;
}

static void *writes_where_asked(void *arg)
{
    struct pair *p = arg;
    int end;
    while (recv(p->fd[1], &end, sizeof(end), MSG_WAITALL) == sizeof(end)) {
        CHECK_EQ(write(end, "z", 1), 1);
        OK(close(end));
    }
    return NULL;
}

CASE(numbers_of_descriptors_come_and_go_in_many_threads)
{
    enum { COUPLES = 100 };
    raise_limit(4 * COUPLES + 64);
    for (int i = 0; i < COUPLES; i++) {
        OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i].fd));
        pairs[i].writer = start_small(writes_where_asked, &pairs[i]);
        pairs[i].reader = start_small(comes_and_goes, &pairs[i]);
    }
    for (int i = 0; i < COUPLES; i++) {
        join(pairs[i].reader);
        join(pairs[i].writer);
    }
}
