/* SPDX-License-Identifier: MIT
 *
 * echo_load: makes load for echo_server and checks every byte that comes back. A closed loop: each
 * active connection sends a message, waits for all of it, sends the next. It uses epoll and few
 * threads, so that its own cost does not dominate the measurement.
 *
 * Three phases, each by all threads before the next: all connections are opened, and each echoes
 * one message (few at a time, so that the server's queue of connections does not overflow);
 * messages, for a time or a number; all are closed, and the server's end is awaited.
 *
 * Invariants:
 *  1. A connection and an epoll descriptor belong to one thread.
 *  2. got <= sent <= size; a message is complete when got is size. Its bytes are
 *     pattern[start of that message …], so that a mix-up of connections or messages shows.
 *  3. waiting counts the connections with a message or an end outstanding.
 */
#include "check.h"
#include "clock.h"
#include "latency.h"
#include "net.h"
#include "options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    STARTS = 1 << 16,    /* places in the pattern where a message may start */
    PER_ADDRESS = 20000, /* connections from one address: ports are 16 bits */
    OPENING = 128,       /* connections that a thread opens at a time */
    EVENTS = 256,
    MAX_SIZE = 1 << 20,
};

struct connection {
    int fd; /* -1: closed */
    long index;
    uint64_t message; /* number of the current one */
    long sent, got;
    uint64_t began;
    bool writing; /* EPOLLOUT is asked for */
};

struct worker {
    pthread_t thread;
    int epoll;
    struct connection *connections;
    long count, waiting, lost;
    uint64_t messages; /* complete, in the second phase */
    double seconds;    /* of that phase */
    struct latency latency;
    char *buffer;
};

static long port, connections = 1000, active, size = 64, messages, seconds = 5, threads = 1;
static long patience = 60;
static unsigned char *pattern; /* STARTS + size bytes */
static pthread_barrier_t phase;

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static const unsigned char *bytes_of(const struct connection *c)
{
    return pattern + mix((uint64_t)c->index << 32 ^ c->message) % STARTS;
}

static void watch(struct worker *w, struct connection *c, int operation, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = c};

    net_check(epoll_ctl(w->epoll, operation, c->fd, &event), "epoll_ctl");
}

static void close_connection(struct worker *w, struct connection *c)
{
    close(c->fd);
    c->fd = -1;
    w->waiting--;
}

static void lose(struct worker *w, struct connection *c, const char *how)
{
    if (w->lost++ == 0)
        fprintf(stderr, "%s: connection %ld, message %llu: %s\n", app_name(), c->index,
                (unsigned long long)c->message, how);
    close_connection(w, c);
}

/* Sends as much as the socket accepts. */
static void send_rest(struct worker *w, struct connection *c)
{
    bool more;

    while (c->sent < size) {
        ssize_t n = send(c->fd, bytes_of(c) + c->sent, (size_t)(size - c->sent), MSG_NOSIGNAL);

        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            lose(w, c, strerror(errno));
            return;
        }
        if (n < 0 && errno == EAGAIN)
            break;
        c->sent += n > 0 ? n : 0;
    }
    more = c->sent < size;
    if (more != c->writing)
        watch(w, c, EPOLL_CTL_MOD, more ? EPOLLIN | EPOLLOUT : EPOLLIN);
    c->writing = more;
}

static void send_message(struct worker *w, struct connection *c)
{
    c->message++;
    c->sent = c->got = 0;
    c->began = now_ns();
    w->waiting++;
    send_rest(w, c);
}

static void check_bytes(const struct worker *w, const struct connection *c, long n)
{
    const unsigned char *want = bytes_of(c) + c->got;

    if (c->got + n > c->sent)
        app_die("connection %ld, message %llu: more came back than was sent", c->index,
                (unsigned long long)c->message);
    if (memcmp(w->buffer, want, (size_t)n) == 0)
        return;
    for (long i = 0; i < n; i++)
        if ((unsigned char)w->buffer[i] != want[i])
            app_die("connection %ld, message %llu, byte %ld: %#x came back, not %#x", c->index,
                    (unsigned long long)c->message, c->got + i, (unsigned char)w->buffer[i],
                    want[i]);
}

