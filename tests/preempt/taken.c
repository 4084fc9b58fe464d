/* SPDX-License-Identifier: MIT */
/*
 * taken.c - a program that installs a handler for every signal by the system call, as Go's runtime
 * does when it starts: ticks, and the notice that a worker sleeps in the kernel, go on.
 *
 * On one worker a thread that waits by spinning, and one that sleeps in a futex call of its own,
 * are each ended by the next one in the queue. Without the runtime's signals that one never runs.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../raw.h"

enum { ROUNDS = 5, SIGNALS = 64 };

/* What the system call wants. */
struct kernel_action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

static uint32_t word; /* futex */

static void ignores(int signal)
{
    (void)signal;
}

/* All but those that cannot be taken, and the C library's own. */
static void take_all(void)
{
    struct kernel_action old, mine;
    for (int i = 1; i <= SIGNALS; i++) {
        if (i == SIGKILL || i == SIGSTOP || i == 32 || i == 33) {
            continue;
        }
        if (syscall(SYS_rt_sigaction, i, NULL, &old, sizeof(old.mask)) != 0) {
            abort();
        }
        mine = old; /* with its restorer, if it has one */
        mine.handler = ignores;
        if (old.restorer != NULL &&
            syscall(SYS_rt_sigaction, i, &mine, NULL, sizeof(old.mask)) != 0) {
            abort();
        }
    }
}

static void *sets(void *arg)
{
    __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
    raw_call(SYS_futex, (long)&word, FUTEX_WAKE_PRIVATE, 1, 0);
    return arg;
}

static pthread_t start(void)
{
    pthread_t thread;
    __atomic_store_n(&word, 0, __ATOMIC_SEQ_CST);
    if (pthread_create(&thread, NULL, sets, NULL) != 0) {
        abort();
    }
    return thread;
}

int main(void)
{
    pthread_join(start(), NULL); /* the runtime has started */
    for (int i = 0; i < ROUNDS; i++) {
        take_all();
        pthread_t thread = start();
        while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == 0) {
        }
        pthread_join(thread, NULL);
        take_all();
        thread = start();
        while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == 0) {
            raw_call(SYS_futex, (long)&word, FUTEX_WAIT_PRIVATE, 0, 0);
        }
        pthread_join(thread, NULL);
    }
    puts("ok");
    return 0;
}
