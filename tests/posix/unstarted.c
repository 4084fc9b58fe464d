/* SPDX-License-Identifier: MIT */
/*
 * A process without threads stays a process of one kernel thread, as it starts no runtime: when it
 * uses objects of its own, as many libraries and tools do (sort), and when it waits for objects
 * between processes. There signals end its waits as POSIX says; each of these tests has a child,
 * which also has no threads, and which posts when the process sleeps in the kernel.
 */
#include <dirent.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "check.h"

static struct area {
    sem_t sem;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    int value;
} * area;

static volatile sig_atomic_t handled;
static int threads_at_first; /* 1, or what an emulator has */

static void handler(int signal)
{
    (void)signal;
    handled++;
}

static void objects_init(void)
{
    pthread_mutexattr_t m;
    pthread_condattr_t c;
    area = mmap(NULL, sizeof(*area), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED);
    OK(pthread_mutexattr_init(&m));
    OK(pthread_mutexattr_setpshared(&m, PTHREAD_PROCESS_SHARED));
    OK(pthread_mutex_init(&area->mutex, &m));
    OK(pthread_condattr_init(&c));
    OK(pthread_condattr_setpshared(&c, PTHREAD_PROCESS_SHARED));
    OK(pthread_cond_init(&area->cond, &c));
    OK(sem_init(&area->sem, 1, 0));
}

static int kernel_threads(void)
{
    int n = 0;
    DIR *tasks = opendir("/proc/self/task");
    CHECK(tasks != NULL);
    for (struct dirent *one = readdir(tasks); one != NULL; one = readdir(tasks)) {
        n += one->d_name[0] != '.';
    }
    OK(closedir(tasks));
    return n;
}

/* The state of a process of one kernel thread: the letter behind its name. */
static char state_of(pid_t pid)
{
    char path[64], line[512];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0);
    long n = (long)read(fd, line, sizeof(line) - 1);
    close(fd);
    CHECK(n > 0);
    line[n] = '\0';
    return strrchr(line, ')')[2];
}

/* It has been told by `value` that the next thing it does is to wait. Nobody is told when a process
 * sleeps: so it looks every millisecond. */
static void await_sleep(pid_t pid)
{
    while (__atomic_load_n(&area->value, __ATOMIC_SEQ_CST) == 0 || state_of(pid) != 'S') {
        usleep(1000);
    }
    __atomic_store_n(&area->value, 0, __ATOMIC_SEQ_CST);
}

static void about_to_wait(void)
{
    __atomic_store_n(&area->value, 1, __ATOMIC_SEQ_CST);
}

static void with_child(void (*child)(pid_t parent), void (*test)(void))
{
    int status;
    pid_t parent = getpid(), pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        child(parent);
        _exit(0);
    }
    test();
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    OK(status);
    CHECK_EQ(kernel_threads(), threads_at_first);
}

static void posts(pid_t parent)
{
    await_sleep(parent);
    OK(sem_post(&area->sem));
}

static void waits_for_units(void)
{
    about_to_wait();
    OK(sem_wait(&area->sem));
}

static void waits_for_units_until(void)
{
    struct timespec far = after_ms(CLOCK_REALTIME, 1000000);
    about_to_wait();
    OK(sem_timedwait(&area->sem, &far));
}

static void semaphore_is_awaited(void)
{
    with_child(posts, waits_for_units);
    with_child(posts, waits_for_units_until);
}

static void semaphore_wait_times_out(void)
{
    struct timespec soon = after_ms(CLOCK_REALTIME, 20);
    FAILS(sem_timedwait(&area->sem, &soon), ETIMEDOUT);
    CHECK_EQ(kernel_threads(), threads_at_first);
}

static void handler_is(int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    OK(sigaction(SIGUSR1, &action, NULL));
    handled = 0;
}

static void interrupts(pid_t parent)
{
    await_sleep(parent);
    OK(kill(parent, SIGUSR1));
}

static void is_interrupted(void)
{
    about_to_wait();
    FAILS(sem_wait(&area->sem), EINTR);
    CHECK_EQ(handled, 1);
}

