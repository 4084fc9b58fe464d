/* SPDX-License-Identifier: MIT */
/*
 * glibc_everywhere.c (Linux) - a system call made by every kernel thread of the process. POSIX
 * gives user and group ids to the process, the kernel to each of its threads; setuid and its
 * relatives change them in all (src/posix/linux/posix_identity.c).
 *
 * The C library does that, too, by a signal that it reserves for this. But its handler answers in
 * the descriptor of the thread that runs on the kernel thread. Where user threads have descriptors
 * of their own, it would be asked again for ever. So here the same signal has another handler. No
 * mask of the C library ever blocks it.
 *
 *   1. The caller makes the call first. If that fails, no other thread has made it.
 *   2. Then it tells all others that the C library knows (not those of raw clone, as there), and
 *      waits for their answers, one entry of `request` for each kernel thread id.
 *   3. It looks for others again until there is no new one. A kernel thread that is created
 *      meanwhile has the ids of its creator. If the creator had not made the call yet, the new id
 *      is in the C library's list before the creator answers; so the next look finds it.
 *   4. A kernel thread that ends does not answer. Once it has left the list, nobody waits for it.
 *   5. If another one fails where the caller has succeeded, the process has no consistent identity,
 *      and is aborted.
 *
 * The handler changes only its entry, because it runs on any kernel thread at any instruction. A
 * late signal, from a round that is over, has another number and is ignored.
 *
 * Lock: request.lock, held with preemption off; waiting for it in the kernel does not keep the
 * handler from running.
 */
#include "glibc.h"
#include "port_posix.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The C library's signal for this: the second real-time signal of the kernel. */
#define SIGNAL (__SIGRTMIN + 1)

#define ANSWER_NS 2000000u /* after so long it is looked who has ended */
#define RETELL 50u         /* looks after which the signal is sent again */
#define PATIENCE 5000u     /* so often a signal that the kernel does not queue is sent again */

enum answer { ANSWER_NONE, ANSWER_DONE, ANSWER_GONE };

struct entry {
    pid_t tid;
    uint32_t answer; /* enum answer */
};

static struct {
    uint32_t lock;
    struct entry *entries; /* (lock) to write; handlers read */
    uint32_t count;        /* (lock) to write; handlers read. ORDER(everywhere) */
    uint32_t room;         /* (lock) entries that there is memory for */
    pid_t *tids;           /* (lock) who is there */
    uint32_t tids_room;    /* (lock) */
    uint32_t round;        /* which command: handlers compare */
    uint32_t answers;      /* futex: changes with each answer */
    uint32_t failed;       /* error of a handler's call */
    long number, arg[3];   /* of the command */
} request;

/* An action as the kernel defines it. */
struct kernel_action {
    void (*handler)(int, siginfo_t *, void *);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

static void on_request(int signal, siginfo_t *info, void *context)
{
    int saved = errno;
    uint32_t round = __atomic_load_n(&request.round, __ATOMIC_ACQUIRE); /* ORDER(everywhere) */
    (void)signal;
    (void)context;
    if (info->si_code != SI_QUEUE || info->si_pid != getpid() ||
        (uint32_t)info->si_value.sival_int != round) {
        return;
    }
    pid_t self = (pid_t)syscall(SYS_gettid);
    uint32_t count = __atomic_load_n(&request.count, __ATOMIC_ACQUIRE); /* ORDER(everywhere) */
    RT_ASSERT(signal == SIGNAL);
    for (uint32_t i = 0; i < count; i++) {
        struct entry *e = &request.entries[i];
        if (e->tid == self &&
            __atomic_load_n(&e->answer, __ATOMIC_ACQUIRE) == ANSWER_NONE) { /* ORDER(everywhere) */
            if (syscall(request.number, request.arg[0], request.arg[1], request.arg[2]) != 0) {
                __atomic_store_n(&request.failed, (uint32_t)errno, __ATOMIC_RELAXED);
            }
            __atomic_store_n(&e->answer, ANSWER_DONE, __ATOMIC_RELEASE); /* ORDER(everywhere) */
            __atomic_add_fetch(&request.answers, 1, __ATOMIC_RELEASE);   /* ORDER(everywhere) */
            futex_wake(&request.answers);
        }
    }
    errno = saved;
}

int everywhere_start(void)
{
    struct kernel_action action;
    if (syscall(SYS_rt_sigaction, SIGNAL, NULL, &action, sizeof(action.mask)) != 0 ||
        action.handler == NULL || !(action.flags & SA_SIGINFO)) {
        return -ENOTSUP;
    }
    action.handler = on_request;
    action.flags |= SA_ONSTACK | SA_RESTART;
    action.mask = ~UINT64_C(0);
    return syscall(SYS_rt_sigaction, SIGNAL, &action, NULL, sizeof(action.mask)) == 0 ? 0 : -errno;
}

static NORETURN void fatal(const char *text)
{
    port_write(text, strlen(text));
    port_panic();
}

static void *table(size_t size)
{
    void *p = port_table_alloc(size);
    if (p == NULL) {
        fatal("pirn: no memory to change the identity of all kernel threads\n");
    }
    return p;
}

/* All kernel threads' ids to request.tids; returns their number. */
static unsigned look(void)
{
    RT_ASSERT(glibc_is_locked(&request.lock) && port_irq_is_off());
    unsigned n;
    while ((n = glibc_kernel_threads(request.tids, request.tids_room)) > request.tids_room) {
        port_table_free(request.tids, request.tids_room * sizeof(*request.tids));
        request.tids_room = 2 * n + 64;
        request.tids = table(request.tids_room * sizeof(*request.tids));
    }
    return n;
}

/* Room for n more entries. When all have answered; the old table stays, a handler that is late may
 * look into it. */
static void grow(unsigned n)
{
    RT_ASSERT(glibc_is_locked(&request.lock));
    if (request.count + n > request.room) {
        request.room = 2 * (request.count + n);
        struct entry *entries = table(request.room * sizeof(*entries));
        memcpy(entries, request.entries, request.count * sizeof(*entries));
        request.entries = entries;
    }
}

static void tell(pid_t tid)
{
    siginfo_t info;
    memset(&info, 0, sizeof(info));
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_int = (int)request.round;
    for (unsigned i = 0; syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, SIGNAL, &info) != 0; i++) {
        if (errno != EAGAIN) {
            return; /* it has ended */
        }
        if (i == PATIENCE) {
            fatal("pirn: no signal can be queued (RLIMIT_SIGPENDING) to change the identity of "
                  "all kernel threads\n");
        }
        port_relax(UINT32_MAX);
    }
}

