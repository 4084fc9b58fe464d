/* SPDX-License-Identifier: MIT */
/*
 * sweep_share.c - runs the simulator on a share of seeds, in a process of its own, and reads what
 * it prints. Called by the threads of pirn-sim-sweep.
 *
 * 1. The process is made by posix_spawn: no code of this program, or of the MPI library, runs in a
 *    copy of it.
 * 2. Descriptors are closed on exec, so no process keeps another one's pipe open: the end of the
 *    output is the end of the process.
 * 3. If the rank ends first, the process gets SIGPIPE with its next line.
 */
#include "sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { ARGUMENTS_MAX = 40, NUMBER_TEXT = 24, TEXT_MAX = 256 * 1024 };

const char *const *sweep_command;
bool sweep_mutant;

extern char **environ;

struct text {
    char *bytes; /* malloc; ends with 0 */
    size_t length;
    bool cut;
};

static void text_add(struct text *t, const char *line)
{
    size_t n = strlen(line);
    if (t->length + n > TEXT_MAX) {
        n = 0;
        t->cut = true;
    }
    t->bytes = check_alloc(realloc(t->bytes, t->length + n + 1), t->length + n + 1);
    memcpy(t->bytes + t->length, line, n);
    t->length += n;
    t->bytes[t->length] = '\0';
}

/* ---- the process ---- */

/* argv: room for ARGUMENTS_MAX; numbers: for two. */
static void arguments_make(const char **argv, char (*numbers)[NUMBER_TEXT], struct share share)
{
    unsigned n = 0;
    while (sweep_command[n] != NULL) {
        argv[n] = sweep_command[n];
        n++;
    }
    snprintf(numbers[0], NUMBER_TEXT, "%" PRIu64, share.first);
    snprintf(numbers[1], NUMBER_TEXT, "%" PRIu64, share.count);
    argv[n++] = "--first";
    argv[n++] = numbers[0];
    argv[n++] = "--seeds";
    argv[n++] = numbers[1];
    argv[n] = NULL;
}

static int spawn(pid_t *pid, int output, const char **argv)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none, pipe_only;
    sigemptyset(&none);
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE); /* the MPI library may ignore it */
    check_rc(posix_spawn_file_actions_init(&actions), "posix_spawn_file_actions_init");
    check_rc(posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0),
             "posix_spawn_file_actions_addopen");
    check_rc(posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO),
             "posix_spawn_file_actions_adddup2");
    check_rc(posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO),
             "posix_spawn_file_actions_adddup2");
    check_rc(posix_spawnattr_init(&attr), "posix_spawnattr_init");
    check_rc(posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF),
             "posix_spawnattr_setflags");
    check_rc(posix_spawnattr_setsigmask(&attr, &none), "posix_spawnattr_setsigmask");
    check_rc(posix_spawnattr_setsigdefault(&attr, &pipe_only), "posix_spawnattr_setsigdefault");
    /* posix_spawn takes char *const[], and does not change the strings. */
    int error = posix_spawn(pid, argv[0], &actions, &attr, (char **)argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Starts it and returns its output; NULL: errno says why not. */
static FILE *start(const char **argv, pid_t *pid)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return NULL;
    }
    int error = spawn(pid, ends[1], argv);
    close(ends[1]);
    if (error != 0) {
        close(ends[0]);
        errno = error;
        return NULL;
    }
    FILE *output = fdopen(ends[0], "r");
    return check_alloc(output, sizeof(*output));
}

static int wait_for(pid_t pid)
{
    int status;
    pid_t found;
    do {
        found = waitpid(pid, &status, 0);
    } while (found < 0 && errno == EINTR);
    check_rc(found == pid ? 0 : errno, "waitpid");
    return status;
}

/* ---- its output ---- */

/* The last line of a run: "N schedules, M distinct, K failed, ...". */
static bool is_totals(const char *line, uint64_t *schedules, uint64_t *failed)
{
    uint64_t distinct;
    return sscanf(line, "%" SCNu64 " schedules, %" SCNu64 " distinct, %" SCNu64 " failed,",
                  schedules, &distinct, failed) == 3;
}

