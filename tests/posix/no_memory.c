/* SPDX-License-Identifier: MIT */
/*
 * no_memory.c - a program that has used up its address space calls functions of threads for the
 * first time. Those that have no error for it work; pthread_create returns EAGAIN. When there is
 * memory again, threads can be created.
 */
#include <sys/resource.h>

#include "check.h"

static pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

static void limit_set(rlim_t most)
{
    struct rlimit limit;
    OK(getrlimit(RLIMIT_AS, &limit));
    limit.rlim_cur = most;
    OK(setrlimit(RLIMIT_AS, &limit));
}

static void *returns(void *arg)
{
    return arg;
}

int main(void)
{
    pthread_t t;
    void *ret;
    limit_set(0);
    OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
    CHECK(pthread_equal(pthread_self(), pthread_self()));
    OK(pthread_mutex_lock(&mutex));
    CHECK_EQ(pthread_mutex_lock(&mutex), EDEADLK);
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_rwlock_wrlock(&rwlock));
    CHECK_EQ(pthread_rwlock_tryrdlock(&rwlock), EBUSY);
    OK(pthread_rwlock_unlock(&rwlock));
    CHECK_EQ(pthread_create(&t, NULL, returns, NULL), EAGAIN);
    limit_set(RLIM_INFINITY);
    OK(pthread_create(&t, NULL, returns, &mutex));
    OK(pthread_join(t, &ret));
    CHECK(ret == &mutex);
    puts("done");
    return 0;
}
