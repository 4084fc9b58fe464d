/* SPDX-License-Identifier: MIT */
/* signal.c - signals and threads: masks, directed and process signals, queued ones. */
#include "../raw.h"
#include "harness.h"

#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <sys/syscall.h>

static flag_t ready, go, handled;
static pthread_t handled_by;
static siginfo_t info;

static void handler(int number, siginfo_t *i, void *context)
{
    (void)number;
    (void)context;
    info = *i;
    handled_by = pthread_self();
    flag_add(&handled, 1);
}

static void handle(int number, int flags)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    sigemptyset(&action.sa_mask);
    OK(sigaction(number, &action, NULL));
}

static sigset_t set_of(int number)
{
    sigset_t set;
    sigemptyset(&set);
    if (number != 0) {
        sigaddset(&set, number);
    }
    return set;
}

static void change_mask(int how, int number)
{
    sigset_t set = set_of(number);
    OK(pthread_sigmask(how, &set, NULL));
}

static bool blocks(int number)
{
    sigset_t set;
    OK(pthread_sigmask(SIG_BLOCK, NULL, &set));
    return sigismember(&set, number) == 1;
}

static bool is_pending(int number)
{
    sigset_t set;
    OK(sigpending(&set));
    return sigismember(&set, number) == 1;
}

CASE(mask_is_changed_in_the_three_ways)
{
    sigset_t old;
    change_mask(SIG_SETMASK, SIGUSR1);
    CHECK(blocks(SIGUSR1) && !blocks(SIGUSR2));
    change_mask(SIG_BLOCK, SIGUSR2);
    CHECK(blocks(SIGUSR1) && blocks(SIGUSR2));
    change_mask(SIG_UNBLOCK, SIGUSR1);
    CHECK(!blocks(SIGUSR1) && blocks(SIGUSR2));
    sigset_t none = set_of(0);
    OK(pthread_sigmask(SIG_SETMASK, &none, &old));
    CHECK_EQ(sigismember(&old, SIGUSR2), 1);
    CHECK_EQ(sigismember(&old, SIGUSR1), 0);
    CHECK(!blocks(SIGUSR2));
}

CASE(mask_is_einval_for_another_way)
{
    sigset_t set = set_of(SIGUSR1);
    CHECK_EQ(pthread_sigmask(1234, &set, NULL), EINVAL);
    CHECK(!blocks(SIGUSR1));
    OK(pthread_sigmask(1234, NULL, &set)); /* not looked at without a set */
}

CASE(mask_never_blocks_kill_and_stop)
{
    sigset_t all;
    sigfillset(&all);
    OK(pthread_sigmask(SIG_SETMASK, &all, NULL));
    CHECK(!blocks(SIGKILL) && !blocks(SIGSTOP));
    CHECK(blocks(SIGUSR1));
}

static void *has_its_own_mask(void *arg)
{
    int mine = (int)(long)arg;
    CHECK(blocks(SIGHUP)); /* inherited */
    change_mask(SIG_SETMASK, mine);
    for (int i = 0; i < 50; i++) {
        sched_yield();
        CHECK(blocks(mine));
        CHECK(!blocks(mine == SIGUSR1 ? SIGUSR2 : SIGUSR1));
        CHECK(!blocks(SIGHUP));
    }
    return NULL;
}

CASE(mask_is_inherited_and_then_the_threads_own)
{
    pthread_t t[6];
    change_mask(SIG_SETMASK, SIGHUP);
    for (int i = 0; i < 6; i++) {
        t[i] = start(has_its_own_mask, (void *)(long)(i % 2 ? SIGUSR1 : SIGUSR2));
    }
    for (int i = 0; i < 6; i++) {
        sched_yield();
        CHECK(blocks(SIGHUP) && !blocks(SIGUSR1) && !blocks(SIGUSR2));
        join(t[i]);
    }
}

static void *spins_until_go(void *arg)
{
    flag_add(&ready, 1);
    flag_wait(&go, 1);
    return arg;
}

