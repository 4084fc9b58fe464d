/* SPDX-License-Identifier: MIT */
/*
 * altstack.c - a worker's alternate signal stack belongs to its kernel thread. No handler of the
 * program runs there, because the handler may switch threads, and the next frame there would
 * overwrite its own. And a kernel thread keeps its stack, wherever its threads come from: two
 * kernel threads with the same stack would continue with each other's registers.
 *
 * Threads raise signals whose handlers request an alternate stack (SA_ONSTACK) and yield in them;
 * half of the threads have one of their own, half have none. Others compute for several ticks, and
 * sleep in system calls that the runtime does not know, so that workers change kernel threads.
 */
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#include "../raw.h"
#include "check.h"

enum { THREADS = 8, ROUNDS = 60, YIELDS = 3, MOST = 512 };

static int closed_pipe[2];
static _Atomic unsigned handled;
static __thread char *own_stack;

static struct {
    pthread_mutex_t lock;
    unsigned count;
    int tid[MOST];
    void *stack[MOST];
} kernel = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The kernel thread's alternate stack, as the kernel knows it; false: the caller has moved. */
static bool stack_here(int *tid, stack_t *stack)
{
    *tid = (int)syscall(SYS_gettid);
    syscall(SYS_sigaltstack, NULL, stack);
    return (int)syscall(SYS_gettid) == *tid;
}

static void note(int tid, void *stack)
{
    unsigned at = 0;
    while (at < kernel.count && kernel.tid[at] != tid) {
        CHECK(kernel.stack[at] != stack);
        at++;
    }
    if (at == kernel.count && at < MOST) {
        kernel.tid[at] = tid;
        kernel.stack[at] = stack;
        kernel.count++;
    }
    CHECK(at == MOST || kernel.stack[at] == stack);
}

static void look(void)
{
    int tid;
    stack_t stack = {0};
    if (stack_here(&tid, &stack) && !(stack.ss_flags & SS_DISABLE)) {
        pthread_mutex_lock(&kernel.lock);
        note(tid, stack.ss_sp);
        pthread_mutex_unlock(&kernel.lock);
    }
}

static void handler(int signal)
{
    (void)signal;
    for (int i = 0; i < YIELDS; i++) {
        int tid;
        stack_t stack = {0};
        uintptr_t here = (uintptr_t)__builtin_frame_address(0);
        if (stack_here(&tid, &stack)) {
            CHECK(here - (uintptr_t)stack.ss_sp >= stack.ss_size);
        }
        CHECK(own_stack == NULL || here - (uintptr_t)own_stack < (size_t)SIGSTKSZ);
        sched_yield();
    }
    handled++;
}

static void compute(void)
{
    struct timespec from, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    do {
        for (volatile int i = 0; i < 100000; i++) {
        }
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - from.tv_sec) * 1000000000 + (now.tv_nsec - from.tv_nsec) < 3000000);
}

/* The runtime's signal ends one such sleep. */
static void sleep_unknown(void)
{
    struct timespec sleep = {0, 5000000};
    for (int i = 0; i < 10; i++) {
        raw_call(SYS_nanosleep, (long)&sleep, 0, 0, 0);
    }
}

static void *thread_main(void *arg)
{
    unsigned number = (unsigned)(uintptr_t)arg;
    if (number % 2 == 0) {
        own_stack = malloc((size_t)SIGSTKSZ);
        stack_t mine = {.ss_sp = own_stack, .ss_size = (size_t)SIGSTKSZ};
        CHECK(sigaltstack(&mine, NULL) == 0);
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        CHECK(write(closed_pipe[1], "", 1) == -1);
        if ((i + number) % 4 == 0) {
            compute();
        } else if ((i + number) % 16 == 1) {
            sleep_unknown();
        }
        look();
    }
    stack_t none = {.ss_flags = SS_DISABLE};
    CHECK(sigaltstack(&none, NULL) == 0);
    free(own_stack);
    return NULL;
}

int main(void)
{
    pthread_t thread[THREADS];
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK | SA_RESTART};
    CHECK(pipe(closed_pipe) == 0 && close(closed_pipe[0]) == 0);
    CHECK(sigaction(SIGPIPE, &action, NULL) == 0);
    for (uintptr_t i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&thread[i], NULL, thread_main, (void *)i) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK(pthread_join(thread[i], NULL) == 0);
    }
    CHECK(handled == THREADS * ROUNDS);
    printf("%u handlers, %u kernel threads\n", handled, kernel.count);
    return 0;
}
