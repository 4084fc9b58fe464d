/* SPDX-License-Identifier: MIT */
/*
 * waiters.c - threads that wait in stdio, in syscall(SYS_futex) and in other calls by number hold
 * no kernel thread, but for a few whose CPU would only sleep meanwhile: four of each CPU and eight
 * more (docs/internals/design.md, "Calls that block"). A thread that did would be noticed after a
 * while and get one of its own: so the program counts its kernel threads while all wait. On a slow
 * machine it may look too early, and then sees no mistake.
 */
#include <dirent.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "check.h"

/* Two CPUs at most, their sleepers, a spare, and the runtime's own: main, monitor, maker, receiver
 * of signals. Of each kind there are more. */
enum { THREADS = 200, ALLOWED = 2 + 2 * 4 + 8 + 1 + 4, LOOKS = 40, LOOK_US = 10000 };

static int pairs[THREADS][2];
static uint32_t word;
static unsigned begun;

static void *gets(void *arg)
{
    char line[8];
    FILE *in = fdopen(pairs[(long)arg][0], "r");
    __atomic_add_fetch(&begun, 1, __ATOMIC_SEQ_CST);
    CHECK(fgets(line, sizeof(line), in) == line);
    return NULL;
}

static void *puts_much(void *arg)
{
    static char much[1 << 20];
    FILE *out = fdopen(pairs[(long)arg][0], "w");
    __atomic_add_fetch(&begun, 1, __ATOMIC_SEQ_CST);
    CHECK(fwrite(much, 1, sizeof(much), out) == sizeof(much));
    OK(fclose(out));
    return NULL;
}

static void *reads(void *arg)
{
    char c;
    __atomic_add_fetch(&begun, 1, __ATOMIC_SEQ_CST);
    CHECK(syscall(SYS_read, pairs[(long)arg][0], &c, 1) == 1);
    return NULL;
}

static void await(int op)
{
    __atomic_add_fetch(&begun, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == 0) {
        syscall(SYS_futex, &word, op, 0, NULL, NULL, 0);
    }
}

static void *waits(void *arg)
{
    await(FUTEX_WAIT_PRIVATE);
    return arg;
}

/* std::future of libstdc++ waits so. The word's memory is the process's alone all the same. */
static void *waits_shared(void *arg)
{
    await(FUTEX_WAIT);
    return arg;
}

static int kernel_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int n = -2; /* . and .. */
    CHECK(tasks != NULL);
    while (readdir(tasks) != NULL) {
        n++;
    }
    closedir(tasks);
    return n;
}

static void *drains(void *arg)
{
    char part[65536];
    while (read(pairs[(long)arg][1], part, sizeof(part)) > 0) {
    }
    return NULL;
}

int main(void)
{
    static void *(*const kinds[])(void *) = {gets, puts_much, reads, waits, waits_shared};
    enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };
    pthread_t t[THREADS], drain[THREADS];
    int most = 0;
    for (long i = 0; i < THREADS; i++) {
        OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]));
        OK(pthread_create(&t[i], NULL, kinds[i % KINDS], (void *)i));
    }
    while (__atomic_load_n(&begun, __ATOMIC_SEQ_CST) < THREADS) {
        usleep(LOOK_US);
    }
    for (int i = 0; i < LOOKS; i++) {
        usleep(LOOK_US);
        int n = kernel_threads();
        most = n > most ? n : most;
    }
    for (long i = 0; i < THREADS; i++) {
        if (kinds[i % KINDS] == puts_much) {
            OK(pthread_create(&drain[i], NULL, drains, (void *)i));
        } else if (write(pairs[i][1], "\n", 1) != 1) {
            CHECK(false);
        }
    }
    __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
    CHECK(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0) >= 0);
    CHECK(syscall(SYS_futex, &word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0) >= 0);
    for (int i = 0; i < THREADS; i++) {
        OK(pthread_join(t[i], NULL));
    }
    for (int i = 0; i < THREADS; i++) {
        if (kinds[i % KINDS] == puts_much) {
            OK(pthread_join(drain[i], NULL));
        }
    }
    printf("%d kernel threads while %d threads waited\n", most, THREADS);
    fflush(stdout);
    CHECK(most <= ALLOWED);
    return 0;
}