/* Receives the echoed bytes. Returns true when the message is complete. */
static bool receive(struct worker *w, struct connection *c)
{
    while (c->got < size) {
        ssize_t n = recv(c->fd, w->buffer, (size_t)size, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return false;
        if (n <= 0) {
            lose(w, c, n == 0 ? "the server closed it" : strerror(errno));
            return false;
        }
        check_bytes(w, c, n);
        c->got += n;
    }
    w->waiting--;
    return true;
}

/* Returns true when a message is complete. */
static bool handle(struct worker *w, struct connection *c, uint32_t events)
{
    if (events & EPOLLOUT)
        send_rest(w, c);
    if (c->fd < 0 || !(events & (EPOLLIN | EPOLLERR | EPOLLHUP)))
        return false;
    return receive(w, c);
}

static int wait_for_events(struct worker *w, struct epoll_event *events)
{
    for (;;) {
        int n = epoll_wait(w->epoll, events, EVENTS, (int)patience * 1000);

        if (n > 0)
            return n;
        if (n == 0)
            app_die("no answer for --patience=%ld seconds on %ld connections", patience,
                    w->waiting);
        if (errno != EINTR)
            net_check(n, "epoll_wait");
    }
}

static void open_connection(struct worker *w, struct connection *c)
{
    struct sockaddr_in from = net_loopback(1 + (unsigned)(c->index / PER_ADDRESS), 0);
    struct sockaddr_in to = net_loopback(1, port);
    int on = 1;

    c->fd = (int)net_check(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
    /* The port is chosen at connect: one that this server does not have yet, though closed
     * connections with others may still hold it. */
    net_check(setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on),
              "setsockopt IP_BIND_ADDRESS_NO_PORT");
    net_check(bind(c->fd, (struct sockaddr *)&from, sizeof from), "bind");
    if (connect(c->fd, (struct sockaddr *)&to, sizeof to) != 0)
        app_die("--port=%ld: connect %ld: %s", port, c->index, strerror(errno));
    net_no_delay(c->fd);
    net_check(fcntl(c->fd, F_SETFL, O_NONBLOCK), "fcntl O_NONBLOCK");
    watch(w, c, EPOLL_CTL_ADD, EPOLLIN);
    send_message(w, c);
}

static void open_all(struct worker *w)
{
    struct epoll_event events[EVENTS];
    long opened = 0;

    while (opened < w->count || w->waiting > 0) {
        int n;

        for (; opened < w->count && w->waiting < OPENING; opened++)
            open_connection(w, &w->connections[opened]);
        n = wait_for_events(w, events);
        for (int i = 0; i < n; i++)
            handle(w, events[i].data.ptr, events[i].events);
    }
}

static bool is_active(const struct connection *c)
{
    return c->fd >= 0 && c->index < active;
}

static void exchange(struct worker *w)
{
    struct epoll_event events[EVENTS];
    uint64_t began = now_ns(), now = began;
    uint64_t until = messages > 0 ? UINT64_MAX : began + (uint64_t)seconds * 1000000000u;

    for (long i = 0; i < w->count; i++)
        if (is_active(&w->connections[i]))
            send_message(w, &w->connections[i]);
    while (w->waiting > 0) {
        int n = wait_for_events(w, events);

        for (int i = 0; i < n; i++) {
            struct connection *c = events[i].data.ptr;

            if (!handle(w, c, events[i].events))
                continue;
            now = now_ns();
            latency_add(&w->latency, now - c->began);
            w->messages++;
            if (now < until && (messages == 0 || c->message <= (uint64_t)messages))
                send_message(w, c);
        }
    }
    w->seconds = (double)(now - began) * 1e-9;
}

static void close_all(struct worker *w)
{
    struct epoll_event events[EVENTS];

    for (long i = 0; i < w->count; i++) {
        struct connection *c = &w->connections[i];

        if (c->fd < 0)
            continue;
        net_check(shutdown(c->fd, SHUT_WR), "shutdown");
        w->waiting++;
    }
    while (w->waiting > 0) {
        int n = wait_for_events(w, events);

        for (int i = 0; i < n; i++) {
            struct connection *c = events[i].data.ptr;
            ssize_t got = recv(c->fd, w->buffer, 1, 0);

            if (got < 0 && (errno == EAGAIN || errno == EINTR))
                continue;
            if (got == 0)
                close_connection(w, c);
            else
                lose(w, c, got > 0 ? "a byte too many came back" : strerror(errno));
        }
    }
}

static void phase_ends(void)
{
    int rc = pthread_barrier_wait(&phase);

    check_rc(rc == PTHREAD_BARRIER_SERIAL_THREAD ? 0 : rc, "pthread_barrier_wait");
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;

    open_all(w);
    phase_ends();
    exchange(w);
    phase_ends();
    close_all(w);
    return NULL;
}

static void pattern_make(void)
{
    long bytes = STARTS + size;

    pattern = array_alloc((size_t)bytes, 1);
    for (long i = 0; i < bytes; i++)
        pattern[i] = (unsigned char)mix((uint64_t)i + 1);
}

/* Worker k has the connections k, k + threads, k + 2 threads …: each a share of the active ones. */
static void worker_init(struct worker *w, long k)
{
    w->epoll = (int)net_check(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    w->buffer = array_alloc((size_t)size, 1);
    w->count = (connections - k + threads - 1) / threads;
    w->connections = array_alloc((size_t)(w->count > 0 ? w->count : 1), sizeof *w->connections);
    for (long i = 0; i < w->count; i++)
        w->connections[i] = (struct connection){.fd = -1, .index = k + i * threads};
}

static void report(const struct worker *sum, double opening)
{
    const struct latency *l = &sum->latency;
    double rate = (double)sum->messages / sum->seconds;

    printf("echo_load: connections=%ld active=%ld size=%ld threads=%ld messages=%llu "
           "seconds=%.6f messages_per_s=%.1f mb_per_s=%.3f p50_us=%.1f p90_us=%.1f p99_us=%.1f "
           "p999_us=%.1f max_us=%.1f opening_seconds=%.6f lost=%ld\n",
           connections, active, size, threads, (unsigned long long)sum->messages, sum->seconds,
           rate, rate * (double)size * 1e-6, (double)latency_percentile(l, 0.5) * 1e-3,
           (double)latency_percentile(l, 0.9) * 1e-3, (double)latency_percentile(l, 0.99) * 1e-3,
           (double)latency_percentile(l, 0.999) * 1e-3, (double)l->max_ns * 1e-3, opening,
           sum->lost);
}

static void parse_arguments(int argc, char **argv)
{
    const struct option_spec options[] = {
        option_number("port", &port, 0, 65535, "the server's port on 127.0.0.1; required"),
        option_number("connections", &connections, 1, 1000000, "connections at once"),
        option_number("active", &active, 0, 1000000, "those that send, others idle; 0: all"),
        option_number("size", &size, 1, MAX_SIZE, "bytes of a message"),
        option_number("seconds", &seconds, 1, 86400, "how long messages are sent"),
        option_number("messages", &messages, 0, 1000000000,
                      "messages a connection, instead of --seconds; 0: --seconds"),
        option_number("threads", &threads, 1, 64, "threads that make the load"),
        option_number("patience", &patience, 1, 3600, "seconds without any answer until it fails"),
        {.name = NULL},
    };
    const struct option_page page = {
        .summary = "Sends messages to echo_server, a closed loop on each connection, and checks "
                   "every byte that comes back.",
        .options = options,
    };

    options_parse(argc, argv, &page);
    if (port == 0)
        app_die("--port: the port that echo_server prints is required");
    if (active > connections)
        app_die("--active=%ld: not more than --connections=%ld", active, connections);
    active = active == 0 ? connections : active;
}

int main(int argc, char **argv)
{
    struct worker *workers;
    struct worker sum = {.lost = 0};
    double opening;

    app_name_set("echo_load");
    parse_arguments(argc, argv);
    net_need_descriptors(connections + threads + 64);
    pattern_make();
    workers = array_alloc((size_t)threads, sizeof *workers);
    check_rc(pthread_barrier_init(&phase, NULL, (unsigned)threads + 1), "pthread_barrier_init");
    opening = clock_seconds();
    for (long k = 0; k < threads; k++) {
        worker_init(&workers[k], k);
        thread_start(&workers[k].thread, worker_main, &workers[k]);
    }
    phase_ends();
    opening = clock_seconds() - opening;
    phase_ends();
    for (long k = 0; k < threads; k++) {
        thread_join(workers[k].thread);
        latency_merge(&sum.latency, &workers[k].latency);
        sum.messages += workers[k].messages;
        sum.lost += workers[k].lost;
        sum.seconds = workers[k].seconds > sum.seconds ? workers[k].seconds : sum.seconds;
    }
    if (sum.messages == 0)
        app_die("not a single message came back");
    report(&sum, opening);
    return sum.lost == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
