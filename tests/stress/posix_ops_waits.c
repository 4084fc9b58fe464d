/* SPDX-License-Identifier: MIT */
/*
 * posix_ops_waits.c - condition variables (as bounded buffers), semaphores, pipes, and system calls
 * that block without the runtime's knowledge. At the end every item that went in came out, or is
 * still there.
 */
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/select.h>
#include <sys/syscall.h>

#include "../raw.h"
#include "posix_mix.h"

enum { BUFFERS = 3, CAPACITY = 4, SEMS = 3, TOKENS = 2, PIPES = 3, RECORDS = 8, TOKENS_MAX = 30 };

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t not_full, not_empty;
    clockid_t clock;          /* of the time limits of pthread_cond_timedwait */
    uint64_t items[CAPACITY]; /* (mutex), as the next fields */
    unsigned first, used;
    uint64_t put, taken, sum_put, sum_taken;
    bool closed; /* endless waits are over */
} buffers[BUFFERS];

/* As many threads inside as there are units. */
static struct {
    sem_t sem;
    unsigned units, inside; /* inside: (A) */
} sems[SEMS];

/* Posted and waited for by different threads, and by signal handlers. */
static struct {
    sem_t sem;
    int posted, taken; /* (A) */
} tokens[TOKENS];

/* Records of eight bytes. The last pipe's reading end blocks. */
static struct {
    int ends[2];
    uint64_t sum_written, sum_read; /* (A) */
} pipes[PIPES];

/* ---- buffers ---- */

static int cond_wait(struct actor *a, unsigned b, pthread_cond_t *cond)
{
    clockid_t clock = mix_random(a, 2) ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    struct timespec limit;
    int error = 0;
    switch (mix_random(a, 3)) {
    case 0:
        limit = mix_deadline(a, buffers[b].clock);
        error = pthread_cond_timedwait(cond, &buffers[b].mutex, &limit);
        break;
    case 1:
        limit = mix_deadline(a, clock);
        error = pthread_cond_clockwait(cond, &buffers[b].mutex, clock, &limit);
        break;
    default:
        if (!endless_begin()) {
            return ETIMEDOUT;
        }
        if (!buffers[b].closed) {
            OK(pthread_cond_wait(cond, &buffers[b].mutex));
        }
        endless_end();
        break;
    }
    CHECK(error == 0 || error == ETIMEDOUT);
    return error;
}

/* True if the condition came true; the mutex is held in any case. */
static bool buffer_wait(struct actor *a, unsigned b, pthread_cond_t *cond, unsigned unwanted)
{
    int error = 0;
    while (buffers[b].used == unwanted && error == 0 && !buffers[b].closed) {
        error = cond_wait(a, b, cond);
    }
    return buffers[b].used != unwanted;
}

static void buffer_put(unsigned b, uint64_t value)
{
    buffers[b].items[(buffers[b].first + buffers[b].used++) % CAPACITY] = value;
    buffers[b].put++;
    buffers[b].sum_put += value;
}

static void buffer_take(unsigned b)
{
    buffers[b].sum_taken += buffers[b].items[buffers[b].first];
    buffers[b].first = (buffers[b].first + 1) % CAPACITY;
    buffers[b].used--;
    buffers[b].taken++;
}

static void cond_wake(struct actor *a, pthread_cond_t *cond)
{
    if (mix_random(a, 4) == 0) {
        OK(pthread_cond_broadcast(cond));
    } else {
        OK(pthread_cond_signal(cond));
    }
}

void op_cond(struct actor *a)
{
    unsigned b = mix_random(a, BUFFERS);
    bool put = mix_random(a, 2);
    OK(pthread_mutex_lock(&buffers[b].mutex));
    if (put && buffer_wait(a, b, &buffers[b].not_full, CAPACITY)) {
        buffer_put(b, mix_random(a, 1000));
        cond_wake(a, &buffers[b].not_empty);
    } else if (!put && buffer_wait(a, b, &buffers[b].not_empty, 0)) {
        buffer_take(b);
        cond_wake(a, &buffers[b].not_full);
    }
    OK(pthread_mutex_unlock(&buffers[b].mutex));
}

/* ---- semaphores ---- */