static void semaphore_wait_ends_with_a_handler(void)
{
    handler_is(0);
    with_child(interrupts, is_interrupted);
}

static void interrupts_and_posts(pid_t parent)
{
    interrupts(parent);
    while (__atomic_load_n(&area->value, __ATOMIC_SEQ_CST) != 3) { /* until the handler has run */
        usleep(1000);
    }
    OK(sem_post(&area->sem));
}

static void tells_and_counts(int signal)
{
    handler(signal);
    __atomic_store_n(&area->value, 3, __ATOMIC_SEQ_CST);
}

static void is_restarted(void)
{
    about_to_wait();
    OK(sem_wait(&area->sem));
    CHECK_EQ(handled, 1);
    area->value = 0;
}

static void semaphore_wait_goes_on_after_a_handler_that_restarts(void)
{
    struct sigaction action = {.sa_handler = tells_and_counts, .sa_flags = SA_RESTART};
    OK(sigaction(SIGUSR1, &action, NULL));
    handled = 0;
    with_child(interrupts_and_posts, is_restarted);
}

static void signals(pid_t parent)
{
    await_sleep(parent);
    OK(pthread_mutex_lock(&area->mutex));
    OK(pthread_cond_signal(&area->cond));
    OK(pthread_mutex_unlock(&area->mutex));
}

static void waits_for_condition(void)
{
    OK(pthread_mutex_lock(&area->mutex));
    about_to_wait();
    OK(pthread_cond_wait(&area->cond, &area->mutex));
    OK(pthread_mutex_unlock(&area->mutex));
}

static void condition_is_awaited(void)
{
    with_child(signals, waits_for_condition);
}

static void unlocks(pid_t parent)
{
    OK(pthread_mutex_lock(&area->mutex));
    OK(sem_post(&area->sem));
    await_sleep(parent);
    OK(pthread_mutex_unlock(&area->mutex));
}

static void waits_for_mutex(void)
{
    OK(sem_wait(&area->sem));
    about_to_wait();
    OK(pthread_mutex_lock(&area->mutex));
    OK(pthread_mutex_unlock(&area->mutex));
}

static void mutex_is_awaited(void)
{
    with_child(unlocks, waits_for_mutex);
}

static void objects_of_its_own_need_no_runtime(void)
{
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    pthread_rwlock_t rwlock;
    sem_t sem;
    OK(pthread_mutex_init(&mutex, NULL));
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_cond_init(&cond, NULL));
    OK(pthread_cond_signal(&cond));
    OK(pthread_cond_broadcast(&cond));
    OK(pthread_rwlock_init(&rwlock, NULL));
    OK(pthread_rwlock_rdlock(&rwlock));
    OK(pthread_rwlock_unlock(&rwlock));
    OK(pthread_rwlock_wrlock(&rwlock));
    OK(pthread_rwlock_unlock(&rwlock));
    OK(sem_init(&sem, 0, 0));
    OK(sem_post(&sem));
    OK(sem_wait(&sem));
    OK(sem_destroy(&sem));
    OK(pthread_rwlock_destroy(&rwlock));
    OK(pthread_cond_destroy(&cond));
    OK(pthread_mutex_destroy(&mutex));
    CHECK_EQ(kernel_threads(), threads_at_first);
}

static void *takes(void *arg)
{
    OK(sem_wait(&area->sem));
    return arg;
}

static void threads_wait_after_waits_without_them(void)
{
    pthread_t t;
    OK(pthread_create(&t, NULL, takes, NULL));
    sched_yield();
    OK(sem_post(&area->sem));
    OK(pthread_join(t, NULL));
}

int main(void)
{
    threads_at_first = kernel_threads();
    objects_init();
    RUN(objects_of_its_own_need_no_runtime);
    RUN(semaphore_is_awaited);
    RUN(semaphore_wait_times_out);
    RUN(semaphore_wait_ends_with_a_handler);
    RUN(semaphore_wait_goes_on_after_a_handler_that_restarts);
    RUN(condition_is_awaited);
    RUN(mutex_is_awaited);
    RUN(threads_wait_after_waits_without_them);
    return 0;
}
