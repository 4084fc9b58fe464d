/* SPDX-License-Identifier: MIT */
/*
 * slow.c - runs a program in which some system calls take long now and then, as on a machine with
 * much to do. Meanwhile the runtime takes a thread for one that sleeps in the kernel, and gives its
 * CPU to others: at places where that hardly happens otherwise.
 *
 *     slow-calls --calls mmap,munmap --every 4 --ms 30 -- PROGRAM [ARGUMENT]...
 *
 * One of `every` calls, at random, takes a time between a fifth of `ms` and a little more than
 * `ms`. The program and its children have a filter (seccomp) by which the kernel asks this process
 * about each such call. It answers now or later; then the kernel makes the call.
 *
 * A signal ends the question, and the kernel asks again when the handler has returned. So what
 * counts is when this kernel thread's call was seen first (struct delayed). The status is the
 * program's; 128 and the signal that has ended it; 77 if the system lets no process answer for
 * calls.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CALLS_MOST = 60, DELAYED_MOST = 4096, SKIPPED = 77, WRONG = 2 };
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)
#define FORGET_NS (200 * NS_PER_MS) /* a question that was ended, and did not come again */

static const struct {
    const char *name;
    uint32_t number;
} known[] = {
#include "calls.def"
};

static struct {
    uint32_t calls[CALLS_MOST];
    unsigned ncalls;
    unsigned long every, ms;
} given = {.every = 4, .ms = 30};

static struct delayed {
    uint64_t id;
    uint32_t tid, call;
    int64_t until;
    bool used, waiting; /* waiting: it is asked; else it was, and a signal has ended that */
} delayed[DELAYED_MOST];

static void fail(int status, const char *what, const char *why)
{
    fprintf(stderr, "slow-calls: %s: %s\n", what, why);
    exit(status);
}

/* ---- the program ---- */

static struct sock_filter statement(unsigned short code, uint32_t value)
{
    return (struct sock_filter){.code = code, .k = value};
}

/* The number of the listener's descriptor, or -1. */
static int filter_begin(void)
{
    struct sock_filter code[CALLS_MOST + 3];
    unsigned n = 0;
    code[n++] = statement(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < given.ncalls; i++) {
        code[n] = statement(BPF_JMP | BPF_JEQ | BPF_K, given.calls[i]);
        code[n++].jt = (unsigned char)(given.ncalls - i); /* to the last statement */
    }
    code[n++] = statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[n++] = statement(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    struct sock_fprog program = {(unsigned short)n, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) != 0) {
        return -1;
    }
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                        &program);
}

/* Between the filter and the descriptor's number nobody answers: so sendto, recvfrom, close_range
 * and execve cannot be slow. */
static void execute(int to_parent, char **command)
{
    char go;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, (long)SIGKILL, 0L, 0L, 0L); /* its calls would fail for ever */
    int listener = filter_begin();
    send(to_parent, &listener, sizeof(listener), 0);
    if (listener >= 0 && recv(to_parent, &go, 1, 0) == 1) {
        syscall(SYS_close_range, 3, ~0U, 0);
        execvp(command[0], command);
        perror(command[0]);
    }
    _exit(listener >= 0 ? 127 : SKIPPED);
}

/* ---- answers ---- */

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static bool answer(int listener, uint64_t id)
{
    struct seccomp_notif_resp go_on = {.id = id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &go_on) == 0;
}

/* The record of this call, or a free one. */
static struct delayed *record_of(const struct seccomp_notif *question)
{
    struct delayed *unused = NULL;
    for (unsigned i = 0; i < DELAYED_MOST; i++) {
        struct delayed *d = &delayed[i];
        if (d->used && d->tid == question->pid && d->call == (uint32_t)question->data.nr) {
            return d;
        }
        unused = !d->used && unused == NULL ? d : unused;
    }
    return unused;
}

static void take_question(int listener)
{
    struct seccomp_notif question;
    memset(&question, 0, sizeof(question));
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &question) != 0) {
        return; /* it was ended meanwhile */
    }
    struct delayed *d = record_of(&question);
    if (d != NULL && d->used) {
        d->id = question.id;
        d->waiting = true;
    } else if (d == NULL || (unsigned long)random() % given.every != 0) {
        answer(listener, question.id);
    } else {
        int64_t most = (int64_t)given.ms * NS_PER_MS;
        *d = (struct delayed){.id = question.id,
                              .tid = question.pid,
                              .call = (uint32_t)question.data.nr,
                              .until = now() + most / 5 + random() % most,
                              .used = true,
                              .waiting = true};
    }
}

