/* SPDX-License-Identifier: MIT
 *
 * dedup_mpi: makes the archive of dedup, bit by bit, in the ranks of an MPI program. Each rank has
 * threads that work on parts of the input, and threads that own the contents with certain digests;
 * all of them wait in calls of MPI (ranks.h). dedup restores the archive. Exit status 0: done; 1:
 * bad input or a call that failed; 2: wrong command line.
 */
#include "check.h"
#include "clock.h"
#include "options.h"
#include "output.h"
#include "ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define STACK_SIZE ((size_t)256 * 1024) /* MPI libraries need some */
enum { LEAST_AVERAGE = 4 * RABIN_WINDOW, MOST_AVERAGE = CHUNK_MOST / 4, FIFO_DEPTH = 64 };

static void parse_arguments(int argc, char **argv, struct encoding *e)
{
    long threads = 8, fragment = 1 << 17, average = 1 << 12, inflight = 64, level = 6;
    const struct option_spec options[] = {
        option_number("threads", &threads, 1, WORKERS_MOST,
                      "threads of each rank that work, and as many that answer them"),
        option_number("fragment", &fragment, 1024, 1 << 28, "bytes of a part of the input"),
        option_number("average", &average, LEAST_AVERAGE, MOST_AVERAGE,
                      "bytes of a chunk, about; a power of two"),
        option_number("inflight", &inflight, 1, 10000, "most parts at a time"),
        option_number("level", &level, 1, 9, "zlib's: 1 is fast, 9 is small"),
        {.name = NULL},
    };
    const struct option_page page = {
        .summary = "Packs a file in the ranks of an MPI program: equal parts are written once.",
        .operand = "INPUT OUTPUT",
        .options = options,
    };
    char **operands = options_parse(argc, argv, &page);

    if (average & (average - 1))
        app_die("--average=%ld: not a power of two from %d to %d", average, LEAST_AVERAGE,
                MOST_AVERAGE);
    *e = (struct encoding){.input = operands[0],
                           .output = operands[1],
                           .threads = (size_t)threads,
                           .fragment_size = (size_t)fragment,
                           .inflight = (size_t)inflight,
                           .level = (int)level};
    cutter_init(&e->cutter, (size_t)average);
}

static void input_map(struct rank_state *state)
{
    const char *path = state->encoding->input;
    int fd = open(path, O_RDONLY);
    struct stat is;

    if (fd < 0 || fstat(fd, &is) != 0)
        app_die("cannot open '%.96s': %s", path, strerror(errno));
    if (!S_ISREG(is.st_mode))
        app_die("'%.96s' is no regular file, which all ranks could read", path);
    state->size = (uint64_t)is.st_size;
    if (state->size != 0) {
        void *map = mmap(NULL, state->size, PROT_READ, MAP_PRIVATE, fd, 0);

        if (map == MAP_FAILED)
            app_die("cannot read '%.96s': %s", path, strerror(errno));
        state->input = map;
    }
    close(fd);
}

static void start(pthread_t *thread, void *(*entry)(void *), void *arg)
{
    pthread_attr_t attr;

    check_rc(pthread_attr_init(&attr), "pthread_attr_init");
    check_rc(pthread_attr_setstacksize(&attr, STACK_SIZE), "pthread_attr_setstacksize");
    check_rc(pthread_create(thread, &attr, entry, arg), "pthread_create");
    pthread_attr_destroy(&attr);
}

/* When no worker of any rank asks any more. */
static void owners_end(const struct rank_state *state, const pthread_t *owners)
{
    const struct question end = {.size = 0};

    MPI_Barrier(MPI_COMM_WORLD);
    for (size_t i = 0; i < state->encoding->threads; i++)
        MPI_Send(&end, sizeof end, MPI_BYTE, state->rank, TAG_ASK, MPI_COMM_WORLD);
    for (size_t i = 0; i < state->encoding->threads; i++)
        thread_join(owners[i]);
}

static void run(struct rank_state *state)
{
    struct encoding *e = state->encoding;
    struct worker *workers = array_alloc(e->threads, sizeof *workers);
    pthread_t *owners = array_alloc(e->threads, sizeof *owners);
    pthread_t dispatch, collect;
    bool first = state->rank == 0;

    e->table = table_new();
    if (first) {
        start(&dispatch, dispatch_main, state);
        start(&collect, collect_main, state);
    }
    for (size_t i = 0; i < e->threads; i++) {
        workers[i] = (struct worker){.state = state, .number = (uint32_t)i};
        start(&owners[i], owner_main, state);
        start(&workers[i].thread, worker_main, &workers[i]);
    }
    for (size_t i = 0; i < e->threads; i++)
        thread_join(workers[i].thread);
    owners_end(state, owners);
    if (first) {
        thread_join(dispatch);
        thread_join(collect);
    }
    table_free(e->table);
    free(owners);
    free(workers);
}

static void run_first(struct rank_state *state)
{
    struct encoding *e = state->encoding;
    double from = clock_seconds();

    output_open(e->output);
    fifo_init(&e->done, FIFO_DEPTH);
    semaphore_init(&e->room, (unsigned)e->inflight);
    run(state);
    semaphore_destroy(&e->room);
    fifo_destroy(&e->done);
    output_close();
    printf("dedup_mpi: bytes=%" PRIu64 " chunks=%" PRIu64 " unique=%" PRIu64 " packed=%" PRIu64
           " archive=%" PRIu64 " ranks=%d threads=%zu seconds=%.6f\n",
           e->bytes, e->count, e->unique, e->packed, e->archive, state->ranks, e->threads,
           clock_seconds() - from);
}

int main(int argc, char **argv)
{
    struct encoding encoding;
    struct rank_state state = {.encoding = &encoding};
    int level;

    app_name_set("dedup_mpi");
    parse_arguments(argc, argv, &encoding);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level != MPI_THREAD_MULTIPLE)
        app_die("this MPI library has no MPI_THREAD_MULTIPLE, which threads that call MPI need");
    MPI_Comm_rank(MPI_COMM_WORLD, &state.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &state.ranks);
    input_map(&state);
    if (state.rank == 0)
        run_first(&state);
    else
        run(&state);
    return MPI_Finalize() == MPI_SUCCESS ? EXIT_SUCCESS : EXIT_FAILURE;
}
