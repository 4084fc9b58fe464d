/* SPDX-License-Identifier: MIT */
/*
 * slow_start.c - the program has set an alternate signal stack and a mask before it makes its first
 * thread, and the kernel takes long for the system calls of the runtime's start (slow.h). The main
 * thread loses its CPU there, and goes on on another kernel thread. It must keep its stack and its
 * mask, and no other thread may have them.
 */
#include "slow.h"

enum { LATE_MS = 60, STACK = 1 << 16 };

static char stack[STACK];
static flag_t handled;

static void on_stack(int signal)
{
    char here;
    (void)signal;
    CHECK(&here >= stack && &here < stack + sizeof(stack));
    flag_add(&handled, 1);
}

static bool blocks(int signal)
{
    sigset_t now;
    OK(pthread_sigmask(SIG_BLOCK, NULL, &now));
    return sigismember(&now, signal) == 1;
}

static void *looks(void *arg)
{
    stack_t now;
    OK(sigaltstack(NULL, &now));
    CHECK(now.ss_flags & SS_DISABLE);
    CHECK(blocks(SIGUSR2) && !blocks(SIGUSR1)); /* the creator's */
    return arg;
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_stack, .sa_flags = SA_ONSTACK};
    stack_t mine = {.ss_sp = stack, .ss_size = sizeof(stack)}, now;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    OK(sigaction(SIGUSR1, &action, NULL));
    OK(sigaltstack(&mine, NULL));
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    slow_begin(SYS_rt_sigprocmask, LATE_MS);
    join(start(looks, NULL));
    OK(sigaltstack(NULL, &now));
    CHECK(now.ss_sp == stack && now.ss_size == sizeof(stack));
    CHECK(blocks(SIGUSR2) && !blocks(SIGUSR1));
    OK(pthread_kill(pthread_self(), SIGUSR1));
    CHECK_EQ(flag_get(&handled), 1);
    slow_end();
    return 0;
}
