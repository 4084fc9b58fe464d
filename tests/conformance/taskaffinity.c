/* SPDX-License-Identifier: MIT */
/*
 * taskaffinity.c - which threads write what others read: pthread_add_taskaffinity_np and
 * pthread_del_taskaffinity_np of <pirn/pthread_np.h>. The C library has neither, so its program has
 * no cases. The policies run without the option affinity, so only results are seen here; where a
 * consumer runs is tested by suite affinity.
 */
#include "harness.h"

#ifdef ON_PIRN
#include <pirn/pthread_np.h>
#include <semaphore.h>

#define add pthread_add_taskaffinity_np
#define del pthread_del_taskaffinity_np

enum { MOST = 16 };

static flag_t go;

static void *waits(void *flag)
{
    flag_wait(flag, 1);
    return NULL;
}

static void begin(pthread_t t[], int n)
{
    for (int i = 0; i < n; i++) {
        t[i] = start(waits, &go);
    }
}

static void end(pthread_t t[], int n)
{
    flag_set(&go, 1);
    for (int i = 0; i < n; i++) {
        join(t[i]);
    }
}

CASE(is_added_and_deleted)
{
    pthread_t t[2], self = pthread_self();
    begin(t, 2);
    OK(add(self, t[0]));
    OK(add(self, t[1]));
    OK(add(t[0], t[1]));
    OK(del(self, t[0]));
    OK(del(t[0], t[1]));
    OK(del(self, t[1]));
    end(t, 2);
}

CASE(added_twice_is_one)
{
    pthread_t t, self = pthread_self();
    begin(&t, 1);
    OK(add(self, t));
    OK(add(self, t));
    OK(del(self, t));
    CHECK_EQ(del(self, t), ENOENT);
    end(&t, 1);
}

CASE(is_enoent_when_there_is_none)
{
    pthread_t t[2], self = pthread_self();
    begin(t, 2);
    CHECK_EQ(del(self, t[0]), ENOENT);
    CHECK_EQ(del(self, self), ENOENT);
    OK(add(self, t[0]));
    CHECK_EQ(del(self, t[1]), ENOENT);
    CHECK_EQ(del(t[0], self), ENOENT);
    OK(del(self, t[0]));
    CHECK_EQ(del(self, t[0]), ENOENT);
    end(t, 2);
}

CASE(of_the_thread_itself_is_einval)
{
    pthread_t t, self = pthread_self();
    begin(&t, 1);
    CHECK_EQ(add(self, self), EINVAL);
    CHECK_EQ(add(t, t), EINVAL);
    end(&t, 1);
}

CASE(is_eloop_when_it_would_close_a_circle)
{
    pthread_t t[3], self = pthread_self();
    begin(t, 3);
    OK(add(self, t[0]));
    CHECK_EQ(add(t[0], self), ELOOP);
    OK(add(t[0], t[1]));
    OK(add(t[1], t[2]));
    CHECK_EQ(add(t[2], self), ELOOP);
    CHECK_EQ(add(t[2], t[0]), ELOOP);
    OK(add(self, t[2])); /* two ways to the same producer are no circle */
    OK(del(self, t[2]));
    OK(del(self, t[0]));
    OK(add(t[2], self));
    end(t, 3);
}

CASE(is_enospc_for_too_many_producers)
{
    static flag_t later;
    pthread_t t[MOST], last = start(waits, &later), self = pthread_self();
    begin(t, MOST);
    for (int i = 0; i < MOST; i++) {
        OK(add(self, t[i]));
    }
    CHECK_EQ(add(self, last), ENOSPC);
    OK(add(self, t[0])); /* it is there */
    OK(del(self, t[0]));
    OK(add(self, last));
    CHECK_EQ(add(self, t[0]), ENOSPC);
    end(t, MOST);
    pthread_t after = start(waits, &later);
    OK(add(self, after)); /* producers that have ended take no room */
    flag_set(&later, 1);
    join(last);
    join(after);
}

CASE(is_esrch_when_there_is_no_thread)
{
    pthread_t none = 0, self = pthread_self();
    CHECK_EQ(add(self, none), ESRCH);
    CHECK_EQ(add(none, self), ESRCH);
    CHECK_EQ(del(self, none), ESRCH);
    CHECK_EQ(del(none, self), ESRCH);
}

/* The handle of a thread that is not joined is valid. Until the thread has ended, nothing depends
 * on it. */
CASE(is_esrch_when_the_thread_has_ended)
{
    pthread_t t, self = pthread_self();
    int error;
    begin(&t, 1);
    flag_set(&go, 1);
    while ((error = del(self, t)) == ENOENT) {
        give_way();
    }
    CHECK_EQ(error, ESRCH);
    CHECK_EQ(add(self, t), ESRCH);
    CHECK_EQ(add(t, self), ESRCH);
    CHECK_EQ(del(t, self), ESRCH);
    join(t);
}

struct reader {
    sem_t sem;
    flag_t *turns; /* how many have run */
    int turn;      /* which one this was */
};

static void *reads(void *arg)
{
    struct reader *reader = arg;
    OK(sem_wait(&reader->sem));
    reader->turn = flag_add(reader->turns, 1);
    return NULL;
}

static void become_fifo(int priority)
{
    struct sched_param param = {.sched_priority = priority};
    OK(pthread_setschedparam(pthread_self(), SCHED_FIFO, &param));
}

/* A consumer of the poster would go first with the option; so it goes where FIFO puts it. */
CASE(changes_no_order_without_the_option)
{
    static flag_t turns;
    struct reader reader[2] = {{.turns = &turns}, {.turns = &turns}};
    pthread_t t[2];
    need_one_cpu();
    become_fifo(10);
    for (int i = 0; i < 2; i++) {
        OK(sem_init(&reader[i].sem, 0, 0));
        t[i] = start(reads, &reader[i]);
    }
    OK(sched_yield()); /* both wait */
    OK(add(t[1], pthread_self()));
    OK(sem_post(&reader[0].sem));
    OK(sem_post(&reader[1].sem));
    join(t[0]);
    join(t[1]);
    CHECK_EQ(reader[0].turn, 1);
    CHECK_EQ(reader[1].turn, 2);
}
#endif