CASE(kill_runs_the_handler_in_that_thread)
{
    pthread_t t[4];
    handle(SIGUSR1, 0);
    for (int i = 0; i < 4; i++) {
        t[i] = start(spins_until_go, NULL);
    }
    flag_wait(&ready, 4);
    for (int i = 0; i < 4; i++) {
        OK(pthread_kill(t[i], SIGUSR1));
        flag_wait(&handled, i + 1);
        CHECK(pthread_equal(handled_by, t[i]));
        CHECK_EQ(info.si_signo, SIGUSR1);
        CHECK_EQ(info.si_pid, getpid());
    }
    flag_set(&go, 1);
    for (int i = 0; i < 4; i++) {
        join(t[i]);
    }
}

CASE(kill_of_oneself_is_handled_before_it_returns)
{
    handle(SIGUSR1, 0);
    for (int i = 0; i < 10; i++) {
        OK(pthread_kill(pthread_self(), SIGUSR1));
        CHECK_EQ(flag_get(&handled), i + 1);
    }
    CHECK(pthread_equal(handled_by, pthread_self()));
}

CASE(kill_with_zero_only_checks)
{
    pthread_t t = start(spins_until_go, NULL);
    OK(pthread_kill(t, 0));
    OK(pthread_kill(pthread_self(), 0));
    flag_set(&go, 1);
    join(t);
}

CASE(kill_is_einval_for_no_signal)
{
    CHECK_EQ(pthread_kill(pthread_self(), -1), EINVAL);
    CHECK_EQ(pthread_kill(pthread_self(), NSIG + 10), EINVAL);
    pthread_t t = start(spins_until_go, NULL);
    CHECK_EQ(pthread_kill(t, 12345), EINVAL);
    flag_set(&go, 1);
    join(t);
}

/* Its id is valid until it is joined, but no thread can run the handler. */
CASE(kill_of_a_thread_that_has_ended)
{
    handle(SIGUSR1, 0);
    flag_set(&go, 1);
    pthread_t t = start(spins_until_go, NULL);
    flag_wait(&ready, 1);
    give_way();
    usleep(5000);
    OK_OR(pthread_kill(t, SIGUSR1), ESRCH);
    join(t);
}

static void *blocks_then_takes(void *arg)
{
    change_mask(SIG_BLOCK, SIGUSR1);
    flag_add(&ready, 1);
    flag_wait(&go, 1);
    CHECK(is_pending(SIGUSR1));
    CHECK_EQ(flag_get(&handled), 0);
    change_mask(SIG_UNBLOCK, SIGUSR1);
    CHECK_EQ(flag_get(&handled), 1); /* before that returned */
    CHECK(pthread_equal(handled_by, pthread_self()));
    CHECK(!is_pending(SIGUSR1));
    return arg;
}

CASE(blocked_signals_stay_with_their_thread)
{
    handle(SIGUSR1, 0);
    pthread_t t = start(blocks_then_takes, NULL);
    flag_wait(&ready, 1);
    OK(pthread_kill(t, SIGUSR1));
    CHECK(!is_pending(SIGUSR1));
    flag_set(&go, 1);
    join(t);
}

static void *pends_nothing(void *arg)
{
    CHECK(!is_pending(SIGUSR1));
    CHECK(blocks(SIGUSR1));
    return arg;
}

CASE(pending_signals_are_not_inherited)
{
    change_mask(SIG_BLOCK, SIGUSR1);
    OK(pthread_kill(pthread_self(), SIGUSR1));
    CHECK(is_pending(SIGUSR1));
    in_thread(pends_nothing, NULL);
}

static void *pends_neither(void *arg)
{
    CHECK(!is_pending(SIGUSR1) && !is_pending(SIGPIPE));
    CHECK(is_pending(SIGUSR2)); /* the process's */
    return arg;
}

