/* SPDX-License-Identifier: MIT */
/*
 * closing.c - many threads at once read, write and close descriptors and give their numbers to
 * other files. No byte may come from, or go to, a file other than that with which the call began.
 *
 * A slot is a descriptor number. Its file, one end of a stream, is replaced again and again, by
 * dup2, dup3, or close and dup2, while one thread reads from the number and another writes to it. A
 * call may begin when the number already means the next file, so the checked conditions hold in
 * either case:
 *
 *   1. A reader asks for a whole message (MSG_WAITALL), which comes in two halves. All bytes that
 *      one call returns have the id of one file.
 *   2. A writer's call is numbered, and so is each word in it. In a file, the words of a call begin
 *      with the first one, and follow each other.
 *   3. A replaced file gets the second half of its message and is then closed at its other end: its
 *      reader returns. A file's other end sees its end: all descriptors of it are closed when the
 *      calls have ended. A mistake here is a hang.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/options.h"

#define MOST_SLOTS 32
#define HALF 8      /* words of a message */
#define WORDS 20000 /* of a written call: more than a stream holds */
#define OUT_OF_THE_WAY 300
#define CHECK(cond) ((cond) ? (void)0 : fail(__LINE__, #cond))

struct slot {
    int fd;      /* constant: the number */
    int reading; /* (keeper) 1: its file is fed and read; 0: written to and drained */
    int feed;    /* (keeper) the other end, of a file that is read */
    uint64_t id; /* of a written call: more than a stream can hold */
    pthread_t user, keeper;
    unsigned random;     /* (keeper) */
    unsigned long calls; /* (user) */
};

static struct slot slots[MOST_SLOTS];
static int stop;
static uint64_t ids;
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER; /* while low numbers are free or taken */
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t drained = PTHREAD_COND_INITIALIZER;
static long drains; /* (counting) threads that drain */

static void fail(int line, const char *what)
{
    fprintf(stderr, "closing.c:%d: %s (errno %d)\n", line, what, errno);
    abort();
}

static bool stopped(void)
{
    return __atomic_load_n(&stop, __ATOMIC_RELAXED);
}

static unsigned below(struct slot *s, unsigned n)
{
    s->random = s->random * 1103515245u + 12345u;
    return (s->random >> 16) % n;
}

/* ---- files that are read ---- */

static void *reads(void *arg)
{
    struct slot *s = arg;
    uint64_t b[2 * HALF];
    for (; !stopped(); s->calls++) {
        ssize_t n = recv(s->fd, b, sizeof(b), MSG_WAITALL);
        CHECK(n >= 0 || errno == EBADF || errno == ECONNRESET);
        for (ssize_t i = 1; i < n / (ssize_t)sizeof(b[0]); i++) {
            CHECK(b[i] == b[0]);
        }
        if (n <= 0) {
            sched_yield();
        }
    }
    return NULL;
}

static void feed(struct slot *s)
{
    uint64_t b[HALF];
    for (int i = 0; i < HALF; i++) {
        b[i] = s->id;
    }
    (void)!send(s->feed, b, sizeof(b),
                MSG_DONTWAIT | MSG_NOSIGNAL); /* whole, or there is no room */
}

/* ---- files that are written ---- */

static void *writes(void *arg)
{
    static uint64_t words[MOST_SLOTS][WORDS];
    struct slot *s = arg;
    uint64_t *w = words[s - slots];
    for (; !stopped(); s->calls++) {
        for (uint64_t i = 0; i < WORDS; i++) {
            w[i] = (uint64_t)s->calls << 32 | i;
        }
        ssize_t n = send(s->fd, w, sizeof(words[0]), MSG_NOSIGNAL);
        CHECK(n >= 0 || errno == EBADF || errno == EPIPE);
    }
    return NULL;
}

static void drain_check(uint64_t *last, uint64_t word)
{
    CHECK((uint32_t)word == 0 || word == *last + 1);
    *last = word;
}

/* Reads a file to its end. */
static void *drains_file(void *arg)
{
    int fd = (int)(long)arg;
    union {
        char bytes[8 * 1024];
        uint64_t words[1024];
    } b;
    uint64_t last = UINT64_MAX - 1;
    size_t have = 0;
    ssize_t n;
    while ((n = read(fd, b.bytes + have, sizeof(b) - have)) > 0) {
        have += (size_t)n;
        for (size_t i = 0; i < have / 8; i++) {
            drain_check(&last, b.words[i]);
        }
        memmove(b.bytes, b.bytes + have / 8 * 8, have % 8);
        have %= 8;
    }
    CHECK(n == 0);
    close(fd);
    pthread_mutex_lock(&counting);
    drains--;
    pthread_cond_signal(&drained);
    pthread_mutex_unlock(&counting);
    return NULL;
}

