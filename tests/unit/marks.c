/* SPDX-License-Identifier: MIT */
/*
 * marks.c - the used part of a stack (PIRN_STACKFILL=1): larger where more was used, and about as
 * much. Recycled stacks only report their last use.
 */
#include <pirn/pirn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            printf("failed: %s\n", #cond);                                                         \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define DEEP 20000u

static pirn_sem_t used = PIRN_SEM_INIT(0), looked = PIRN_SEM_INIT(0);

static __attribute__((noinline)) void fill(volatile char *room)
{
    for (unsigned i = 0; i < DEEP; i++) {
        room[i] = 1;
    }
}

static __attribute__((noinline)) void go_deep(void)
{
    volatile char room[DEEP];
    fill(room);
}

static void *uses(void *deep)
{
    if (deep != NULL) {
        go_deep();
    }
    pirn_sem_post(&used);
    pirn_sem_wait(&looked);
    return NULL;
}

static size_t used_by(bool deep)
{
    pirn_thread_t t;
    CHECK(pirn_create(&t, NULL, uses, deep ? &used : NULL) == 0);
    pirn_set_name(t, deep ? "deep" : "flat");
    pirn_sem_wait(&used);
    size_t n = pirn_stack_used(t);
    pirn_sem_post(&looked);
    CHECK(pirn_join(t, NULL) == 0);
    return n;
}

int main(void)
{
    const char *set = getenv("PIRN_STACKFILL");
    if (set == NULL || strcmp(set, "1") != 0) {
        CHECK(used_by(true) == 0);
        printf("marks: off\n");
        return 0;
    }
    size_t flat = used_by(false), deep = used_by(true), again = used_by(false);
    CHECK(flat > 0 && flat < DEEP);
    CHECK(deep >= DEEP && deep < DEEP + 8192);
    CHECK(again > 0 && again < DEEP);
    CHECK(pirn_stack_used(pirn_self()) == 0);
    printf("marks: done\n");
    return 0;
}
