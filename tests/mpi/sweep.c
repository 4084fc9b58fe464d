/* SPDX-License-Identifier: MIT */
/*
 * sweep.c - pirn-sim-sweep: seeds of the simulator, over the ranks of an MPI program.
 *
 *     mpirun -n 8 pirn-sim-sweep-openmpi --seeds 100000 --suite sync
 *
 * Rank 0 hands out shares of seeds in order, each share once, to whoever asks. Each rank has
 * --jobs threads; each asks for a share by MPI_Send and MPI_Recv, runs it in a process
 * (sweep_share.c), and sends the result with its next question. All wait in blocking calls of MPI,
 * so the program needs MPI_THREAD_MULTIPLE, and libpirn-mpi if waiting threads are to leave the
 * CPU to the processes. Reports are printed when they come, so an aborted run loses none that was
 * printed; the end repeats in one line each how failures can be repeated, and what was lost.
 *
 * 1. Only rank 0's main thread receives TAG_ASK; each thread receives only its own TAG_SHARE.
 * 2. Every question is answered once. An empty share ends a thread; rank 0 goes on until all
 *    threads of all ranks have one, so all results have come.
 */
#include "sweep.h"

#include <inttypes.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "clock.h"
#include "options.h"

#define STACK_SIZE ((size_t)256 * 1024) /* MPI libraries need some */

enum { TAG_ASK, TAG_SHARE, JOBS_MAX = 1000, COMMAND_TEXT = 4096 };
enum { SUITE, TEST, SCHED, LOAD, MEMORY, MUTANT, HANG, CPUS, PASSED_ON };

static const char *const passed_on[PASSED_ON] = {"suite",  "test",   "sched", "load",
                                                 "memory", "mutant", "hang",  "cpus"};

/* What the command line says; constant afterwards. */
static const char *program, *values[PASSED_ON];
static uint64_t first = 1, seeds = 100, share_size = 10;
static long jobs = 1;
static bool verbose;
static int rank, ranks;

/* A question: the result of the share before, with its text behind it. */
struct ask {
    struct share share; /* count 0: this is the thread's first question */
    uint64_t schedules;
    int32_t end, thread;
};

static struct {
    uint64_t next;                /* seed, from `first` on */
    uint64_t shares, found, lost; /* found: with failures */
    uint64_t schedules, failed;
    char *repeat; /* lines for the end */
    size_t length;
} sum;

/* ---- threads that run shares ---- */

static struct share ask(struct ask *a, const char *text)
{
    struct share share;
    size_t length = strlen(text);
    char *message = check_alloc(malloc(sizeof(*a) + length), sizeof(*a) + length);
    memcpy(message, a, sizeof(*a));
    memcpy(message + sizeof(*a), text, length);
    MPI_Send(message, (int)(sizeof(*a) + length), MPI_BYTE, 0, TAG_ASK, MPI_COMM_WORLD);
    free(message);
    MPI_Recv(&share, sizeof(share), MPI_BYTE, 0, TAG_SHARE + a->thread, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    return share;
}

static void *runner(void *number)
{
    struct ask a = {.thread = (int32_t)(intptr_t)number};
    a.share = ask(&a, "");
    while (a.share.count != 0) {
        struct result result = share_run(a.share);
        a.schedules = result.schedules;
        a.end = (int32_t)result.end;
        a.share = ask(&a, result.text);
        free(result.text);
    }
    return NULL;
}

static void runners_start(pthread_t *threads)
{
    pthread_attr_t attr;
    check_rc(pthread_attr_init(&attr), "pthread_attr_init");
    check_rc(pthread_attr_setstacksize(&attr, STACK_SIZE), "pthread_attr_setstacksize");
    for (long i = 0; i < jobs; i++) {
        check_rc(pthread_create(&threads[i], &attr, runner, (void *)(intptr_t)i), "pthread_create");
    }
    pthread_attr_destroy(&attr);
}

/* ---- rank 0 ---- */

static struct share share_next(void)
{
    uint64_t left = seeds - (sum.next - first);
    struct share share = {sum.next, left < share_size ? left : share_size};
    sum.next += share.count;
    return share;
}

static void at_the_end(const char *line, size_t length)
{
    sum.repeat = check_alloc(realloc(sum.repeat, sum.length + length + 2), length);
    memcpy(sum.repeat + sum.length, line, length);
    sum.length += length;
    sum.repeat[sum.length++] = '\n';
    sum.repeat[sum.length] = '\0';
}

/* Lines "repeat: COMMAND" of a report. */
static void repeats_keep(const char *text)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        if (strncmp(text, "repeat: ", 8) == 0) {
            at_the_end(text, length);
            sum.failed++;
        }
        text += length + (text[length] == '\n');
    }
}

static void lost_keep(const struct ask *a)
{
    char command[COMMAND_TEXT];
    int n = snprintf(command, sizeof(command), "lost: ");
    n += share_print(command + n, sizeof(command) - (size_t)n, a->share);
    at_the_end(command, (size_t)n < sizeof(command) ? (size_t)n : sizeof(command) - 1);
    sum.lost++;
}

