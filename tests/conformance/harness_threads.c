/* SPDX-License-Identifier: MIT */
/* harness_threads.c - the part of harness.h that needs no processes: tables of cases, times,
 * threads, flags. */
#include "harness.h"

void cases_add_of(const char *file, void (*run)(const void *), const void *rows, size_t size,
                  size_t count, const char *(*name_of)(const void *))
{
    for (size_t i = 0; i < count; i++) {
        const void *row = (const char *)rows + i * size;
        struct conformance_case *c = calloc(1, sizeof(*c));
        *c = (struct conformance_case){
            .name = name_of(row), .file = file, .run_with = run, .row = row};
        case_add(c);
    }
}

__attribute__((noinline)) void set_errno(int value)
{
    errno = value;
}

__attribute__((noinline)) int get_errno(void)
{
    return errno;
}

struct timespec after_ms(clockid_t clock, long ms)
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

int64_t ns_between(const struct timespec *from, const struct timespec *to)
{
    return (int64_t)(to->tv_sec - from->tv_sec) * NS_PER_S + (to->tv_nsec - from->tv_nsec);
}

bool has_passed(clockid_t clock, const struct timespec *t)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return ns_between(t, &now) >= 0;
}

pthread_t start_with(const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    pthread_t t;
    OK(pthread_create(&t, attr, fn, arg));
    return t;
}

pthread_t start(void *(*fn)(void *), void *arg)
{
    return start_with(NULL, fn, arg);
}

void *join(pthread_t t)
{
    void *result = NULL;
    OK(pthread_join(t, &result));
    return result;
}

void *in_thread(void *(*fn)(void *), void *arg)
{
    return join(start(fn, arg));
}

void flag_set(flag_t *f, int value)
{
    flag_changes(f);
    __atomic_store_n(&f->value, value, __ATOMIC_SEQ_CST);
}

int flag_add(flag_t *f, int n)
{
    flag_changes(f);
    return __atomic_add_fetch(&f->value, n, __ATOMIC_SEQ_CST);
}

int flag_get(const flag_t *f)
{
    return __atomic_load_n(&f->value, __ATOMIC_SEQ_CST);
}

void flag_wait(const flag_t *f, int at_least)
{
    for (int i = 0; flag_get(f) < at_least; i++) {
        if (i < 100) {
            sched_yield();
        } else {
            /* A yield does not let threads of lower priority run. No cancellation point. */
            int state;
            OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state));
            usleep(50);
            OK(pthread_setcancelstate(state, NULL));
        }
    }
}

void give_way(void)
{
    for (int i = 0; i < 50; i++) {
        sched_yield();
    }
    usleep(500);
}
