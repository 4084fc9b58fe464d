/* SPDX-License-Identifier: MIT */
/*
 * slow_offer.c - a poller's thread offers its processor to other programs (sched_yield), and the
 * kernel takes long to come back, as on a machine with much to do. Meanwhile the runtime gives the
 * thread's CPU to others; the thread must get one again before it goes on.
 *
 * The kernel asks a second process about each sched_yield (seccomp), and that process answers late.
 */
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <pirn/poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../raw.h"
#include "check.h"

enum { LATE_MS = 60, ASKING = 64, TIMES = 16, SKIPPED = 77 };

static flag_t looks;

/* ---- the process that answers ---- */

/* A signal ends the call, which the kernel then makes again: so what counts is when this kernel
 * thread's call was seen first. */
static void answer_late(int listener)
{
    static struct {
        uint32_t tid;
        struct timespec until;
    } asked[ASKING];
    struct seccomp_notif question;
    const struct timespec moment = {0, NS_PER_MS};
    memset(&question, 0, sizeof(question));
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &question) != 0) {
        return; /* it was ended meanwhile */
    }
    int i = 0;
    while (i < ASKING - 1 && asked[i].tid != question.pid && asked[i].tid != 0) {
        i++;
    }
    if (asked[i].tid == 0) {
        asked[i].tid = question.pid;
        asked[i].until = after_ms(CLOCK_MONOTONIC, LATE_MS);
    }
    while (!has_passed(CLOCK_MONOTONIC, &asked[i].until)) {
        nanosleep(&moment, NULL);
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &question.id) != 0) {
            return;
        }
    }
    struct seccomp_notif_resp answer = {.id = question.id};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0) {
        asked[i].tid = 0;
    }
}

/* It shares the descriptors of this one, which tells it the listener's number. */
static pid_t answerer_begin(int tell[2])
{
    OK(pipe(tell));
    pid_t pid = (pid_t)raw_call(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0);
    CHECK(pid >= 0);
    if (pid == 0) {
        int listener;
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (read(tell[0], &listener, sizeof(listener)) != sizeof(listener)) {
            _exit(0);
        }
        for (;;) {
            answer_late(listener);
        }
    }
    return pid;
}

/* Every sched_yield of this process is asked about from now on. False: this system cannot. */
static bool filter_begin(int *listener)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_yield, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
    *listener = -1;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) == 0) {
        *listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                 SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    }
    return *listener >= 0;
}

/* ---- the program ---- */

/* So late after it was told that the poller's thread offers its processor (PIRN_POLL_EAGER_NS). */
static enum pirn_poll look(void *arg)
{
    struct timespec until = after_ms(CLOCK_MONOTONIC, 0);
    until.tv_nsec += PIRN_POLL_EAGER_NS * 6 / 10;
    (void)arg;
    until.tv_sec += until.tv_nsec / NS_PER_S;
    until.tv_nsec %= NS_PER_S;
    while (!has_passed(CLOCK_MONOTONIC, &until)) {
    }
    flag_add(&looks, 1);
    return PIRN_POLL_PENDING;
}

int main(void)
{
    int tell[2], listener;
    pirn_poller_t poller;
    pid_t pid = answerer_begin(tell);
    if (!filter_begin(&listener)) {
        printf("slow offer: skipped: the system lets no process answer for calls (seccomp): %s\n",
               strerror(errno));
        raw_call(SYS_kill, pid, SIGKILL, 0, 0);
        return SKIPPED;
    }
    CHECK_EQ(write(tell[1], &listener, sizeof(listener)), sizeof(listener));
    OK(pirn_poller_add(&poller, NULL, look, NULL));
    for (int i = 0; i < TIMES; i++) {
        int before = flag_get(&looks);
        pirn_poller_tell(&poller);
        while (flag_get(&looks) - before < 2) { /* the next one is after the offer and a wait */
            usleep(1000);
        }
    }
    pirn_poller_remove(&poller);
    raw_call(SYS_kill, pid, SIGKILL, 0, 0);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    printf("slow offer: %d looks\n", flag_get(&looks));
    return 0;
}
