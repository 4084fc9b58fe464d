/* SPDX-License-Identifier: MIT */
/*
 * suite_io.c - descriptors that are closed, and whose numbers are used again, while threads wait
 * for their files (core/io.h). In the simulator only: it needs files that the test can inspect.
 *
 * Threads read from number 0, as the calls of the POSIX layer do: an attempt, a wait, an attempt
 * for the same file. Meanwhile main gives the number to other files. Each file has an id, which
 * reading returns. A thread that was known to wait for a file when the close began gets that file's
 * id.
 */
#include <errno.h>

#include "driver.h"
#include "io.h"

enum { READERS = 3, READABLE = 1, NUMBER = 0, SPARE = 1, ROUNDS = 3 };

struct reader {
    struct io_waiter waiter;
    struct rt_io io;
    pirn_thread_t thread;
    int wants; /* the file that it is known to wait for; 0: not known */
    int got;   /* a file's id, or -errno; 0: reads */
};

/* -EAGAIN: begin again. */
static int read_again(struct reader *r)
{
    unsigned long irq;
    int fd = rt_io_try_begin(&r->waiter, &irq);
    if (fd < 0) {
        return fd == -EAGAIN ? -EINPROGRESS : fd;
    }
    for (unsigned pauses = test_random(8); pauses != 0; pauses--) {
        test_pause();
    }
    int got = sim_fd_take(fd);
    rt_io_try_end(&r->waiter, irq);
    return got;
}

static int read_linked(struct reader *r)
{
    int got = -EAGAIN;
    while (got == -EAGAIN) {
        CHECK(rt_io_wait(&r->waiter, UINT64_MAX) == 0);
        if (r->io.got & RT_IO_FAILED) {
            return -EBADF;
        }
        if (r->io.got & RT_IO_LATE) {
            return -EINPROGRESS;
        }
        got = read_again(r);
    }
    return got;
}

static int read_number(struct reader *r)
{
    int got = -EINPROGRESS;
    while (got == -EINPROGRESS) {
        r->io = (struct rt_io){.fd = NUMBER, .events = READABLE, .since = rt_io_state(NUMBER)};
        r->waiter = (struct io_waiter)RT_IO_WAITER(&r->io, 1);
        got = sim_fd_take(NUMBER);
        if (got == -EAGAIN && test_random(2) == 0 && rt_io_offer()) {
            got = -EINPROGRESS;
        } else if (got == -EAGAIN) {
            got = read_linked(r);
        }
        CHECK(got != -EINPROGRESS || r->wants == 0); /* its file was kept for it */
        rt_io_end(&r->waiter);
    }
    return got;
}

static void *reads(void *arg)
{
    struct reader *r = arg;
    r->got = read_number(r);
    CHECK(r->got > 0 || r->got == -EBADF);
    CHECK(r->wants == 0 || r->got == r->wants);
    return NULL;
}

/* Main also has the table of descriptors. It learns that a reader has begun to wait by other ways
 * than memory. */
static void readers_start(struct reader *r, unsigned n)
{
    (void)rt_io_state(NUMBER);
    for (unsigned i = 0; i < n; i++) {
        CHECK(pirn_create(&r[i].thread, NULL, reads, &r[i]) == 0);
    }
}

/* Records the files for which the linked readers wait now. */
static void readers_know(struct reader *r, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (r[i].got == 0 && r[i].waiter.linked != 0 && r[i].wants == 0 && !r[i].io.got) {
            r[i].wants = sim_fd_id(at_load_rlx(&r[i].io.fd));
        }
    }
}

static bool all_have_read(const struct reader *r, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (r[i].got == 0) {
            return false;
        }
    }
    return true;
}

/* Gives every file something to read until all have read. */
static void readers_end(struct reader *r, unsigned n)
{
    while (!all_have_read(r, n)) {
        for (int fd = 0; fd < SIM_FDS; fd++) {
            sim_fd_set(fd, READABLE);
        }
        pirn_sleep(100);
    }
    for (unsigned i = 0; i < n; i++) {
        CHECK(pirn_join(r[i].thread, NULL) == 0);
    }
}

static void number_closes(bool reopen)
{
    struct rt_io_close c;
    CHECK(rt_io_close_begin(&c, NUMBER));
    sim_fd_close(NUMBER);
    if (reopen) {
        test_pause();
        sim_fd_renew(NUMBER);
        sim_fd_set(NUMBER, test_random(2) ? READABLE : 0);
    }
    rt_io_close_end(&c);
    if (!reopen) {
        sim_fd_renew(NUMBER);
    }
}

