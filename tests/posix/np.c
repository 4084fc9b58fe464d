/* SPDX-License-Identifier: MIT */
/*
 * np.c - concurrency, fork handlers in user threads, and what <pirn/pthread_np.h> declares (on
 * NPTL, which has not got it, the latter is left out).
 */
#include <sys/wait.h>

#include "check.h"
#ifdef ON_PIRN
#include <pirn/pthread_np.h>
#endif

static void test_concurrency_is_kept(void)
{
    OK(pthread_getconcurrency());
    OK(pthread_setconcurrency(3));
    CHECK_EQ(pthread_getconcurrency(), 3);
    CHECK_EQ(pthread_setconcurrency(-1), EINVAL);
    CHECK_EQ(pthread_getconcurrency(), 3);
    OK(pthread_setconcurrency(0));
    OK(pthread_getconcurrency());
}

static char order[16];
static int calls;

static void note(char c)
{
    order[calls++] = c;
}

static void prepare_1(void)
{
    note('1');
}
static void prepare_2(void)
{
    note('2');
}
static void parent_1(void)
{
    note('a');
}
static void parent_2(void)
{
    note('b');
}
static void child_1(void)
{
    note('x');
}
static void child_2(void)
{
    note('y');
}

/* prepare in reverse order, the others in order. */
static void *forks(void *arg)
{
    int status;
    calls = 0;
    memset(order, 0, sizeof(order));
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        _exit(strcmp(order, "21xy") == 0 ? 0 : 1);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    OK(status);
    OK(strcmp(order, "21ab"));
    return arg;
}

static void test_fork_handlers_run_in_order(void)
{
    OK(pthread_atfork(prepare_1, parent_1, child_1));
    OK(pthread_atfork(prepare_2, parent_2, child_2));
    OK(pthread_atfork(NULL, NULL, NULL));
    forks(NULL);
    join(start(forks, NULL));
}

#ifdef ON_PIRN
static void test_delay_lasts(void)
{
    struct timespec at = after_ms(CLOCK_MONOTONIC, 5), time = {.tv_nsec = 5 * NS_PER_MS};
    OK(pthread_delay_np(&time));
    CHECK(has_passed(CLOCK_MONOTONIC, &at));
    time.tv_nsec = NS_PER_S;
    CHECK_EQ(pthread_delay_np(&time), EINVAL);
    time = (struct timespec){.tv_sec = -1};
    CHECK_EQ(pthread_delay_np(&time), EINVAL);
    time = (struct timespec){0};
    OK(pthread_delay_np(&time));
}

static void test_processors_are_the_workers(void)
{
    const char *cpus = getenv("PIRN_CPUS");
    CHECK(pthread_num_processors_np() >= 1);
    if (cpus != NULL) {
        CHECK_EQ(pthread_num_processors_np(), atoi(cpus));
    }
}
#else
static void test_delay_lasts(void) {}
static void test_processors_are_the_workers(void) {}
#endif

int main(void)
{
    RUN(test_concurrency_is_kept);
    RUN(test_fork_handlers_run_in_order);
    RUN(test_delay_lasts);
    RUN(test_processors_are_the_workers);
    return 0;
}
