/* SPDX-License-Identifier: MIT */
/* signal_old.c - the older interfaces to signals, and jumps that restore the mask, in threads. */
#include "harness.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/signalfd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static flag_t handled, ready, go;
static int fd[2];

static void counts(int number)
{
    (void)number;
    flag_add(&handled, 1);
}

static void counts_too(int number)
{
    (void)number;
    flag_add(&handled, 100);
}

static bool blocks(int number)
{
    sigset_t set;
    OK(pthread_sigmask(SIG_BLOCK, NULL, &set));
    return sigismember(&set, number) == 1;
}

CASE(signal_gives_the_handler_from_before)
{
    CHECK(signal(SIGUSR1, counts) == SIG_DFL);
    CHECK(signal(SIGUSR1, counts_too) == counts);
    CHECK(signal(SIGUSR1, SIG_IGN) == counts_too);
    OK(raise(SIGUSR1));
    CHECK_EQ(flag_get(&handled), 0);
    CHECK(signal(SIGUSR1, counts) == SIG_IGN);
    OK(raise(SIGUSR1));
    OK(raise(SIGUSR1)); /* it stays */
    CHECK_EQ(flag_get(&handled), 2);
}

CASE(signal_fails_for_no_signal)
{
    CHECK(signal(12345, counts) == SIG_ERR);
    CHECK_EQ(get_errno(), EINVAL);
    CHECK(signal(SIGKILL, counts) == SIG_ERR);
    CHECK_EQ(get_errno(), EINVAL);
}

CASE(sysv_signal_is_for_once)
{
    CHECK(sysv_signal(SIGUSR1, counts) == SIG_DFL);
    OK(raise(SIGUSR1));
    CHECK_EQ(flag_get(&handled), 1);
    CHECK(signal(SIGUSR1, SIG_IGN) == SIG_DFL);
}

static void *reads(void *arg)
{
    char c;
    flag_set(&ready, 1);
    long got = read(fd[0], &c, 1);
    flag_set(&go, 1);
    return (void *)(got == 1 ? 0L : (long)get_errno());
    (void)arg;
}

static void is_interrupted(int ends, long want)
{
    OK(pipe(fd));
    signal(SIGUSR1, counts);
    OK(siginterrupt(SIGUSR1, ends));
    pthread_t t = start(reads, NULL);
    flag_wait(&ready, 1);
    give_way();
    for (int i = 0; i < 3 && flag_get(&go) == 0; i++) {
        int before = flag_get(&handled);
        OK(pthread_kill(t, SIGUSR1));
        while (flag_get(&handled) == before) {
            sched_yield();
        }
        give_way();
    }
    if (!ends) {
        CHECK_EQ(flag_get(&go), 0);
        CHECK_EQ(write(fd[1], "x", 1), 1);
    }
    CHECK_EQ((long)join(t), want);
}

CASE(siginterrupt_lets_calls_end)
{
    is_interrupted(1, EINTR);
}

CASE(siginterrupt_lets_calls_go_on)
{
    is_interrupted(0, 0);
}

CASE(siginterrupt_fails_for_no_signal)
{
    FAILS(siginterrupt(12345, 1), EINVAL);
}

static void *holds(void *arg)
{
    OK(sighold(SIGUSR1));
    CHECK(blocks(SIGUSR1) && !blocks(SIGUSR2));
    OK(raise(SIGUSR1));
    CHECK_EQ(flag_get(&handled), 0);
    sched_yield();
    OK(sigrelse(SIGUSR1));
    CHECK_EQ(flag_get(&handled), 1);
    CHECK(!blocks(SIGUSR1));
    return arg;
}

CASE(sighold_and_sigrelse_change_the_mask_of_the_thread)
{
    signal(SIGUSR1, counts);
    in_thread(holds, NULL);
    CHECK(!blocks(SIGUSR1));
    FAILS(sighold(12345), EINVAL);
    FAILS(sigrelse(12345), EINVAL);
}

CASE(sigignore_ignores)
{
    OK(sigignore(SIGUSR1));
    OK(raise(SIGUSR1));
    FAILS(sigignore(12345), EINVAL);
}

CASE(sigset_sets_and_holds)
{
    CHECK(sigset(SIGUSR1, counts) == SIG_DFL);
    CHECK(sigset(SIGUSR1, SIG_HOLD) == counts);
    CHECK(blocks(SIGUSR1));
    CHECK(sigset(SIGUSR1, counts_too) == SIG_HOLD);
    CHECK(!blocks(SIGUSR1));
    OK(raise(SIGUSR1));
    CHECK_EQ(flag_get(&handled), 100);
    CHECK(sigset(12345, counts) == SIG_ERR);
    CHECK_EQ(get_errno(), EINVAL);
}

