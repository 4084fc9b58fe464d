/* SPDX-License-Identifier: MIT */
/*
 * end.c - how a program ends. Each case is a child process; the parent checks its exit status
 * and what the exit handlers wrote: each ran once, while no thread had been torn down. Threads that
 * still run write memory all the time; a stack or a descriptor that is taken away under them would
 * crash the child.
 */
#include "harness.h"

#include <signal.h>
#include <sys/wait.h>

#define RUNNERS 4
#define ROUNDS 5

static flag_t alive, finished;
static int runners;

static void say(const char *text)
{
    CHECK_EQ(write(STDOUT_FILENO, text, strlen(text)), strlen(text));
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* The runtime works as usual in an exit handler; other threads continue to run. */
static void first_handler(void)
{
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    if (runners > 0) {
        int before = flag_get(&alive);
        flag_wait(&alive, before + 2 * RUNNERS);
    }
    say("A");
}

static void second_handler(void)
{
    say("B");
}

static void *runs_on(void *arg)
{
    char room[1024];
    for (;;) {
        memset(room, flag_add(&alive, 1), sizeof(room));
        OK(pthread_mutex_lock(&mutex));
        sched_yield();
        OK(pthread_mutex_unlock(&mutex));
    }
    return arg;
}

static void *blocks(void *arg)
{
    pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    OK(pthread_mutex_lock(&own));
    flag_add(&finished, 1);
    for (;;) {
        OK(pthread_cond_wait(&never, &own));
    }
    return arg;
}

static void start_runners(void)
{
    for (runners = 0; runners < RUNNERS; runners++) {
        start(runs_on, NULL);
        start(blocks, NULL);
    }
    flag_wait(&alive, 1);
    flag_wait(&finished, RUNNERS);
}

static void *exits_at_once(void *status)
{
    _exit((int)(long)status);
}

static int ending_main_returns(void)
{
    return 7;
}

static int ending_main_returns_while_threads_run(void)
{
    start_runners();
    return 7;
}

static int ending_main_calls_exit_while_threads_run(void)
{
    start_runners();
    exit(7);
}

static void *exits_process(void *arg)
{
    for (int i = 0; i < 20; i++) {
        sched_yield();
    }
    exit((int)(long)arg);
}

static int ending_a_thread_calls_exit(void)
{
    start_runners();
    pthread_join(start(exits_process, (void *)7L), NULL);
    return 1;
}

static int ending_a_thread_calls_exit_after_main_has_gone(void)
{
    start_runners();
    start(exits_process, (void *)7L);
    pthread_exit(NULL);
}

static void *works_and_ends(void *arg)
{
    for (int i = 0; i < 100; i++) {
        sched_yield();
    }
    usleep((useconds_t)(long)arg);
    flag_add(&finished, 1);
    return arg;
}

static void expect_finished(void)
{
    CHECK_EQ(flag_get(&finished), RUNNERS);
    say("C");
}

static int ending_last_thread_ends_after_main_has_gone(void)
{
    atexit(expect_finished);
    for (long i = 0; i < RUNNERS; i++) {
        OK(pthread_detach(start(works_and_ends, (void *)(i * 300))));
    }
    pthread_exit((void *)9L);
}

static void *ends_at_once(void *arg)
{
    flag_add(&finished, 1);
    return arg;
}

/* All of the last threads end at nearly the same time. */
static int ending_many_end_together_after_main_has_gone(void)
{
    atexit(expect_finished);
    for (long i = 0; i < RUNNERS; i++) {
        start(ends_at_once, NULL);
    }
    pthread_exit(NULL);
}

static void *creates_after_main(void *arg)
{
    usleep(1000);
    start(ends_at_once, NULL);
    start(ends_at_once, NULL);
    start(ends_at_once, NULL);
    flag_add(&finished, 1);
    return arg;
}

static int ending_threads_create_threads_after_main_has_gone(void)
{
    atexit(expect_finished);
    start(creates_after_main, NULL);
    pthread_exit(NULL);
}

static int ending_main_exits_alone(void)
{
    pthread_exit((void *)9L);
}

static pthread_key_t key;

static void destroys(void *value)
{
    say(value);
}

static int ending_key_destructors_of_main_run_before_exit_handlers(void)
{
    OK(pthread_key_create(&key, destroys));
    OK(pthread_setspecific(key, "K"));
    pthread_exit(NULL);
}

static void *joins_main(void *main_thread)
{
    void *ret = NULL;
    OK(pthread_join(*(pthread_t *)main_thread, &ret));
    CHECK_EQ((long)ret, 9);
    say("J");
    return NULL;
}

static int ending_main_is_joined(void)
{
    static pthread_t main_thread;
    main_thread = pthread_self();
    start(joins_main, &main_thread);
    pthread_exit((void *)9L);
}

static const struct ending {
    const char *name;
    int (*run)(void);
    int status;
    const char *output;
} endings[] = {
    {"main_returns", ending_main_returns, 7, "BA"},
    {"main_returns_while_threads_run", ending_main_returns_while_threads_run, 7, "BA"},
    {"main_calls_exit_while_threads_run", ending_main_calls_exit_while_threads_run, 7, "BA"},
    {"a_thread_calls_exit", ending_a_thread_calls_exit, 7, "BA"},
    {"a_thread_calls_exit_after_main_has_gone", ending_a_thread_calls_exit_after_main_has_gone, 7,
     "BA"},
    {"last_thread_ends_after_main_has_gone", ending_last_thread_ends_after_main_has_gone, 0, "CBA"},
    {"many_end_together_after_main_has_gone", ending_many_end_together_after_main_has_gone, 0,
     "CBA"},
    {"threads_create_threads_after_main_has_gone",
     ending_threads_create_threads_after_main_has_gone, 0, "CBA"},
    {"main_exits_alone", ending_main_exits_alone, 0, "BA"},
    {"key_destructors_of_main_run_before_exit_handlers",
     ending_key_destructors_of_main_run_before_exit_handlers, 0, "KBA"},
    {"main_is_joined", ending_main_is_joined, 0, "JBA"},
};

/* True in the child. */
static bool run_child(const struct ending *e, char *output, size_t size)
{
    int out[2], status;
    size_t length = 0;
    ssize_t n;
    OK(pipe(out));
    pid_t pid = fork();
    if (pid == 0) {
        dup2(out[1], STDOUT_FILENO);
        close(out[0]);
        close(out[1]);
        return true;
    }
    CHECK(pid > 0);
    close(out[1]);
    while ((n = read(out[0], output + length, size - 1 - length)) > 0) {
        length += (size_t)n;
    }
    output[length] = '\0';
    close(out[0]);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), e->status);
    return false;
}

static void ends(const void *row)
{
    const struct ending *e = row;
    for (int round = 0; round < ROUNDS; round++) {
        char output[512];
        if (run_child(e, output, sizeof(output))) {
            atexit(first_handler);
            atexit(second_handler);
            exit(e->run());
        }
        if (strcmp(output, e->output) != 0) {
            printf("exit handlers wrote \"%s\"; want \"%s\"\n", output, e->output);
            exit(1);
        }
    }
}

static const char *name_of(const void *row)
{
    return ((const struct ending *)row)->name;
}

static __attribute__((constructor)) void add(void)
{
    cases_add(ends, endings, sizeof(endings[0]), COUNT(endings), name_of);
}

/* The same, through the C library's code that calls main. */
CASE(main_returns_to_the_library_while_threads_run)
{
    start_runners();
}

CASE(a_fatal_signal_ends_all_threads)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        start_runners();
        kill(getpid(), SIGTERM);
        pause();
        _exit(1);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGTERM);
}

CASE(_exit_in_a_thread_runs_no_exit_handlers)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        atexit(second_handler);
        start_runners();
        in_thread(exits_at_once, (void *)3L);
        _exit(1);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 3);
}
