/* SPDX-License-Identifier: MIT */
/* Suite objects: message queues. */
#include "objects_tests.h"

enum { ROOM = 2, SENDERS = 3, EACH = 4 };

/* An odd size, so that a message is never one word. */
struct message {
    unsigned char from, number, check;
};

static struct message message(unsigned from, unsigned number)
{
    return (struct message){(unsigned char)from, (unsigned char)number,
                            (unsigned char)(from * 16 + number)};
}

static void check_whole(const struct message *m)
{
    CHECK(m->check == m->from * 16 + m->number);
}

struct mail {
    pirn_queue_t queue, other;
    struct message room[ROOM], other_room[1];
    uint64_t deadline;
    int sent, received, failed, left;
    unsigned char next[SENDERS]; /* number that the only receiver expects */
};

static void mail_init(struct mail *mail)
{
    memset((void *)mail, 0, sizeof(*mail));
    CHECK(pirn_queue_init(&mail->queue, mail->room, sizeof(mail->room[0]), ROOM) == 0);
    CHECK(pirn_queue_init(&mail->other, mail->other_room, sizeof(mail->room[0]), 1) == 0);
}

void test_queue_keeps_order_when_nobody_waits(void *unused)
{
    static struct message room[ROOM];
    pirn_queue_t q = PIRN_QUEUE_INIT(room);
    struct message m = {77, 77, 77};
    (void)unused;
    CHECK(pirn_queue_count(&q) == 0 && pirn_queue_tryreceive(&q, &m) == -EAGAIN);
    CHECK(pirn_queue_receive_until(&q, &m, 0) == -ETIMEDOUT && m.number == 77);
    for (unsigned i = 0; i < 3; i++) { /* the ring's end is at each place once */
        struct message a = message(0, i), b = message(1, i), c = message(2, i);
        CHECK(pirn_queue_trysend(&q, &a) == 0 && pirn_queue_count(&q) == 1);
        CHECK(pirn_queue_send_until(&q, &b, 0) == 0 && pirn_queue_count(&q) == 2);
        CHECK(pirn_queue_trysend(&q, &c) == -EAGAIN);
        CHECK(pirn_queue_send_until(&q, &c, 0) == -ETIMEDOUT);
        pirn_queue_receive(&q, &m);
        CHECK(m.from == 0 && m.number == i && m.check == i);
        pirn_queue_send(&q, &c);
        CHECK(pirn_queue_tryreceive(&q, &m) == 0 && m.from == 1 && m.number == i);
        CHECK(pirn_queue_receive_until(&q, &m, 0) == 0 && m.from == 2 && m.number == i);
        CHECK(pirn_queue_count(&q) == 0);
        CHECK(pirn_queue_trysend(&q, &a) == 0 && pirn_queue_tryreceive(&q, &m) == 0);
    }
}

void test_queue_refuses_when_arguments_are_bad(void *unused)
{
    struct message room[ROOM];
    pirn_queue_t q;
    (void)unused;
    CHECK(pirn_queue_init(&q, NULL, sizeof(room[0]), ROOM) == -EINVAL);
    CHECK(pirn_queue_init(&q, room, 0, ROOM) == -EINVAL);
    CHECK(pirn_queue_init(&q, room, sizeof(room[0]), 0) == -EINVAL);
    CHECK(pirn_queue_init(&q, room, SIZE_MAX / 2, 3) == -EINVAL);
    CHECK(pirn_queue_init(&q, room, sizeof(room[0]), ROOM) == 0);
    CHECK(pirn_queue_count(&q) == 0);
}

struct sender {
    struct mail *mail;
    unsigned from;
};

static int send_somehow(struct mail *mail, const struct message *m)
{
    int error = 0;
    switch (test_random(3)) {
    case 0:
        error = pirn_queue_trysend(&mail->queue, m);
        CHECK(error == 0 || error == -EAGAIN);
        break;
    case 1:
        error = pirn_queue_send_until(&mail->queue, m, test_after(test_random(500)));
        CHECK(error == 0 || error == -ETIMEDOUT);
        break;
    default:
        pirn_queue_send(&mail->queue, m);
        break;
    }
    return error;
}

/* Each number is sent until it has been. */
static void *sends_in_order(void *arg)
{
    struct sender *s = arg;
    for (unsigned i = 0; i < EACH; i++) {
        struct message m = message(s->from, i);
        while (send_somehow(s->mail, &m) != 0) {
            pirn_yield();
        }
        memset(&m, 0x5a, sizeof(m));
    }
    return NULL;
}

static bool receive_somehow(struct mail *mail, struct message *m)
{
    int error = 0;
    switch (test_random(3)) {
    case 0:
        error = pirn_queue_tryreceive(&mail->queue, m);
        CHECK(error == 0 || error == -EAGAIN);
        break;
    case 1:
        error = pirn_queue_receive_until(&mail->queue, m, test_after(test_random(500)));
        CHECK(error == 0 || error == -ETIMEDOUT);
        break;
    default:
        pirn_queue_receive(&mail->queue, m);
        break;
    }
    return error == 0;
}

