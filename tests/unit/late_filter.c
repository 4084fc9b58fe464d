/* SPDX-License-Identifier: MIT */
/*
 * late_filter.c - a program that filters its own system calls after the runtime has started, so
 * that membarrier is refused: light fences become full ones, heavy ones reach all processors once
 * more, and threads go on. With "both", sched_setaffinity is refused, too, and a message says so.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "late.h"
#include "port.h"

static void refuse(unsigned call, unsigned other)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, other, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) == 0);
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0);
}

int main(int argc, char **argv)
{
    cpu_set_t before, after;
    bool both = argc > 1 && strcmp(argv[1], "both") == 0;
    threads_go_on();
    if (!port_fence_asymmetric) {
        printf("late filter: skipped: the system has no membarrier\n");
        return 77;
    }
    CHECK(syscall(SYS_sched_getaffinity, 0, sizeof(before), &before) > 0);
    refuse(SYS_membarrier, both ? SYS_sched_setaffinity : SYS_membarrier);
    errno = 123;
    port_fence_heavy();
    CHECK(errno == 123 && !port_fence_asymmetric);
    long size = syscall(SYS_sched_getaffinity, 0, sizeof(after), &after);
    CHECK(size > 0 && memcmp(&before, &after, (size_t)size) == 0);
    threads_go_on();
    printf("late filter: done\n");
    return 0;
}
