/* SPDX-License-Identifier: MIT
 *
 * echo_server: sends back what it receives, with a thread for each connection that blocks in recv
 * and send: the simplest possible server. It measures the cost of blocked threads and their
 * wake-ups; echo_load makes the load.
 *
 * Invariants:
 *  1. A connection's descriptor belongs to main until its thread starts, then to that thread, which
 *     closes it.
 *  2. Under `lock`: open counts the connections whose threads have not ended; bytes and reset are
 *     the sums over those that have.
 *
 * Main accepts, and after --serve connections waits until open is 0.
 */
#include "check.h"
#include "clock.h"
#include "net.h"
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static long port, connections = 10000, serve; /* constant while threads run */
static long size = 1024;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_closed = PTHREAD_COND_INITIALIZER;
static long open_now, most_open, reset;
static double bytes;
static pthread_attr_t attr;

struct connection {
    int fd;
    char buffer[]; /* `size` bytes */
};

/* The peer may leave at any time: that ends the connection, not the server. */
static int is_lost(const char *call)
{
    if (errno == ECONNRESET || errno == EPIPE)
        return 1;
    net_check(-1, call);
    return 0;
}

/* Returns the bytes echoed, and in *lost whether the peer broke off. */
static double echo(struct connection *c, int *lost)
{
    double echoed = 0;
    ssize_t n;

    for (;;) {
        n = recv(c->fd, c->buffer, (size_t)size, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        if (send(c->fd, c->buffer, (size_t)n, MSG_NOSIGNAL) != n) { /* blocking: all, or an error */
            *lost = is_lost("send");
            return echoed;
        }
        echoed += (double)n;
    }
    *lost = n < 0 && is_lost("recv");
    return echoed;
}

static void *connection_main(void *arg)
{
    struct connection *c = arg;
    int lost = 0;
    double echoed = echo(c, &lost);

    close(c->fd);
    free(c);
    check_rc(pthread_mutex_lock(&lock), "pthread_mutex_lock");
    bytes += echoed;
    reset += lost;
    if (--open_now == 0)
        check_rc(pthread_cond_signal(&all_closed), "pthread_cond_signal");
    check_rc(pthread_mutex_unlock(&lock), "pthread_mutex_unlock");
    return NULL;
}

static int listen_on_loopback(void)
{
    struct sockaddr_in address = net_loopback(1, port);
    socklen_t length = sizeof address;
    int on = 1;
    int fd = (int)net_check(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");

    net_check(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), "setsockopt SO_REUSEADDR");
    if (bind(fd, (struct sockaddr *)&address, length) != 0)
        app_die("--port=%ld: bind: %s", port, strerror(errno));
    net_check(listen(fd, SOMAXCONN), "listen");
    net_check(getsockname(fd, (struct sockaddr *)&address, &length), "getsockname");
    printf("echo_server: listening port=%d\n", ntohs(address.sin_port));
    fflush(stdout); /* the program that starts the load waits for this line */
    return fd;
}

/* More than --connections at once would run out of descriptors: refused, by name. */
static long opened(void)
{
    long now;

    check_rc(pthread_mutex_lock(&lock), "pthread_mutex_lock");
    now = ++open_now;
    most_open = now > most_open ? now : most_open;
    check_rc(pthread_mutex_unlock(&lock), "pthread_mutex_unlock");
    if (now > connections)
        app_die("more than --connections=%ld at once", connections);
    return now;
}

static void start_connection(int fd)
{
    struct connection *c = check_alloc(malloc(sizeof *c + (size_t)size), sizeof *c + (size_t)size);
    pthread_t thread;
    long now = opened();
    int error;

    c->fd = fd;
    error = pthread_create(&thread, &attr, connection_main, c);
    if (error != 0)
        app_die("pthread_create, with %ld connections open: %s", now, strerror(error));
}

static void accept_all(int listener)
{
    for (long i = 0; serve == 0 || i < serve; i++) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) {
            i--;
            continue;
        }
        net_check(fd, "accept");
        net_no_delay(fd);
        start_connection(fd);
    }
}

static void wait_until_closed(void)
{
    check_rc(pthread_mutex_lock(&lock), "pthread_mutex_lock");
    while (open_now > 0)
        check_rc(pthread_cond_wait(&all_closed, &lock), "pthread_cond_wait");
    check_rc(pthread_mutex_unlock(&lock), "pthread_mutex_unlock");
}

/* The largest resident set so far, KiB; 0 if the system does not report it. */
static long resident_kb(void)
{
    char line[256];
    long kb = 0;
    FILE *status = fopen("/proc/self/status", "re");

    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kb = strtol(line + 6, NULL, 10);
    if (status)
        fclose(status);
    return kb;
}

static void parse_arguments(int argc, char **argv)
{
    const struct option_spec options[] = {
        option_number("port", &port, 0, 65535, "port on 127.0.0.1; 0: any that is free"),
        option_number("connections", &connections, 1, 1000000, "connections at once, at most"),
        option_number("serve", &serve, 0, 1000000000, "connections until it ends; 0: never"),
        option_number("size", &size, 1, 1 << 20, "bytes of each connection's buffer"),
        {.name = NULL},
    };
    const struct option_page page = {
        .summary = "Sends back what it receives, a thread for each connection.",
        .options = options,
    };

    options_parse(argc, argv, &page);
}

int main(int argc, char **argv)
{
    double seconds;
    int listener;

    app_name_set("echo_server");
    parse_arguments(argc, argv);
    net_need_descriptors(connections + 64);
    small_stack_attr(&attr);
    check_rc(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED),
             "pthread_attr_setdetachstate");
    listener = listen_on_loopback();
    seconds = clock_seconds();
    accept_all(listener);
    wait_until_closed();
    seconds = clock_seconds() - seconds;
    printf("echo_server: connections=%ld most_open=%ld reset=%ld bytes=%.0f seconds=%.6f "
           "resident_kb=%ld\n",
           serve, most_open, reset, bytes, seconds, resident_kb());
    return EXIT_SUCCESS;
}
