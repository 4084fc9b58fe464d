/* SPDX-License-Identifier: MIT */
/*
 * files.c - MPI_Waitall for several nonblocking operations of files: those of each rank's own file,
 * and collective ones, which match in all ranks only if each rank tests all of them.
 *
 * Argument: the name of a file, which is removed.
 */
#include "mpi_test.h"

#include <unistd.h>

enum { OPERATIONS = 10, PIECE = 65536, ROUNDS = 20 };

static char data[OPERATIONS][PIECE];
static int rank;

static MPI_File opened(MPI_Comm comm, const char *name)
{
    MPI_File file;
    CHECK(MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
          MPI_SUCCESS);
    return file;
}

static void own(const char *name)
{
    MPI_Request requests[OPERATIONS];
    MPI_File file = opened(MPI_COMM_SELF, name);
    for (int i = 0; i < OPERATIONS; i++) {
        CHECK(MPI_File_iwrite(file, data[i], PIECE, MPI_CHAR, &requests[i]) == MPI_SUCCESS);
    }
    CHECK(MPI_Waitall(OPERATIONS, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

static void collective(const char *name)
{
    MPI_Request requests[OPERATIONS];
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_File file = opened(MPI_COMM_WORLD, name);
    for (int i = 0; i < OPERATIONS; i++) {
        MPI_Offset at = (MPI_Offset)PIECE * (i * ranks + rank);
        CHECK(MPI_File_iwrite_at_all(file, at, data[i], PIECE, MPI_CHAR, &requests[i]) ==
              MPI_SUCCESS);
    }
    CHECK(MPI_Waitall(OPERATIONS, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    char mine[4096];
    test_begin(&argc, &argv, 1);
    CHECK(argc == 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(mine, sizeof(mine), "%s.%d", argv[1], rank);
    for (int i = 0; i < ROUNDS; i++) {
        own(mine);
        collective(argv[1]);
    }
    unlink(mine);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    if (rank == 0) {
        unlink(argv[1]);
    }
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    if (rank == 0) {
        puts("files: done");
    }
    return 0;
}
