/* SPDX-License-Identifier: MIT */
/*
 * native.c - the same as waits.c under the native API. Here a blocking read keeps its worker, so
 * main counts as running, and waits in the kernel.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <pirn/pirn.h>

pirn_mutex_t lock_a = PIRN_MUTEX_INIT, lock_b = PIRN_MUTEX_INIT;
static pirn_mutex_t cond_mutex = PIRN_MUTEX_INIT;
static pirn_cond_t cond = PIRN_COND_INIT;
static pirn_sem_t sem = PIRN_SEM_INIT(0), taken = PIRN_SEM_INIT(0), go = PIRN_SEM_INIT(0);
static pirn_thread_t sleeper;

static void *on_sem(void *arg)
{
    pirn_sem_wait(&sem);
    return arg;
}

static void *takes_a(void *arg)
{
    pirn_mutex_lock(&lock_a);
    pirn_sem_post(&taken);
    pirn_sem_wait(&go);
    pirn_mutex_lock(&lock_b);
    return arg;
}

static void *takes_b(void *arg)
{
    pirn_mutex_lock(&lock_b);
    pirn_sem_post(&taken);
    pirn_sem_wait(&go);
    pirn_mutex_lock(&lock_a);
    return arg;
}

static void *on_cond(void *arg)
{
    pirn_mutex_lock(&cond_mutex);
    pirn_cond_wait(&cond, &cond_mutex);
    return arg;
}

static void *on_sleep(void *arg)
{
    pirn_sleep(1000u * 1000000000ull);
    return arg;
}

static void *on_join(void *arg)
{
    pirn_join(sleeper, NULL);
    return arg;
}

static pirn_thread_t start(void *(*fn)(void *), const char *name)
{
    pirn_attr_t attr = {.name = name};
    pirn_thread_t t;
    if (pirn_create(&t, &attr, fn, NULL) != 0) {
        abort();
    }
    return t;
}

int main(void)
{
    start(on_sem, "on-sem");
    start(takes_a, "takes-a");
    start(takes_b, "takes-b");
    pirn_sem_wait(&taken);
    pirn_sem_wait(&taken);
    pirn_sem_post(&go);
    pirn_sem_post(&go);
    start(on_cond, "on-cond");
    sleeper = start(on_sleep, "on-sleep");
    start(on_join, "on-join");
    puts("ready");
    fflush(stdout);
    char c;
    while (read(0, &c, 1) > 0) {
    }
    return 0;
}
