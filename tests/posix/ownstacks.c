/* SPDX-License-Identifier: MIT */
/*
 * ownstacks.c - no frame of a signal is put on a stack of the program's own that is too small for
 * it. Threads compute on such stacks, one page with nothing below it, until a handler with
 * SA_ONSTACK has run:
 *
 *   calls   handlers, masks, alternate stacks, ids of kernel threads and the signals themselves by
 *           system calls that the program makes itself, as Go's runtime does. A thread asks for its
 *           id once, and is sent the next signal only when it has answered the last one.
 *   faults  the same, with signals that the threads' own instructions cause.
 *   posix   the same as `calls` by the functions of POSIX.
 *   urgent  the same as `posix`, and a more urgent thread becomes ready for the CPU just before. It
 *           must not run on the signal's frame, with all signals blocked.
 *
 * The threads begin with all signals blocked, and change between kernel threads in between.
 */
#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

#include "../raw.h"
#include "check.h"

#if defined(__x86_64__)
#define UNDEFINED "ud2"
#define SKIP_INSTRUCTION(context) ((context)->uc_mcontext.gregs[REG_RIP] += 2)
#elif defined(__aarch64__)
#define UNDEFINED "udf #0"
#define SKIP_INSTRUCTION(context) ((context)->uc_mcontext.pc += 4)
#endif

enum { THREADS = 6, ROUNDS = 40, PAGE = 4096, ALTERNATE = 65536, SIGNALS = 64, RESERVED = 32 };

/* What the system call wants. */
struct kernel_action {
    void (*handler)(int, siginfo_t *, void *);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

static struct {
    pthread_t thread;
    _Atomic int tid;     /* as the thread saw it once; 0: not yet */
    _Atomic int pending; /* a signal is on its way */
    _Atomic bool ended;
} worker[THREADS];

static const char *mode;
static __thread char *small; /* the page */
static __thread volatile bool answered;
static __thread int number = -1;

static bool is_raw(void)
{
    return strcmp(mode, "calls") == 0 || strcmp(mode, "faults") == 0;
}

static void handler(int signal, siginfo_t *info, void *arg)
{
    ucontext_t *context = arg;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    CHECK(info->si_signo == signal);
    CHECK(small == NULL || here - (uintptr_t)small >= PAGE);
    if (signal == SIGILL) {
        SKIP_INSTRUCTION(context);
    }
    answered = true;
    if (number >= 0) {
        worker[number].pending = 0;
    }
}

/* All signals, as Go does; by the system call where the library refuses. */
static void catch_all(void)
{
    struct sigaction action = {.sa_sigaction = handler,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    struct kernel_action known;
    sigfillset(&action.sa_mask);
    CHECK(sigaction(SIGURG, &action, NULL) == 0 && sigaction(SIGILL, &action, NULL) == 0);
    CHECK(raw_call(SYS_rt_sigaction, SIGURG, 0, (long)&known, sizeof(known.mask)) == 0);
    known.handler = handler;
    known.flags |= SA_SIGINFO | SA_ONSTACK;
    for (int i = 34; i <= SIGNALS && is_raw(); i++) {
        if (sigaction(i, &action, NULL) != 0) {
            CHECK(raw_call(SYS_rt_sigaction, i, (long)&known, 0, sizeof(known.mask)) == 0);
        }
    }
}

/* The thread's part: an alternate stack, unless the kernel says that it has one; a mask. */
static void begin(void)
{
    stack_t now, mine = {.ss_size = ALTERNATE};
    uint64_t mask = 0;
    mine.ss_sp = malloc(mine.ss_size);
    CHECK(mine.ss_sp != NULL);
    if (is_raw()) {
        CHECK(raw_call(SYS_sigaltstack, 0, (long)&now, 0, 0) == 0);
        CHECK(!(now.ss_flags & SS_DISABLE) || raw_call(SYS_sigaltstack, (long)&mine, 0, 0, 0) == 0);
        CHECK(raw_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof(mask)) == 0);
    } else {
        sigset_t none;
        sigemptyset(&none);
        CHECK(sigaltstack(&mine, NULL) == 0);
        CHECK(pthread_sigmask(SIG_SETMASK, &none, NULL) == 0);
    }
}

static void compute(void)
{
    while (!answered) {
    }
}

static void fault(void)
{
    __asm__ volatile(UNDEFINED : : : "memory");
    CHECK(answered);
}

/* On the small stack. */
static __attribute__((noinline)) void on_small(void (*fn)(void))
{
#if defined(__x86_64__)
    __asm__ volatile("movq %%rsp, %%rbx\n\t"
                     "movq %1, %%rsp\n\t"
                     "call *%0\n\t"
                     "movq %%rbx, %%rsp"
                     :
                     : "r"(fn), "r"(small + PAGE)
                     : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory",
                       "cc");
#elif defined(__aarch64__)
    __asm__ volatile("mov x19, sp\n\t"
                     "mov sp, %1\n\t"
                     "blr %0\n\t"
                     "mov sp, x19"
                     :
                     : "r"(fn), "r"(small + PAGE)
                     : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11",
                       "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x30", "memory",
                       "cc");
#endif
}

/* To other kernel threads, perhaps. */
static void moves(int round)
{
    struct timespec nap = {0, 200000};
    for (int i = 0; i < round % 4; i++) {
        sched_yield();
    }
    if (round % 8 == 5) {
        nanosleep(&nap, NULL);
    } else if (round % 16 == 7) {
        raw_call(SYS_nanosleep, (long)&nap, 0, 0, 0);
    }
}

static void *thread_main(void *arg)
{
    int self = (int)(intptr_t)arg;
    char *pages = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED && mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE) == 0);
    small = pages + PAGE;
    number = self;
    begin();
    worker[self].tid = (int)raw_call(SYS_gettid, 0, 0, 0, 0);
    for (int i = 0; i < ROUNDS; i++) {
        answered = false;
        on_small(strcmp(mode, "faults") == 0 ? fault : compute);
        moves(i);
    }
    worker[self].ended = true;
    return NULL;
}

