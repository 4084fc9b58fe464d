/* SPDX-License-Identifier: MIT */
/*
 * cleanup.c - cleanup handlers and pthread_exit from deep frames. Built twice: as plain C, where
 * the macros register jump buffers, and with -fexceptions, where they are attributes of the frame.
 */
#include "harness.h"

static char order[32];
static int length;

static void note(void *what)
{
    order[length++] = *(const char *)what;
    order[length] = '\0';
}

static void reset(void)
{
    length = 0;
    order[0] = '\0';
}

static volatile bool leaves = true;

static __attribute__((noinline)) void deep(int depth, void *ret)
{
    pthread_cleanup_push(note, depth == 0 ? "3" : "2");
    if (depth > 0) {
        deep(depth - 1, ret);
    } else if (leaves) {
        sched_yield();
        pthread_exit(ret);
    }
    pthread_cleanup_pop(1);
}

static void *exits_deep(void *arg)
{
    pthread_cleanup_push(note, "1");
    deep(1, arg);
    pthread_cleanup_pop(0);
    return NULL;
}

CASE(handlers_run_newest_first_when_a_thread_exits)
{
    for (int i = 0; i < 20; i++) {
        reset();
        CHECK_EQ((long)join(start(exits_deep, (void *)7L)), 7);
        CHECK_EQ(strcmp(order, "321"), 0);
    }
}

static void *pops(void *arg)
{
    pthread_cleanup_push(note, "a");
    pthread_cleanup_push(note, "b");
    pthread_cleanup_pop(1);
    pthread_cleanup_pop(0);
    return arg;
}

CASE(pop_runs_the_handler_only_when_asked)
{
    reset();
    join(start(pops, NULL));
    CHECK_EQ(strcmp(order, "b"), 0);
}

static pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static bool go;

static void unlocks(void *m)
{
    OK(pthread_mutex_unlock(m));
}

static void *exits_locked(void *arg)
{
    OK(pthread_mutex_lock(&mutex));
    pthread_cleanup_push(unlocks, &mutex);
    while (!go) {
        OK(pthread_cond_wait(&cond, &mutex));
    }
    pthread_exit(arg);
    pthread_cleanup_pop(1);
}

CASE(handlers_run_in_the_exiting_thread)
{
    pthread_t t = start(exits_locked, (void *)4L);
    OK(pthread_mutex_lock(&mutex));
    go = true;
    OK(pthread_cond_signal(&cond));
    OK(pthread_mutex_unlock(&mutex));
    CHECK_EQ((long)join(t), 4);
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
}

static pthread_key_t key;

static void key_note(void *what)
{
    note(what);
}

static void *exits_with_key(void *arg)
{
    OK(pthread_setspecific(key, "k"));
    pthread_cleanup_push(note, "c");
    pthread_exit(arg);
    pthread_cleanup_pop(0);
}

CASE(handlers_run_before_key_destructors)
{
    OK(pthread_key_create(&key, key_note));
    reset();
    join(start(exits_with_key, NULL));
    CHECK_EQ(strcmp(order, "ck"), 0);
    OK(pthread_key_delete(key));
}

#if defined(ON_PIRN) && !defined(__EXCEPTIONS)
static void exits_again(void *what)
{
    note(what);
    pthread_exit((void *)9L);
}

static void *exits_in_handler(void *arg)
{
    pthread_cleanup_push(note, "o");
    pthread_cleanup_push(exits_again, "i");
    pthread_exit(arg);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
}

/* Undefined in POSIX, and harmless here: the remaining handlers still run. */
CASE(a_handler_may_exit)
{
    CHECK_EQ((long)join(start(exits_in_handler, NULL)), 9);
    CHECK_EQ(strcmp(order, "io"), 0);
}
#endif

static void *defers(void *arg)
{
    int type;
    OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type));
    CHECK_EQ(type, PTHREAD_CANCEL_DEFERRED);
    pthread_cleanup_push_defer_np(note, "d");
    OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type));
    CHECK_EQ(type, PTHREAD_CANCEL_DEFERRED);
    pthread_cleanup_pop_restore_np(1);
    OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type));
    CHECK_EQ(type, PTHREAD_CANCEL_ASYNCHRONOUS);
    return arg;
}

CASE(cancellation_type_and_state_are_kept)
{
    int state;
    reset();
    join(start(defers, NULL));
    CHECK_EQ(strcmp(order, "d"), 0);
    OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state));
    CHECK_EQ(state, PTHREAD_CANCEL_ENABLE);
    OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state));
    CHECK_EQ(state, PTHREAD_CANCEL_DISABLE);
    CHECK_EQ(pthread_setcancelstate(77, &state), EINVAL);
    CHECK_EQ(pthread_setcanceltype(77, &state), EINVAL);
}
