/* SPDX-License-Identifier: MIT */
/*
 * slow.h - a system call of this program that takes long, as on a machine with much to do.
 *
 * The kernel asks a second process about each such call (seccomp), and that process answers late.
 * Then the kernel makes the call.
 */
#ifndef SLOW_H
#define SLOW_H

#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../raw.h"
#include "check.h"

enum { SLOW_ASKING = 64, SLOW_SKIPPED = 77 };

static pid_t slow_answerer;
/* Shared with it: 1 while a call takes long; set to 1 to have none take long. */
static flag_t *slow_asked, *slow_off;

/* A signal ends the call, which the kernel then makes again: so what counts is when this kernel
 * thread's call was seen first. */
static void slow_answer(int listener, long ms)
{
    static struct {
        uint32_t tid;
        struct timespec until;
    } asked[SLOW_ASKING];
    struct seccomp_notif question;
    const struct timespec moment = {0, NS_PER_MS};
    memset(&question, 0, sizeof(question));
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &question) != 0) {
        return; /* it was ended meanwhile */
    }
    int i = 0;
    while (i < SLOW_ASKING - 1 && asked[i].tid != question.pid && asked[i].tid != 0) {
        i++;
    }
    if (asked[i].tid == 0) {
        asked[i].tid = question.pid;
        asked[i].until = after_ms(CLOCK_MONOTONIC, ms);
    }
    flag_set(slow_asked, 1);
    while (!flag_get(slow_off) && !has_passed(CLOCK_MONOTONIC, &asked[i].until)) {
        nanosleep(&moment, NULL);
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &question.id) != 0) {
            break;
        }
    }
    flag_set(slow_asked, 0);
    struct seccomp_notif_resp answer = {.id = question.id,
                                        .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0) {
        asked[i].tid = 0;
    }
}

/* It shares the descriptors of this one, which tells it the listener's number. */
static void slow_answerer_begin(int tell[2], long ms)
{
    OK(pipe(tell));
    slow_asked = mmap(NULL, 2 * sizeof(*slow_asked), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(slow_asked != MAP_FAILED);
    slow_off = slow_asked + 1;
    slow_answerer = (pid_t)raw_call(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0);
    CHECK(slow_answerer >= 0);
    if (slow_answerer == 0) {
        int listener;
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (read(tell[0], &listener, sizeof(listener)) != sizeof(listener)) {
            _exit(0);
        }
        for (;;) {
            slow_answer(listener, ms);
        }
    }
}

static inline void slow_end(void)
{
    raw_call(SYS_kill, slow_answerer, SIGKILL, 0, 0);
    CHECK_EQ(waitpid(slow_answerer, NULL, 0), slow_answerer);
}

/* From now on each call of this number takes so long. Ends the program with SLOW_SKIPPED if the
 * system lets no process answer for calls. */
static void slow_begin(int number, long ms)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
    int tell[2], listener = -1;
    slow_answerer_begin(tell, ms);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) == 0) {
        listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    }
    if (listener < 0) {
        printf("skipped: the system lets no process answer for calls (seccomp): %s\n",
               strerror(errno));
        raw_call(SYS_kill, slow_answerer, SIGKILL, 0, 0);
        exit(SLOW_SKIPPED);
    }
    CHECK_EQ(write(tell[1], &listener, sizeof(listener)), sizeof(listener));
}

#endif
