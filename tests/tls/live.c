/* SPDX-License-Identifier: MIT */
/*
 * live.c [THREADS] - THREADS threads at once, each with thread-local storage of its own in use;
 * prints the cost of one. They block, all are woken, and each finds its variables.
 */
#include "../posix/check.h"
#include "common/options.h"

#include <semaphore.h>

static __thread long mine = -1;
static sem_t blocked, go;

static long resident_kib(const char *field)
{
    char line[128];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "re");
    CHECK(f != NULL);
    while (fgets(line, sizeof(line), f) != NULL) {
        if (strncmp(line, field, strlen(field)) == 0) {
            kib = strtol(line + strlen(field), NULL, 10);
        }
    }
    fclose(f);
    return kib;
}

static void *lives(void *arg)
{
    CHECK_EQ(mine, -1);
    mine = (long)arg;
    errno = (int)(long)arg;
    OK(sem_post(&blocked));
    OK(sem_wait(&go));
    CHECK_EQ(mine, (long)arg);
    CHECK_EQ(errno, (int)(long)arg);
    return NULL;
}

int main(int argc, char **argv)
{
    const struct option_page page = {.summary = "Threads that live at the same time.",
                                     .operand = "[COUNT]"};
    const char *number = options_parse(argc, argv, &page)[0];
    long count = number != NULL ? operand_number("COUNT", number, 1, 100000000) : 1000;
    pthread_t *t = calloc((size_t)count, sizeof(*t));
    pthread_attr_t attr;
    CHECK(t != NULL);
    OK(sem_init(&blocked, 0, 0));
    OK(sem_init(&go, 0, 0));
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setstacksize(&attr, SMALL_STACK));
    long before = resident_kib("VmRSS:"), tables = resident_kib("VmPTE:");
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (long i = 0; i < count; i++) {
        OK(pthread_create(&t[i], &attr, lives, (void *)i));
    }
    for (long i = 0; i < count; i++) {
        OK(sem_wait(&blocked));
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    double ns = (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
    printf(
        "%ld threads live: %ld bytes resident and %ld of page tables each; %.0f ns to create and block\n",
        count, (resident_kib("VmRSS:") - before) * 1024 / count,
        (resident_kib("VmPTE:") - tables) * 1024 / count, ns / (double)count);
    for (long i = 0; i < count; i++) {
        OK(sem_post(&go));
    }
    for (long i = 0; i < count; i++) {
        join(t[i]);
    }
    free(t);
    return 0;
}
