/* SPDX-License-Identifier: MIT */
/*
 * spawn.c - programs that threads start: they inherit the thread's signal mask and nothing else of
 * its signals. /proc/self/status gives the new program's state.
 */
#include "harness.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#define FIELD "^SigBlk:"
#define STATUS "/proc/self/status"

static char *const grep[] = {"grep", FIELD, STATUS, NULL};
extern char **environ;
static flag_t ready, go, handled;

static void change_mask(int how, int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    OK(pthread_sigmask(how, &set, NULL));
}

static unsigned long mask_in(FILE *f)
{
    unsigned long mask = ~0ul;
    CHECK_EQ(fscanf(f, "%*s %lx", &mask), 1);
    return mask;
}

static unsigned long bit(int number)
{
    return 1ul << (number - 1);
}

static void *blocks_another(void *arg)
{
    change_mask(SIG_SETMASK, SIGUSR2);
    flag_add(&ready, 1);
    while (flag_get(&go) == 0) {
        sched_yield();
    }
    return arg;
}

static void *blocks_and_goes(void *arg)
{
    change_mask(SIG_BLOCK, SIGHUP);
    return arg;
}

struct way {
    const char *name;
    void (*run)(void);
};

static void run_execve(void)
{
    execve("/bin/grep", grep, environ);
}
static void run_execv(void)
{
    execv("/bin/grep", grep);
}
static void run_execvp(void)
{
    execvp("grep", grep);
}
static void run_execvpe(void)
{
    execvpe("grep", grep, environ);
}
static void run_execl(void)
{
    execl("/bin/grep", "grep", FIELD, STATUS, (char *)NULL);
}
static void run_execlp(void)
{
    execlp("grep", "grep", FIELD, STATUS, (char *)NULL);
}
static void run_execle(void)
{
    execle("/bin/grep", "grep", FIELD, STATUS, (char *)NULL, environ);
}
static void run_fexecve(void)
{
    fexecve(open("/bin/grep", O_RDONLY | O_CLOEXEC), grep, environ);
}
static void run_execveat(void)
{
    execveat(AT_FDCWD, "/bin/grep", grep, environ, 0);
}

static const struct way ways[] = {
    {"execve", run_execve},   {"execv", run_execv},     {"execvp", run_execvp},
    {"execvpe", run_execvpe}, {"execl", run_execl},     {"execlp", run_execlp},
    {"execle", run_execle},   {"fexecve", run_fexecve}, {"execveat", run_execveat},
};

static const struct way *way;

static void *blocks_and_executes(void *arg)
{
    change_mask(SIG_SETMASK, SIGUSR1);
    flag_add(&ready, 1);
    flag_wait(&ready, 2);
    sched_yield();
    way->run();
    case_fail(__FILE__, __LINE__, way->name, errno, 0);
    return arg;
}

/* In a child with two threads that have masks of their own. */
static void exec_has_the_mask(const void *row)
{
    int ends[2], status;
    way = row;
    OK(pipe(ends));
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        start(blocks_another, NULL);
        join(start(blocks_and_executes, NULL));
        _exit(1);
    }
    OK(close(ends[1]));
    FILE *f = fdopen(ends[0], "r");
    CHECK_EQ(mask_in(f), bit(SIGUSR1));
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    fclose(f);
}

static const char *name_of(const void *row)
{
    char *name = malloc(64);
    snprintf(name, 64, "%s_has_the_mask_of_the_thread", ((const struct way *)row)->name);
    return name;
}

static __attribute__((constructor)) void add(void)
{
    cases_add(exec_has_the_mask, ways, sizeof(ways[0]), COUNT(ways), name_of);
}

