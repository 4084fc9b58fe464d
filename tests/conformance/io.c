/* SPDX-License-Identifier: MIT */
/*
 * io.c - reading and writing: waits and results, with other threads at the same descriptors.
 * io_block.c tests, call by call, that others run meanwhile; io_errors.c tests the errors.
 */
#include "harness.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { BIG = 1 << 20 }; /* more than a pipe holds */

static unsigned char out[BIG], in[BIG];
static int fd[2];
static flag_t about_to_call, returned;

static void pipe_setup(void)
{
    OK(pipe(fd));
    for (size_t i = 0; i < sizeof(out); i++) {
        out[i] = (unsigned char)(i * 31 + i / 251);
    }
}

static void *reads_big(void *arg)
{
    size_t got = 0;
    while (got < sizeof(in)) {
        ssize_t n = read(fd[0], in + got, sizeof(in) - got);
        CHECK(n > 0);
        got += (size_t)n;
    }
    return arg;
}

/* A blocking write of any size is complete when it returns. */
CASE(write_of_more_than_the_pipe_holds_is_complete)
{
    pipe_setup();
    pthread_t t = start(reads_big, NULL);
    CHECK_EQ(write(fd[1], out, sizeof(out)), sizeof(out));
    join(t);
    OK(memcmp(in, out, sizeof(out)));
}

CASE(writev_of_more_than_the_pipe_holds_is_complete)
{
    pipe_setup();
    struct iovec v[3] = {{out, 7}, {out + 7, BIG / 2}, {out + 7 + BIG / 2, BIG / 2 - 7}};
    pthread_t t = start(reads_big, NULL);
    CHECK_EQ(writev(fd[1], v, 3), sizeof(out));
    join(t);
    OK(memcmp(in, out, sizeof(out)));
}

static void *writes_big(void *arg)
{
    CHECK_EQ(write(fd[1], out, sizeof(out)), sizeof(out));
    flag_set(&returned, 1);
    return arg;
}

CASE(write_returns_only_when_all_was_taken)
{
    pipe_setup();
    pthread_t t = start(writes_big, NULL);
    size_t got = 0;
    int room = fcntl(fd[0], F_GETPIPE_SZ);
    while (got + (size_t)room < sizeof(in)) {
        CHECK_EQ(flag_get(&returned), 0);
        ssize_t n = read(fd[0], in + got, 1000);
        CHECK(n > 0);
        got += (size_t)n;
    }
    while (got < sizeof(in)) {
        ssize_t n = read(fd[0], in + got, sizeof(in) - got);
        CHECK(n > 0);
        got += (size_t)n;
    }
    join(t);
    OK(memcmp(in, out, sizeof(out)));
}

/* Up to PIPE_BUF bytes are never mixed with those of other writers. */
static void *writes_records(void *arg)
{
    unsigned char record[512];
    memset(record, *(char *)arg, sizeof(record));
    for (int i = 0; i < 200; i++) {
        CHECK_EQ(write(fd[1], record, sizeof(record)), sizeof(record));
    }
    return arg;
}

CASE(records_of_several_writers_stay_whole)
{
    enum { WRITERS = 4 };
    static char names[WRITERS] = "abcd";
    pthread_t t[WRITERS];
    int count[WRITERS] = {0};
    OK(pipe(fd));
    for (int i = 0; i < WRITERS; i++) {
        t[i] = start(writes_records, &names[i]);
    }
    for (int i = 0; i < WRITERS * 200; i++) {
        size_t got = 0;
        while (got < 512) {
            ssize_t n = read(fd[0], in + got, 512 - got);
            CHECK(n > 0);
            got += (size_t)n;
        }
        for (int k = 1; k < 512; k++) {
            CHECK_EQ(in[k], in[0]);
        }
        count[in[0] - 'a']++;
    }
    for (int i = 0; i < WRITERS; i++) {
        join(t[i]);
        CHECK_EQ(count[i], 200);
    }
}

/* A read returns available bytes; it does not wait for more. */
CASE(read_returns_what_is_there)
{
    OK(pipe(fd));
    CHECK_EQ(write(fd[1], "abc", 3), 3);
    CHECK_EQ(read(fd[0], in, sizeof(in)), 3);
    OK(memcmp(in, "abc", 3));
}

static void *reads_bytes(void *sum)
{
    unsigned char c;
    for (;;) {
        ssize_t n = read(fd[0], &c, 1);
        if (n == 0) {
            return NULL;
        }
        CHECK_EQ(n, 1);
        *(long *)sum += c;
        flag_add(&returned, 1);
    }
}