static void *pauses(void *arg)
{
    OK(sighold(SIGUSR1));
    flag_set(&ready, 1);
    FAILS(sigpause(SIGUSR1), EINTR);
    CHECK(blocks(SIGUSR1));
    return arg;
}

CASE(sigpause_waits_without_the_signal_in_the_mask)
{
    signal(SIGUSR1, counts);
    pthread_t t = start(pauses, NULL);
    flag_wait(&ready, 1);
    OK(pthread_kill(t, SIGUSR1));
    join(t);
    CHECK_EQ(flag_get(&handled), 1);
}

static int word_of(int number)
{
    return (int)(1u << (number - 1));
}

CASE(bsd_masks_are_words)
{
    CHECK_EQ(sigblock(word_of(SIGUSR1)), 0);
    CHECK(blocks(SIGUSR1));
    CHECK_EQ(sigsetmask(word_of(SIGUSR2)), word_of(SIGUSR1));
    CHECK(!blocks(SIGUSR1) && blocks(SIGUSR2));
    CHECK_EQ(sigblock(0), word_of(SIGUSR2));
}

CASE(killpg_reaches_the_own_group)
{
    if (getpgrp() != getpid()) {
        OK(setpgid(0, 0));
    }
    signal(SIGUSR1, counts);
    OK(killpg(getpgrp(), SIGUSR1));
    CHECK_EQ(flag_get(&handled), 1);
    FAILS(killpg(-5, SIGUSR1), EINVAL);
}

static void change_mask(int how, int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    OK(pthread_sigmask(how, &set, NULL));
}

static void *jumps(void *arg)
{
    int mine = (int)(long)arg;
    volatile int rounds = 0;
    sigjmp_buf with, without;
    change_mask(SIG_SETMASK, mine);
    if (sigsetjmp(with, 1) < 20) {
        change_mask(SIG_SETMASK, SIGHUP);
        sched_yield();
        CHECK(blocks(SIGHUP));
        siglongjmp(with, ++rounds);
    }
    CHECK_EQ(rounds, 20);
    CHECK(blocks(mine) && !blocks(SIGHUP));
    if (sigsetjmp(without, 0) == 0) {
        change_mask(SIG_BLOCK, SIGHUP);
        sched_yield();
        siglongjmp(without, 1);
    }
    CHECK(blocks(mine) && blocks(SIGHUP));
    return NULL;
}

CASE(siglongjmp_restores_the_mask_of_the_thread)
{
    pthread_t t[4];
    for (long i = 0; i < 4; i++) {
        t[i] = start(jumps, (void *)(long)(i % 2 ? SIGUSR1 : SIGUSR2));
    }
    for (int i = 0; i < 4; i++) {
        join(t[i]);
    }
}

static sigjmp_buf out;

static void jumps_out(int number)
{
    siglongjmp(out, number);
}

static void *is_pending(void *arg)
{
    signal(SIGUSR2, counts);
    signal(SIGUSR1, jumps_out);
    change_mask(SIG_BLOCK, SIGUSR2);
    OK(raise(SIGUSR2));
    if (sigsetjmp(out, 1) == 0) {
        raise(SIGUSR1);
        CHECK(!"the handler has returned");
    }
    CHECK(!blocks(SIGUSR1) && blocks(SIGUSR2));
    CHECK_EQ(flag_get(&handled), 0);
    change_mask(SIG_UNBLOCK, SIGUSR2);
    CHECK_EQ(flag_get(&handled), 1);
    return arg;
}

CASE(handler_may_be_left_by_siglongjmp)
{
    in_thread(is_pending, NULL);
}

static void *reads_signals(void *arg)
{
    struct signalfd_siginfo info;
    CHECK_EQ(read(*(int *)arg, &info, sizeof(info)), sizeof(info));
    CHECK_EQ(info.ssi_signo, SIGUSR1);
    return arg;
}

CASE(signalfd_reads_signals_of_the_process)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    int file = signalfd(-1, &set, SFD_CLOEXEC);
    CHECK(file >= 0);
    pthread_t t = start(reads_signals, &file);
    sched_yield();
    OK(kill(getpid(), SIGUSR1));
    join(t);
    OK(kill(getpid(), SIGUSR1));
    reads_signals(&file);
}
