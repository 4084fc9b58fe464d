/* SPDX-License-Identifier: MIT */
/*
 * children.c - which children have the library: a program into which it is preloaded starts itself
 * in each way that there is. Its status says whether the library is in it. The argument is what is
 * expected of children: 1 with PIRN_CHILDREN=1, 0 with PIRN_CHILDREN=0.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define WITH 10
#define WITHOUT 11

static char self[4096], command[5000];
static char *const arguments[] = {self, NULL};
static char **copy;

static int has_library(void)
{
    return dlsym(RTLD_DEFAULT, "pirn_version") != NULL;
}

static int status_of(pid_t child)
{
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)
               ? WEXITSTATUS(status)
               : -1;
}

static void by_execve(void)
{
    execve(self, arguments, environ);
}

static void by_execv(void)
{
    execv(self, arguments);
}

static void by_copy(void)
{
    execve(self, arguments, copy);
}

static void by_execvp(void)
{
    execvp(self, arguments);
}

static void by_execvpe(void)
{
    execvpe(self, arguments, copy);
}

static void by_execl(void)
{
    execl(self, self, (char *)NULL);
}

static void by_fexecve(void)
{
    fexecve(open(self, O_RDONLY | O_CLOEXEC), arguments, environ);
}

static void by_execveat(void)
{
    syscall(SYS_execveat, AT_FDCWD, self, arguments, environ, 0);
}

static int by_posix_spawn(void)
{
    pid_t child;
    return posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0 ? status_of(child) : -1;
}

static int by_posix_spawnp(void)
{
    pid_t child;
    return posix_spawnp(&child, self, NULL, NULL, arguments, copy) == 0 ? status_of(child) : -1;
}

static int by_system(void)
{
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int by_popen(void)
{
    FILE *f = popen(command, "r");
    int status = f != NULL ? pclose(f) : -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const struct {
    const char *name;
    void (*exec)(void); /* in a child of fork */
    int (*start)(void);
} ways[] = {
    {"execve", by_execve, NULL},
    {"execve with a copy of the environment", by_copy, NULL},
    {"execv", by_execv, NULL},
    {"execvp", by_execvp, NULL},
    {"execvpe", by_execvpe, NULL},
    {"execl", by_execl, NULL},
    {"fexecve", by_fexecve, NULL},
    {"execveat by number", by_execveat, NULL},
    {"posix_spawn", NULL, by_posix_spawn},
    {"posix_spawnp", NULL, by_posix_spawnp},
    {"system", NULL, by_system},
    {"popen", NULL, by_popen},
};

static int run(unsigned i)
{
    if (ways[i].start != NULL) {
        return ways[i].start();
    }
    pid_t child = fork();
    if (child == 0) {
        ways[i].exec();
        _exit(1);
    }
    return status_of(child);
}

/* As shells do: other memory, the same words. */
static void environ_copy(void)
{
    unsigned n = 0;
    while (environ[n] != NULL) {
        n++;
    }
    copy = calloc(n + 1, sizeof(*copy));
    for (unsigned i = 0; i < n; i++) {
        copy[i] = strdup(environ[i]);
    }
}

int main(int argc, char **argv)
{
    int failed = 0;
    if (argc < 2) {
        return has_library() ? WITH : WITHOUT;
    }
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0 || !has_library()) {
        fprintf(stderr, "the library is not preloaded\n");
        return 1;
    }
    if (strcmp(argv[1], "become") == 0) {
        return execv(self, arguments);
    }
    snprintf(command, sizeof(command), "'%s'", self);
    environ_copy();
    int expected = atoi(argv[1]) != 0 ? WITH : WITHOUT;
    for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        int status = run(i);
        if (status != expected) {
            fprintf(stderr, "%s: status %d, not %d\n", ways[i].name, status, expected);
            failed = 1;
        }
    }
    puts(failed ? "failed" : "done");
    return failed;
}
