/* SPDX-License-Identifier: MIT */
/*
 * fork.c - the child of a fork: it has the thread that forked, with all its state, and may create
 * threads; other threads are gone, also from the queues in which they waited. Also: programs that
 * end while threads are being preempted.
 */
#include "../posix/check.h"

#include <dlfcn.h>
#include <semaphore.h>
#include <sys/wait.h>

#define THREADS 6

/* The C library's lock still counts a writer that is gone, and its mutexes know their owner by the
 * number of a kernel thread, which the child's thread does not have. */
#ifdef ON_PIRN
#define RWLOCK_LEFT 0
#define UNLOCKED 0
#else
#define RWLOCK_LEFT EBUSY
#define UNLOCKED EPERM
#endif

static __thread int own = 5;
static pthread_key_t key;

static void child_ends(pid_t pid, int status_wanted)
{
    int status;
    CHECK(pid > 0);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), status_wanted);
}

/* ---- threads that wait in the parent ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t sem;
static flag_t waiting, over;

static void *waits_for_mutex(void *arg)
{
    flag_add(&waiting, 1);
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    return arg;
}

static void *waits_for_cond(void *arg)
{
    OK(pthread_mutex_lock(&other));
    flag_add(&waiting, 1);
    while (!flag_get(&over)) {
        OK(pthread_cond_wait(&cond, &other));
    }
    OK(pthread_mutex_unlock(&other));
    return arg;
}

static void *waits_for_sem(void *arg)
{
    flag_add(&waiting, 1);
    OK(sem_wait(&sem));
    return arg;
}

static void *waits_with_a_deadline(void *arg)
{
    struct timespec late = after_ms(CLOCK_REALTIME, 100000);
    flag_add(&waiting, 1);
    OK(sem_timedwait(&sem, &late));
    return arg;
}

static void *waits_for_rwlock(void *arg)
{
    flag_add(&waiting, 1);
    OK(pthread_rwlock_wrlock(&rwlock));
    OK(pthread_rwlock_unlock(&rwlock));
    return arg;
}

static void *computes(void *arg)
{
    flag_add(&waiting, 1);
    while (!flag_get(&over)) {
        for (volatile int i = 0; i < 1000; i++) {
        }
    }
    return arg;
}

/* Always ready; yields now and then, so that the others need not wait for ticks. */
static void *runs(void *arg)
{
    flag_add(&waiting, 1);
    while (!flag_get(&over)) {
        for (volatile int i = 0; i < 1000; i++) {
        }
        sched_yield();
    }
    return arg;
}

static void *(*const waits[THREADS])(void *) = {
    waits_for_mutex, waits_for_cond, waits_for_sem, waits_with_a_deadline, waits_for_rwlock, runs};

/* ---- actions of the child ---- */

static void *adds(void *arg)
{
    CHECK_EQ(own, 5);
    own = 6;
    OK(pthread_mutex_lock(&mutex));
    ++*(int *)arg;
    sched_yield();
    OK(pthread_mutex_unlock(&mutex));
    OK(sem_post(&sem));
    return arg;
}

static void uses_threads(void)
{
    pthread_t t[20];
    int sum = 0;
    for (int i = 0; i < 20; i++) {
        t[i] = start(adds, &sum);
    }
    for (int i = 0; i < 20; i++) {
        OK(sem_wait(&sem));
    }
    for (int i = 0; i < 20; i++) {
        CHECK(join(t[i]) == &sum);
    }
    CHECK_EQ(sum, 20);
}

static void child(pthread_t self, int mark)
{
    CHECK(pthread_equal(self, pthread_self()));
    CHECK_EQ(own, mark);
    CHECK(pthread_getspecific(key) == &own);
    /* The parent's thread holds mutex and rwlock; threads that waited for them are not here. */
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_rwlock_unlock(&rwlock));
    OK(sem_post(&sem));
    OK(sem_wait(&sem));
    OK(pthread_cond_broadcast(&cond));
    uses_threads();
    CHECK_EQ(pthread_rwlock_tryrdlock(&rwlock), RWLOCK_LEFT);
    pid_t pid = fork();
    if (pid == 0) {
        CHECK_EQ(own, mark);
        uses_threads();
        _exit(4);
    }
    child_ends(pid, 4);
    usleep(1000);
    uses_threads();
}

