/* SPDX-License-Identifier: MIT
 *
 * Rows of threads that wait for readers and writers (SYS_RWLOCK), for the time (SYS_SLEEP) and for
 * sockets (SYS_SOCKETS). Results are checked.
 */
#include SYS_HEADER

#include "rows.h"
#include "rows_threads.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- readers and writers ---- */

#define ACCESSORS 64
#define WORDS 4
#define WRITE_OF 10 /* one of ten accesses writes */
#define YIELD_OF 32 /* one of 32 yields inside */

#ifdef SYS_RWLOCK

struct table {
    sys_rwlock lock;
    uint64_t each, writes;
    volatile uint64_t words[WORDS]; /* equal, except while a writer is inside */
};

static void table_read(struct table *t, int yields)
{
    uint64_t first;

    sys_rwlock_rdlock(&t->lock);
    first = t->words[0];
    if (yields)
        sys_yield();
    for (int i = 1; i < WORDS; i++)
        sys_check(t->words[i] == first, "keeping writers away from readers");
    sys_rwlock_unlock(&t->lock);
}

static void table_write(struct table *t, int yields)
{
    sys_rwlock_wrlock(&t->lock);
    for (int i = 0; i < WORDS; i++) {
        t->words[i] = t->words[i] + 1;
        if (i == 0 && yields)
            sys_yield();
    }
    sys_rwlock_unlock(&t->lock);
}

static void *accessor_main(void *arg)
{
    struct table *t = (struct table *)arg;
    uint64_t random = (uint64_t)(uintptr_t)&random | 1, writes = 0;

    for (uint64_t i = 0; i < t->each; i++) {
        int yields;

        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        yields = (random >> 40) % YIELD_OF == 0;
        if ((random >> 20) % WRITE_OF == 0) {
            table_write(t, yields);
            writes++;
        } else {
            table_read(t, yields);
        }
    }
    __atomic_fetch_add(&t->writes, writes, __ATOMIC_RELAXED);
    return NULL;
}

static uint64_t rwlock_run(uint64_t count)
{
    struct table t;
    uint64_t ns;

    memset((void *)&t, 0, sizeof t);
    sys_rwlock_init(&t.lock);
    t.each = count / ACCESSORS;
    ns = run_threads(ACCESSORS, accessor_main, &t);
    sys_check(t.words[0] == t.writes, "counting the writes");
    sys_rwlock_fini(&t.lock);
    return ns;
}

#endif

/* ---- sleepers ---- */

#ifdef SYS_SLEEP

#define SLEEPERS 1000
#define SLEEPS 100 /* of each */
#define SLEEP_NS 1000000u

struct bed {
    uint64_t *late; /* SLEEPS of this thread */
};

static void *bed_main(void *arg)
{
    struct bed *b = (struct bed *)arg;

    for (int i = 0; i < SLEEPS; i++) {
        uint64_t start = clock_ns(), slept;

        sys_sleep(SLEEP_NS);
        slept = clock_ns() - start;
        sys_check(slept >= SLEEP_NS, "sleeping for 1 ms");
        b->late[i] = slept - SLEEP_NS;
    }
    return NULL;
}

