/* SPDX-License-Identifier: MIT */
/* mq.c - message queues with names: order, waiting, errors, names. */
#include "harness.h"

#include <fcntl.h>
#include <mqueue.h>

#define MESSAGES 4
#define BYTES 16
#define SENDERS 3
#define ROUNDS 60

static char name[64], buffer[BYTES];
static mqd_t q;

static mqd_t opens(int flags)
{
    struct mq_attr attr = {.mq_maxmsg = MESSAGES, .mq_msgsize = BYTES};
    return mq_open(name, flags, 0600, &attr);
}

/* Its name is gone at once, so nothing is left behind. */
static void make(int flags)
{
    snprintf(name, sizeof(name), "/pirn-mq-%ld", (long)getpid());
    q = opens(flags | O_CREAT | O_EXCL);
    CHECK(q != (mqd_t)-1);
    OK(mq_unlink(name));
}

CASE(highest_priority_comes_first_and_the_oldest_of_it)
{
    static const struct {
        const char *text;
        unsigned priority;
    } sent[] = {{"a", 3}, {"bb", 31}, {"c", 0}, {"d", 31}};
    static const char *const received[] = {"bb", "d", "a", "c"};
    unsigned priority = 99;
    make(O_RDWR);
    for (int i = 0; i < MESSAGES; i++) {
        OK(mq_send(q, sent[i].text, strlen(sent[i].text), sent[i].priority));
    }
    for (int i = 0; i < MESSAGES; i++) {
        CHECK_EQ(mq_receive(q, buffer, BYTES, &priority), strlen(received[i]));
        CHECK(memcmp(buffer, received[i], strlen(received[i])) == 0);
        CHECK_EQ(priority, i < 2 ? 31 : i == 2 ? 3 : 0);
    }
    OK(mq_close(q));
}

CASE(messages_have_sizes_from_0_on)
{
    make(O_RDWR);
    OK(mq_send(q, "", 0, 0));
    OK(mq_send(q, "0123456789abcdef", BYTES, 0));
    CHECK_EQ(mq_receive(q, buffer, BYTES, NULL), 0);
    CHECK_EQ(mq_receive(q, buffer, BYTES, NULL), BYTES);
    CHECK(memcmp(buffer, "0123456789abcdef", BYTES) == 0);
    FAILS(mq_send(q, "0123456789abcdef!", BYTES + 1, 0), EMSGSIZE);
    FAILS(mq_receive(q, buffer, BYTES - 1, NULL), EMSGSIZE);
    OK(mq_close(q));
}

CASE(priority_is_einval_from_the_limit_on)
{
    make(O_RDWR);
    CHECK(MQ_PRIO_MAX >= 32);
    OK(mq_send(q, "x", 1, MQ_PRIO_MAX - 1));
    FAILS(mq_send(q, "x", 1, MQ_PRIO_MAX), EINVAL);
    OK(mq_close(q));
}

CASE(full_and_empty_are_eagain_with_o_nonblock)
{
    struct mq_attr attr = {.mq_flags = O_NONBLOCK}, old;
    make(O_RDWR);
    OK(mq_setattr(q, &attr, &old));
    CHECK_EQ(old.mq_flags, 0);
    FAILS(mq_receive(q, buffer, BYTES, NULL), EAGAIN);
    for (int i = 0; i < MESSAGES; i++) {
        OK(mq_send(q, "x", 1, 0));
    }
    FAILS(mq_send(q, "x", 1, 0), EAGAIN);
    OK(mq_getattr(q, &attr));
    CHECK_EQ(attr.mq_flags, O_NONBLOCK);
    CHECK_EQ(attr.mq_maxmsg, MESSAGES);
    CHECK_EQ(attr.mq_msgsize, BYTES);
    CHECK_EQ(attr.mq_curmsgs, MESSAGES);
    OK(mq_close(q));
}

CASE(waits_end_at_their_time)
{
    struct timespec at = after_ms(CLOCK_REALTIME, 10), wrong = {.tv_nsec = -1};
    make(O_RDWR);
    FAILS(mq_timedreceive(q, buffer, BYTES, NULL, &at), ETIMEDOUT);
    FAILS(mq_timedreceive(q, buffer, BYTES, NULL, &wrong), EINVAL);
    for (int i = 0; i < MESSAGES; i++) {
        OK(mq_timedsend(q, "x", 1, 0, &at)); /* there is room: the time does not matter */
    }
    at = after_ms(CLOCK_REALTIME, 10);
    FAILS(mq_timedsend(q, "x", 1, 0, &at), ETIMEDOUT);
    FAILS(mq_timedsend(q, "x", 1, 0, &wrong), EINVAL);
    CHECK_EQ(mq_timedreceive(q, buffer, BYTES, NULL, &at), 1);
    OK(mq_close(q));
}

