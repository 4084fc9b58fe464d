/* SPDX-License-Identifier: MIT */
/*
 * end.c - how a program ends (M6). Each case is a child process of this program; the parent checks
 * its exit status and what the exit handlers wrote: each ran once, while no thread had been torn
 * down. Threads that still run write to a pipe all the time; memory or a stack that is taken away
 * under them would crash the child.
 */
#include <signal.h>
#include <sys/wait.h>

#include "check.h"

#define RUNNERS 4
#ifndef END_ROUNDS
#define END_ROUNDS 5
#endif

static flag_t alive, finished;
static int runners;

static void say(const char *text)
{
    CHECK_EQ(write(STDOUT_FILENO, text, strlen(text)), strlen(text));
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* The runtime works as before in an exit handler; with runners about, they go on running. */
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

static int case_main_returns(void)
{
    return 7;
}

static int case_main_returns_while_threads_run(void)
{
    start_runners();
    return 7;
}

static int case_main_calls_exit_while_threads_run(void)
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

static int case_a_thread_calls_exit(void)
{
    start_runners();
    pthread_join(start(exits_process, (void *)7L), NULL);
    return 1;
}

static int case_a_thread_calls_exit_after_main_has_gone(void)
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

static int case_last_thread_ends_after_main_has_gone(void)
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
static int case_many_end_together_after_main_has_gone(void)
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

static int case_threads_create_threads_after_main_has_gone(void)
{
    atexit(expect_finished);
    start(creates_after_main, NULL);
    pthread_exit(NULL);
}

static int case_main_exits_alone(void)
{
    pthread_exit((void *)9L);
}

static pthread_key_t key;

static void destroys(void *value)
{
    say(value);
}

static int case_key_destructors_of_main_run_before_exit_handlers(void)
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

static int case_main_is_joined(void)
{
    static pthread_t main_thread;
    main_thread = pthread_self();
    start(joins_main, &main_thread);
    pthread_exit((void *)9L);
}

static const struct {
    const char *name;
    int (*run)(void);
    int status;
    const char *output;
} cases[] = {
    {"main_returns", case_main_returns, 7, "BA"},
    {"main_returns_while_threads_run", case_main_returns_while_threads_run, 7, "BA"},
    {"main_calls_exit_while_threads_run", case_main_calls_exit_while_threads_run, 7, "BA"},
    {"a_thread_calls_exit", case_a_thread_calls_exit, 7, "BA"},
    {"a_thread_calls_exit_after_main_has_gone", case_a_thread_calls_exit_after_main_has_gone, 7,
     "BA"},
    {"last_thread_ends_after_main_has_gone", case_last_thread_ends_after_main_has_gone, 0, "CBA"},
    {"many_end_together_after_main_has_gone", case_many_end_together_after_main_has_gone, 0, "CBA"},
    {"threads_create_threads_after_main_has_gone", case_threads_create_threads_after_main_has_gone,
     0, "CBA"},
    {"main_exits_alone", case_main_exits_alone, 0, "BA"},
    {"key_destructors_of_main_run_before_exit_handlers",
     case_key_destructors_of_main_run_before_exit_handlers, 0, "KBA"},
    {"main_is_joined", case_main_is_joined, 0, "JBA"},
};

#define CASES ((int)(sizeof(cases) / sizeof(cases[0])))

static int child(int i)
{
    atexit(first_handler);
    atexit(second_handler);
    return cases[i].run();
}

/* True in the child, which goes on as a program of its own. The parent has no threads. */
static bool run_child(int i)
{
    int out[2], status;
    char output[64];
    size_t length = 0;
    ssize_t n;
    fflush(stdout);
    OK(pipe(out));
    pid_t pid = fork();
    if (pid == 0) {
        dup2(out[1], STDOUT_FILENO);
        close(out[0]);
        close(out[1]);
        alarm(20);
        return true;
    }
    CHECK(pid > 0);
    close(out[1]);
    while ((n = read(out[0], output + length, sizeof(output) - 1 - length)) > 0) {
        length += (size_t)n;
    }
    output[length] = '\0';
    close(out[0]);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != cases[i].status ||
        strcmp(output, cases[i].output) != 0) {
        fprintf(stderr, "%s: status 0x%x, exit handlers wrote \"%s\"; want exit %d, \"%s\"\n",
                cases[i].name, (unsigned)status, output, cases[i].status, cases[i].output);
        exit(1);
    }
    return false;
}

int main(void)
{
    for (int i = 0; i < CASES; i++) {
        for (int round = 0; round < END_ROUNDS; round++) {
            if (run_child(i)) {
                return child(i);
            }
        }
        printf("ok %s\n", cases[i].name);
    }
    return 0;
}