/* Before there is any other thread. */
CASE(signals_that_main_has_raised_early_stay_its_own)
{
    sigset_t set = set_of(SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGPIPE);
    OK(sigprocmask(SIG_BLOCK, &set, NULL));
    OK(raise(SIGUSR1));
    OK(raise(SIGPIPE));
    OK(kill(getpid(), SIGUSR2));
    in_thread(pends_neither, NULL);
    CHECK(is_pending(SIGUSR1) && is_pending(SIGUSR2) && is_pending(SIGPIPE));
    CHECK_EQ(sigwaitinfo(&set, &info), SIGUSR1);
    CHECK_EQ(sigwaitinfo(&set, &info), SIGPIPE); /* its own first */
    CHECK_EQ(sigwaitinfo(&set, &info), SIGUSR2);
}

static void *unblocks(void *arg)
{
    change_mask(SIG_UNBLOCK, SIGUSR1);
    flag_add(&ready, 1);
    flag_wait(&go, 1);
    return arg;
}

/* All threads except one block it. */
CASE(process_signal_goes_to_a_thread_that_does_not_block_it)
{
    pthread_t t[4], taker;
    handle(SIGUSR1, 0);
    change_mask(SIG_BLOCK, SIGUSR1);
    for (int i = 0; i < 4; i++) {
        t[i] = start(spins_until_go, NULL);
    }
    taker = start(unblocks, NULL);
    flag_wait(&ready, 5);
    for (int i = 0; i < 5; i++) {
        OK(kill(getpid(), SIGUSR1));
        flag_wait(&handled, i + 1);
        CHECK(pthread_equal(handled_by, taker));
    }
    flag_set(&go, 1);
    join(taker);
    for (int i = 0; i < 4; i++) {
        join(t[i]);
    }
}

CASE(process_signal_waits_until_a_thread_unblocks_it)
{
    handle(SIGUSR1, 0);
    change_mask(SIG_BLOCK, SIGUSR1);
    OK(kill(getpid(), SIGUSR1));
    CHECK(is_pending(SIGUSR1));
    CHECK_EQ(flag_get(&handled), 0);
    pthread_t t = start(unblocks, NULL);
    flag_wait(&handled, 1);
    CHECK(pthread_equal(handled_by, t));
    CHECK(!is_pending(SIGUSR1));
    flag_set(&go, 1);
    join(t);
}

static void *does_nothing(void *arg)
{
    return arg;
}

/* The main thread has sent the message, and takes the signal. */
CASE(message_signals_the_process_before_mq_send_returns)
{
    struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = 8};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
    char name[64], text[8];
    snprintf(name, sizeof(name), "/pirn-signal-%d", (int)getpid());
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
    CHECK(queue != (mqd_t)-1);
    OK(mq_unlink(name));
    handle(SIGRTMIN, 0);
    in_thread(does_nothing, NULL);
    for (int i = 1; i <= 5; i++) {
        OK(mq_notify(queue, &event));
        OK(mq_send(queue, "text", 5, 0));
        CHECK_EQ(flag_get(&handled), i);
        CHECK_EQ(info.si_code, SI_MESGQ);
        CHECK_EQ(mq_receive(queue, text, sizeof(text), NULL), 5);
    }
    OK(mq_close(queue));
}

/* Waits until pthread_create has returned: glibc blocks all signals inside it. */
static void *sends_to_the_process(void *arg)
{
    flag_wait(&ready, 1);
    for (int i = 0; i < 20; i++) {
        OK(kill(getpid(), SIGUSR1));
        flag_wait(&handled, i + 1);
        CHECK(pthread_equal(handled_by, *(pthread_t *)arg));
    }
    flag_set(&go, 1);
    return NULL;
}

/* Linux prefers the main thread, even to the sender, wherever it is, unless that blocks the signal:
 * as it would in its handler, where the next one may find it. */
CASE(process_signal_goes_to_the_main_thread_rather_than_to_its_sender)
{
    pthread_t self = pthread_self();
    handle(SIGUSR1, SA_NODEFER);
    pthread_t t = start(sends_to_the_process, &self);
    flag_set(&ready, 1);
    flag_wait(&go, 1);
    join(t);
    flag_set(&ready, 0);
    flag_set(&go, 0);
    flag_set(&handled, 0);
    t = start(sends_to_the_process, &self); /* and now it waits where signals end no wait */
    flag_set(&ready, 1);
    join(t);
}