static unsigned long spawned(const posix_spawnattr_t *attr, bool by_path)
{
    int ends[2], status;
    pid_t child;
    posix_spawn_file_actions_t actions;
    OK(pipe2(ends, O_CLOEXEC));
    OK(posix_spawn_file_actions_init(&actions));
    OK(posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO));
    if (by_path) {
        OK(posix_spawnp(&child, "grep", &actions, attr, grep, environ));
    } else {
        OK(posix_spawn(&child, "/bin/grep", &actions, attr, grep, environ));
    }
    OK(posix_spawn_file_actions_destroy(&actions));
    OK(close(ends[1]));
    FILE *f = fdopen(ends[0], "r");
    unsigned long mask = mask_in(f);
    fclose(f);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    return mask;
}

static void *spawns(void *arg)
{
    posix_spawnattr_t attr;
    sigset_t set;
    change_mask(SIG_SETMASK, SIGUSR1);
    sched_yield();
    CHECK_EQ(spawned(NULL, false), bit(SIGUSR1));
    CHECK_EQ(spawned(NULL, true), bit(SIGUSR1));
    OK(posix_spawnattr_init(&attr));
    CHECK_EQ(spawned(&attr, false), bit(SIGUSR1));
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    OK(posix_spawnattr_setsigmask(&attr, &set));
    OK(posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK));
    CHECK_EQ(spawned(&attr, true), bit(SIGHUP));
    return arg;
}

CASE(posix_spawn_gives_the_mask_of_the_thread)
{
    pthread_t t = start(blocks_another, NULL);
    flag_wait(&ready, 1);
    in_thread(spawns, NULL);
    flag_set(&go, 1);
    join(t);
}

typedef int (*pidfd_spawn_fn)(int *, const char *, const posix_spawn_file_actions_t *,
                              const posix_spawnattr_t *, char *const[], char *const[]);

/* By its name, because the headers of older C libraries do not have it. */
static unsigned long mask_of_pidfd_spawn(const char *name)
{
    pidfd_spawn_fn call = (pidfd_spawn_fn)dlsym(RTLD_DEFAULT, name);
    int ends[2], fd, status = call != NULL ? 0 : ENOSYS;
    posix_spawn_file_actions_t actions;
    siginfo_t info;
    OK(pipe2(ends, O_CLOEXEC));
    OK(posix_spawn_file_actions_init(&actions));
    OK(posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO));
    if (status == 0) {
        status = call(&fd, "/bin/grep", &actions, NULL, grep, environ);
    }
    if (status == ENOSYS) {
        case_unsupported("this C library or kernel does not have it");
    }
    CHECK_EQ(status, 0);
    OK(posix_spawn_file_actions_destroy(&actions));
    OK(close(ends[1]));
    FILE *f = fdopen(ends[0], "r");
    unsigned long mask = mask_in(f);
    fclose(f);
    OK(waitid((idtype_t)3 /* P_PIDFD */, (id_t)fd, &info, WEXITED));
    CHECK_EQ(info.si_status, 0);
    OK(close(fd));
    return mask;
}

static void *pidfd_spawns(void *arg)
{
    change_mask(SIG_SETMASK, SIGUSR1);
    CHECK_EQ(mask_of_pidfd_spawn("pidfd_spawn"), bit(SIGUSR1));
    change_mask(SIG_BLOCK, SIGUSR2);
    CHECK_EQ(mask_of_pidfd_spawn("pidfd_spawnp"), bit(SIGUSR1) | bit(SIGUSR2));
    return arg;
}

CASE(pidfd_spawn_gives_the_mask_of_the_thread)
{
    in_thread(pidfd_spawns, NULL);
}

CASE(posix_spawn_says_that_there_is_no_such_file)
{
    pid_t child;
    change_mask(SIG_BLOCK, SIGUSR1);
    CHECK_EQ(posix_spawn(&child, "/no/such/file", NULL, NULL, grep, environ), ENOENT);
    CHECK_EQ(posix_spawnp(&child, "no-such-file", NULL, NULL, grep, environ), ENOENT);
}

static void counts(int number)
{
    (void)number;
    flag_add(&handled, 1);
}