/* Every byte goes to one reader. */
CASE(readers_of_one_pipe_share_the_bytes)
{
    enum { READERS = 4, BYTES = 1000 };
    pthread_t t[READERS];
    long sum[READERS] = {0}, want = 0;
    OK(pipe(fd));
    for (int i = 0; i < READERS; i++) {
        t[i] = start(reads_bytes, &sum[i]);
    }
    give_way();
    for (int i = 0; i < BYTES; i++) {
        unsigned char c = (unsigned char)(i * 7);
        want += c;
        CHECK_EQ(write(fd[1], &c, 1), 1);
    }
    close(fd[1]);
    for (int i = 0; i < READERS; i++) {
        join(t[i]);
        want -= sum[i];
    }
    CHECK_EQ(want, 0);
    CHECK_EQ(flag_get(&returned), BYTES);
}

static void *reads_end(void *arg)
{
    flag_add(&about_to_call, 1);
    CHECK_EQ(read(fd[0], in, 1), 0);
    return arg;
}

CASE(read_is_zero_when_the_last_writer_closes)
{
    pthread_t t[2];
    OK(pipe(fd));
    int copy = dup(fd[1]);
    for (int i = 0; i < 2; i++) {
        t[i] = start(reads_end, NULL);
    }
    flag_wait(&about_to_call, 2);
    give_way();
    OK(close(fd[1]));
    give_way();
    OK(close(copy)); /* both readers see it */
    join(t[0]);
    join(t[1]);
}

CASE(read_of_nothing_does_not_wait)
{
    OK(pipe(fd));
    CHECK_EQ(read(fd[0], in, 0), 0);
    CHECK_EQ(write(fd[1], out, 0), 0);
}

CASE(read_is_eagain_without_data_when_nonblocking)
{
    OK(pipe2(fd, O_NONBLOCK));
    FAILS(read(fd[0], in, 1), EAGAIN);
    struct iovec v = {in, 1};
    FAILS(readv(fd[0], &v, 1), EAGAIN);
    CHECK_EQ(write(fd[1], "x", 1), 1);
    CHECK_EQ(read(fd[0], in, 8), 1);
}

/* Of a long write, as much as fits; nothing of one up to PIPE_BUF that does not fit. */
CASE(write_is_partial_or_eagain_when_nonblocking)
{
    pipe_setup();
    OK(fcntl(fd[1], F_SETFL, O_NONBLOCK));
    ssize_t n = write(fd[1], out, sizeof(out));
    CHECK(n > 0 && n < (ssize_t)sizeof(out));
    FAILS(write(fd[1], out, PIPE_BUF), EAGAIN);
    struct iovec v = {out, 100};
    FAILS(writev(fd[1], &v, 1), EAGAIN);
    CHECK_EQ(read(fd[0], in, sizeof(in)), n);
    OK(memcmp(in, out, (size_t)n));
}

/* The flag belongs to the file: set by another thread, or through another descriptor, it is valid
 * for the next call. */
static void *sets_nonblocking(void *copy)
{
    OK(fcntl(*(int *)copy, F_SETFL, O_NONBLOCK));
    return NULL;
}

CASE(nonblocking_holds_for_all_descriptors_of_the_file)
{
    OK(pipe(fd));
    int copy = dup(fd[0]);
    in_thread(sets_nonblocking, &copy);
    FAILS(read(fd[0], in, 1), EAGAIN);
    OK(fcntl(fd[0], F_SETFL, 0));
    CHECK_EQ(write(fd[1], "x", 1), 1);
    CHECK_EQ(read(copy, in, 1), 1);
}

static void *reads_x(void *arg)
{
    flag_add(&about_to_call, 1);
    CHECK_EQ(read(fd[0], in, 1), 1);
    CHECK_EQ(in[0], 'x');
    flag_set(&returned, 1);
    return arg;
}

/* A waiting thread does not change the file, neither for other threads nor for other processes that
 * have it. */
static void checks_blocking(void)
{
    CHECK_EQ(fcntl(fd[0], F_GETFL) & O_NONBLOCK, 0);
    CHECK_EQ(fcntl(fd[1], F_GETFL) & O_NONBLOCK, 0);
}

CASE(descriptors_stay_blocking_while_a_thread_waits)
{
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
    pthread_t t = start(reads_x, NULL);
    flag_wait(&about_to_call, 1);
    give_way();
    checks_blocking();
    in_child(checks_blocking);
    CHECK_EQ(write(fd[1], "x", 1), 1);
    join(t);
    checks_blocking();
}

static void *reads_copy(void *copy)
{
    flag_add(&about_to_call, 1);
    CHECK_EQ(read(*(int *)copy, in, 1), 1);
    flag_set(&returned, 1);
    return NULL;
}

CASE(read_of_a_copy_waits_for_the_same_file)
{
    OK(pipe(fd));
    int copy = dup(fd[0]), third = fcntl(fd[0], F_DUPFD_CLOEXEC, 100);
    CHECK(third >= 100);
    pthread_t t = start(reads_copy, &copy);
    flag_wait(&about_to_call, 1);
    give_way();
    OK(close(fd[0])); /* the file stays: it has other descriptors */
    CHECK_EQ(flag_get(&returned), 0);
    CHECK_EQ(write(fd[1], "x", 1), 1);
    join(t);
    CHECK_EQ(write(fd[1], "y", 1), 1);
    CHECK_EQ(read(third, in, 1), 1);
    CHECK_EQ(in[0], 'y');
}

