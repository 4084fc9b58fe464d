/* SPDX-License-Identifier: MIT */
/*
 * slow_calls.c FILE - collective calls that have no nonblocking form, one thread a rank. Rank 0
 * prints a line for each: its name, and the microseconds that one takes. FILE is written and
 * deleted.
 */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/options.h"

static uint64_t calls = 100;
static const char *path;
static int rank;

static void check(int error, const char *what)
{
    if (error != MPI_SUCCESS) {
        fprintf(stderr, "slow_calls: %s fails: error %d\n", what, error);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void file_open(void)
{
    MPI_File file;
    check(
        MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
        "MPI_File_open");
    check(MPI_File_close(&file), "MPI_File_close");
}

static MPI_File opened;

static void file_set_size(void)
{
    check(MPI_File_set_size(opened, 4096), "MPI_File_set_size");
}

static void comm_split(void)
{
    MPI_Comm half;
    check(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half), "MPI_Comm_split");
    check(MPI_Comm_free(&half), "MPI_Comm_free");
}

static MPI_Win window;

static void win_create(void)
{
    static int memory;
    MPI_Win created;
    check(MPI_Win_create(&memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &created),
          "MPI_Win_create");
    check(MPI_Win_free(&created), "MPI_Win_free");
}

static void win_fence(void)
{
    check(MPI_Win_fence(0, window), "MPI_Win_fence");
}

static const struct call {
    const char *name;
    void (*run)(void);
} all[] = {{"Comm_split, Comm_free", comm_split},
           {"Win_create, Win_free", win_create},
           {"Win_fence", win_fence},
           {"File_open, File_close", file_open},
           {"File_set_size", file_set_size}};

static void measure(const struct call *call)
{
    call->run();
    MPI_Barrier(MPI_COMM_WORLD);
    double from = MPI_Wtime();
    for (uint64_t i = 0; i < calls; i++) {
        call->run();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%s: %.1f\n", call->name, (MPI_Wtime() - from) * 1e6 / (double)calls);
    }
}

int main(int argc, char **argv)
{
    static int memory;
    const struct option_spec options[] = {
        option_count("calls", &calls, 1, INT_MAX, "calls of each kind (default 100)"),
        {.name = NULL}};
    const struct option_page page = {"Collective calls of MPI that have no nonblocking form.",
                                     "FILE", options};
    int level;
    path = options_parse(argc, argv, &page)[0];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check(MPI_Win_create(&memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window),
          "MPI_Win_create");
    check(MPI_File_open(MPI_COMM_WORLD, path,
                        MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                        &opened),
          "MPI_File_open");
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        measure(&all[i]);
    }
    check(MPI_File_close(&opened), "MPI_File_close");
    check(MPI_Win_free(&window), "MPI_Win_free");
    return MPI_Finalize();
}
