/* SPDX-License-Identifier: MIT */
/*
 * late.h - for tests of what changes in a process late: before the runtime starts, or after it.
 */
#ifndef PIRN_TESTS_UNIT_LATE_H
#define PIRN_TESTS_UNIT_LATE_H

#include <pirn/pirn.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            printf("FAILED %s:%d: %s\n", __FILE__, __LINE__, #cond);                               \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { LATE_ROUNDS = 2000 };

static void *wakes(void *arg)
{
    pirn_sem_t *sems = arg;
    for (int i = 0; i < LATE_ROUNDS; i++) {
        pirn_sem_wait(&sems[0]);
        pirn_sem_post(&sems[1]);
    }
    return arg;
}

/* Two threads wake each other in turn. A lost wake-up is a hang. */
static void threads_go_on(void)
{
    pirn_thread_t thread;
    pirn_sem_t sems[2];
    pirn_sem_init(&sems[0], 0);
    pirn_sem_init(&sems[1], 0);
    CHECK(pirn_create(&thread, NULL, wakes, sems) == 0);
    for (int i = 0; i < LATE_ROUNDS; i++) {
        pirn_sem_post(&sems[0]);
        pirn_sem_wait(&sems[1]);
    }
    CHECK(pirn_join(thread, NULL) == 0);
}

#endif