/* Answer what is due; returns the next time. */
static int64_t answer_due(int listener)
{
    int64_t at = now(), next = at + NS_PER_S;
    for (unsigned i = 0; i < DELAYED_MOST; i++) {
        struct delayed *d = &delayed[i];
        if (!d->used) {
            continue;
        }
        if (d->waiting && d->until <= at) {
            d->used = !answer(listener, d->id);
            d->waiting = false;
        } else if (d->waiting && d->until < next) {
            next = d->until;
        } else if (!d->waiting && d->until + FORGET_NS <= at) {
            d->used = false;
        }
    }
    return next;
}

/* Until the program ends. */
static void answer_all(int listener, int program)
{
    for (;;) {
        int64_t wait = answer_due(listener) - now();
        wait = wait > 0 ? wait : 0;
        struct timespec limit = {wait / NS_PER_S, wait % NS_PER_S};
        struct pollfd polled[] = {{listener, POLLIN, 0}, {program, POLLIN, 0}};
        ppoll(polled, 2, &limit, NULL);
        if (polled[1].revents != 0) {
            return;
        }
        if (polled[0].revents & POLLIN) {
            take_question(listener);
        }
    }
}

static int run(char **command)
{
    int ends[2], listener = -1, status = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        fail(1, "socketpair", strerror(errno));
    }
    pid_t child = fork();
    if (child == 0) {
        execute(ends[1], command);
    }
    int program = (int)syscall(SYS_pidfd_open, child, 0);
    if (recv(ends[0], &listener, sizeof(listener), 0) == sizeof(listener) && listener >= 0) {
        listener = (int)syscall(SYS_pidfd_getfd, program, listener, 0);
    }
    if (listener < 0) {
        printf("slow-calls: skipped: the system lets no process answer for calls (seccomp)\n");
        kill(child, SIGKILL);
        return SKIPPED;
    }
    send(ends[0], "", 1, 0);
    answer_all(listener, program);
    waitpid(child, &status, 0);
    kill(-child, SIGKILL); /* its children, whose calls nobody answers any more */
    if (WIFSIGNALED(status)) {
        fprintf(stderr, "slow-calls: %s: %s\n", command[0], strsignal(WTERMSIG(status)));
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- the command line ---- */

/* What execute() needs; and rt_sigreturn: if a signal ends the question, the call returns EINTR to
 * code that knows no return from it. */
static bool is_excluded(uint32_t number)
{
    return number == SYS_sendto || number == SYS_recvfrom || number == SYS_close_range ||
           number == SYS_execve || number == SYS_rt_sigreturn;
}

static void call_add(const char *name)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(known[i].name, name) == 0 && given.ncalls < CALLS_MOST &&
            !is_excluded(known[i].number)) {
            given.calls[given.ncalls++] = known[i].number;
            return;
        }
    }
    fail(WRONG, name,
         given.ncalls < CALLS_MOST
             ? "no system call that the headers know, or one that cannot be slow"
             : "too many calls");
}

static unsigned long positive(const char *option, const char *text)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (*end != '\0' || value == 0 || value > 1000000) {
        fail(WRONG, option, "a number from 1 to 1000000 follows");
    }
    return value;
}

int main(int argc, char **argv)
{
    int i = 1;
    for (; i + 1 < argc && strcmp(argv[i], "--") != 0; i += 2) {
        if (strcmp(argv[i], "--calls") == 0) {
            for (char *name = strtok(argv[i + 1], ","); name != NULL; name = strtok(NULL, ",")) {
                call_add(name);
            }
        } else if (strcmp(argv[i], "--every") == 0) {
            given.every = positive(argv[i], argv[i + 1]);
        } else if (strcmp(argv[i], "--ms") == 0) {
            given.ms = positive(argv[i], argv[i + 1]);
        } else {
            fail(WRONG, argv[i], "no option; --calls LIST, --every N, --ms N, -- PROGRAM");
        }
    }
    if (i + 1 >= argc || given.ncalls == 0) {
        fail(WRONG, "usage", "slow-calls --calls LIST [--every N] [--ms N] -- PROGRAM...");
    }
    srandom((unsigned)now());
    return run(argv + i + 1);
}