static void *forks(void *arg)
{
    pthread_t t[THREADS];
    int mark = (int)(long)arg;
    own = mark;
    OK(pthread_setspecific(key, &own));
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_rwlock_rdlock(&rwlock));
    flag_set(&waiting, 0);
    flag_set(&over, 0);
    for (int i = 0; i < THREADS; i++) {
        t[i] = start(waits[i], NULL);
    }
    flag_wait(&waiting, THREADS);
    give_way();
    pid_t pid = fork();
    if (pid == 0) {
        child(pthread_self(), mark);
        if (mark % 2) {
            exit(3);
        }
        pthread_exit(NULL); /* the last thread */
    }
    child_ends(pid, mark % 2 ? 3 : 0);
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_rwlock_unlock(&rwlock));
    OK(sem_post(&sem));
    OK(sem_post(&sem));
    flag_set(&over, 1);
    OK(pthread_mutex_lock(&other));
    OK(pthread_cond_broadcast(&cond));
    OK(pthread_mutex_unlock(&other));
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    return arg;
}

static void test_child_of_main_is_whole(void)
{
    forks((void *)7L);
    own = 5;
}

static void test_child_of_a_thread_is_whole(void)
{
    for (long i = 0; i < 4; i++) {
        join(start(forks, (void *)(100 + i)));
    }
}

/* Not under tests/start/hooks.c, whose allocator calls pthread_getattr_np: the C library allocates
 * in that function with the thread's lock held, and would wait for itself. */
static void is_on_its_stack(void)
{
    pthread_attr_t attr;
    void *low;
    size_t size;
    if (getenv("HOOKS") != NULL) {
        return;
    }
    OK(pthread_getattr_np(pthread_self(), &attr));
    OK(pthread_attr_getstack(&attr, &low, &size));
    CHECK((char *)&attr > (char *)low && (char *)&attr < (char *)low + size);
    OK(pthread_attr_destroy(&attr));
}

/* By a foreign kernel thread. */
static void *forks_and_uses_threads(void *arg)
{
    static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    OK(pthread_mutex_lock(&recursive));
    OK(pthread_mutex_lock(&checking));
    OK(pthread_setspecific(key, &recursive));
    pid_t pid = fork();
    if (pid == 0) {
        CHECK(pthread_getspecific(key) == &recursive);
        CHECK_EQ(pthread_mutex_unlock(&recursive), UNLOCKED);
        is_on_its_stack();
        uses_threads();
        is_on_its_stack();
        CHECK(pthread_getspecific(key) == &recursive);
        CHECK_EQ(pthread_mutex_unlock(&checking), UNLOCKED);
        _exit(9);
    }
    child_ends(pid, 9);
    OK(pthread_mutex_unlock(&recursive));
    OK(pthread_mutex_unlock(&checking));
    return arg;
}

static void test_child_of_a_kernel_thread_creates_threads(void)
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    int (*join_it)(pthread_t, void **);
    void *libc = dlopen("libpthread.so.0", RTLD_NOW); /* or what it depends on */
    pthread_t t;
    CHECK(libc != NULL);
    *(void **)&create = dlsym(libc, "pthread_create");
    *(void **)&join_it = dlsym(libc, "pthread_join");
    uses_threads();
    OK(create(&t, NULL, forks_and_uses_threads, NULL));
    OK(join_it(t, NULL));
    dlclose(libc);
}

/* Ends at any moment, in each of the ways. */
static void *ends(void *arg)
{
    struct timespec until = after_ms(CLOCK_MONOTONIC, 8);
    int way = (int)(long)arg;
    while (!has_passed(CLOCK_MONOTONIC, &until)) {
        for (volatile int i = 0; i < 2000; i++) {
        }
    }
    if (way == 0) {
        exit(way);
    } else if (way == 1) {
        _exit(way);
    }
    flag_set(&over, way);
    return NULL;
}

static void test_exit_while_threads_are_preempted(void)
{
    for (int i = 0; i < 12; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            flag_set(&over, 0);
            for (int k = 0; k < 4; k++) {
                start(computes, NULL);
            }
            start(ends, (void *)(long)(i % 3));
            for (volatile int k = 0; flag_get(&over) == 0; k++) {
                if (k % 1000 == 0 && i % 2) {
                    sched_yield();
                }
            }
            exit(2);
        }
        child_ends(pid, i % 3);
    }
}

int main(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    OK(pthread_key_create(&key, NULL));
    OK(sem_init(&sem, 0, 0));
    RUN(test_child_of_main_is_whole);
    RUN(test_child_of_a_thread_is_whole);
    RUN(test_child_of_a_kernel_thread_creates_threads);
    RUN(test_exit_while_threads_are_preempted);
    return 0;
}