void test_queue_keeps_order_when_many_send(void *unused)
{
    struct mail mail;
    struct sender s[SENDERS];
    pirn_thread_t t[SENDERS];
    struct message m;
    (void)unused;
    mail_init(&mail);
    for (unsigned i = 0; i < SENDERS; i++) {
        s[i] = (struct sender){&mail, i};
        t[i] = test_spawn(sends_in_order, &s[i]);
    }
    for (unsigned n = 0; n < SENDERS * EACH; n++) {
        while (!receive_somehow(&mail, &m)) {
            pirn_yield();
        }
        check_whole(&m);
        CHECK(m.from < SENDERS && m.number == mail.next[m.from]++);
    }
    for (unsigned i = 0; i < SENDERS; i++) {
        test_end(t[i]);
        CHECK(mail.next[i] == EACH);
    }
    CHECK(pirn_queue_count(&mail.queue) == 0);
}

static void *receives_some(void *arg)
{
    struct mail *mail = arg;
    struct message m;
    for (unsigned n = 0; n < EACH; n++) {
        pirn_queue_receive(&mail->queue, &m);
        check_whole(&m);
        TEST_ADD(&mail->received, 1 + (m.from * EACH + m.number) * 100);
    }
    return NULL;
}

void test_queue_delivers_each_once_when_many_receive(void *unused)
{
    struct mail mail;
    struct sender s[SENDERS];
    pirn_thread_t t[2 * SENDERS];
    (void)unused;
    mail_init(&mail);
    for (unsigned i = 0; i < SENDERS; i++) {
        s[i] = (struct sender){&mail, i};
        t[2 * i] = test_spawn(receives_some, &mail);
        t[2 * i + 1] = test_spawn(sends_in_order, &s[i]);
    }
    for (unsigned i = 0; i < 2 * SENDERS; i++) {
        test_end(t[i]);
    }
    enum { N = SENDERS * EACH };
    CHECK(mail.received == N + N * (N - 1) / 2 * 100 && pirn_queue_count(&mail.queue) == 0);
}

static void *receives_in_time(void *arg)
{
    struct mail *mail = arg;
    struct message m = {77, 77, 77};
    int error = pirn_queue_receive_until(&mail->queue, &m, mail->deadline);
    CHECK(error == 0 || (error == -ETIMEDOUT && m.from == 77 && pirn_now() >= mail->deadline));
    CHECK(error != 0 || (m.from == 5 && m.number == 3));
    return error == 0 ? arg : NULL;
}

void test_queue_ends_once_when_send_races_timeout(void *unused)
{
    struct mail mail;
    struct message m = message(5, 3);
    (void)unused;
    mail_init(&mail);
    mail.deadline = test_after(200 + test_random(400));
    pirn_thread_t t = test_spawn(receives_in_time, &mail);
    pirn_sleep_until(mail.deadline - test_ns(test_random(150)));
    CHECK(pirn_queue_trysend(&mail.queue, &m) == 0);
    bool got = test_end(t) != NULL;
    CHECK(pirn_queue_count(&mail.queue) == (got ? 0u : 1u));
}

static void *sends_in_time(void *arg)
{
    struct mail *mail = arg;
    struct message m = message(5, 3);
    int error = pirn_queue_send_until(&mail->queue, &m, mail->deadline);
    CHECK(error == 0 || (error == -ETIMEDOUT && pirn_now() >= mail->deadline));
    return error == 0 ? arg : NULL;
}

void test_queue_ends_once_when_receive_races_timeout(void *unused)
{
    struct mail mail;
    struct message m;
    (void)unused;
    mail_init(&mail);
    for (unsigned i = 0; i < ROOM; i++) {
        m = message(0, i);
        pirn_queue_send(&mail.queue, &m);
    }
    mail.deadline = test_after(200 + test_random(400));
    pirn_thread_t t = test_spawn(sends_in_time, &mail);
    pirn_sleep_until(mail.deadline - test_ns(test_random(150)));
    CHECK(pirn_queue_tryreceive(&mail.queue, &m) == 0 && m.number == 0);
    bool sent = test_end(t) != NULL;
    CHECK(pirn_queue_tryreceive(&mail.queue, &m) == 0 && m.number == 1);
    CHECK(pirn_queue_count(&mail.queue) == (sent ? 1u : 0u));
    CHECK(pirn_queue_tryreceive(&mail.queue, &m) == (sent ? 0 : -EAGAIN));
    CHECK(!sent || m.from == 5);
}

static void echo(struct mail *mail)
{
    struct message m;
    for (unsigned i = 0; i < EACH; i++) {
        pirn_queue_receive(&mail->queue, &m);
        CHECK(m.number == i);
        m.from = 9;
        pirn_queue_send(&mail->other, &m);
    }
}

static void ask(struct mail *mail)
{
    for (unsigned i = 0; i < EACH; i++) {
        struct message m = message(0, i);
        pirn_queue_send(&mail->queue, &m);
        CHECK(pirn_queue_receive_until(&mail->other, &m, test_far()) == 0);
        CHECK(m.number == i && m.from == 9);
    }
}

