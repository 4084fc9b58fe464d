/* SPDX-License-Identifier: MIT */
/*
 * static.c - threads in the program's own variables (<pirn/static.h>), on Linux and on boards,
 * where the image has no malloc (check_symbols.py). It prints one line, composed without a heap.
 */
#include <errno.h>
#include <pirn/static.h>

#include "say.h"

#define STACK_BYTES (64u << 10)
#define ROUNDS 200u

static pirn_mutex_t mutex = PIRN_MUTEX_INIT;
static pirn_cond_t cond = PIRN_COND_INIT;
static pirn_sem_t begin = PIRN_SEM_INIT(0);
static unsigned count, lives, turns;

static void *add(void *arg)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        pirn_mutex_lock(&mutex);
        count += *(const unsigned *)arg;
        pirn_cond_broadcast(&cond);
        pirn_mutex_unlock(&mutex);
        pirn_yield();
    }
    return arg;
}

static void *wait_for_main(void *arg)
{
    pirn_sem_wait(&begin);
    turns += *(const unsigned *)arg;
    return NULL;
}

static void *live(void *arg)
{
    lives++;
    return arg;
}

static unsigned one = 1, two = 2;

PIRN_THREAD_DEFINE(first, STACK_BYTES, add, &one);
PIRN_THREAD_DEFINE(second, STACK_BYTES, add, &two);
PIRN_THREAD_DEFINE(third, STACK_BYTES, wait_for_main, &two);
PIRN_THREAD_ROOM(again, STACK_BYTES, live, &lives);
PIRN_THREAD_ROOM(cramped, 512, live, NULL);

int main(void)
{
    void *ret;
    CHECK(first.thread != NULL && strcmp(pirn_name(first.thread), "first") == 0);
    CHECK(pirn_static_create(&first) == -EBUSY);
    CHECK(pirn_static_join(&again, NULL) == -ESRCH);
    CHECK(pirn_static_create(&cramped) == -EINVAL && cramped.thread == NULL);
    CHECK(pirn_static_stack_min() <= STACK_BYTES);
    pirn_mutex_lock(&mutex);
    while (count < ROUNDS * (one + two)) {
        pirn_cond_wait(&cond, &mutex);
    }
    pirn_mutex_unlock(&mutex);
    CHECK(turns == 0);
    pirn_sem_post(&begin);
    CHECK(pirn_static_join(&third, NULL) == 0 && turns == two);
    CHECK(pirn_static_join(&first, &ret) == 0 && ret == &one);
    CHECK(pirn_static_join(&second, &ret) == 0 && ret == &two);
    for (unsigned i = 1; i <= ROUNDS; i++) {
        CHECK(pirn_static_create(&again) == 0);
        CHECK(pirn_static_join(&again, &ret) == 0 && ret == &lives && lives == i);
    }
    say("static threads: done\n");
    return 0;
}