/* 0, or the reason why not. */
static int sem_acquire(struct actor *a, sem_t *sem, bool endless)
{
    clockid_t clock = mix_random(a, 2) ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    struct timespec limit;
    int ret;
    switch (mix_random(a, endless ? 4 : 3)) {
    case 0:
        ret = sem_trywait(sem);
        CHECK(ret == 0 || errno == EAGAIN);
        break;
    case 1:
        limit = mix_deadline(a, CLOCK_REALTIME);
        ret = sem_timedwait(sem, &limit);
        CHECK(ret == 0 || errno == ETIMEDOUT || errno == EINTR);
        break;
    case 2:
        limit = mix_deadline(a, clock);
        ret = sem_clockwait(sem, clock, &limit);
        CHECK(ret == 0 || errno == ETIMEDOUT || errno == EINTR);
        break;
    default:
        ret = sem_wait(sem);
        CHECK(ret == 0 || errno == EINTR);
        break;
    }
    return ret;
}

static void sem_visit(struct actor *a)
{
    unsigned i = mix_random(a, SEMS);
    if (sem_acquire(a, &sems[i].sem, true) == 0) {
        CHECK(ADD(&sems[i].inside, 1u) <= sems[i].units);
        mix_pause(a);
        ADD(&sems[i].inside, -1u);
        OK(sem_post(&sems[i].sem));
    }
}

static void token_post(unsigned i)
{
    ADD(&tokens[i].posted, 1);
    OK(sem_post(&tokens[i].sem));
}

void sem_post_token(void)
{
    token_post(0);
}

static void token_pass(struct actor *a)
{
    unsigned i = mix_random(a, TOKENS);
    if (mix_random(a, 2) && GET(&tokens[i].posted) - GET(&tokens[i].taken) < TOKENS_MAX) {
        token_post(i);
    } else if (sem_acquire(a, &tokens[i].sem, false) == 0) {
        /* It was counted as posted before the post. */
        CHECK(ADD(&tokens[i].taken, 1) <= GET(&tokens[i].posted));
    }
}

void op_sem(struct actor *a)
{
    (mix_random(a, 2) ? sem_visit : token_pass)(a);
}

/* ---- pipes ---- */

static void pipe_write(unsigned i, uint64_t value)
{
    ssize_t n;
    do {
        n = write(pipes[i].ends[1], &value, sizeof(value));
        CHECK(n == sizeof(value) || (n == -1 && errno == EINTR));
    } while (n == -1);
    ADD(&pipes[i].sum_written, value);
}

static void pipe_read(unsigned i)
{
    uint64_t values[RECORDS];
    ssize_t n = read(pipes[i].ends[0], values, sizeof(values));
    CHECK((n > 0 && n % 8 == 0) || (n == -1 && (errno == EAGAIN || errno == EINTR)));
    for (ssize_t k = 0; k < n / 8; k++) {
        ADD(&pipes[i].sum_read, values[k]);
    }
}

static void pipes_poll(struct actor *a)
{
    struct pollfd fds[PIPES - 1];
    for (unsigned i = 0; i < PIPES - 1; i++) {
        fds[i] = (struct pollfd){.fd = pipes[i].ends[0], .events = POLLIN};
    }
    struct timespec limit = {0, mix_random(a, 300000)};
    int ready = mix_random(a, 2) ? poll(fds, PIPES - 1, (int)mix_random(a, 3))
                                 : ppoll(fds, PIPES - 1, &limit, NULL);
    CHECK(ready >= 0 || errno == EINTR);
    for (unsigned i = 0; ready > 0 && i < PIPES - 1; i++) {
        CHECK((fds[i].revents & ~POLLIN) == 0);
        if (fds[i].revents != 0) {
            pipe_read(i);
        }
    }
}

static void pipes_select(struct actor *a)
{
    unsigned i = mix_random(a, PIPES - 1);
    struct timeval limit = {0, mix_random(a, 300)};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(pipes[i].ends[0], &set);
    int ready = select(pipes[i].ends[0] + 1, &set, NULL, NULL, &limit);
    CHECK(ready >= 0 || errno == EINTR);
    if (ready > 0) {
        pipe_read(i);
    }
}

static void pipe_read_endless(void)
{
    if (endless_begin()) {
        pipe_read(PIPES - 1);
        endless_end();
    }
}

/* Writing waits for readers only if a pipe holds thousands of records: one of them is always read.
 */
