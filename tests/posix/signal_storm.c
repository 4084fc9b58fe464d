/* SPDX-License-Identifier: MIT */
/*
 * signal_storm.c - a thread gets signals faster than it can handle them: its stack holds one frame
 * for each handler that is under way, not one for each signal. A handler blocks its own signal, so
 * there is one of the program's at a time; what the runtime adds must not depend on the number of
 * signals. First the handler runs on an alternate stack, then on the thread's own. The unused part
 * of each keeps its pattern. A mistake shows where system calls are slow: with one frame for each
 * signal, 17 KB were used as usual, and 80 KB under strace.
 */
#include <signal.h>
#include <stdint.h>

#include "check.h"

enum { SIGNALS = 40000, STACK = 256 << 10, MOST = 64 << 10, PATTERN = 0x5a };

static unsigned char stack[STACK];
static _Atomic bool ready, over;
static volatile unsigned handled;

static void handler(int signal)
{
    (void)signal;
    handled++;
}

static void *computes(void *arg)
{
    stack_t mine = {.ss_sp = stack, .ss_size = sizeof(stack)};
    if (arg != NULL) {
        OK(sigaltstack(&mine, NULL));
    }
    ready = true;
    while (!over) {
    }
    return arg;
}

/* Bytes from the end of the stack to the lowest that was written. */
static size_t used(void)
{
    size_t low = 0;
    while (low < sizeof(stack) && stack[low] == PATTERN) {
        low++;
    }
    return sizeof(stack) - low;
}

static void storm(const char *where, int flags)
{
    pthread_t thread;
    pthread_attr_t attr;
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    OK(sigaction(SIGUSR1, &action, NULL));
    memset(stack, PATTERN, sizeof(stack));
    handled = 0;
    ready = over = false;
    OK(pthread_attr_init(&attr));
    if (!(flags & SA_ONSTACK)) {
        OK(pthread_attr_setstack(&attr, stack, sizeof(stack)));
    }
    OK(pthread_create(&thread, &attr, computes, flags & SA_ONSTACK ? stack : NULL));
    while (!ready) {
        sched_yield();
    }
    for (int i = 0; i < SIGNALS; i++) {
        OK(pthread_kill(thread, SIGUSR1));
    }
    over = true;
    OK(pthread_join(thread, NULL));
    printf("%s: %zu bytes used, %u handlers for %d signals\n", where, used(), handled, SIGNALS);
    fflush(stdout);
    CHECK(handled >= 1 && handled <= SIGNALS);
    CHECK(used() <= MOST);
}

int main(void)
{
    storm("alternate stack", SA_ONSTACK);
    storm("own stack", 0);
    return 0;
}
