/* SPDX-License-Identifier: MIT */
/*
 * capacity.c - capacities of CPUs on Linux: what the kernel's files say, in a folder of the test's
 * own; workers that are bound to processors (PIRN_BIND=1), each to another one, and threads with a
 * set of their own on them.
 */
#include <pirn/policy.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "linux.h"

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            printf("FAILED %s:%d: %s\n", __FILE__, __LINE__, #cond);                               \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void file_write(const char *folder, unsigned processor, const char *text)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/cpu%u", folder, processor);
    CHECK(mkdir(path, 0700) == 0);
    snprintf(path, sizeof(path), "%s/cpu%u/cpu_capacity", folder, processor);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void files_remove(const char *folder, unsigned processors)
{
    char path[300];
    for (unsigned i = 0; i < processors; i++) {
        snprintf(path, sizeof(path), "%s/cpu%u/cpu_capacity", folder, i);
        unlink(path);
        snprintf(path, sizeof(path), "%s/cpu%u", folder, i);
        rmdir(path);
    }
    rmdir(folder);
}

static void check_files(void)
{
    static const struct {
        const char *text;
        unsigned capacity;
    } cases[] = {{"1024\n", 1024}, {"446\n", 446},   {"1\n", 1},       {"160", 160},
                 {"0\n", 1024},    {"1025\n", 1024}, {"\n", 1024},     {"", 1024},
                 {"a\n", 1024},    {"-3\n", 1024},   {"12 x\n", 1024}, {"99999999999\n", 1024}};
    char folder[] = "/tmp/pirn-capacity-XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    unsigned n = sizeof(cases) / sizeof(cases[0]);
    for (unsigned i = 0; i < n; i++) {
        file_write(folder, i, cases[i].text);
    }
    for (unsigned i = 0; i < n; i++) {
        unsigned capacity = capacity_read(folder, i);
        if (capacity != cases[i].capacity) {
            printf("FAILED: \"%s\" is read as %u\n", cases[i].text, capacity);
            exit(1);
        }
    }
    CHECK(capacity_read(folder, n) == 1024);
    files_remove(folder, n);
}

/* The only processor of the calling kernel thread; -1: it has several. */
static int processor_here(void)
{
    cpu_set_t set;
    int found = -1;
    CPU_ZERO(&set); /* the system call writes only as many bytes as the kernel's sets have */
    CHECK(syscall(SYS_sched_getaffinity, 0, sizeof(set), &set) > 0);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&set) == 1; i++) {
        found = CPU_ISSET(i, &set) ? i : found;
    }
    return found;
}

static int seen[2]; /* the processors of the two CPUs */
static int arrived; /* threads, one on each CPU: neither leaves before both are there */

static void *looks(void *arg)
{
    int cpu = pirn_policy_thread_cpu(pirn_self());
    __atomic_store_n(&seen[cpu], processor_here(), __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) < (int)pirn_cpu_count()) {
        sched_yield();
    }
    return arg;
}

static void check_bound(void)
{
    pirn_thread_t other = NULL;
    if (pirn_cpu_count() == 2) {
        CHECK(pirn_create(&other, NULL, looks, NULL) == 0);
    }
    looks(NULL);
    if (other != NULL) {
        CHECK(pirn_join(other, NULL) == 0);
        CHECK(seen[1] >= 0 && seen[1] != seen[0]);
    }
    CHECK(seen[0] >= 0);
}

/* The child of a fork has all processors of the process again, and binds its own workers. */
static void check_forked(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        arrived = 0;
        check_bound();
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

int main(void)
{
    cpu_set_t set;
    CHECK(sched_getaffinity(0, sizeof(set), &set) == 0);
    setenv("PIRN_CPUS", CPU_COUNT(&set) > 1 ? "2" : "1", 1);
    setenv("PIRN_BIND", "1", 1);
    check_files();
    check_bound();
    check_forked();
    printf("capacities: done\n");
    return 0;
}