void op_pipe(struct actor *a)
{
    switch (mix_random(a, 6)) {
    case 0:
    case 1:
        pipe_write(mix_random(a, PIPES), 1 + mix_random(a, 1000));
        break;
    case 2:
        pipes_poll(a);
        break;
    case 3:
        pipes_select(a);
        break;
    default:
        pipe_read_endless();
        break;
    }
}

/* ---- system calls that the runtime does not see ---- */

/* Longer than the time after which a worker's CPU goes to another kernel thread. */
void op_syscall(struct actor *a)
{
    struct timespec sleep = {0, mix_random(a, 4) * 10000000};
    long ret = raw_call(SYS_nanosleep, (long)&sleep, 0, 0, 0);
    CHECK(ret == 0 || ret == -EINTR);
}

/* ---- start and end ---- */

static void buffer_init(unsigned b)
{
    pthread_condattr_t attr;
    buffers[b].clock = b % 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    OK(pthread_condattr_init(&attr));
    OK(pthread_condattr_setclock(&attr, buffers[b].clock));
    OK(pthread_condattr_setpshared(&attr,
                                   b == 2 ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE));
    OK(pthread_mutex_init(&buffers[b].mutex, NULL));
    OK(pthread_cond_init(&buffers[b].not_full, &attr));
    OK(pthread_cond_init(&buffers[b].not_empty, &attr));
    OK(pthread_condattr_destroy(&attr));
}

void waits_init(void)
{
    static const unsigned units[SEMS] = {1, 3, 8};
    for (unsigned b = 0; b < BUFFERS; b++) {
        buffer_init(b);
    }
    for (unsigned i = 0; i < SEMS; i++) {
        sems[i].units = units[i];
        OK(sem_init(&sems[i].sem, i == 2, units[i]));
    }
    for (unsigned i = 0; i < TOKENS; i++) {
        OK(sem_init(&tokens[i].sem, 0, 0));
    }
    for (unsigned i = 0; i < PIPES; i++) {
        OK(pipe2(pipes[i].ends, O_CLOEXEC));
        OK(i == PIPES - 1 ? 0 : fcntl(pipes[i].ends[0], F_SETFL, O_NONBLOCK));
    }
}

void waits_release(void)
{
    for (unsigned b = 0; b < BUFFERS; b++) {
        OK(pthread_mutex_lock(&buffers[b].mutex));
        buffers[b].closed = true;
        OK(pthread_cond_broadcast(&buffers[b].not_full));
        OK(pthread_cond_broadcast(&buffers[b].not_empty));
        OK(pthread_mutex_unlock(&buffers[b].mutex));
    }
    struct pollfd fd = {.fd = pipes[PIPES - 1].ends[0], .events = POLLIN};
    if (poll(&fd, 1, 0) == 0) {
        pipe_write(PIPES - 1, 1);
    }
}

static void buffer_verify(unsigned b)
{
    uint64_t rest = 0;
    for (unsigned i = 0; i < buffers[b].used; i++) {
        rest += buffers[b].items[(buffers[b].first + i) % CAPACITY];
    }
    CHECK_EQ(buffers[b].put, buffers[b].taken + buffers[b].used);
    CHECK_EQ(buffers[b].sum_put, buffers[b].sum_taken + rest);
}

static void pipe_verify(unsigned i)
{
    uint64_t sum;
    do {
        sum = pipes[i].sum_read;
        OK(fcntl(pipes[i].ends[0], F_SETFL, O_NONBLOCK));
        pipe_read(i);
    } while (pipes[i].sum_read != sum);
    CHECK_EQ(pipes[i].sum_read, pipes[i].sum_written);
}

void waits_verify(void)
{
    int value;
    for (unsigned b = 0; b < BUFFERS; b++) {
        buffer_verify(b);
    }
    for (unsigned i = 0; i < SEMS; i++) {
        OK(sem_getvalue(&sems[i].sem, &value));
        CHECK(value == (int)sems[i].units && sems[i].inside == 0);
    }
    for (unsigned i = 0; i < TOKENS; i++) {
        OK(sem_getvalue(&tokens[i].sem, &value));
        CHECK_EQ(value, tokens[i].posted - tokens[i].taken);
    }
    for (unsigned i = 0; i < PIPES; i++) {
        pipe_verify(i);
    }
}