CASE(access_is_that_of_open)
{
    mqd_t reads, writes;
    snprintf(name, sizeof(name), "/pirn-mq-%ld", (long)getpid());
    writes = opens(O_CREAT | O_EXCL | O_WRONLY);
    CHECK(writes != (mqd_t)-1);
    reads = opens(O_RDONLY);
    CHECK(reads != (mqd_t)-1);
    OK(mq_unlink(name));
    FAILS(mq_send(reads, "x", 1, 0), EBADF);
    FAILS(mq_receive(writes, buffer, BYTES, NULL), EBADF);
    OK(mq_send(writes, "x", 1, 0));
    CHECK_EQ(mq_receive(reads, buffer, BYTES, NULL), 1);
    OK(mq_close(reads));
    OK(mq_close(writes));
    FAILS(mq_close(writes), EBADF);
    FAILS(mq_send(writes, "x", 1, 0), EBADF);
    FAILS(mq_receive(reads, buffer, BYTES, NULL), EBADF);
    FAILS(mq_getattr(reads, &(struct mq_attr){0}), EBADF);
}

CASE(open_finds_makes_and_refuses)
{
    char longer[400] = "/";
    memset(longer + 1, 'x', sizeof(longer) - 2);
    snprintf(name, sizeof(name), "/pirn-mq-%ld", (long)getpid());
    FAILS(mq_open(name, O_RDWR), ENOENT);
    FAILS(mq_unlink(name), ENOENT);
    FAILS(mq_open("none", O_RDWR), EINVAL);
    FAILS(mq_open(longer, O_RDWR), ENAMETOOLONG);
    FAILS(mq_open(name, O_CREAT | O_RDWR, 0600, &(struct mq_attr){.mq_maxmsg = 0, .mq_msgsize = 1}),
          EINVAL);
    q = opens(O_CREAT | O_RDWR);
    CHECK(q != (mqd_t)-1);
    FAILS(opens(O_CREAT | O_EXCL | O_RDWR), EEXIST);
    OK(mq_send(q, "x", 1, 5));
    OK(mq_close(q));
    q = mq_open(name, O_RDWR); /* the message is still there */
    CHECK(q != (mqd_t)-1);
    OK(mq_unlink(name));
    CHECK_EQ(mq_receive(q, buffer, BYTES, NULL), 1);
    mqd_t other = opens(O_CREAT | O_EXCL | O_RDWR); /* another queue of that name */
    CHECK(other != (mqd_t)-1);
    OK(mq_send(q, "xy", 2, 0));
    OK(mq_unlink(name));
    OK(mq_close(other));
    CHECK_EQ(mq_receive(q, buffer, BYTES, NULL), 2);
    OK(mq_close(q));
}

static void *sends(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        OK(mq_send(q, (const char *)&i, sizeof(i), (unsigned)(uintptr_t)arg));
    }
    return NULL;
}

/* Senders wait for room, the receiver for messages. Each sender has a priority of its own, so what
 * it sends comes in order. */
CASE(threads_wait_for_room_and_for_messages)
{
    pthread_t t[SENDERS];
    int next[SENDERS] = {0}, got;
    unsigned priority;
    make(O_RDWR);
    for (uintptr_t i = 0; i < SENDERS; i++) {
        OK(pthread_create(&t[i], NULL, sends, (void *)i));
    }
    for (int i = 0; i < SENDERS * ROUNDS; i++) {
        CHECK_EQ(mq_receive(q, buffer, BYTES, &priority), sizeof(got));
        memcpy(&got, buffer, sizeof(got));
        CHECK(priority < SENDERS);
        CHECK_EQ(got, next[priority]);
        next[priority]++;
    }
    for (int i = 0; i < SENDERS; i++) {
        OK(pthread_join(t[i], NULL));
    }
    OK(mq_close(q));
}

static flag_t waits;

static void *receives(void *unused)
{
    flag_add(&waits, 1);
    mq_receive(q, buffer, BYTES, NULL);
    return unused;
}

CASE(receive_is_a_cancellation_point)
{
    pthread_t t;
    void *result;
    NOT_SANITIZED("a thread is not cancelled in the kernel in these builds");
    make(O_RDWR);
    OK(pthread_create(&t, NULL, receives, NULL));
    flag_wait(&waits, 1);
    OK(pthread_cancel(t));
    OK(pthread_join(t, &result));
    CHECK(result == PTHREAD_CANCELED);
    OK(mq_send(q, "x", 1, 0)); /* nobody has taken anything */
    CHECK_EQ(mq_receive(q, buffer, BYTES, NULL), 1);
    OK(mq_close(q));
}
