/* SPDX-License-Identifier: MIT
 *
 * heat: the temperature of a square plate by Gauss-Seidel sweeps, over MPI. The plate is cut into
 * blocks, and each block has a thread, which exchanges edges with its neighbours by MPI_Send and
 * MPI_Recv, also within its rank. A rank has some rows of blocks.
 *
 * The order of a sweep over the whole plate is kept: a block waits for the new edges of its upper
 * and left neighbours, and for those of the step before of the lower and right ones. So the result
 * is the same, bit by bit, for any number of ranks and blocks, and blocks of different steps are
 * computed at the same time, along a wave.
 */
#include "block.h"
#include "check.h"
#include "clock.h"
#include "options.h"

#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define STACK_SIZE ((size_t)256 * 1024) /* MPI libraries need some */

static long size = 512, steps = 100, rows = 0, columns = 1; /* constant while threads run */
static int rank, ranks;

struct worker {
    pthread_t thread;
    long i, j; /* of the block among all */
    struct block block;
};

/* The rank that has a row of blocks. */
static int rank_of(long row)
{
    int r = 0;
    while (part_begin((size_t)rows, (size_t)ranks, (size_t)r + 1) <= (size_t)row)
        r++;
    return r;
}

/* The block beyond a side; false: the plate's edge. */
static bool neighbour(const struct worker *w, enum side side, long *i, long *j)
{
    *i = w->i + (side == DOWN) - (side == UP);
    *j = w->j + (side == RIGHT) - (side == LEFT);
    return *i >= 0 && *i < rows && *j >= 0 && *j < columns;
}

/* Of a message to a block, to that side of it. */
static int tag_of(long i, long j, enum side side)
{
    return (int)((i * columns + j) * SIDES + side);
}

static void send_edge(struct worker *w, enum side side)
{
    static const enum side opposite[] = {[UP] = DOWN, [LEFT] = RIGHT, [DOWN] = UP, [RIGHT] = LEFT};
    long i, j;
    if (neighbour(w, side, &i, &j))
        MPI_Send(block_edge(&w->block, side), (int)block_edge_length(&w->block, side), MPI_DOUBLE,
                 rank_of(i), tag_of(i, j, opposite[side]), MPI_COMM_WORLD);
}

static void receive_edge(struct worker *w, enum side side)
{
    long i, j;
    if (!neighbour(w, side, &i, &j))
        return;
    MPI_Recv(w->block.receive, (int)block_edge_length(&w->block, side), MPI_DOUBLE, rank_of(i),
             tag_of(w->i, w->j, side), MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    block_set_halo(&w->block, side, w->block.receive);
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    for (long step = 0; step < steps; step++) {
        receive_edge(w, UP);
        receive_edge(w, LEFT);
        if (step != 0) { /* at first all is 0 */
            receive_edge(w, DOWN);
            receive_edge(w, RIGHT);
        }
        block_sweep(&w->block);
        send_edge(w, DOWN);
        send_edge(w, RIGHT);
        if (step != steps - 1) {
            send_edge(w, UP);
            send_edge(w, LEFT);
        }
    }
    return NULL;
}

static void worker_init(struct worker *w, long i, long j)
{
    w->i = i;
    w->j = j;
    w->block.row = part_begin((size_t)size, (size_t)rows, (size_t)i);
    w->block.rows = part_begin((size_t)size, (size_t)rows, (size_t)i + 1) - w->block.row;
    w->block.column = part_begin((size_t)size, (size_t)columns, (size_t)j);
    w->block.columns = part_begin((size_t)size, (size_t)columns, (size_t)j + 1) - w->block.column;
    block_init(&w->block, (size_t)size);
}

/* One block has no thread: main computes it. */
static void run(struct worker *workers, size_t count)
{
    pthread_attr_t attr;
    if (count == 1) {
        worker_main(workers);
        return;
    }
    check_rc(pthread_attr_init(&attr), "pthread_attr_init");
    check_rc(pthread_attr_setstacksize(&attr, STACK_SIZE), "pthread_attr_setstacksize");
    for (size_t i = 0; i < count; i++)
        check_rc(pthread_create(&workers[i].thread, &attr, worker_main, &workers[i]),
                 "pthread_create");
    for (size_t i = 0; i < count; i++)
        thread_join(workers[i].thread);
    pthread_attr_destroy(&attr);
}

static void plate(void)
{
    long first = (long)part_begin((size_t)rows, (size_t)ranks, (size_t)rank);
    long end = (long)part_begin((size_t)rows, (size_t)ranks, (size_t)rank + 1);
    size_t count = (size_t)((end - first) * columns);
    struct worker *workers = array_alloc(count, sizeof(*workers));
    uint64_t sum = 0, all = 0;
    for (size_t k = 0; k < count; k++)
        worker_init(&workers[k], first + (long)k / columns, (long)k % columns);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = clock_seconds();
    run(workers, count);
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = clock_seconds() - begin;
    for (size_t k = 0; k < count; k++) {
        sum += block_sum(&workers[k].block, (size_t)size);
        block_free(&workers[k].block);
    }
    free(workers);
    MPI_Reduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("heat: %ld points square, %ld steps, %ld x %ld blocks on %d ranks: "
               "sum %016" PRIx64 ", %.3f s\n",
               size, steps, rows, columns, ranks, all, seconds);
}

static const char *mistake(int level)
{
    if (level < MPI_THREAD_MULTIPLE)
        return "the MPI library has no MPI_THREAD_MULTIPLE";
    if (rows < ranks)
        return "--rows must be at least the number of ranks: each has one row of blocks or more";
    if (rows > size || columns > size)
        return "--rows and --columns must be at most --size: a block has at least one point";
    return rows * columns > 8000 ? "there may be 8000 blocks: a tag of MPI may be 32767" : NULL;
}

int main(int argc, char **argv)
{
    const struct option_spec options[] = {
        option_number("size", &size, 1, 30000, "points of the plate, in each direction"),
        option_number("steps", &steps, 1, 1000000, "sweeps over the plate"),
        option_number("rows", &rows, 0, 8000, "rows of blocks (0: one for each rank)"),
        option_number("columns", &columns, 1, 8000, "columns of blocks"),
        {0},
    };
    const struct option_page page = {.summary = "heat of a plate, a thread a block, over MPI",
                                     .options = options};
    int level;
    options_parse(argc, argv, &page);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    rows = rows != 0 ? rows : ranks;
    const char *wrong = mistake(level);
    if (wrong != NULL) {
        if (rank == 0)
            fprintf(stderr, "heat: %s\n", wrong);
        MPI_Finalize();
        return 2;
    }
    plate();
    return MPI_Finalize();
}
