/* SPDX-License-Identifier: MIT */
/*
 * states.c - threads in known states, which their names describe, for check_gdb.py. When all exist
 * it calls settled(), where gdb breaks. "core": it aborts there.
 */
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../raw.h"
#include "common/options.h"
#include "waits.h"

static pthread_mutex_t robust;
static sem_t holds;
static int ends[2];

static void *holder_1(void *arg)
{
    name("holder-1");
    pthread_mutex_lock(&m1);
    sem_post(&holds);
    sem_wait(&sem);
    pthread_mutex_lock(&m2);
    return arg;
}

static void *holder_2(void *arg)
{
    name("holder-2");
    pthread_mutex_lock(&m2);
    sem_post(&holds);
    pthread_mutex_lock(&m1);
    return arg;
}

static void *on_robust(void *arg)
{
    name("on-robust");
    pthread_mutex_lock(&robust);
    return arg;
}

static void *on_read(void *arg)
{
    char two[2];
    name("on-read");
    /* With this flag its CPU never sleeps in the call. */
    (void)!recv(ends[0], two, sizeof(two), MSG_WAITALL);
    return arg;
}

__attribute__((noinline)) void settled(void);
__attribute__((noinline)) void settled(void)
{
    __asm__ volatile("");
}

/* Does the kernel thread run, or want to? */
static bool task_awake(const char *task)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof(path), "/proc/self/task/%s/stat", task);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return false; /* it has ended */
    }
    const char *end = fgets(text, sizeof(text), file) != NULL ? strrchr(text, ')') : NULL;
    fclose(file);
    return end != NULL && end[1] == ' ' && end[2] != 'S';
}

/* Is it awake each time that one looks? The one that polls wakes for a moment at each end of a
 * sleep and once a millisecond while a worker runs; the raw nanosleep(), which keeps this worker,
 * is no divisor of that. */
static bool task_runs(const char *task)
{
    const struct timespec pause = {.tv_nsec = 170000};
    unsigned looks = 0;
    while (looks < 20 && task_awake(task)) {
        raw_call(SYS_nanosleep, (long)&pause, 0, 0, 0);
        looks++;
    }
    return looks == 20;
}

static bool others_run(void)
{
    DIR *tasks = opendir("/proc/self/task");
    bool run = false;
    if (tasks == NULL) {
        abort();
    }
    for (const struct dirent *task; (task = readdir(tasks)) != NULL;) {
        bool other = task->d_name[0] != '.' && atol(task->d_name) != syscall(SYS_gettid);
        run = run || (other && task_runs(task->d_name));
    }
    closedir(tasks);
    return run;
}

/* Until all threads wait: no kernel thread but the caller's wants to run, several times in a row.
 * However busy the machine is, one that has a thread to run is not asleep. */
static void settle(void)
{
    for (unsigned calm = 0; calm < 5;) {
        usleep(10000);
        calm = others_run() ? 0 : calm + 1;
    }
}

int main(int argc, char **argv)
{
    static const char *const ways[] = {"core"};
    const struct option_page page = {.summary = "Threads in known states.", .operand = "[END]"};
    const char *end = options_parse(argc, argv, &page)[0];
    bool dumps = end != NULL && OPERAND_CHOICE("END", end, ways) == 0;
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attr);
    pthread_barrier_init(&barrier, NULL, 2);
    sem_init(&sem, 0, 0);
    sem_init(&holds, 0, 0);
    (void)!socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    pthread_mutex_lock(&robust);
    pthread_rwlock_wrlock(&rwlock);
    void *(*const all[])(void *) = {on_sem,    holder_1,   on_robust, on_cond,
                                    on_rwlock, on_barrier, on_read};
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        start(all[i]);
    }
    sem_wait(&holds);
    start(holder_2);
    sem_wait(&holds);
    sleeper = start(on_sleep);
    start(on_join);
    settle();
    sem_post(&sem); /* to on-sem or to holder-1, whichever came first */
    sem_post(&sem);
    settle();
    start(on_sem);
    settle();
    start(never_ran);
    if (dumps) {
        abort();
    }
    settled();
    return 0;
}