static uint64_t cpu_ns(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

int sleep_run(struct sleeps *result)
{
    enum { ALL = SLEEPERS * SLEEPS };
    uint64_t *late = (uint64_t *)new_array(ALL, sizeof *late);
    struct bed *beds = (struct bed *)new_array(SLEEPERS, sizeof *beds);
    sys_thread *threads = new_threads(SLEEPERS);
    uint64_t used = cpu_ns();

    for (int i = 0; i < SLEEPERS; i++) {
        beds[i].late = &late[i * SLEEPS];
        sys_create(&threads[i], bed_main, &beds[i]);
    }
    for (int i = 0; i < SLEEPERS; i++)
        sys_join(&threads[i]);
    result->cpu = (double)(cpu_ns() - used) / ALL;
    qsort(late, ALL, sizeof *late, compare);
    result->late_p50 = (double)late[ALL / 2];
    result->late_p99 = (double)late[ALL / 100 * 99];
    free(threads);
    free(beds);
    free(late);
    return 1;
}

#else

int sleep_run(struct sleeps *result)
{
    (void)result;
    return 0;
}

#endif

/* ---- loopback connections, each with a thread at both ends ---- */

#ifdef SYS_SOCKETS

#define MESSAGE 16
#define REQUESTS 5 /* of a connection, at least */

struct connection {
    int ends[2]; /* server's, client's */
    uint64_t requests;
};

/* Moves a whole message; the kernel may move it in parts. */
static void transfer(int fd, char *message, long (*move)(int, void *, size_t))
{
    for (size_t done = 0; done < MESSAGE;) {
        long moved = move(fd, message + done, MESSAGE - done);

        sys_check(moved > 0, "reading or writing a connection");
        done += (size_t)moved;
    }
}

static void *server_main(void *arg)
{
    struct connection *c = (struct connection *)arg;
    char message[MESSAGE];

    for (uint64_t i = 0; i < c->requests; i++) {
        transfer(c->ends[0], message, sys_read);
        message[0]++;
        transfer(c->ends[0], message, sys_write);
    }
    return NULL;
}

static void *client_main(void *arg)
{
    struct connection *c = (struct connection *)arg;
    char message[MESSAGE] = {0};

    for (uint64_t i = 0; i < c->requests; i++) {
        message[0] = (char)i;
        transfer(c->ends[1], message, sys_write);
        transfer(c->ends[1], message, sys_read);
        sys_check(message[0] == (char)(i + 1), "answering a request");
    }
    return NULL;
}

static void descriptors_raise(void)
{
    struct rlimit limit;

    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static int listener_open(struct sockaddr_in *address)
{
    socklen_t size = sizeof *address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    memset(address, 0, sizeof *address);
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sys_check(fd >= 0 && bind(fd, (struct sockaddr *)address, size) == 0 && listen(fd, 16) == 0 &&
                  getsockname(fd, (struct sockaddr *)address, &size) == 0,
              "listening on loopback");
    return fd;
}

/* Connected one after the other: no backlog can overflow. Closing resets, which leaves no socket in
 * TIME_WAIT behind. */
static void connection_open(struct connection *c, int listener, const struct sockaddr_in *address)
{
    const struct linger reset = {1, 0};
    const int on = 1;

    c->ends[1] = socket(AF_INET, SOCK_STREAM, 0);
    sys_check(c->ends[1] >= 0, "socket (a limit of descriptors? ulimit -n)");
    sys_check(connect(c->ends[1], (const struct sockaddr *)address, sizeof *address) == 0,
              "connect");
    c->ends[0] = accept(listener, NULL, NULL);
    sys_check(c->ends[0] >= 0, "accept (a limit of descriptors? ulimit -n)");
    for (int i = 0; i < 2; i++) {
        setsockopt(c->ends[i], SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        setsockopt(c->ends[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        sys_socket_prepare(c->ends[i]);
    }
}

static uint64_t connections_run(uint64_t count)
{
    struct connection *all = (struct connection *)new_array(CONNECTIONS, sizeof *all);
    sys_thread *threads = new_threads(2 * CONNECTIONS);
    struct sockaddr_in address;
    int listener;
    uint64_t start;

    descriptors_raise();
    listener = listener_open(&address);
    for (int i = 0; i < CONNECTIONS; i++) {
        all[i].requests = count / CONNECTIONS;
        connection_open(&all[i], listener, &address);
    }
    start = clock_ns();
    for (int i = 0; i < CONNECTIONS; i++) {
        sys_create(&threads[2 * i], server_main, &all[i]);
        sys_create(&threads[2 * i + 1], client_main, &all[i]);
    }
    for (int i = 0; i < 2 * CONNECTIONS; i++)
        sys_join(&threads[i]);
    start = clock_ns() - start;
    for (int i = 0; i < CONNECTIONS; i++) {
        close(all[i].ends[1]);
        close(all[i].ends[0]);
    }
    close(listener);
    free(threads);
    free(all);
    return start;
}

#endif

/* clang-format off */
const struct row wait_rows[] = {
#ifdef SYS_RWLOCK
    {"rwlock", ACCESSORS, rwlock_run},
#endif
#ifdef SYS_SOCKETS
    {"connections", REQUESTS * CONNECTIONS, connections_run},
#endif
    {NULL, 0, NULL},
};
/* clang-format on */
