/* SPDX-License-Identifier: MIT */
/*
 * exec_start.c - a kernel thread starts the runtime while the main thread is in execve, which fails
 * in the end. Meanwhile the kernel refuses new threads (EAGAIN); the start goes on all the same.
 *
 * Each round has a process of its own. In it the main thread calls execve of a file that is no
 * program, again and again, until the runtime has started.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "late.h"

enum { ROUNDS = 30 };

static bool over;

static void *starts(void *arg)
{
    threads_go_on();
    __atomic_store_n(&over, true, __ATOMIC_RELEASE);
    return arg;
}

static void one_round(int no_program)
{
    char *argv[] = {"no program", NULL}, *envp[] = {NULL};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, starts, NULL) == 0);
    while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
        CHECK(fexecve(no_program, argv, envp) == -1 && errno == ENOEXEC);
    }
    CHECK(pthread_join(thread, NULL) == 0);
}

int main(void)
{
    int no_program = memfd_create("no program", 0);
    CHECK(no_program >= 0 && write(no_program, "text", 4) == 4);
    for (int i = 0; i < ROUNDS; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            one_round(no_program);
            exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    printf("exec start: done\n");
    return 0;
}
