/* SPDX-License-Identifier: MIT */
/*
 * plain.c - an ordinary pthread program without instrumentation, for check.py: compiled with and
 * without frame pointers, and run with the library preloaded. With an argument it spends its time
 * in system calls.
 */
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SEPARATE __attribute__((noinline))

static volatile unsigned long sink;

SEPARATE static unsigned long innermost(unsigned long n)
{
    for (unsigned long i = 0; i < n; i++) {
        sink += i;
    }
    return sink;
}

SEPARATE static unsigned long inner(unsigned long n)
{
    return innermost(n) + 1;
}

SEPARATE static unsigned long outer(unsigned long n)
{
    return inner(n) + 1;
}

SEPARATE static unsigned long asks(unsigned long n)
{
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n / 5; i++) {
        sum += (unsigned long)syscall(SYS_getppid);
    }
    return sum;
}

SEPARATE static unsigned long caller(unsigned long n)
{
    return asks(n) + 1;
}

static unsigned long (*kind)(unsigned long) = outer;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *work(void *arg)
{
    double end = seconds() + 0.3;
    unsigned long n = 0;
    while (seconds() < end) {
        n += kind(100000);
    }
    sink += n;
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t t[2];
    if (argc > 1 && argv[1][0] != '\0') {
        kind = caller;
    }
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&t[i], NULL, work, NULL) != 0) {
            return 1;
        }
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(t[i], NULL);
    }
    return 0;
}
