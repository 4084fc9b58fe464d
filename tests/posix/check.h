/* SPDX-License-Identifier: MIT */
/*
 * check.h - the part that these tests share. Each test program is built against the system's
 * threads and against Pirn, with the same expectations; CTest's timeout detects hangs.
 */
#ifndef CHECK_H
#define CHECK_H

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static inline void check_fail(const char *file, int line, const char *what, long got, long want)
{
    fprintf(stderr, "%s:%d: %s: got %ld, want %ld\n", file, line, what, got, want);
    _exit(1);
}

#define CHECK_EQ(expr, want)                                                                       \
    do {                                                                                           \
        long check_got = (long)(expr);                                                             \
        if (check_got != (long)(want)) {                                                           \
            check_fail(__FILE__, __LINE__, #expr, check_got, (long)(want));                        \
        }                                                                                          \
    } while (0)
#define CHECK(expr) CHECK_EQ(!!(expr), 1)
#define OK(expr) CHECK_EQ(expr, 0)

/* The address of errno changes when a user thread moves to another worker, and compilers treat it
 * as constant within a function. Where threads share TLS (PIRN_TLS=shared, sanitizers), errno must
 * be read in a new function; where they have their own, ordinary code is right. */
static __attribute__((noinline, unused)) void set_errno(int value)
{
    errno = value;
}

static __attribute__((noinline, unused)) int get_errno(void)
{
    return errno;
}

/* A call that returns -1 and sets errno. */
#define FAILS(expr, error)                                                                         \
    do {                                                                                           \
        set_errno(0);                                                                              \
        CHECK_EQ(expr, -1);                                                                        \
        CHECK_EQ(get_errno(), error);                                                              \
    } while (0)

#define RUN(test)                                                                                  \
    do {                                                                                           \
        test();                                                                                    \
        printf("ok %s\n", #test);                                                                  \
    } while (0)

/* Of AArch64 the smallest one is larger. */
#define SMALL_STACK                                                                                \
    (PTHREAD_STACK_MIN > (64 << 10) ? (size_t)PTHREAD_STACK_MIN : (size_t)(64 << 10))

#define NS_PER_MS 1000000L
#define NS_PER_S 1000000000L

static inline struct timespec after_ms(clockid_t clock, long ms)
{
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += ms % 1000 * NS_PER_MS;
    if (t.tv_nsec >= NS_PER_S) {
        t.tv_nsec -= NS_PER_S;
        t.tv_sec++;
    }
    return t;
}

static inline bool has_passed(clockid_t clock, const struct timespec *t)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec > t->tv_sec || (now.tv_sec == t->tv_sec && now.tv_nsec >= t->tv_nsec);
}

static inline pthread_t start(void *(*fn)(void *), void *arg)
{
    pthread_t t;
    OK(pthread_create(&t, NULL, fn, arg));
    return t;
}

static inline void *join(pthread_t t)
{
    void *ret = NULL;
    OK(pthread_join(t, &ret));
    return ret;
}

/* A flag that one thread sets and others wait for, without the objects under test. */
typedef struct flag {
    int value;
} flag_t;

static inline void flag_set(flag_t *f, int value)
{
    __atomic_store_n(&f->value, value, __ATOMIC_SEQ_CST);
}

static inline int flag_add(flag_t *f, int n)
{
    return __atomic_add_fetch(&f->value, n, __ATOMIC_SEQ_CST);
}

static inline int flag_get(flag_t *f)
{
    return __atomic_load_n(&f->value, __ATOMIC_SEQ_CST);
}

static inline void flag_wait(flag_t *f, int at_least)
{
    while (flag_get(f) < at_least) {
        sched_yield();
    }
}

/* Let others run, long enough that a thread about to block has nearly always blocked. The tests are
 * correct without it; with it they meet the blocked case. */
static inline void give_way(void)
{
    for (int i = 0; i < 50; i++) {
        sched_yield();
    }
    usleep(500);
}

#endif