static void test_readers_keep_their_file_when_it_is_closed(void *unused)
{
    (void)unused;
    struct reader r[READERS] = {0};
    sim_fd_set(NUMBER, 0);
    readers_start(r, READERS);
    for (int i = 0; i < ROUNDS; i++) {
        pirn_sleep(test_random(300));
        readers_know(r, READERS);
        if (test_random(2)) {
            sim_fd_set(NUMBER, READABLE);
            for (unsigned pauses = test_random(20); pauses != 0; pauses--) {
                test_pause();
            }
        }
        number_closes(test_random(2) != 0);
    }
    readers_end(r, READERS);
}

static void no_copies_are_left(void)
{
    CHECK(rt_io_own_from(0) == UINT32_MAX);
    for (int fd = 8; fd < SIM_FDS; fd++) {
        CHECK(sim_fd_id(fd) == 0);
    }
}

/* No copy is left open when all have read, and the copies' numbers can be used. */
static void test_copies_are_closed_when_readers_leave(void *unused)
{
    (void)unused;
    struct reader r[READERS] = {0};
    sim_fd_set(NUMBER, 0);
    readers_start(r, READERS);
    pirn_sleep(test_random(500));
    readers_know(r, READERS);
    number_closes(true);
    readers_end(r, READERS);
    no_copies_are_left();
}

/* One copy's end, and its number's next use as a copy. */
static void test_numbers_of_copies_are_used_again(void *unused)
{
    (void)unused;
    struct reader r[2] = {0};
    sim_fd_set(NUMBER, 0);
    readers_start(&r[0], 1);
    pirn_sleep(test_random(500));
    number_closes(true);
    readers_start(&r[1], 1);
    pirn_sleep(test_random(100));
    for (int fd = 0; fd < SIM_FDS; fd++) {
        sim_fd_set(fd, fd == NUMBER ? 0 : READABLE); /* the first reader leaves its copy */
    }
    for (unsigned pauses = test_random(30); pauses != 0; pauses--) {
        test_pause();
    }
    number_closes(true);
    readers_end(r, 2);
    no_copies_are_left();
}

static void reader_waits(struct reader *r)
{
    readers_start(r, 1);
    while (r->waiter.linked == 0) {
        pirn_sleep(100);
    }
}

/* The file stays open under another number, so its reports continue. A reader that waited for it
 * before gets nothing of the new file, unless its attempt was under way when the new file was
 * noticed: an unannounced close does not wait for attempts. */
static void test_unannounced_closes_are_noticed(void *unused)
{
    (void)unused;
    struct reader r[2] = {0};
    int old = sim_fd_id(NUMBER);
    bool kept = test_random(2) != 0;
    sim_fd_set(NUMBER, 0);
    reader_waits(&r[0]);
    if (kept) {
        sim_fd_copy(NUMBER, SPARE);
    }
    sim_fd_renew(NUMBER);
    reader_waits(&r[1]);
    bool tried = r[0].waiter.trying != NULL;
    readers_end(r, 2);
    CHECK(r[0].got == -EBADF || (kept && r[0].got == old) || tried);
    CHECK(r[1].got == sim_fd_id(NUMBER));
}

/* A call that has done a part of its work does not continue with another file. */
static void *goes_on(void *arg)
{
    struct reader *r = arg;
    uint32_t since = rt_io_state(NUMBER);
    int file = sim_fd_id(NUMBER);
    test_pause();
    r->io = (struct rt_io){.fd = NUMBER, .events = READABLE, .since = since, .partial = true};
    r->waiter = (struct io_waiter)RT_IO_WAITER(&r->io, 1);
    int got = file != 0 ? read_linked(r) : -EBADF; /* an attempt would have failed */
    CHECK(got == file || got == -EINPROGRESS || got == -EBADF);
    rt_io_end(&r->waiter);
    r->got = got;
    return NULL;
}

static void test_work_is_not_continued_with_another_file(void *unused)
{
    (void)unused;
    struct reader r[READERS] = {0};
    sim_fd_set(NUMBER, 0);
    (void)rt_io_state(NUMBER);
    for (unsigned i = 0; i < READERS; i++) {
        CHECK(pirn_create(&r[i].thread, NULL, goes_on, &r[i]) == 0);
    }
    pirn_sleep(test_random(100));
    number_closes(test_random(2) != 0);
    readers_end(r, READERS);
}

static const struct test tests[] = {
    {"readers_keep_their_file_when_it_is_closed", test_readers_keep_their_file_when_it_is_closed,
     0},
    {"copies_are_closed_when_readers_leave", test_copies_are_closed_when_readers_leave, 0},
    {"numbers_of_copies_are_used_again", test_numbers_of_copies_are_used_again, 0},
    {"unannounced_closes_are_noticed", test_unannounced_closes_are_noticed, 0},
    {"work_is_not_continued_with_another_file", test_work_is_not_continued_with_another_file, 0},
    {NULL, NULL, 0},
};

const struct suite suite_io = {"io", tests, NULL, false};
