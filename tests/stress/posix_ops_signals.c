/* SPDX-License-Identifier: MIT */
/*
 * posix_ops_signals.c - signals between actors, and to the process.
 *
 * A signal of pthread_sigqueue arrives once, at its thread; the value identifies it. SIGUSR1 and
 * SIGUSR2 are not queued: at most as many arrive as were sent, and at least one. A queued signal to
 * the process arrives once, anywhere. Four queued signals have handlers with and without SA_RESTART
 * and SA_ONSTACK; all handlers post a semaphore, yield, sleep or compute at random.
 *
 * A handler with SA_ONSTACK runs on its thread's alternate stack if there is one. Other handlers
 * may run there, too, if they interrupt one that does.
 */
#include "posix_mix.h"

enum { KINDS = 4, ALT_SIZE = 256 << 10 };
enum { RESTART = 1, ONSTACK = 2 }; /* bits of a kind */

static __thread struct {
    uint64_t random;
    char *memory;
    char *in_use; /* the memory, while it is the alternate stack */
} mine;

static struct {
    unsigned sent, got; /* (A) */
} process;

static int queued_signal(unsigned kind)
{
    return SIGRTMIN + 1 + (int)kind;
}

static int process_signal(void)
{
    return SIGRTMIN + 1 + KINDS;
}

int signals_relay(void)
{
    return SIGRTMIN + 2 + KINDS;
}

/* ---- handlers ---- */

static void handler_acts(void)
{
    struct timespec moment = {0, 20000};
    switch (stress_random(&mine.random, 8)) {
    case 0:
    case 1:
        sem_post_token();
        break;
    case 2:
        sched_yield();
        break;
    case 3:
        nanosleep(&moment, NULL);
        break;
    case 4:
        for (volatile unsigned i = 0; i < 2000; i++) {
        }
        break;
    default:
        break;
    }
}

static void stack_check(void)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    bool there = mine.memory != NULL && here - (uintptr_t)mine.memory < ALT_SIZE;
    CHECK(there || mine.in_use == NULL);
}

/* Actors have all of these unblocked, other threads none. */
static void handler(int signal, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno;
    struct actor *a = mix_self;
    CHECK(a != NULL);
    if (signal == process_signal()) {
        CHECK(info->si_value.sival_ptr == &process);
        ADD(&process.got, 1u);
    } else if (signal >= queued_signal(0) && signal <= queued_signal(KINDS - 1)) {
        CHECK(info->si_value.sival_ptr == a);
        ADD(&a->queued_got, 1u);
        if ((signal - queued_signal(0)) & ONSTACK) {
            stack_check();
        }
    } else {
        ADD(&a->killed_got, 1u);
    }
    handler_acts();
    errno = saved;
}

static void handler_install(int signal, unsigned kind)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    action.sa_flags |= kind & RESTART ? SA_RESTART : 0;
    action.sa_flags |= kind & ONSTACK ? SA_ONSTACK : 0;
    OK(sigaction(signal, &action, NULL));
}

static void signals_of_actors(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGUSR1);
    sigaddset(set, SIGUSR2);
    for (unsigned kind = 0; kind < KINDS; kind++) {
        sigaddset(set, queued_signal(kind));
    }
    sigaddset(set, process_signal());
}

/* ---- sending ---- */

/* Under the receiver's lock. EAGAIN: the user's limit of queued signals. */
static void signal_queue(struct actor *a, struct actor *to)
{
    union sigval value = {.sival_ptr = to};
    ADD(&to->queued_sent, 1u);
    int error = pthread_sigqueue(to->thread, queued_signal(mix_random(a, KINDS)), value);
    CHECK(error == 0 || error == EAGAIN);
    if (error != 0) {
        ADD(&to->queued_sent, -1u);
    }
}

static void process_queue(void)
{
    union sigval value = {.sival_ptr = &process};
    ADD(&process.sent, 1u);
    if (sigqueue(getpid(), process_signal(), value) != 0) {
        CHECK_EQ(errno, EAGAIN);
        ADD(&process.sent, -1u);
    }
}

/* The receiver may only wait for the lock if no thread holds it for long, so the sender only
 * tries. */
static void actor_signal(struct actor *a)
{
    struct actor *to = mix_peer(a);
    if (pthread_mutex_trylock(&to->lock) != 0) {
        return;
    }
    if (to->alive && mix_random(a, 2)) {
        signal_queue(a, to);
    } else if (to->alive) {
        ADD(&to->killed_sent, 1u);
        OK(pthread_kill(to->thread, mix_random(a, 2) ? SIGUSR1 : SIGUSR2));
    }
    OK(pthread_mutex_unlock(&to->lock));
}

void op_signal(struct actor *a)
{
    if (mix_random(a, 8) == 0) {
        process_queue();
    } else {
        actor_signal(a);
    }
}

/* ---- alternate stacks ---- */

static void alternate_on(void)
{
    stack_t stack = {.ss_sp = mine.memory, .ss_size = ALT_SIZE}, old;
    OK(sigaltstack(&stack, &old));
    CHECK(old.ss_flags & SS_DISABLE);
    mine.in_use = mine.memory;
}

static void alternate_off(void)
{
    stack_t none = {.ss_flags = SS_DISABLE}, old;
    CHECK(mine.in_use != NULL);
    mine.in_use = NULL;
    OK(sigaltstack(&none, &old));
    CHECK(old.ss_sp == mine.memory && old.ss_size == ALT_SIZE && old.ss_flags == 0);
}

void op_altstack(struct actor *a)
{
    stack_t stack;
    if (mine.memory == NULL) {
        OK(sigaltstack(NULL, &stack));
        CHECK(stack.ss_flags & SS_DISABLE);
        return;
    }
    (mine.in_use != NULL ? alternate_off : alternate_on)();
    mix_pause(a);
}

/* ---- start and end ---- */

/* Every second actor can have an alternate stack. */
void signals_thread_start(struct actor *a)
{
    sigset_t set;
    mine.random = a->random + 1;
    if (feature_on(F_ALTSTACK) && a->number % 2 == 0) {
        mine.memory = malloc(ALT_SIZE);
        CHECK(mine.memory != NULL);
        alternate_on();
    }
    signals_of_actors(&set);
    OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
}

/* No thread sends to it any more. */
void signals_thread_end(struct actor *a)
{
    while (GET(&a->queued_got) < a->queued_sent || (a->killed_sent != 0 && !GET(&a->killed_got))) {
        usleep(100);
    }
    sigset_t set;
    signals_of_actors(&set);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    CHECK_EQ(a->queued_got, a->queued_sent);
    CHECK(a->killed_got <= a->killed_sent);
    if (mine.in_use != NULL) {
        alternate_off();
    }
    free(mine.memory);
    mine.memory = NULL;
}

void signals_init(uint64_t seed)
{
    sigset_t set;
    signals_of_actors(&set);
    sigaddset(&set, signals_relay());
    sigaddset(&set, SIGWINCH);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    for (unsigned kind = 0; kind < KINDS; kind++) {
        handler_install(queued_signal(kind), kind);
    }
    handler_install(SIGUSR1, (unsigned)seed);
    handler_install(SIGUSR2, (unsigned)(seed / KINDS));
    handler_install(process_signal(), 0);
}

/* Signals that came after the last actor are still pending. */
void signals_verify(void)
{
    sigset_t set;
    struct timespec none = {0, 0};
    sigemptyset(&set);
    sigaddset(&set, process_signal());
    while (sigtimedwait(&set, NULL, &none) == process_signal()) {
        process.got++;
    }
    CHECK_EQ(process.got, process.sent);
}
