/* SPDX-License-Identifier: MIT */
/*
 * posix_watch.c - the watch over a stress of the POSIX layer: ends the test if one of its threads
 * hangs.
 *
 * The watch is a child process, so it runs even when no thread of the test does. It calls the
 * kernel itself, so that no runtime is started in it.
 *
 * A thread hangs when it has made no step for MIN_SECONDS, and since its last step
 * (1) either the process has used MAX_CPU_SECONDS of CPU time: others made steps, or spin;
 * (2) or the process was asleep, none of its kernel threads able to run, in MAX_ASLEEP looks.
 * On a slow machine neither is true: a thread that gets no CPU uses no time, and is able to run.
 */
#include <dirent.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "posix_mix.h"

enum { PLACES = 256, MIN_SECONDS = 60, MAX_CPU_SECONDS = 30, MAX_ASLEEP = 120 };

/* Written by the test, read by the watch. */
static struct {
    struct progress places[PLACES];
    unsigned count; /* (A) */
    bool over;      /* (A) */
} * shared;

/* The watch's own data: the time of each thread's last step. */
static struct {
    uint32_t steps;
    uint64_t wall, cpu;
    unsigned asleep;
} seen[PLACES];

static pid_t watch;

static uint64_t seconds_of(clockid_t clock)
{
    struct timespec t = {0, 0};
    syscall(SYS_clock_gettime, clock, &t);
    return (uint64_t)t.tv_sec;
}

/* The kernel's id of the clock of a process's CPU time. */
static clockid_t cpu_clock(pid_t pid)
{
    return (clockid_t)(~(unsigned)pid << 3 | 2);
}

/* "able to run" is R, and D: waits for a disk or for memory. */
static bool task_asleep(pid_t pid, const char *task)
{
    char path[64], stat[256] = "";
    snprintf(path, sizeof(path), "/proc/%d/task/%.16s/stat", (int)pid, task);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return true; /* has ended */
    }
    size_t n = fread(stat, 1, sizeof(stat) - 1, file);
    fclose(file);
    stat[n] = '\0';
    const char *name_end = strrchr(stat, ')');
    return name_end == NULL || strncmp(name_end, ") S", 3) == 0;
}

static bool process_asleep(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    bool asleep = tasks != NULL;
    for (struct dirent *task; asleep && (task = readdir(tasks)) != NULL;) {
        asleep = task->d_name[0] == '.' || task_asleep(pid, task->d_name);
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    return asleep;
}

static bool hangs(unsigned i, uint64_t wall, uint64_t cpu, unsigned asleep)
{
    uint32_t steps = GET(&shared->places[i].steps);
    if (GET(&shared->places[i].doing) == NULL || seen[i].wall == 0 || steps != seen[i].steps) {
        seen[i].steps = steps;
        seen[i].wall = wall;
        seen[i].cpu = cpu;
        seen[i].asleep = asleep;
        return false;
    }
    return wall - seen[i].wall > MIN_SECONDS &&
           (cpu - seen[i].cpu > MAX_CPU_SECONDS || asleep - seen[i].asleep > MAX_ASLEEP);
}

static void report(unsigned culprit, uint64_t wall, uint64_t cpu)
{
    const struct progress *p = &shared->places[culprit];
    dprintf(2, "FAILED: %s %u hangs: %s; no step for %u s (%u s of CPU time). All:\n", p->who,
            p->number, GET(&p->doing), (unsigned)(wall - seen[culprit].wall),
            (unsigned)(cpu - seen[culprit].cpu));
    for (unsigned i = 0; i < GET(&shared->count); i++) {
        p = &shared->places[i];
        const char *doing = GET(&p->doing);
        if (doing != NULL) {
            dprintf(2, "  %s %u: %s, %u s\n", p->who, p->number, doing,
                    (unsigned)(wall - seen[i].wall));
        }
    }
}

static void await_end_of(pid_t test)
{
    struct timespec second = {1, 0};
    while (getppid() == test && !GET(&shared->over)) {
        syscall(SYS_nanosleep, &second, NULL);
    }
}

static void hang_found(pid_t test, bool hold)
{
    if (hold) {
        dprintf(2, "held: gdb -p %d\n", (int)test);
        await_end_of(test);
    } else {
        kill(test, SIGABRT);
    }
    _exit(1);
}

static void watch_main(pid_t test, bool hold)
{
    struct timespec moment = {0, 250000000};
    uint64_t last = 0;
    unsigned asleep = 0;
    while (getppid() == test && !GET(&shared->over)) {
        syscall(SYS_nanosleep, &moment, NULL);
        uint64_t wall = seconds_of(CLOCK_MONOTONIC), cpu = seconds_of(cpu_clock(test));
        if (wall == last) {
            continue;
        }
        last = wall;
        asleep += process_asleep(test);
        for (unsigned i = 0; i < GET(&shared->count); i++) {
            if (hangs(i, wall, cpu, asleep)) {
                report(i, wall, cpu);
                hang_found(test, hold);
            }
        }
    }
    _exit(0);
}

void watch_start(bool hold)
{
    pid_t test = getpid();
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    watch = fork();
    CHECK(watch >= 0);
    if (watch == 0) {
        watch_main(test, hold);
    }
}

struct progress *watch_add(const char *who, unsigned number)
{
    CHECK(shared->count < PLACES);
    struct progress *p = &shared->places[shared->count];
    p->who = who;
    p->number = number;
    ADD(&shared->count, 1u);
    return p;
}

void watch_end(void)
{
    int status;
    SET(&shared->over, true);
    CHECK_EQ(waitpid(watch, &status, 0), watch);
}
