/* SPDX-License-Identifier: MIT */
/*
 * waits.c - threads of rank 0 wait, each in another call of MPI, until the program's input ends.
 * Then rank 0 writes a report of its threads (pirn_dump), and rank 1 ends all these waits.
 */
#include "mpi_test.h"

#include <pirn/pirn.h>
#include <pthread.h>
#include <unistd.h>

static MPI_Comm named, unnamed;

static void *receives(void *arg)
{
    int data[16];
    CHECK(MPI_Recv(data, 16, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    return arg;
}

static void *receives_any(void *arg)
{
    char c;
    CHECK(MPI_Recv(&c, 1, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, named, MPI_STATUS_IGNORE) == 0);
    return arg;
}

static void *sends(void *arg)
{
    double data[3] = {1, 2, 3};
    CHECK(MPI_Ssend(data, 3, MPI_DOUBLE, 1, 9, MPI_COMM_WORLD) == MPI_SUCCESS);
    return arg;
}

static void *probes(void *arg)
{
    MPI_Status status;
    CHECK(MPI_Probe(1, 11, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
    CHECK(MPI_Recv(NULL, 0, MPI_INT, 1, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    return arg;
}

static void *waits_for_all(void *arg)
{
    int data[2];
    MPI_Request requests[2];
    MPI_Irecv(&data[0], 1, MPI_INT, 1, 12, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&data[1], 1, MPI_INT, 1, 13, MPI_COMM_WORLD, &requests[1]);
    CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    return arg;
}

static void *meets(void *arg)
{
    CHECK(MPI_Barrier(unnamed) == MPI_SUCCESS);
    return arg;
}

static void rank_0(void)
{
    void *(*const fn[])(void *) = {receives, receives_any, sends, probes, waits_for_all, meets};
    const char *const name[] = {"receives", "receives-any", "sends", "probes", "waits", "meets"};
    pthread_t t[6];
    char c;
    for (int i = 0; i < 6; i++) {
        CHECK(pthread_create(&t[i], NULL, fn[i], NULL) == 0);
        pthread_setname_np(t[i], name[i]);
    }
    printf("rank 0 is %d\n", (int)getpid());
    fflush(stdout);
    while (read(0, &c, 1) > 0) {
    }
    pirn_dump();
    CHECK(MPI_Send(NULL, 0, MPI_INT, 1, 1, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int i = 0; i < 6; i++) {
        CHECK(pthread_join(t[i], NULL) == 0);
    }
}

static void rank_1(void)
{
    int data[16] = {0};
    double got[3];
    CHECK(MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Send(data, 16, MPI_INT, 0, 7, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Send("x", 1, MPI_CHAR, 0, 8, named) == MPI_SUCCESS);
    CHECK(MPI_Recv(got, 3, MPI_DOUBLE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Send(NULL, 0, MPI_INT, 0, 11, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Send(data, 1, MPI_INT, 0, 12, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Send(data, 1, MPI_INT, 0, 13, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Barrier(unnamed) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    int rank;
    test_begin(&argc, &argv, 0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &named) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &unnamed) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_name(unnamed, "") == MPI_SUCCESS);
    CHECK(MPI_Comm_set_name(named, "halo") == MPI_SUCCESS);
    if (rank == 0) {
        rank_0();
    } else if (rank == 1) {
        rank_1();
    }
    return MPI_Finalize();
}
