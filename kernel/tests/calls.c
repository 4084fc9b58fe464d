/* SPDX-License-Identifier: MIT
 *
 * The two calls of libpirn-kernel.so. Where no scheduler is loaded they find the number of every
 * thread, and say what is wrong. With the argument "loaded", in the guest, where one is: each of
 * their results.
 */
#include "../shared.h"
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <unistd.h>

int pthread_add_taskaffinity_np(pthread_t consumer, pthread_t producer);
int pthread_del_taskaffinity_np(pthread_t consumer, pthread_t producer);

enum { SKIPPED = 77 };

static sem_t end;

static void *wait_for_end(void *unused)
{
    (void)unused;
    sem_wait(&end);
    return NULL;
}

static void *do_nothing(void *unused)
{
    (void)unused;
    return NULL;
}

static void test_calls_report_no_scheduler_when_threads_live(void)
{
    pthread_t thread;

    sem_init(&end, 0, 0);
    CHECK_EQUAL(0, pthread_create(&thread, NULL, wait_for_end, NULL));
    CHECK_EQUAL(ENOSYS, pthread_add_taskaffinity_np(thread, pthread_self()));
    CHECK_EQUAL(ENOSYS, pthread_del_taskaffinity_np(pthread_self(), thread));
    CHECK_EQUAL(EINVAL, pthread_add_taskaffinity_np(thread, thread));
    sem_post(&end);
    CHECK_EQUAL(0, pthread_join(thread, NULL));
}

/* It is joined later: until then the descriptor is valid. */
static void test_calls_find_no_thread_when_it_has_ended(void)
{
    pthread_t thread;
    int error;

    CHECK_EQUAL(0, pthread_create(&thread, NULL, do_nothing, NULL));
    do
        error = pthread_add_taskaffinity_np(pthread_self(), thread);
    while (error == ENOSYS);
    CHECK_EQUAL(ESRCH, error);
    CHECK_EQUAL(ESRCH, pthread_del_taskaffinity_np(thread, pthread_self()));
    CHECK_EQUAL(0, pthread_join(thread, NULL));
}

static void test_calls_leave_errno_when_they_fail(void)
{
    errno = 0;
    CHECK_EQUAL(EINVAL, pthread_add_taskaffinity_np(pthread_self(), pthread_self()));
    CHECK_EQUAL(0, errno);
}

/* ---- where a scheduler is loaded ---- */

enum { THREADS = KERNEL_PRODUCERS + 2 };

static void test_calls_give_each_result_when_a_scheduler_is_loaded(void)
{
    pthread_t threads[THREADS];
    pthread_t self = pthread_self();

    sem_init(&end, 0, 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQUAL(0, pthread_create(&threads[i], NULL, wait_for_end, NULL));
    CHECK_EQUAL(ENOENT, pthread_del_taskaffinity_np(self, threads[0]));
    for (int i = 0; i < KERNEL_PRODUCERS; i++)
        CHECK_EQUAL(0, pthread_add_taskaffinity_np(self, threads[i]));
    CHECK_EQUAL(0, pthread_add_taskaffinity_np(self, threads[0]));
    CHECK_EQUAL(ENOSPC, pthread_add_taskaffinity_np(self, threads[KERNEL_PRODUCERS]));
    CHECK_EQUAL(EINVAL, pthread_add_taskaffinity_np(threads[0], threads[0]));
    CHECK_EQUAL(0, pthread_add_taskaffinity_np(threads[0], threads[THREADS - 1]));
    CHECK_EQUAL(ELOOP, pthread_add_taskaffinity_np(threads[0], self));
    CHECK_EQUAL(ELOOP, pthread_add_taskaffinity_np(threads[THREADS - 1], self));
    CHECK_EQUAL(0, pthread_del_taskaffinity_np(self, threads[0]));
    CHECK_EQUAL(0, pthread_add_taskaffinity_np(threads[0], self));
    for (int i = 0; i < THREADS; i++)
        sem_post(&end);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQUAL(0, pthread_join(threads[i], NULL));
    /* All have ended, and so have their dependencies: there is room again. */
    CHECK_EQUAL(0, pthread_create(&threads[0], NULL, wait_for_end, NULL));
    CHECK_EQUAL(ENOENT, pthread_del_taskaffinity_np(self, threads[0]));
    CHECK_EQUAL(0, pthread_add_taskaffinity_np(self, threads[0]));
    sem_post(&end);
    CHECK_EQUAL(0, pthread_join(threads[0], NULL));
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "loaded") == 0) {
        test_calls_give_each_result_when_a_scheduler_is_loaded();
        printf("1 test passed\n");
        return EXIT_SUCCESS;
    }
    if (access(KERNEL_PINS, F_OK) == 0 || errno == EACCES)
        return SKIPPED; /* a scheduler is loaded here, or nobody may know */
    test_calls_report_no_scheduler_when_threads_live();
    test_calls_find_no_thread_when_it_has_ended();
    test_calls_leave_errno_when_they_fail();
    printf("3 tests passed\n");
    return EXIT_SUCCESS;
}
