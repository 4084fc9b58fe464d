/* SPDX-License-Identifier: MIT
 *
 * The two calls of libpirn-kernel.so where no scheduler is loaded: they find the number of every
 * thread, and say what is wrong. What they write: `make kernel-guest`.
 */
#include "../shared.h"
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
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

int main(void)
{
    if (access(KERNEL_PINS, F_OK) == 0 || errno == EACCES)
        return SKIPPED; /* a scheduler is loaded here, or nobody may know */
    test_calls_report_no_scheduler_when_threads_live();
    test_calls_find_no_thread_when_it_has_ended();
    test_calls_leave_errno_when_they_fail();
    printf("3 tests passed\n");
    return EXIT_SUCCESS;
}