/* A line of a suite under a policy: "... N schedules M distinct K failed". */
static bool is_place(const char *line)
{
    const char *last = strstr(line, " schedules ");
    uint64_t distinct, failed;
    return last != NULL && sscanf(last, " schedules %" SCNu64 " distinct %" SCNu64 " failed",
                                  &distinct, &failed) == 2;
}

/* The first line that --mutant prints: "mutant NAME: caught after N seeds, M schedules". */
static bool is_mutant(const char *line, uint64_t *schedules)
{
    const char *last = strrchr(line, ',');
    return sweep_mutant && strncmp(line, "mutant ", 7) == 0 && last != NULL &&
           sscanf(last, ", %" SCNu64 " schedules", schedules) == 1;
}

/* Keeps all other lines; returns true if the run came to its end. */
static bool output_read(FILE *output, struct text *kept, uint64_t *schedules)
{
    char *line = NULL;
    size_t room = 0;
    bool complete = false;
    uint64_t failed;
    while (getline(&line, &room, output) >= 0) {
        if (is_totals(line, schedules, &failed)) {
            complete = true;
            continue;
        }
        complete |= is_mutant(line, schedules);
        if (!is_place(line)) {
            text_add(kept, line);
        }
    }
    free(line);
    return complete;
}

static void lost_print(char *text, size_t size, int status)
{
    if (WIFSIGNALED(status)) {
        snprintf(text, size, "LOST: the process was ended by signal %d (%s)\n", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    } else {
        snprintf(text, size, "LOST: the process ended with status %d, before its last line\n",
                 WEXITSTATUS(status));
    }
}

static enum share_end end_of(int status, bool complete)
{
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 1 || !complete) {
        return SHARE_LOST;
    }
    bool found = (WEXITSTATUS(status) == 1) != sweep_mutant;
    return found ? SHARE_FAILED : SHARE_PASSED;
}

struct result share_run(struct share share)
{
    const char *argv[ARGUMENTS_MAX];
    char numbers[2][NUMBER_TEXT], why[200];
    struct result result = {.end = SHARE_LOST};
    struct text kept = {0};
    pid_t pid;
    text_add(&kept, "");
    arguments_make(argv, numbers, share);
    FILE *output = start(argv, &pid);
    if (output == NULL) {
        snprintf(why, sizeof(why), "LOST: no process could be started: %s\n", strerror(errno));
        text_add(&kept, why);
        result.text = kept.bytes;
        return result;
    }
    bool complete = output_read(output, &kept, &result.schedules);
    fclose(output);
    int status = wait_for(pid);
    result.end = end_of(status, complete);
    if (kept.cut) {
        kept.length = TEXT_MAX / 2; /* room for the lines below */
        text_add(&kept, "\n(more lines are left out)\n");
    }
    if (result.end == SHARE_LOST) {
        lost_print(why, sizeof(why), status);
        text_add(&kept, why);
    }
    result.text = kept.bytes;
    return result;
}

char *share_refusal(struct share share)
{
    const char *argv[ARGUMENTS_MAX];
    char numbers[2][NUMBER_TEXT], why[1024];
    struct text said = {0};
    uint64_t schedules;
    pid_t pid;
    arguments_make(argv, numbers, share);
    unsigned n = 0;
    while (argv[n] != NULL) {
        n++;
    }
    argv[n] = "--list";
    argv[n + 1] = NULL;
    FILE *output = start(argv, &pid);
    if (output == NULL) {
        snprintf(why, sizeof(why), "--program=%s: %s\n", argv[0], strerror(errno));
        text_add(&said, why);
        return said.bytes;
    }
    text_add(&said, "");
    output_read(output, &said, &schedules);
    fclose(output);
    int status = wait_for(pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        free(said.bytes);
        return NULL;
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 2) {
        lost_print(why, sizeof(why), status);
        text_add(&said, why);
    }
    return said.bytes;
}

int share_print(char *text, size_t size, struct share share)
{
    size_t n = 0;
    for (unsigned i = 0; sweep_command[i] != NULL && n < size; i++) {
        n += (size_t)snprintf(text + n, size - n, "%s%s", i == 0 ? "" : " ", sweep_command[i]);
    }
    n = n < size ? n : size;
    return (int)n + snprintf(text + n, size - n, " --first %" PRIu64 " --seeds %" PRIu64,
                             share.first, share.count);
}
