/* SPDX-License-Identifier: MIT */
/*
 * limits.c - the runtime starts under limits that are too low, in a child for each limit. It works,
 * or ends with status 1 and a message that names the refused request, the error, and the limits.
 *
 * usage: limits nproc | memory | memory-small
 */
#include <pirn/pirn.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/options.h"
#include "fault.h"

#define BEGINNING "pirn: cannot start the runtime: "
#define KIB 1024ul

enum { NOBODY = 65534 };

struct outcome {
    int status;
    char said[1024];
};

static size_t address_space(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f != NULL && fscanf(f, "%lu", &pages) == 1);
    fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void *nothing(void *arg)
{
    return arg;
}

enum { WORKS = 0, ENDED = 1, WRONG = 3, NO_THREAD = 4 };

/* The runtime may start, and have no memory for another thread. */
static void start(void)
{
    pirn_thread_t t;
    void *ret;
    int error = pirn_create(&t, NULL, nothing, &t);
    if (error == -EAGAIN) {
        _exit(NO_THREAD);
    }
    _exit(error == 0 && pirn_join(t, &ret) == 0 && ret == &t ? WORKS : WRONG);
}

/* A start after limit(arg). */
static struct outcome outcome_of(void (*limit)(size_t arg), size_t arg)
{
    struct outcome o = {0};
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        limit(arg);
        start();
    }
    close(ends[1]);
    for (ssize_t n, used = 0; (n = read(ends[0], o.said + used, sizeof(o.said) - 1 - used)) > 0;) {
        used += n;
    }
    close(ends[0]);
    CHECK(waitpid(child, &o.status, 0) == child);
    return o;
}

static bool says(const struct outcome *o, const char *what)
{
    return strstr(o->said, what) != NULL;
}

static void limit_set(int resource, size_t value)
{
    struct rlimit limit = {value, value};
    CHECK(setrlimit(resource, &limit) == 0);
}

/* One process or kernel thread; the limit does not count for root. */
static void limit_nproc(size_t most)
{
    limit_set(RLIMIT_NPROC, most);
    CHECK(geteuid() != 0 || setuid(NOBODY) == 0);
}

static void check_nproc(void)
{
    struct outcome o = outcome_of(limit_nproc, 1);
    fputs(o.said, stdout);
    CHECK(WIFEXITED(o.status) && WEXITSTATUS(o.status) == 1);
    CHECK(strncmp(o.said, BEGINNING "no kernel threads", strlen(BEGINNING) + 17) == 0);
    CHECK(says(&o, "Resource temporarily unavailable (error 11)"));
    CHECK(says(&o, "ulimit -u: 1 processes and kernel threads of this user"));
    CHECK(says(&o, "fewer CPUs (PIRN_CPUS)"));
}

static void limit_memory(size_t more)
{
    limit_set(RLIMIT_AS, address_space() + more);
}

/* With so little for each kernel thread other allocations fail, too. */
static void limit_memory_small(size_t more)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    CHECK(pthread_attr_setstacksize(&attr, 64 * KIB) == 0);
    CHECK(pthread_setattr_default_np(&attr) == 0);
    limit_memory(more);
}

struct seen {
    unsigned works, refused, threads, memory;
};

static struct seen starts(void (*limit)(size_t arg), size_t step, size_t steps)
{
    struct seen seen = {0};
    for (size_t i = 0; i < steps; i++) {
        struct outcome o = outcome_of(limit, i * step);
        int status = WIFEXITED(o.status) ? WEXITSTATUS(o.status) : WRONG;
        if (status == WORKS || status == NO_THREAD) {
            CHECK(o.said[0] == '\0');
            seen.works += status == WORKS;
            seen.refused += status == NO_THREAD;
            continue;
        }
        if (status != ENDED || !says(&o, "ulimit -v: ")) {
            printf("FAILED %zu KiB: status %x: %s\n", i * step / KIB, (unsigned)o.status, o.said);
            exit(1);
        }
        seen.threads += says(&o, BEGINNING "no kernel thread") ? 1 : 0;
        seen.memory += says(&o, "no memory for") ? 1 : 0;
    }
    printf("%u starts work, %u refuse a thread, %u lack kernel threads, %u memory\n", seen.works,
           seen.refused, seen.threads, seen.memory);
    return seen;
}

static void check_memory(void)
{
    struct seen seen = starts(limit_memory, 512 * KIB, 200);
    CHECK(seen.works != 0 && seen.threads != 0);
}

static void check_memory_small(void)
{
    struct seen seen = starts(limit_memory_small, 8 * KIB, 400);
    CHECK(seen.works != 0 && seen.threads != 0 && seen.memory != 0);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"nproc", check_nproc}, {"memory", check_memory}, {"memory-small", check_memory_small}};

int main(int argc, char **argv)
{
    cases[OPTIONS_CASE(argc, argv, "The start, where limits of the process are low.", cases)].run();
    puts("done");
    return 0;
}
