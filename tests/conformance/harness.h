/* SPDX-License-Identifier: MIT */
/*
 * harness.h - the part that the conformance programs share. A program is a set of cases:
 *
 *     CASE(lock_is_edeadlk_when_relocked) { ... }
 *
 * `program --list` prints their names, `program --case NAME` runs one in this process and prints
 * "pass NAME" at its end. Exit status: 0 passed; 1 failed (a message gives the position); 77 the
 * system does not support it, and reports so itself (a message explains). run.py starts a process
 * for each case and ends those that hang.
 *
 * Nothing here uses the functions under test, except threads themselves and sched_yield.
 */
#ifndef CONFORMANCE_HARNESS_H
#define CONFORMANCE_HARNESS_H

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

struct conformance_case {
    const char *name;
    const char *file;
    void (*run)(void);              /* either this */
    void (*run_with)(const void *); /* or this, for a row of a table */
    const void *row;
    struct conformance_case *next;
};

void case_add(struct conformance_case *c);

#define CASE(id)                                                                                   \
    static void id(void);                                                                          \
    static struct conformance_case case_##id = {.name = #id, .file = __FILE__, .run = (id)};       \
    static __attribute__((constructor)) void register_##id(void)                                   \
    {                                                                                              \
        case_add(&case_##id);                                                                      \
    }                                                                                              \
    static void id(void)

/* A case for each of `count` rows; `name_of` returns a permanent string. */
#define cases_add(...) cases_add_of(__FILE__, __VA_ARGS__)
void cases_add_of(const char *file, void (*run)(const void *), const void *rows, size_t size,
                  size_t count, const char *(*name_of)(const void *));

/* Ends the process: the case has passed. For cases in which main does not return. */
_Noreturn void case_passed(void);

_Noreturn void case_fail(const char *file, int line, const char *what, long got, long want);
_Noreturn void case_unsupported(const char *reason);

/* Skips cases that a sanitizer does not allow. */
#ifdef SANITIZED
#define NOT_SANITIZED(reason) case_unsupported(reason)
#else
#define NOT_SANITIZED(reason) ((void)0)
#endif

#define CHECK_EQ(expr, want)                                                                       \
    do {                                                                                           \
        long check_got = (long)(expr);                                                             \
        long check_want = (long)(want);                                                            \
        if (check_got != check_want) {                                                             \
            case_fail(__FILE__, __LINE__, #expr, check_got, check_want);                           \
        }                                                                                          \
    } while (0)
#define CHECK(expr) CHECK_EQ(!!(expr), 1)
#define OK(expr) CHECK_EQ(expr, 0)

/* If the standard leaves the choice: `expr` must be 0 or `error`. */
#define OK_OR(expr, error)                                                                         \
    do {                                                                                           \
        long check_either = (long)(expr);                                                          \
        if (check_either != 0) {                                                                   \
            CHECK_EQ(check_either, error);                                                         \
        }                                                                                          \
    } while (0)

/* A call that returns -1 and sets errno. */
#define FAILS(expr, error)                                                                         \
    do {                                                                                           \
        set_errno(0);                                                                              \
        CHECK_EQ(expr, -1);                                                                        \
        CHECK_EQ(get_errno(), error);                                                              \
    } while (0)

/* Compilers treat the address of errno as constant in a function. Only tls.c tests whether it is;
 * the other cases do not rely on it. */
void set_errno(int value);
int get_errno(void);

/* The C library's field for the type. */
#ifndef MUTEX_KIND
#define MUTEX_KIND(mutex) ((mutex).__data.__kind)
#endif

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NS_PER_MS 1000000L
#define NS_PER_S 1000000000L

/* Longer than anything but a hang; run.py ends the case earlier. */
#define LONG_MS 60000

/* `ms` from now. */
struct timespec after_ms(clockid_t clock, long ms);
bool has_passed(clockid_t clock, const struct timespec *t);
int64_t ns_between(const struct timespec *from, const struct timespec *to);

pthread_t start(void *(*fn)(void *), void *arg);
pthread_t start_with(const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
void *join(pthread_t t);

/* The result of `fn` in a thread of its own. */
void *in_thread(void *(*fn)(void *), void *arg);

/* Runs `fn` in a child made by fork. Its exit status must be 0: the child leaves by _exit. */
pid_t child_start(void (*fn)(void));
void child_ends_well(pid_t child);
void in_child(void (*fn)(void));

/* A number that threads set and wait for, without the objects under test. */
typedef struct flag {
    int value;
    struct flag *next; /* for the harness */
} flag_t;

void flag_set(flag_t *f, int value);
int flag_add(flag_t *f, int n);
int flag_get(const flag_t *f);
void flag_wait(const flag_t *f, int at_least);

/* For the harness: a flag changes. */
void flag_changes(flag_t *f);

/* From here on the caller, and threads that it starts, share one CPU. */
void need_one_cpu(void);

/* The first CPU that the process may use. */
cpu_set_t first_cpu(void);

/* Lets others run, long enough that a thread about to block has nearly always blocked. The cases
 * are correct without it; with it they meet the blocked case. */
void give_way(void);

/* Memory that children made by fork share. */
void *shared_memory(size_t size);

#endif
