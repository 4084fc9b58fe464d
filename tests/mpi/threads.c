/* SPDX-License-Identifier: MIT */
/*
 * threads.c THREADS [--handlers | --serial] - many more threads than CPUs wait in calls of MPI. A
 * call that kept its CPU would stop the program: what it waits for is done by a thread that has no
 * CPU then.
 */
#include "mpi_test.h"

#include <pthread.h>

enum { MOST = 1000, ROUNDS = 5 };

static int rank, size, threads;

static void run(void *(*fn)(void *))
{
    static pthread_t t[MOST];
    for (int i = 0; i < threads; i++) {
        CHECK(pthread_create(&t[i], NULL, fn, (void *)(long)i) == 0);
    }
    for (int i = 0; i < threads; i++) {
        CHECK(pthread_join(t[i], NULL) == 0);
    }
}

/* Each thread waits for the next one of its process; the last one for the other process. */
static void *passes(void *arg)
{
    int i = (int)(long)arg, got = -1, right = (rank + 1) % size;
    MPI_Status status;
    for (int round = 0; round < ROUNDS; round++) {
        int sent = 1000 * round + i;
        if (i + 1 < threads) {
            CHECK(MPI_Recv(&got, 1, MPI_INT, rank, i + 1, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
            CHECK(got == sent + 1 && status.MPI_SOURCE == rank && status.MPI_TAG == i + 1);
        } else {
            CHECK(MPI_Sendrecv(&sent, 1, MPI_INT, right, MOST, &got, 1, MPI_INT, MPI_ANY_SOURCE,
                               MOST, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
            CHECK(got == sent);
        }
        if (i != 0) {
            CHECK(MPI_Ssend(&sent, 1, MPI_INT, rank, i, MPI_COMM_WORLD) == MPI_SUCCESS);
        }
    }
    return NULL;
}

/* In each process other threads come first. */
static MPI_Comm comms[MOST];

static void *meets(void *arg)
{
    int i = (int)(long)arg, sum = 0;
    i = rank % 2 == 0 ? i : threads - 1 - i;
    for (int round = 0; round < ROUNDS; round++) {
        int mine = rank + i + round;
        CHECK(MPI_Barrier(comms[i]) == MPI_SUCCESS);
        CHECK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comms[i]) == MPI_SUCCESS);
        CHECK(sum == size * (i + round) + size * (size - 1) / 2);
    }
    return NULL;
}

/* Communicators that are made at the same time, in each process by other threads first. A split has
 * no nonblocking form: its thread keeps the CPU, and preemption lets the others run. */
static void *makes(void *arg)
{
    int i = (int)(long)arg, sum = 0;
    MPI_Comm dup, half;
    i = rank % 2 == 0 ? i : threads - 1 - i;
    CHECK(MPI_Comm_dup(comms[i], &dup) == MPI_SUCCESS);
    CHECK(MPI_Comm_split(dup, rank % 2, rank, &half) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, half) == MPI_SUCCESS);
    CHECK(sum == i * ((size + 1 - rank % 2) / 2));
    CHECK(MPI_Comm_free(&half) == MPI_SUCCESS && MPI_Comm_free(&dup) == MPI_SUCCESS);
    return NULL;
}

/* All kinds of waits at once; each thread speaks with its like in the next process. */
static void *mixes(void *arg)
{
    int i = (int)(long)arg, right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int round = 0; round < ROUNDS; round++) {
        int in[2] = {-1, -1}, out[2] = {rank, round}, done = 0, indices[4];
        MPI_Request requests[4];
        MPI_Status status;
        MPI_Message message;
        MPI_Isend(&out[0], 1, MPI_INT, right, i, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&out[1], 1, MPI_INT, right, MOST + i, MPI_COMM_WORLD, &requests[1]);
        switch ((i + round) % 4) {
        case 0:
            CHECK(MPI_Probe(left, i, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
            CHECK(status.MPI_TAG == i);
            CHECK(MPI_Recv(&in[0], 1, MPI_INT, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == 0);
            CHECK(MPI_Mprobe(left, MOST + i, MPI_COMM_WORLD, &message, &status) == MPI_SUCCESS);
            CHECK(MPI_Mrecv(&in[1], 1, MPI_INT, &message, &status) == MPI_SUCCESS);
            CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
            break;
        case 1:
        case 2:
            MPI_Irecv(&in[0], 1, MPI_INT, left, i, MPI_COMM_WORLD, &requests[2]);
            MPI_Irecv(&in[1], 1, MPI_INT, left, MOST + i, MPI_COMM_WORLD, &requests[3]);
            for (int ended = 0; ended < 4; ended += done) {
                done = 1;
                CHECK(((i + round) % 4 == 1
                           ? MPI_Waitany(4, requests, &indices[0], &status)
                           : MPI_Waitsome(4, requests, &done, indices, MPI_STATUSES_IGNORE)) == 0);
                CHECK(done >= 1 && indices[0] >= 0 && indices[0] < 4);
            }
            break;
        default:
            MPI_Irecv(&in[0], 1, MPI_INT, left, i, MPI_COMM_WORLD, &requests[2]);
            MPI_Irecv(&in[1], 1, MPI_INT, left, MOST + i, MPI_COMM_WORLD, &requests[3]);
            CHECK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
            break;
        }
        CHECK(in[0] == left && in[1] == round);
    }
    return NULL;
}

/* Each thread exchanges many messages with its like, in either direction, and waits for all. */
static void *exchanges(void *arg)
{
    enum { MANY = 40 };
    int i = (int)(long)arg, right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int round = 0; round < ROUNDS; round++) {
        int in[MANY], out[MANY];
        MPI_Request requests[2 * MANY];
        MPI_Status statuses[2 * MANY];
        for (int k = 0; k < MANY; k++) {
            in[k] = -1;
            out[k] = (rank * ROUNDS + round) * MANY + k;
            MPI_Irecv(&in[k], 1, MPI_INT, left, i, MPI_COMM_WORLD, &requests[2 * k]);
        }
        for (int k = 0; k < MANY; k++) {
            MPI_Isend(&out[k], 1, MPI_INT, right, i, MPI_COMM_WORLD, &requests[2 * k + 1]);
        }
        CHECK(MPI_Waitall(2 * MANY, requests, statuses) == MPI_SUCCESS);
        for (int k = 0; k < MANY; k++) {
            CHECK(in[k] == (left * ROUNDS + round) * MANY + k);
            CHECK(statuses[2 * k].MPI_SOURCE == left && statuses[2 * k].MPI_TAG == i);
            CHECK(requests[2 * k] == MPI_REQUEST_NULL && requests[2 * k + 1] == MPI_REQUEST_NULL);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, 0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    threads = argc > 1 ? atoi(argv[1]) : 0;
    CHECK(threads > 0 && threads <= MOST);
    if (argc > 2 && strcmp(argv[2], "--handlers") == 0) {
        CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    }
    run(passes);
    run(mixes);
    run(exchanges);
    threads = threads < 100 ? threads : 100; /* communicators are scarce */
    for (int i = 0; i < threads; i++) {
        CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]) == MPI_SUCCESS);
    }
    run(meets);
    int all = threads;
    threads = all < 10 ? all : 10;
    if (argc < 3 || strcmp(argv[2], "--serial") != 0) { /* there a split keeps others out of MPI */
        run(makes);
    }
    threads = all;
    for (int i = 0; i < threads; i++) {
        CHECK(MPI_Comm_free(&comms[i]) == MPI_SUCCESS);
    }
    if (rank == 0) {
        fprintf(stderr, "threads: done\n"); /* where the library's message goes */
    }
    return MPI_Finalize();
}
