/* SPDX-License-Identifier: MIT */
/*
 * onstack.c - handlers with SA_ONSTACK in threads without an alternate stack of their own: they run
 * on the thread's stack, wherever the kernel has put the signal's frame, and may be switched out.
 *
 * Threads write to a pipe that has no reader, and get SIGPIPE at once. The handler lets others run,
 * which get the signal, too, on the same kernel thread: handlers that shared its signal stack would
 * overwrite each other. Ends after `seconds` of CPU time.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 12, WORDS = 64 };

static double seconds = 2;
static int broken[2];
static sem_t tokens;
static __thread volatile unsigned long handled;

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fail(const char *what)
{
    fprintf(stderr, "FAILED %s\n", what);
    abort();
}

static void fill(volatile uint64_t *words, uint64_t seed)
{
    for (unsigned i = 0; i < WORDS; i++) {
        words[i] = seed + i;
    }
}

static void check(const volatile uint64_t *words, uint64_t seed, const char *where)
{
    for (unsigned i = 0; i < WORDS; i++) {
        if (words[i] != seed + i) {
            fail(where);
        }
    }
}

static void on_pipe(int signal, siginfo_t *info, void *context)
{
    volatile uint64_t words[WORDS];
    uint64_t seed = (uint64_t)(uintptr_t)&words[0] ^ (uint64_t)(uintptr_t)&handled;
    (void)context;
    fill(words, seed);
    sem_post(&tokens);
    for (int i = 0; i < 3; i++) {
        sched_yield();
    }
    check(words, seed, "the handler's variables");
    if (signal != SIGPIPE || info->si_signo != SIGPIPE) {
        fail("the handler's arguments");
    }
    handled++;
}

static void *writes(void *arg)
{
    volatile uint64_t words[WORDS];
    uint64_t seed = (uint64_t)(uintptr_t)arg << 32;
    unsigned long done = 0;
    fill(words, seed);
    while (cpu_seconds() < seconds) {
        if (write(broken[1], "x", 1) != -1) {
            fail("a write without a reader");
        }
        sem_wait(&tokens);
        if (handled != ++done) {
            fail("a signal that was not handled when the call returned");
        }
        check(words, seed, "the thread's variables");
    }
    return (void *)done;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_pipe, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    pthread_t t[THREADS];
    unsigned long all = 0;
    if (pipe(broken) != 0 || close(broken[0]) != 0 || sem_init(&tokens, 0, 0) != 0 ||
        sigaction(SIGPIPE, &action, NULL) != 0) {
        return 1;
    }
    for (uintptr_t i = 0; i < THREADS; i++) {
        if (pthread_create(&t[i], NULL, writes, (void *)i) != 0) {
            return 1;
        }
    }
    for (int i = 0; i < THREADS; i++) {
        void *done;
        pthread_join(t[i], &done);
        all += (unsigned long)done;
    }
    printf("%lu signals handled\n", all);
    return all != 0 ? 0 : 1;
}
