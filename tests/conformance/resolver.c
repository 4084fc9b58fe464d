/* SPDX-License-Identifier: MIT */
/*
 * resolver.c - threads that ask for names, all at once, a server of this process, which answers
 * when it has all questions. It is a thread like the others. So a thread that waits for its answer
 * must keep neither the server nor the other threads from running.
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <sys/socket.h>

#include "harness.h"

enum { CLIENTS = 24, SIZE = 512, HEAD = 12 };

static int server;
static struct sockaddr_in at = {.sin_family = AF_INET};
static flag_t answered;

struct question {
    unsigned char text[SIZE];
    ssize_t size;
    struct sockaddr_in from;
    socklen_t from_size;
};

/* The question, and one address, 10.1.2.3, behind it. */
static void answer(struct question *q)
{
    static const unsigned char record[] = {0xc0, HEAD, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 10, 1, 2, 3};
    q->text[2] = 0x81; /* a response; recursion desired ... */
    q->text[3] = 0x80; /* ... and available; no error */
    q->text[7] = 1;    /* one answer */
    q->text[9] = q->text[11] = 0;
    ssize_t end = HEAD;
    while (q->text[end] != 0) {
        end += q->text[end] + 1;
    }
    end += 5; /* the name's end, type, class */
    memcpy(q->text + end, record, sizeof(record));
    CHECK(sendto(server, q->text, (size_t)end + sizeof(record), 0, (struct sockaddr *)&q->from,
                 q->from_size) > 0);
}

static void *serves(void *arg)
{
    static struct question questions[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        struct question *q = &questions[i];
        q->from_size = sizeof(q->from);
        q->size =
            recvfrom(server, q->text, SIZE / 2, 0, (struct sockaddr *)&q->from, &q->from_size);
        CHECK(q->size > HEAD);
    }
    for (int i = 0; i < CLIENTS; i++) {
        answer(&questions[i]);
    }
    return arg;
}

/* The state of the resolver belongs to the thread. No second question, however late the answer. */
static void use_server(void)
{
    OK(res_init());
    _res.nscount = 1;
    _res.nsaddr_list[0] = at;
    _res.retrans = 30;
    _res.retry = 1;
    _res.options &= ~(RES_ROTATE | RES_USE_EDNS0);
}

enum { IN = 1, A = 1 };

static int ask(int how, const char *name, unsigned char *got)
{
    unsigned char question[SIZE];
    switch (how) {
    case 0:
        return res_query(name, IN, A, got, SIZE);
    case 1:
        return res_search(name, IN, A, got, SIZE);
    case 2:
        return res_nquery(&_res, name, IN, A, got, SIZE);
    case 3:
        return res_nsearch(&_res, name, IN, A, got, SIZE);
    default: {
        int size = res_mkquery(0 /* QUERY */, name, IN, A, NULL, 0, NULL, question, SIZE);
        CHECK(size > HEAD);
        return res_nsend(&_res, question, size, got, SIZE);
    }
    }
}

static void *asks(void *arg)
{
    unsigned char got[SIZE];
    char name[32];
    snprintf(name, sizeof(name), "host%ld.example.", (long)arg);
    use_server();
    int size = ask((int)(long)arg % 5, name, got);
    CHECK(size > HEAD + 4);
    OK(memcmp(got + size - 4, "\x0a\x01\x02\x03", 4));
    flag_add(&answered, 1);
    return NULL;
}

CASE(threads_that_ask_for_names_wait_beside_others)
{
    pthread_t t[CLIENTS];
    socklen_t size = sizeof(at);
    server = socket(AF_INET, SOCK_DGRAM, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (server < 0 || bind(server, (struct sockaddr *)&at, sizeof(at)) != 0) {
        case_unsupported("no IPv4 on the loopback interface");
    }
    OK(getsockname(server, (struct sockaddr *)&at, &size));
    pthread_t s = start(serves, NULL);
    for (long i = 0; i < CLIENTS; i++) {
        t[i] = start(asks, (void *)i);
    }
    for (int i = 0; i < CLIENTS; i++) {
        join(t[i]);
    }
    join(s);
    CHECK_EQ(flag_get(&answered), CLIENTS);
}

static void *numbers(void *arg)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_flags = AI_NUMERICHOST}, *found = NULL;
    char host[64], service[16];
    OK(getaddrinfo("127.0.0.1", "80", &hints, &found));
    OK(getnameinfo(found->ai_addr, found->ai_addrlen, host, sizeof(host), service, sizeof(service),
                   NI_NUMERICHOST | NI_NUMERICSERV));
    OK(strcmp(host, "127.0.0.1"));
    OK(strcmp(service, "80"));
    freeaddrinfo(found);
    CHECK_EQ(getaddrinfo("not a number", NULL, &hints, &found), EAI_NONAME);
    struct hostent *of = gethostbyname("127.0.0.1");
    CHECK(of != NULL && of->h_length == 4);
    OK(memcmp(of->h_addr_list[0], "\x7f\0\0\1", 4));
    struct hostent room;
    char buffer[1024];
    int error = 0;
    of = NULL;
    OK(gethostbyname_r("10.0.0.1", &room, buffer, sizeof(buffer), &of, &error));
    CHECK(of == &room);
    of = NULL;
    OK(gethostbyname2_r("10.0.0.1", AF_INET, &room, buffer, sizeof(buffer), &of, &error));
    CHECK(of == &room);
    CHECK(gethostbyname2("127.0.0.1", AF_INET) != NULL);
    return arg;
}

/* Whether there is a name depends on the machine. */
static void *names(void *arg)
{
    static const unsigned char here[4] = {127, 0, 0, 1};
    struct hostent room, *of = gethostbyaddr(here, sizeof(here), AF_INET);
    char buffer[2048];
    int error = 0;
    CHECK(of == NULL ? h_errno != 0 : of->h_length == 4);
    bool known = of != NULL;
    OK_OR(gethostbyaddr_r(here, sizeof(here), AF_INET, &room, buffer, sizeof(buffer), &of, &error),
          ENOENT);
    CHECK_EQ(of != NULL, known);
    return arg;
}

CASE(names_of_addresses_are_the_same_in_any_thread)
{
    names(NULL);
    in_thread(names, NULL);
}

CASE(numeric_names_are_converted_in_any_thread)
{
    numbers(NULL);
    in_thread(numbers, NULL);
}