/* A new entry, unless there is one. */
static bool add(pid_t tid, pid_t self)
{
    if (tid == self) {
        return false;
    }
    for (uint32_t i = 0; i < request.count; i++) {
        if (request.entries[i].tid == tid) {
            return false;
        }
    }
    RT_ASSERT(glibc_is_locked(&request.lock) && request.count < request.room);
    struct entry *e = &request.entries[request.count];
    e->tid = tid;
    __atomic_store_n(&e->answer, ANSWER_NONE, __ATOMIC_RELEASE);           /* ORDER(everywhere) */
    __atomic_store_n(&request.count, request.count + 1, __ATOMIC_RELEASE); /* ORDER(everywhere) */
    tell(tid);
    return true;
}

static bool among(pid_t tid, const pid_t *tids, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (tids[i] == tid) {
            return true;
        }
    }
    return false;
}

/* Threads that have ended without an answer do not count. */
static bool all_answered(bool look_again)
{
    unsigned n = look_again ? look() : 0;
    bool all = true;
    for (uint32_t i = 0; i < request.count; i++) {
        struct entry *e = &request.entries[i];
        if (__atomic_load_n(&e->answer, __ATOMIC_ACQUIRE) != ANSWER_NONE) { /* ORDER(everywhere) */
            continue;
        }
        if (look_again && !among(e->tid, request.tids, n)) {
            e->tid = 0; /* which another may get */
            __atomic_store_n(&e->answer, ANSWER_GONE, __ATOMIC_RELAXED);
        } else {
            all = false;
        }
    }
    return all;
}

/* An id may have passed from an ended thread to a new one, which was not notified. */
static void tell_again(void)
{
    for (uint32_t i = 0; i < request.count; i++) {
        const struct entry *e = &request.entries[i];
        if (__atomic_load_n(&e->answer, __ATOMIC_RELAXED) == ANSWER_NONE) {
            tell(e->tid);
        }
    }
}

static void answers_await(void)
{
    bool look_again = false;
    unsigned waits = 0;
    for (;;) {
        uint32_t seen = __atomic_load_n(&request.answers, __ATOMIC_ACQUIRE); /* ORDER(everywhere) */
        if (all_answered(look_again)) {
            return;
        }
        uint64_t until = port_now() + ANSWER_NS;
        futex_wait(&request.answers, seen, until);
        look_again = port_now() >= until;
        if (look_again && ++waits % RETELL == 0) {
            tell_again();
        }
    }
}

static void tell_all(void)
{
    pid_t self = (pid_t)syscall(SYS_gettid);
    bool found;
    RT_ASSERT(request.count == 0);
    do {
        unsigned n = look();
        grow(n);
        found = false;
        for (unsigned i = 0; i < n; i++) {
            found |= add(request.tids[i], self);
        }
        answers_await();
    } while (found);
}

int port_everywhere(long number, long a, long b, long c)
{
    int saved = errno, error = 0;
    unsigned long irq = port_irq_save();
    glibc_lock(&request.lock);
    if (syscall(number, a, b, c) != 0) {
        error = -errno;
    } else {
        __atomic_store_n(&request.count, 0, __ATOMIC_RELAXED);
        request.failed = 0;
        request.number = number;
        request.arg[0] = a;
        request.arg[1] = b;
        request.arg[2] = c;
        __atomic_store_n(&request.round, request.round + 1,
                         __ATOMIC_RELEASE); /* ORDER(everywhere) */
        tell_all();
        if (request.failed != 0) {
            fatal("pirn: a change of user or group ids has succeeded in one kernel thread and "
                  "failed in another\n");
        }
    }
    RT_ASSERT(port_irq_is_off());
    glibc_unlock(&request.lock);
    port_irq_restore(irq);
    errno = saved;
    return error;
}

void everywhere_forked(void)
{
    request.lock = 0;
}
