/* SPDX-License-Identifier: MIT */
/* handlers.c - signal handlers of threads: masks, faults, alternate stacks, and the calls they may
 * make. */
#include "harness.h"

#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static flag_t ready, go, handled;

static bool blocks(int number)
{
    sigset_t set;
    OK(pthread_sigmask(SIG_BLOCK, NULL, &set));
    return sigismember(&set, number) == 1;
}

static void counts(int number)
{
    (void)number;
    flag_add(&handled, 1);
}

static void *spins_until_go(void *arg)
{
    flag_add(&ready, 1);
    flag_wait(&go, 1);
    return arg;
}

static void tells_mask(int number)
{
    CHECK(blocks(number));
    CHECK(blocks(SIGUSR2));
    CHECK(!blocks(SIGHUP));
    flag_add(&handled, 1);
}

CASE(handler_runs_with_its_mask)
{
    struct sigaction action = {.sa_handler = tells_mask};
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR2);
    OK(sigaction(SIGUSR1, &action, NULL));
    OK(pthread_kill(pthread_self(), SIGUSR1));
    CHECK_EQ(flag_get(&handled), 1);
    CHECK(!blocks(SIGUSR1) && !blocks(SIGUSR2)); /* and then as before */
}

static void tells_unblocked(int number)
{
    CHECK(!blocks(number));
    if (flag_add(&handled, 1) < 3) {
        raise(number);
    }
}

CASE(handler_with_nodefer_may_be_interrupted_by_itself)
{
    struct sigaction action = {.sa_handler = tells_unblocked, .sa_flags = SA_NODEFER};
    OK(sigaction(SIGUSR1, &action, NULL));
    OK(pthread_kill(pthread_self(), SIGUSR1));
    CHECK_EQ(flag_get(&handled), 3);
}

CASE(handler_with_resethand_runs_once)
{
    struct sigaction action = {.sa_handler = counts, .sa_flags = SA_RESETHAND}, now;
    OK(sigaction(SIGUSR1, &action, NULL));
    OK(pthread_kill(pthread_self(), SIGUSR1));
    CHECK_EQ(flag_get(&handled), 1);
    OK(sigaction(SIGUSR1, NULL, &now));
    CHECK(now.sa_handler == SIG_DFL);
}

CASE(ignored_signals_do_nothing)
{
    signal(SIGUSR1, SIG_IGN);
    pthread_t t = start(spins_until_go, NULL);
    flag_wait(&ready, 1);
    OK(pthread_kill(t, SIGUSR1));
    OK(pthread_kill(pthread_self(), SIGUSR1));
    flag_set(&go, 1);
    join(t);
}

/* The action belongs to the process, even if the signal was for one thread. */
CASE(default_action_ends_the_process)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        pthread_t t = start(spins_until_go, NULL);
        flag_wait(&ready, 1);
        OK(pthread_kill(t, SIGTERM));
        join(t);
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGTERM);
}

static struct {
    pthread_t thread;
    sigjmp_buf out;
} jumpers[4];

static volatile int *volatile nowhere = (int *)64;

static void jumps(int number, siginfo_t *i, void *context)
{
    (void)context;
    CHECK(i->si_addr == nowhere);
    for (size_t k = 0; k < COUNT(jumpers); k++) {
        if (pthread_equal(jumpers[k].thread, pthread_self())) {
            siglongjmp(jumpers[k].out, number);
        }
    }
    CHECK(!"a thread that made no fault");
}

static void *faults(void *arg)
{
    size_t me = (size_t)arg;
    jumpers[me].thread = pthread_self();
    for (int i = 0; i < 5; i++) {
        int number = sigsetjmp(jumpers[me].out, 1);
        if (number == 0) {
            *nowhere = 1;
        }
        CHECK_EQ(number, SIGSEGV);
        CHECK(!blocks(SIGSEGV)); /* restored */
    }
    return NULL;
}

/* A fault goes to the thread that caused it, which may jump out of the handler. */
CASE(fault_goes_to_the_thread_that_made_it)
{
    struct sigaction action = {.sa_sigaction = jumps, .sa_flags = SA_SIGINFO};
    NOT_SANITIZED("the sanitizer reports it in its own way");
    pthread_t t[3];
    OK(sigaction(SIGSEGV, &action, NULL));
    for (long i = 0; i < 3; i++) {
        t[i] = start(faults, (void *)i);
    }
    faults((void *)3L);
    for (int i = 0; i < 3; i++) {
        join(t[i]);
    }
}

static char alternate[4][65536];
static flag_t on_alternate;

static void tells_stack(int number)
{
    char here;
    stack_t now;
    (void)number;
    OK(sigaltstack(NULL, &now));
    CHECK(now.ss_flags & SS_ONSTACK);
    CHECK(&here >= (char *)now.ss_sp && &here < (char *)now.ss_sp + now.ss_size);
    flag_add(&on_alternate, 1);
}

