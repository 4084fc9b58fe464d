/* SPDX-License-Identifier: MIT */
/*
 * fork_lock.c - locks of wait queues that the parent's threads held when the process forked: the
 * child's only thread gets them (core/fork.c), with and without a runtime of its own.
 *
 * The test builds the parent's state by hand, because a real one lasts for nanoseconds.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/sync/omutex.h"
#include <pirn/pirn.h>

#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static struct rt_mutex owned, no_ones;
static struct rt_omutex robust, inherits;
static struct rt_sem empty, full;

/* A thread caught while it was being linked. */
static struct thread dead;

static void caught(struct waitq *q, uint32_t flags)
{
    dead.wait_link.next = NULL;
    dead.wait_link.prev = &dead.wait_link;
    q->first = &dead.wait_link;
    at_store_rlx(&q->lock.word, at_load_rlx(&q->lock.word) | STATE_LOCKED | flags);
}

static void caught_prio(struct rt_omutex *m)
{
    caught(&m->queue, 0);
    at_store_rlx(&m->word, at_load_rlx(&m->word) | OM_WAITERS);
}

static int uses(void *m)
{
    CHECK(rt_mutex_lock_until(m, UINT64_MAX) == 0);
    rt_mutex_unlock(m);
    return 0;
}

static void *thread_uses(void *m)
{
    uses(m);
    return NULL;
}

static void child(bool starts)
{
    alarm(60); /* without it, waiting for a lock that is never released would not end */
    if (starts) {
        pirn_yield();
    }
    CHECK(rt_mutex_trylock(&no_ones) == 0);
    rt_mutex_unlock(&no_ones);
    rt_mutex_unlock(&owned);
    uses(&owned);
    rt_omutex_unlock(&robust);
    CHECK(rt_omutex_trylock(&robust) == 0);
    rt_omutex_unlock(&inherits);
    CHECK(rt_omutex_lock_until(&inherits, UINT64_MAX) == 0);
    CHECK(rt_sem_trywait(&full) == 0);
    CHECK(rt_sem_trywait(&full) == -EAGAIN);
    CHECK(rt_sem_post(&empty) == 0);
    CHECK(rt_sem_value(&empty) == 1);
    pirn_thread_t t;
    CHECK(pirn_create(&t, NULL, thread_uses, &owned) == 0);
    CHECK(pirn_join(t, NULL) == 0);
    _exit(0);
}

static void forks(bool starts)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        child(starts);
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    pirn_thread_t t;
    CHECK(pirn_create(&t, NULL, thread_uses, &no_ones) == 0);
    CHECK(pirn_join(t, NULL) == 0);
    rt_omutex_init(&robust, OM_ROBUST, 0);
    rt_omutex_init(&inherits, OM_INHERIT, 0);
    CHECK(rt_mutex_lock_until(&owned, UINT64_MAX) == 0);
    CHECK(rt_omutex_lock_until(&robust, UINT64_MAX) == 0);
    CHECK(rt_omutex_lock_until(&inherits, UINT64_MAX) == 0);
    CHECK(rt_sem_post(&full) == 0);
    caught(&owned.queue, MUTEX_WAITERS);
    caught(&no_ones.queue, 0);
    caught_prio(&robust);
    caught_prio(&inherits);
    caught(&full.queue, 0);
    caught(&empty.queue, 0);
    forks(false);
    forks(true);
    puts("the child has all locks");
    _exit(0); /* they stay as they are */
}