/* A descriptor's number is used again for another file while threads wait for other files; waits
 * then refer to the new file. */
CASE(number_of_a_closed_descriptor_means_the_new_file)
{
    int other[2];
    OK(pipe(fd));
    OK(pipe(other));
    pthread_t t = start(reads_x, NULL); /* waits for another file all the time */
    flag_wait(&about_to_call, 1);
    for (int i = 0; i < 20; i++) {
        pthread_t reader = start(reads_copy, &other[0]);
        flag_wait(&about_to_call, 2 + i);
        give_way();
        CHECK_EQ(write(other[1], "z", 1), 1);
        join(reader);
        int was = other[0];
        OK(close(other[0]));
        OK(close(other[1]));
        if (i % 2 == 0) {
            OK(pipe(other));
        } else {
            OK(socketpair(AF_UNIX, SOCK_STREAM, 0, other));
        }
        CHECK_EQ(other[0], was);
        flag_set(&returned, 0);
    }
    CHECK_EQ(write(fd[1], "x", 1), 1);
    join(t);
}

/* dup2 onto a number for which a thread waited before. */
CASE(number_given_by_dup2_means_the_new_file)
{
    int other[2];
    OK(pipe(fd));
    OK(pipe(other));
    pthread_t t = start(reads_x, NULL);
    flag_wait(&about_to_call, 1);
    give_way();
    CHECK_EQ(write(fd[1], "x", 1), 1);
    join(t);
    CHECK_EQ(dup2(other[0], fd[0]), fd[0]);
    t = start(reads_x, NULL);
    flag_wait(&about_to_call, 2);
    give_way();
    OK(close(fd[1])); /* the old file's */
    CHECK_EQ(write(other[1], "x", 1), 1);
    join(t);
}

static int file_open(void)
{
    char name[] = "/tmp/pirn-conformance-XXXXXX";
    int f = mkstemp(name);
    CHECK(f >= 0);
    OK(unlink(name));
    return f;
}

/* Threads at one open file: each position once. */
static int shared_file;

static void *appends(void *arg)
{
    unsigned char record[64];
    memset(record, 'a' + (int)(long)arg, sizeof(record));
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(write(shared_file, record, sizeof(record)), sizeof(record));
    }
    return NULL;
}

CASE(writes_to_one_file_go_one_after_the_other)
{
    enum { WRITERS = 4 };
    pthread_t t[WRITERS];
    int count[WRITERS] = {0};
    shared_file = file_open();
    for (long i = 0; i < WRITERS; i++) {
        t[i] = start(appends, (void *)i);
    }
    for (int i = 0; i < WRITERS; i++) {
        join(t[i]);
    }
    for (int i = 0; i < WRITERS * 100; i++) {
        CHECK_EQ(pread(shared_file, in, 64, (off_t)i * 64), 64);
        for (int k = 1; k < 64; k++) {
            CHECK_EQ(in[k], in[0]);
        }
        count[in[0] - 'a']++;
    }
    for (int i = 0; i < WRITERS; i++) {
        CHECK_EQ(count[i], 100);
    }
    OK(fsync(shared_file));
    OK(fdatasync(shared_file));
}

CASE(ioctl_tells_how_much_there_is)
{
    int n = -1;
    OK(pipe(fd));
    CHECK_EQ(write(fd[1], "abc", 3), 3);
    OK(ioctl(fd[0], FIONREAD, &n));
    CHECK_EQ(n, 3);
}

/* A ring of threads that pass a number on: every hop wakes a reader. */
enum { RING = 16, ROUNDS = 50 };
static int ring[RING][2];

static void *passes_on(void *arg)
{
    int(*mine)[2] = arg;
    int(*next)[2] = mine + 1 == ring + RING ? ring : mine + 1;
    for (int i = 0; i < ROUNDS; i++) {
        long value;
        CHECK_EQ(read((*mine)[0], &value, sizeof(value)), sizeof(value));
        value++;
        CHECK_EQ(write((*next)[1], &value, sizeof(value)), sizeof(value));
    }
    return NULL;
}

CASE(a_ring_of_readers_passes_a_number_on)
{
    pthread_t t[RING];
    long value = 0;
    for (int i = 0; i < RING; i++) {
        OK(pipe(ring[i]));
    }
    for (int i = 0; i < RING; i++) {
        t[i] = start(passes_on, &ring[i]);
    }
    CHECK_EQ(write(ring[0][1], &value, sizeof(value)), sizeof(value));
    for (int i = 0; i < RING; i++) {
        join(t[i]);
    }
    CHECK_EQ(read(ring[0][0], &value, sizeof(value)), sizeof(value));
    CHECK_EQ(value, RING * ROUNDS);
}