/* Handlers are not inherited: their addresses mean nothing in the new program. */
CASE(handlers_are_reset_in_the_new_program)
{
    int status;
    pid_t child;
    signal(SIGTERM, counts);
    signal(SIGHUP, SIG_IGN);
    char *const waits[] = {"sh", "-c", "kill -HUP $$; kill -TERM $$; exit 3", NULL};
    OK(posix_spawn(&child, "/bin/sh", NULL, NULL, waits, environ));
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGTERM);
}

/* After a failed exec the thread has its signals as before. */
static void *fails_to_execute(void *arg)
{
    FAILS(execve("/no/such/file", grep, environ), ENOENT);
    FAILS(execvp("no-such-file", grep), ENOENT);
    FAILS(execl("/no/such/file", "x", (char *)NULL), ENOENT);
    OK(pthread_kill(pthread_self(), SIGUSR1));
    CHECK_EQ(flag_get(&handled), 1);
    return arg;
}

CASE(exec_that_fails_changes_nothing)
{
    signal(SIGUSR1, counts);
    in_thread(fails_to_execute, NULL);
}

static void *leaves_pending(void *arg)
{
    change_mask(SIG_BLOCK, SIGUSR1);
    OK(kill(getpid(), SIGUSR1));
    char *const pending[] = {"grep", "^ShdPnd:", STATUS, NULL};
    execv("/bin/grep", pending);
    return arg;
}

/* The main thread is busy for a while, so that another kernel thread, if there is one, runs the new
 * thread. */
static void child_leaves_pending(bool main_busy)
{
    pthread_t t = start(leaves_pending, NULL);
    struct timespec end = after_ms(CLOCK_MONOTONIC, 100);
    while (main_busy && !has_passed(CLOCK_MONOTONIC, &end)) {
    }
    join(t);
    _exit(1);
}

static void keeps_what_is_pending(bool main_busy)
{
    int ends[2];
    OK(pipe(ends));
    change_mask(SIG_BLOCK, SIGUSR1);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        child_leaves_pending(main_busy);
    }
    OK(close(ends[1]));
    FILE *f = fdopen(ends[0], "r");
    CHECK_EQ(mask_in(f), bit(SIGUSR1));
    fclose(f);
    CHECK_EQ(waitpid(child, NULL, 0), child);
}

CASE(exec_keeps_what_is_pending_for_the_process)
{
    keeps_what_is_pending(false);
}

CASE(exec_keeps_what_is_pending_while_main_is_busy)
{
    keeps_what_is_pending(true);
}

static void *forks_lightly(void *arg)
{
    int status;
    change_mask(SIG_SETMASK, SIGUSR1);
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
        _exit(1);
    }
    CHECK(child > 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 7);
    return arg;
}

CASE(vfork_child_executes)
{
    in_thread(forks_lightly, NULL);
}

/* The state of a child of fork: the mask of the thread that forked, handlers, nothing pending. */
CASE(fork_child_has_the_signals_of_its_thread)
{
    int status;
    signal(SIGUSR1, counts);
    change_mask(SIG_SETMASK, SIGUSR2);
    OK(pthread_kill(pthread_self(), SIGUSR2));
    join(start(blocks_and_goes, NULL));
    pid_t child = fork();
    if (child == 0) {
        sigset_t set;
        OK(sigpending(&set));
        CHECK_EQ(sigismember(&set, SIGUSR2), 0);
        OK(pthread_sigmask(SIG_BLOCK, NULL, &set));
        CHECK_EQ(sigismember(&set, SIGUSR2), 1);
        CHECK_EQ(sigismember(&set, SIGUSR1), 0);
        OK(kill(getpid(), SIGUSR1));
        CHECK_EQ(flag_get(&handled), 1);
        signal(SIGTERM, SIG_DFL);
        OK(kill(getpid(), SIGTERM));
        _exit(1);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGTERM);
}