/* ---- the more urgent thread ---- */

static struct {
    pthread_t thread;
    sem_t due;
    _Atomic bool over;
} urgent;

static bool is_urgent(void)
{
    return strcmp(mode, "urgent") == 0;
}

/* Threads with SCHED_FIFO go before all others. Without the right to it, the test sees less. */
static void real_time(int priority)
{
    struct sched_param param = {.sched_priority = priority};
    int error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);
    CHECK(error == 0 || error == EPERM);
}

/* Nobody blocks a signal that is reserved for the implementation. */
static void *urgent_main(void *arg)
{
    real_time(1);
    while (!urgent.over) {
        uint64_t mask = 0;
        CHECK(sem_wait(&urgent.due) == 0);
        CHECK(raw_call(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)&mask, sizeof(mask)) == 0);
        CHECK((mask & UINT64_C(1) << (RESERVED - 1)) == 0);
    }
    return arg;
}

static void urgent_begin(void)
{
    if (is_urgent()) {
        CHECK(sem_init(&urgent.due, 0, 0) == 0);
        CHECK(pthread_create(&urgent.thread, NULL, urgent_main, NULL) == 0);
        real_time(2);
    }
}

static void urgent_end(void)
{
    if (is_urgent()) {
        urgent.over = true;
        CHECK(sem_post(&urgent.due) == 0 && pthread_join(urgent.thread, NULL) == 0);
    }
}

/* True: the thread has ended. */
static bool send(int i)
{
    if (!worker[i].ended && worker[i].tid != 0 && worker[i].pending == 0) {
        worker[i].pending = 1;
        if (is_raw()) {
            raw_call(SYS_tgkill, getpid(), worker[i].tid, SIGURG, 0);
        } else {
            CHECK(!is_urgent() || sem_post(&urgent.due) == 0);
            pthread_kill(worker[i].thread, SIGURG);
        }
    }
    return worker[i].ended;
}

int main(int argc, char **argv)
{
    sigset_t all, before;
    struct timespec nap = {0, 1000000};
    CHECK(argc == 2);
    mode = argv[1];
    catch_all();
    sigfillset(&all);
    CHECK(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    for (intptr_t i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&worker[i].thread, NULL, thread_main, (void *)i) == 0);
    }
    urgent_begin(); /* last: threads inherit class and priority */
    CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    for (int ended = 0; ended < THREADS;) {
        ended = 0;
        for (int i = 0; i < THREADS; i++) {
            ended += send(i);
        }
        nanosleep(&nap, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(worker[i].thread, NULL) == 0);
    }
    urgent_end();
    printf("%d rounds of %s\n", THREADS * ROUNDS, mode);
    return 0;
}