static void *has_an_alternate_stack(void *arg)
{
    stack_t mine = {.ss_sp = arg, .ss_size = sizeof(alternate[0])}, now;
    OK(sigaltstack(NULL, &now));
    CHECK(now.ss_flags & SS_DISABLE); /* not inherited */
    OK(sigaltstack(&mine, NULL));
    for (int i = 0; i < 20; i++) {
        sched_yield();
        OK(sigaltstack(NULL, &now));
        CHECK(now.ss_sp == arg);
        OK(pthread_kill(pthread_self(), SIGUSR1));
    }
    return NULL;
}

CASE(alternate_stack_is_the_threads_own)
{
    struct sigaction action = {.sa_handler = tells_stack, .sa_flags = SA_ONSTACK};
    pthread_t t[3];
    OK(sigaction(SIGUSR1, &action, NULL));
    stack_t mine = {.ss_sp = alternate[3], .ss_size = sizeof(alternate[0])}, now;
    OK(sigaltstack(&mine, NULL));
    for (int i = 0; i < 3; i++) {
        t[i] = start(has_an_alternate_stack, alternate[i]);
    }
    for (int i = 0; i < 3; i++) {
        join(t[i]);
    }
    CHECK_EQ(flag_get(&on_alternate), 60);
    OK(sigaltstack(NULL, &now));
    CHECK(now.ss_sp == alternate[3]);
}

static sem_t s;

static void posts(int number)
{
    (void)number;
    int error = get_errno();
    OK(sem_post(&s));
    flag_add(&handled, 1);
    set_errno(error);
}

static void *waits_for_units(void *arg)
{
    for (int i = 0; i < 50; i++) {
        while (sem_wait(&s) != 0) {
            CHECK_EQ(get_errno(), EINTR);
        }
    }
    return arg;
}

CASE(handler_may_post_a_semaphore)
{
    OK(sem_init(&s, 0, 0));
    signal(SIGUSR1, posts);
    pthread_t t = start(waits_for_units, NULL);
    for (int i = 0; i < 50; i++) {
        OK(pthread_kill(pthread_self(), SIGUSR1));
    }
    join(t);
}

static void *posts_itself(void *arg)
{
    for (int i = 0; i < 50; i++) {
        OK(pthread_kill(pthread_self(), SIGUSR1));
        sched_yield();
    }
    return arg;
}

CASE(handlers_of_many_threads_post)
{
    pthread_t t[4];
    OK(sem_init(&s, 0, 0));
    signal(SIGUSR1, posts);
    for (int i = 0; i < 4; i++) {
        t[i] = start(posts_itself, NULL);
    }
    for (int i = 0; i < 200; i++) {
        while (sem_wait(&s) != 0) {
            CHECK_EQ(get_errno(), EINTR);
        }
    }
    for (int i = 0; i < 4; i++) {
        join(t[i]);
    }
}

static void sets_errno(int number)
{
    (void)number;
    set_errno(E2BIG);
    flag_add(&handled, 1);
}

static void *keeps_errno(void *arg)
{
    flag_add(&ready, 1);
    set_errno(0);
    while (flag_get(&go) == 0) {
        CHECK_EQ(get_errno(), 0);
        sched_yield();
    }
    return arg;
}

/* errno in a handler is that of the interrupted thread, and of no other. */
CASE(handler_changes_errno_of_its_thread_only)
{
    signal(SIGUSR1, sets_errno);
    pthread_t t = start(keeps_errno, NULL);
    flag_wait(&ready, 1);
    for (int i = 0; i < 20; i++) {
        set_errno(0);
        OK(pthread_kill(pthread_self(), SIGUSR1));
        CHECK_EQ(get_errno(), E2BIG);
        sched_yield();
    }
    flag_set(&go, 1);
    join(t);
}

static int events, empty[2];
static sem_t ping, pong;
enum { HAND_OVERS = 100000 };

/* Handlers may call write and poll, whatever they have interrupted. */
static void writes_and_polls(int number)
{
    uint64_t one = 1;
    struct pollfd p = {empty[0], POLLIN, 0};
    (void)number;
    CHECK_EQ(write(events, &one, sizeof(one)), sizeof(one));
    CHECK_EQ(poll(&p, 1, 0), 0);
    flag_add(&handled, 1);
}

static void *answers_pings(void *arg)
{
    for (int i = 0; i < HAND_OVERS; i++) {
        OK(sem_wait(&ping));
        OK(sem_post(&pong));
    }
    return arg;
}

CASE(handler_may_write_while_threads_synchronise)
{
    struct sigaction act = {.sa_handler = writes_and_polls, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    events = eventfd(0, EFD_CLOEXEC);
    CHECK(events >= 0);
    OK(pipe(empty));
    OK(sem_init(&ping, 0, 0));
    OK(sem_init(&pong, 0, 0));
    OK(sigaction(SIGALRM, &act, NULL));
    pthread_t t = start(answers_pings, NULL);
    OK(setitimer(ITIMER_REAL, &often, NULL));
    for (int i = 0; i < HAND_OVERS || flag_get(&handled) < 100; i++) {
        if (i < HAND_OVERS) {
            OK(sem_post(&ping));
            OK(sem_wait(&pong));
        }
    }
    OK(setitimer(ITIMER_REAL, &never, NULL));
    join(t);
}