static void result_take(const struct ask *a, const char *text, int source)
{
    static const char *const words[] = {"passed", "failed", "lost"};
    sum.shares++;
    sum.found += a->end == SHARE_FAILED;
    sum.schedules += a->schedules;
    if (verbose || a->end != SHARE_PASSED) {
        printf("rank %d: seeds %" PRIu64 " to %" PRIu64 ": %s, %" PRIu64 " schedules\n", source,
               a->share.first, a->share.first + a->share.count - 1,
               sweep_mutant && a->end != SHARE_LOST
                   ? (a->end == SHARE_FAILED ? "caught" : "not caught")
                   : words[a->end],
               a->schedules);
    }
    if (a->end != SHARE_PASSED) {
        fputs(text, stdout);
        repeats_keep(text);
    }
    if (a->end == SHARE_LOST) {
        lost_keep(a);
    }
    fflush(stdout);
}

static void hand_out(long threads)
{
    while (threads > 0) {
        MPI_Status status;
        struct ask a;
        int length;
        MPI_Probe(MPI_ANY_SOURCE, TAG_ASK, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &length);
        char *message = check_alloc(calloc((size_t)length + 1, 1), (size_t)length + 1);
        MPI_Recv(message, length, MPI_BYTE, status.MPI_SOURCE, TAG_ASK, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        memcpy(&a, message, sizeof(a));
        if (a.share.count != 0) {
            result_take(&a, message + sizeof(a), status.MPI_SOURCE);
        }
        free(message);
        struct share share = share_next();
        threads -= share.count == 0;
        MPI_Send(&share, sizeof(share), MPI_BYTE, status.MPI_SOURCE, TAG_SHARE + a.thread,
                 MPI_COMM_WORLD);
    }
}

/* Returns the exit status. */
static int report(long threads, double seconds)
{
    if (sum.repeat != NULL) {
        fputs(sum.repeat, stdout);
    }
    printf("%" PRIu64 " seeds in %" PRIu64 " shares on %d ranks, %ld processes: %" PRIu64
           " schedules, %" PRIu64 " failures, %" PRIu64 " shares lost, %.1f s\n",
           sum.next - first, sum.shares, ranks, threads, sum.schedules, sum.failed, sum.lost,
           seconds);
    free(sum.repeat);
    return sum.lost != 0 || (sum.found != 0) != sweep_mutant;
}

/* ---- the command line ---- */

/* In the folder of this program. */
static const char *program_default(void)
{
    static char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    check_rc(n > 0 ? 0 : 1, "readlink /proc/self/exe");
    path[n] = '\0';
    char *name = strrchr(path, '/') + 1;
    snprintf(name, sizeof(path) - (size_t)(name - path), "pirn-sim-tests");
    return path;
}

static void command_make(void)
{
    static const char *command[2 * PASSED_ON + 2];
    static char names[PASSED_ON][16];
    unsigned n = 0;
    command[n++] = program != NULL ? program : program_default();
    for (unsigned i = 0; i < PASSED_ON; i++) {
        if (values[i] != NULL) {
            snprintf(names[i], sizeof(names[i]), "--%s", passed_on[i]);
            command[n++] = names[i];
            command[n++] = values[i];
        }
    }
    command[n] = NULL;
    sweep_command = command;
    sweep_mutant = values[MUTANT] != NULL;
}

static void parse(int argc, char **argv)
{
    struct option_spec options[PASSED_ON + 7];
    unsigned n = 0;
    options[n++] = option_count("first", &first, 0, UINT64_MAX / 16, "first seed");
    options[n++] = option_count("seeds", &seeds, 1, UINT64_MAX / 16, "how many seeds (100)");
    options[n++] = option_count("share", &share_size, 1, 1000000, "seeds of a process (10)");
    options[n++] = option_number("jobs", &jobs, 1, JOBS_MAX, "processes of a rank at a time (1)");
    options[n++] = option_text("program", "FILE", &program,
                               "what runs the seeds (pirn-sim-tests, in this program's folder)");
    options[n++] = option_flag("verbose", &verbose, "a line for each share");
    for (unsigned i = 0; i < PASSED_ON; i++) {
        options[n++] = option_text(passed_on[i], "VALUE", &values[i], "passed on to the program");
    }
    options[n] = (struct option_spec){0};
    const struct option_page page = {
        .summary = "Seeds of the simulator, over the ranks of an MPI program.", .options = options};
    options_parse(argc, argv, &page);
    command_make();
}

/* Rank 0 asks the program, once, whether it accepts the options. */
static bool accepted(int level)
{
    char *why = NULL;
    int wrong = 0;
    if (rank == 0) {
        why = share_refusal((struct share){first, seeds});
        if (why == NULL && level < MPI_THREAD_MULTIPLE) {
            why = strdup("the MPI library has no MPI_THREAD_MULTIPLE\n");
        }
        if (why != NULL) {
            fprintf(stderr, "pirn-sim-sweep: %s", why);
        }
        wrong = why != NULL;
        free(why);
    }
    MPI_Bcast(&wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return wrong == 0;
}

int main(int argc, char **argv)
{
    int level, status = 0;
    long threads = 0;
    parse(argc, argv);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!accepted(level)) {
        MPI_Finalize();
        return 2;
    }
    pthread_t *runners = array_alloc((size_t)jobs, sizeof(*runners));
    double begin = clock_seconds();
    MPI_Reduce(&jobs, &threads, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    sum.next = first;
    runners_start(runners);
    if (rank == 0) {
        hand_out(threads);
    }
    for (long i = 0; i < jobs; i++) {
        thread_join(runners[i]);
    }
    free(runners);
    if (rank == 0) {
        status = report(threads, clock_seconds() - begin);
    }
    MPI_Finalize();
    return status;
}