static void *sends_unblocked(void *arg)
{
    change_mask(SIG_UNBLOCK, SIGUSR1);
    for (int i = 0; i < 20; i++) {
        OK(kill(getpid(), SIGUSR1));
        CHECK_EQ(flag_get(&handled), i + 1); /* before that returned */
        CHECK(pthread_equal(handled_by, pthread_self()));
    }
    return arg;
}

CASE(process_signal_is_handled_by_its_sender_if_all_others_block_it)
{
    handle(SIGUSR1, 0);
    change_mask(SIG_BLOCK, SIGUSR1);
    pthread_t t = start(spins_until_go, NULL);
    flag_wait(&ready, 1);
    in_thread(sends_unblocked, NULL);
    flag_set(&go, 1);
    join(t);
}

static void *pauses(void *arg)
{
    flag_add(&ready, 1);
    FAILS(pause(), EINTR);
    flag_set(&go, 1);
    return arg;
}

/* A SIGABRT that is sent is a signal like any other. */
CASE(abort_signal_that_is_sent_ends_a_wait)
{
    handle(SIGABRT, 0);
    pthread_t t = start(pauses, NULL);
    flag_wait(&ready, 1);
    while (!flag_get(&go)) {
        OK(pthread_kill(t, SIGABRT));
        give_way();
    }
    join(t);
    CHECK(flag_get(&handled) >= 1 && pthread_equal(handled_by, t));
}

static void sends_abort_for_ever(void)
{
    pid_t parent = getppid();
    while (getppid() == parent && kill(parent, SIGABRT) == 0) {
        usleep(1000);
    }
    _exit(0);
}

/* From outside, while no thread runs. Main blocks it before the first: `slow-calls` lets even
 * sigprocmask end with EINTR. */
CASE(abort_signal_to_the_process_ends_the_wait_of_a_thread)
{
    handle(SIGABRT, 0);
    change_mask(SIG_BLOCK, SIGABRT);
    pid_t child = child_start(sends_abort_for_ever);
    pthread_attr_t attr;
    sigset_t none = set_of(0);
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setsigmask_np(&attr, &none));
    pthread_t t = start_with(&attr, pauses, NULL);
    join(t);
    OK(kill(child, SIGKILL));
    CHECK(pthread_equal(handled_by, t));
}

static void *raises(void *arg)
{
    OK(raise(SIGUSR1));
    CHECK_EQ(flag_get(&handled), 1);
    CHECK(pthread_equal(handled_by, pthread_self()));
    return arg;
}

CASE(raise_is_for_the_calling_thread)
{
    handle(SIGUSR1, 0);
    in_thread(raises, NULL);
}

CASE(raise_fails_for_no_signal)
{
    FAILS(raise(12345), EINVAL);
}

CASE(sigqueue_carries_a_value)
{
    union sigval value = {.sival_int = 42};
    handle(SIGRTMIN, 0);
    OK(sigqueue(getpid(), SIGRTMIN, value));
    flag_wait(&handled, 1);
    CHECK_EQ(info.si_code, SI_QUEUE);
    CHECK_EQ(info.si_value.sival_int, 42);
}

CASE(sigqueue_is_einval_for_no_signal)
{
    union sigval value = {0};
    FAILS(sigqueue(getpid(), 12345, value), EINVAL);
}

CASE(pthread_sigqueue_carries_a_value)
{
    union sigval value = {.sival_int = 43};
    handle(SIGRTMIN + 1, 0);
    pthread_t t = start(spins_until_go, NULL);
    flag_wait(&ready, 1);
    OK(pthread_sigqueue(t, SIGRTMIN + 1, value));
    flag_wait(&handled, 1);
    CHECK(pthread_equal(handled_by, t));
    CHECK_EQ(info.si_code, SI_QUEUE);
    CHECK_EQ(info.si_value.sival_int, 43);
    flag_set(&go, 1);
    join(t);
}

