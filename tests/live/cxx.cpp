/* SPDX-License-Identifier: MIT */
/*
 * cxx.cpp - threads that wait in functions of C++, for `pirn dump` and `ps`
 * (tools/tests/test_live_dump.py). It says "ready" when all are created, and ends when its standard
 * input does.
 */
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

namespace demo
{
sem_t gate;
volatile int entered;

/* Inlined: dump names the containing function, with a line of that function. */
__attribute__((always_inline)) inline void inlined_wait(sem_t *s)
{
    entered = entered + 1;
    sem_wait(s);
    entered = entered - 1;
}

template <typename T>
NOINLINE void waits_for(T *object)
{
    inlined_wait(object); /* the line that dump names */
    entered = entered + 1;
}

/* The compiler puts nothing after the call: the return address is that of the next function. */
[[noreturn]] NOINLINE static void never_returns()
{
    for (;;) {
        waits_for<sem_t>(&gate);
    }
}

NOINLINE static void calls_last()
{
    never_returns();
}
} // namespace demo

extern "C" void *begins_here(void *arg)
{
    demo::calls_last();
    return arg;
}

int main()
{
    sem_init(&demo::gate, 0, 0);
    pthread_t t;
    if (pthread_create(&t, nullptr, begins_here, nullptr) != 0) {
        abort();
    }
    pthread_setname_np(t, "in-cxx");
    puts("ready");
    fflush(stdout);
    char c;
    while (read(0, &c, 1) > 0) {
    }
    return 0;
}
