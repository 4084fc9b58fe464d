/* SPDX-License-Identifier: MIT */
/*
 * Each thread has its own rights to a protection key (pkeys(7)): across yields, waits, sleeps and
 * ticks, in handlers, new threads and children of fork. Also by what the kernel says when it reads
 * a page with that key for a thread. Status 77: the processor or the kernel has no such keys.
 */
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "check.h"

enum { THREADS = 12, ROUNDS = 300, NONE = PKEY_DISABLE_ACCESS };

static int key, ends[2];
static char *page;
static pthread_mutex_t turns = PTHREAD_MUTEX_INITIALIZER;
static sem_t posted, go;
static volatile sig_atomic_t in_handler = -1;

/* What both the register and the kernel say. */
static void has(int rights)
{
    char byte;
    CHECK(pkey_get(key) == rights);
    errno = 0;
    if ((rights & PKEY_DISABLE_ACCESS) != 0) {
        CHECK(write(ends[1], page, 1) == -1 && errno == EFAULT);
    } else {
        CHECK(write(ends[1], page, 1) == 1);
        CHECK(read(ends[0], &byte, 1) == 1);
    }
}

static void compute(void)
{
    for (volatile int i = 0; i < 100000; i++) {
    }
}

static void *one(void *arg)
{
    static const int all[] = {0, PKEY_DISABLE_WRITE, NONE};
    int mine = all[(intptr_t)arg % 3];
    OK(pkey_set(key, mine));
    for (int i = 0; i < ROUNDS; i++) {
        has(mine);
        switch (i % 4) {
        case 0:
            sched_yield();
            break;
        case 1:
            pthread_mutex_lock(&turns);
            sched_yield();
            pthread_mutex_unlock(&turns);
            break;
        case 2:
            nanosleep(&(struct timespec){0, 1000}, NULL);
            break;
        default:
            compute();
        }
    }
    has(mine);
    return NULL;
}

static void *early(void *arg)
{
    (void)arg;
    OK(sem_wait(&go));
    has(NONE);
    return NULL;
}

static void *heir(void *arg)
{
    has((int)(intptr_t)arg);
    return NULL;
}

static void handler(int signal)
{
    (void)signal;
    in_handler = pkey_get(key);
}

static void *waiter(void *arg)
{
    (void)arg;
    OK(pkey_set(key, PKEY_DISABLE_WRITE));
    OK(sem_post(&go));
    while (sem_wait(&posted) != 0) {
        CHECK(errno == EINTR);
    }
    has(PKEY_DISABLE_WRITE);
    return NULL;
}

static void handlers(void)
{
    pthread_t t;
    const struct sigaction action = {.sa_handler = handler};
    OK(sigaction(SIGUSR1, &action, NULL));
    OK(raise(SIGUSR1));
    CHECK(in_handler == NONE); /* the kernel gives handlers the rights of the process's start */
    has(0);
    in_handler = -1;
    OK(pthread_create(&t, NULL, waiter, NULL));
    OK(sem_wait(&go));
    OK(pthread_kill(t, SIGUSR1));
    while (in_handler == -1) {
        sched_yield();
    }
    CHECK(in_handler == NONE);
    has(0);
    OK(sem_post(&posted));
    OK(pthread_join(t, NULL));
}

static void children(void)
{
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        pthread_t t;
        has(0);
        OK(pthread_create(&t, NULL, one, (void *)1));
        OK(pthread_join(t, NULL));
        has(0);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(void)
{
    pthread_t before, threads[THREADS];
    CHECK(sem_init(&posted, 0, 0) == 0 && sem_init(&go, 0, 0) == 0 && pipe(ends) == 0);
    before = start(early, NULL);
    key = (int)syscall(SYS_pkey_alloc, 0, NONE);
    if (key < 0) {
        printf("no protection keys here: %m\n");
        return 77;
    }
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED && pkey_mprotect(page, 4096, PROT_READ | PROT_WRITE, key) == 0);
    has(NONE);
    OK(pkey_set(key, 0));
    sched_yield();
    has(0);
    CHECK(sem_post(&go) == 0 && pthread_join(before, NULL) == 0);
    for (intptr_t i = 0; i < THREADS; i++) {
        OK(pthread_create(&threads[i], NULL, one, (void *)i));
    }
    for (int i = 0; i < THREADS; i++) {
        OK(pthread_join(threads[i], NULL));
        has(0);
    }
    for (int rights = 0; rights < 4; rights++) {
        OK(pkey_set(key, rights));
        OK(pthread_create(&before, NULL, heir, (void *)(intptr_t)rights));
        OK(pthread_join(before, NULL));
        has(rights);
    }
    OK(pkey_set(key, 0));
    handlers();
    children();
    OK(pkey_free(key));
    printf("pkeys: passed\n");
    return 0;
}
