/* SPDX-License-Identifier: MIT */
/*
 * quiet.c - two ranks wait for each other, each in MPI_Recv, until the program's input ends. Then
 * rank 0 sends what rank 1 waits for, and all ends well.
 */
#include "mpi_test.h"

#include <pthread.h>
#include <unistd.h>

static void *receives(void *arg)
{
    int got = 0;
    CHECK(MPI_Recv(&got, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(got == 25);
    return arg;
}

int main(int argc, char **argv)
{
    int rank, data = 25;
    char c;
    test_begin(&argc, &argv, 0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        pthread_t t;
        CHECK(pthread_create(&t, NULL, receives, NULL) == 0);
        pthread_setname_np(t, "receives");
        while (read(0, &c, 1) > 0) {
        }
        CHECK(MPI_Send(&data, 1, MPI_INT, 1, 6, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(pthread_join(t, NULL) == 0);
        printf("quiet: over\n");
    } else {
        pthread_setname_np(pthread_self(), "answers");
        CHECK(MPI_Recv(&data, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Send(&data, 1, MPI_INT, 0, 5, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    return MPI_Finalize();
}