static void *echoes(void *arg)
{
    echo(arg);
    return NULL;
}

void test_queue_passes_turns_when_two_threads_alternate(void *unused)
{
    struct mail mail;
    (void)unused;
    mail_init(&mail);
    pirn_thread_t t = test_spawn(echoes, &mail);
    ask(&mail);
    test_end(t);
}

static void echoes_outside(void *arg)
{
    struct mail *mail = arg;
    echo(mail);
    TEST_ADD(&mail->left, -1);
}

void test_queue_passes_turns_when_foreign_thread_alternates(void *unused)
{
    struct mail mail;
    (void)unused;
    mail_init(&mail);
    mail.left = 1;
    test_foreign(echoes_outside, &mail);
    ask(&mail);
    test_await_zero(&mail.left);
}

/* The receiver owns the memory as soon as its wait ends. */
static void *sends_last(void *arg)
{
    struct message m = message(1, 1);
    pirn_queue_send(arg, &m);
    return NULL;
}

void test_queue_is_not_touched_when_freed_after_receive(void *unused)
{
    struct mail mail;
    struct message m;
    (void)unused;
    mail_init(&mail);
    pirn_thread_t t = test_spawn(sends_last, &mail.queue);
    pirn_queue_receive(&mail.queue, &m);
    memset((void *)&mail, 0x5a, sizeof(mail));
    test_end(t);
    for (size_t i = 0; i < sizeof(mail); i++) {
        CHECK(((unsigned char *)&mail)[i] == 0x5a);
    }
}

#ifdef PIRN_SIM
static void *sends_one(void *arg)
{
    struct sender *s = arg;
    struct message m = message(s->from, 0);
    pirn_queue_send(&s->mail->queue, &m);
    return NULL;
}

void test_queue_serves_senders_in_order_when_full(void *unused)
{
    struct mail mail;
    struct sender s[SENDERS];
    pirn_thread_t t[SENDERS];
    struct message m;
    (void)unused;
    mail_init(&mail);
    for (unsigned i = 0; i < ROOM; i++) {
        m = message(7, i);
        pirn_queue_send(&mail.queue, &m);
    }
    for (unsigned i = 0; i < SENDERS; i++) {
        s[i] = (struct sender){&mail, i};
        t[i] = test_spawn(sends_one, &s[i]);
        test_await_blocked(t[i]);
    }
    m = message(8, 0);
    CHECK(pirn_queue_trysend(&mail.queue, &m) == -EAGAIN);
    for (unsigned i = 0; i < ROOM + SENDERS; i++) {
        CHECK(pirn_queue_count(&mail.queue) == (i < SENDERS ? ROOM : ROOM + SENDERS - i));
        CHECK(pirn_queue_tryreceive(&mail.queue, &m) == 0);
        CHECK(i < ROOM ? m.from == 7 && m.number == i : m.from == i - ROOM);
    }
    for (unsigned i = 0; i < SENDERS; i++) {
        test_end(t[i]);
    }
}

struct receiver {
    struct mail *mail;
    struct message got;
};

static void *receives_one(void *arg)
{
    struct receiver *r = arg;
    pirn_queue_receive(&r->mail->queue, &r->got);
    return NULL;
}

void test_queue_serves_receivers_in_order_when_empty(void *unused)
{
    struct mail mail;
    struct receiver r[SENDERS];
    pirn_thread_t t[SENDERS];
    (void)unused;
    mail_init(&mail);
    for (unsigned i = 0; i < SENDERS; i++) {
        r[i] = (struct receiver){&mail, {0, 0, 0}};
        t[i] = test_spawn(receives_one, &r[i]);
        test_await_blocked(t[i]);
    }
    for (unsigned i = 0; i < SENDERS; i++) {
        struct message m = message(i, i);
        CHECK(pirn_queue_trysend(&mail.queue, &m) == 0);
        CHECK(pirn_queue_count(&mail.queue) == 0); /* handed over */
        CHECK(pirn_queue_tryreceive(&mail.queue, &m) == -EAGAIN);
    }
    for (unsigned i = 0; i < SENDERS; i++) {
        test_end(t[i]);
        CHECK(r[i].got.from == i && r[i].got.number == i);
    }
}

static void *receives_unless_removed(void *arg)
{
    struct mail *mail = arg;
    struct message m;
    int error = pirn_queue_receive_until(&mail->queue, &m, test_far());
    CHECK(error == 0 || error == -ECANCELED);
    return error == 0 ? arg : NULL;
}

void test_queue_keeps_message_when_receiver_is_removed(void *unused)
{
    struct mail mail;
    struct message m = message(1, 2);
    (void)unused;
    mail_init(&mail);
    pirn_thread_t t = test_spawn(receives_unless_removed, &mail);
    test_await_blocked(t);
    bool removed = test_remove(t);
    CHECK(pirn_queue_trysend(&mail.queue, &m) == 0);
    CHECK((test_end(t) != NULL) == !removed);
    CHECK(pirn_queue_count(&mail.queue) == (removed ? 1u : 0u));
}
#endif
