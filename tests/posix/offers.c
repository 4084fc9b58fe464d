/* SPDX-License-Identifier: MIT */
/*
 * offers.c - a thread that would wait for a descriptor lets others run first; one that finds data,
 * or may not wait, goes on. One worker, no preemption: so who runs is known.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TIMES = 50 };

static int ends[2];
static atomic_int turns; /* of the other threads */
static atomic_int over;

static void check(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "offers: failed: %s (errno %d, %d turns)\n", what, errno, turns);
        exit(1);
    }
}

static void *runs(void *arg)
{
    while (!over) {
        turns++;
        sched_yield();
    }
    return arg;
}

/* Writes as soon as it runs. */
static void *writes(void *arg)
{
    for (int i = 0; i < TIMES; i++) {
        turns++;
        check(write(ends[1], "x", 1) == 1, "write");
        sched_yield();
    }
    return arg;
}

static pthread_t start(void *(*run)(void *))
{
    pthread_t t;
    check(pthread_create(&t, NULL, run, NULL) == 0, "pthread_create");
    return t;
}

/* The data come from a thread that is ready: each read has them. */
static void waits(void)
{
    char byte;
    pthread_t t = start(writes);
    for (int i = 0; i < TIMES; i++) {
        check(read(ends[0], &byte, 1) == 1, "read");
    }
    check(turns == TIMES, "a read that waits lets the writer run");
    pthread_join(t, NULL);
}

static void goes_on(void)
{
    char byte, bytes[TIMES] = "";
    pthread_t t = start(runs);
    check(write(ends[1], bytes, TIMES) == TIMES, "write");
    sched_yield();
    int before = turns;
    for (int i = 0; i < TIMES; i++) {
        check(read(ends[0], &byte, 1) == 1, "read");
    }
    check(turns == before, "a read of what is there lets nobody run");
    for (int i = 0; i < TIMES; i++) {
        check(recv(ends[0], &byte, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN, "recv");
    }
    check(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0, "fcntl");
    for (int i = 0; i < TIMES; i++) {
        check(read(ends[0], &byte, 1) == -1 && errno == EAGAIN, "read");
    }
    check(turns == before, "a read that may not wait lets nobody run");
    over = 1;
    pthread_join(t, NULL);
}

int main(void)
{
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
    waits();
    goes_on();
    printf("offers: done\n");
    return 0;
}