static void drain(int fd)
{
    pthread_t t;
    pthread_mutex_lock(&counting);
    while (drains >= 4 * MOST_SLOTS) {
        pthread_cond_wait(&drained, &counting);
    }
    drains++;
    pthread_mutex_unlock(&counting);
    CHECK(pthread_create(&t, NULL, drains_file, (void *)(long)fd) == 0);
    CHECK(pthread_detach(t) == 0);
}

/* ---- new files ---- */

static int moved_up(int fd)
{
    int up = fcntl(fd, F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
    CHECK(up >= 0);
    CHECK(close(fd) == 0);
    return up;
}

static void replace(struct slot *s)
{
    int ends[2];
    pthread_mutex_lock(&making);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    ends[0] = moved_up(ends[0]);
    ends[1] = moved_up(ends[1]);
    switch (below(s, 3)) {
    case 0:
        CHECK(dup2(ends[0], s->fd) == s->fd);
        break;
    case 1:
        CHECK(dup3(ends[0], s->fd, O_CLOEXEC) == s->fd);
        break;
    default:
        CHECK(close(s->fd) == 0);
        sched_yield();
        CHECK(dup2(ends[0], s->fd) == s->fd);
    }
    CHECK(close(ends[0]) == 0);
    pthread_mutex_unlock(&making);
    if (s->reading) {
        feed(s); /* the old one's second half, or one more first */
        CHECK(s->feed < 0 || close(s->feed) == 0);
        s->feed = ends[1];
        s->id = __atomic_add_fetch(&ids, 1, __ATOMIC_RELAXED);
    } else {
        drain(ends[1]);
    }
}

static void *keeps(void *arg)
{
    struct slot *s = arg;
    while (!stopped()) {
        if (s->reading) {
            feed(s);
        }
        for (unsigned i = below(s, 20); i != 0; i--) {
            sched_yield();
        }
        if (below(s, 3) == 0) {
            replace(s);
        }
    }
    /* The last file of all: its calls end. */
    pthread_mutex_lock(&making);
    CHECK(shutdown(s->fd, SHUT_RDWR) == 0);
    pthread_mutex_unlock(&making);
    return NULL;
}

static void slot_start(unsigned i)
{
    struct slot *s = &slots[i];
    *s = (struct slot){.feed = -1, .reading = i % 2, .random = i};
    pthread_mutex_lock(&making);
    s->fd = open("/dev/null", O_RDWR);
    pthread_mutex_unlock(&making);
    CHECK(s->fd >= 0 && s->fd < OUT_OF_THE_WAY);
    replace(s);
    CHECK(pthread_create(&s->user, NULL, s->reading ? reads : writes, s) == 0);
    CHECK(pthread_create(&s->keeper, NULL, keeps, s) == 0);
}

static unsigned long slot_end(unsigned i)
{
    struct slot *s = &slots[i];
    CHECK(pthread_join(s->keeper, NULL) == 0);
    CHECK(pthread_join(s->user, NULL) == 0);
    CHECK(close(s->fd) == 0);
    CHECK(s->feed < 0 || close(s->feed) == 0);
    return s->calls;
}

int main(int argc, char **argv)
{
    long seconds = 2, n = 8;
    unsigned long calls = 0;
    const struct option_spec options[] = {
        option_number("seconds", &seconds, 1, 1000000, "how long"),
        option_number("slots", &n, 1, MOST_SLOTS, "numbers"),
        {0}};
    const struct option_page page = {.summary = "Descriptors are closed under blocked calls.",
                                     .options = options};
    options_parse(argc, argv, &page);
    for (long i = 0; i < n; i++) {
        slot_start((unsigned)i);
    }
    struct timespec t = {.tv_sec = seconds};
    nanosleep(&t, NULL);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (long i = 0; i < n; i++) {
        calls += slot_end((unsigned)i);
    }
    pthread_mutex_lock(&counting);
    while (drains != 0) { /* every file has come to its end */
        pthread_cond_wait(&drained, &counting);
    }
    pthread_mutex_unlock(&counting);
    CHECK(calls != 0);
    printf("%lu calls, %lu files\n", calls, (unsigned long)ids);
    return 0;
}