CASE(pthread_sigqueue_is_einval_for_no_signal)
{
    union sigval value = {0};
    CHECK_EQ(pthread_sigqueue(pthread_self(), 12345, value), EINVAL);
}

static int values[16], nvalues;

static void collects(int number, siginfo_t *i, void *context)
{
    (void)context;
    values[nvalues++] = (number - SIGRTMIN) * 100 + i->si_value.sival_int;
}

/* Queued, the lowest number first, each number in order. */
CASE(realtime_signals_are_queued_in_order)
{
    struct sigaction action = {.sa_sigaction = collects, .sa_flags = SA_SIGINFO};
    sigset_t set = set_of(SIGRTMIN);
    sigaddset(&set, SIGRTMIN + 1);
    action.sa_mask = set;
    OK(sigaction(SIGRTMIN, &action, NULL));
    OK(sigaction(SIGRTMIN + 1, &action, NULL));
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    for (int i = 0; i < 3; i++) {
        union sigval value = {.sival_int = i};
        OK(pthread_sigqueue(pthread_self(), SIGRTMIN + 1, value));
        OK(pthread_sigqueue(pthread_self(), SIGRTMIN, value));
    }
    OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
    static const int want[] = {0, 1, 2, 100, 101, 102};
    CHECK_EQ(nvalues, 6);
    for (int i = 0; i < 6; i++) {
        CHECK_EQ(values[i], want[i]);
    }
}

CASE(alarm_is_for_the_process)
{
    handle(SIGALRM, 0);
    change_mask(SIG_BLOCK, SIGALRM);
    pthread_t t = start(spins_until_go, NULL);
    flag_wait(&ready, 1);
    ualarm(1000, 0);
    change_mask(SIG_UNBLOCK, SIGALRM);
    flag_wait(&handled, 1);
    CHECK(pthread_equal(handled_by, pthread_self()));
    flag_set(&go, 1);
    join(t);
}

static void *ends(void *arg)
{
    return arg;
}

static void *spins_until_asked(void *arg)
{
    while (flag_get(&go) == 0) {
    }
    return arg;
}

/* As language runtimes do when they start. Signals that the implementation sends for its own
 * purposes do not reach the program. */
CASE(asking_for_every_action_shows_and_changes_nothing)
{
    struct timespec nap = {0, 60 * NS_PER_MS};
    join(start(ends, NULL));
    for (int i = 1; i <= 64; i++) {
        struct sigaction action;
        if (sigaction(i, NULL, &action) != 0) {
            CHECK_EQ(errno, EINVAL);
        } else {
            CHECK(action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN);
        }
    }
    handle(SIGUSR1, 0);
    pthread_t t = start(spins_until_asked, NULL);
    raw_call(SYS_nanosleep, (long)&nap, 0, 0, 0); /* may end early: it bypasses the interface */
    flag_set(&go, 1);
    join(t);
    for (int i = 1; i <= 64; i++) {
        CHECK(!blocks(i));
    }
    OK(kill(getpid(), SIGUSR1));
    CHECK_EQ(flag_get(&handled), 1);
}

/* The other threads sleep. Whichever thread takes it, in any part of the system, the signal is
 * handled. */
static void *sends_and_waits(void *arg)
{
    static const int numbers[] = {SIGPROF, SIGVTALRM, SIGPIPE, SIGXFSZ, SIGALRM, SIGCHLD};
    for (size_t k = 0; k < COUNT(numbers); k++) {
        handle(numbers[k], SA_RESTART);
        for (int i = 0; i < 200; i++) {
            int before = flag_get(&handled);
            OK(kill(getpid(), numbers[k]));
            flag_wait(&handled, before + 1);
            if (i % 8 == 0) {
                give_way();
            }
        }
    }
    return arg;
}

CASE(process_signal_is_handled_while_others_sleep)
{
    join(start(sends_and_waits, NULL));
}
