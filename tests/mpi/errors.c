/* SPDX-License-Identifier: MIT */
/*
 * errors.c - errors are those of MPI: returned by the call that made them, or given to the error
 * handler of the communicator, in the thread that has called.
 */
#include "mpi_test.h"

#include <pthread.h>
#include <sched.h>

static int rank;

static int class_of(int error)
{
    int class;
    CHECK(MPI_Error_class(error, &class) == MPI_SUCCESS);
    return class;
}

static int handled;
static pthread_t handled_by;

static void handler(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    __atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED);
    handled_by = pthread_self();
    CHECK(class_of(*error) == MPI_ERR_TRUNCATE || class_of(*error) == MPI_ERR_IN_STATUS);
}

/* The peer sends too much, some time after the other thread has begun to wait. */
static void send_too_much(MPI_Comm comm, int tag)
{
    int data[4] = {1, 2, 3, 4};
    CHECK(MPI_Recv(NULL, 0, MPI_INT, 0, tag, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Send(data, 4, MPI_INT, 0, tag, comm) == MPI_SUCCESS);
}

static void *receives(void *arg)
{
    MPI_Comm comm = *(MPI_Comm *)arg;
    int got, error;
    CHECK(MPI_Send(NULL, 0, MPI_INT, 1, 1, comm) == MPI_SUCCESS);
    error = MPI_Recv(&got, 1, MPI_INT, 1, 1, comm, MPI_STATUS_IGNORE);
    CHECK(class_of(error) == MPI_ERR_TRUNCATE);
    CHECK(handled == 1 && pthread_equal(handled_by, pthread_self()));
    return NULL;
}

static void *waits_for_all(void *arg)
{
    MPI_Comm comm = *(MPI_Comm *)arg;
    int got[2];
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Irecv(&got[0], 1, MPI_INT, 1, 2, comm, &requests[0]);
    MPI_Irecv(&got[1], 1, MPI_INT, 1, 3, comm, &requests[1]);
    CHECK(MPI_Send(NULL, 0, MPI_INT, 1, 2, comm) == MPI_SUCCESS);
    int error = MPI_Waitall(2, requests, statuses);
    CHECK(class_of(error) == MPI_ERR_IN_STATUS);
    CHECK(class_of(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE);
    if (statuses[1].MPI_ERROR == MPI_ERR_PENDING) { /* MPI may return as soon as one has failed */
        CHECK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    } else {
        CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS);
    }
    CHECK(got[1] == 7);
    return NULL;
}

/* MPI_ERRORS_RETURN on one communicator alone. Later on the world's, too: MPICH gives it the error
 * of MPI_Waitall. */
static void returned(MPI_Comm comm)
{
    int got = 0, seven = 7, size;
    pthread_t t;
    CHECK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    MPI_Comm_size(comm, &size);
    CHECK(class_of(MPI_Send(&got, 1, MPI_INT, size, 1, comm)) == MPI_ERR_RANK);
    CHECK(class_of(MPI_Recv(&got, -1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE)) == MPI_ERR_COUNT);
    CHECK(class_of(MPI_Bcast(&got, 1, MPI_INT, size, comm)) == MPI_ERR_ROOT);
    CHECK(class_of(MPI_Probe(size, 1, comm, MPI_STATUS_IGNORE)) == MPI_ERR_RANK);
    CHECK(class_of(MPI_Sendrecv(&got, 1, MPI_INT, size, 1, &got, 1, MPI_INT, size, 1, comm,
                                MPI_STATUS_IGNORE)) == MPI_ERR_RANK);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    if (rank == 0) {
        CHECK(pthread_create(&t, NULL, waits_for_all, &comm) == 0 && pthread_join(t, NULL) == 0);
    } else {
        send_too_much(comm, 2);
        CHECK(MPI_Send(&seven, 1, MPI_INT, 0, 3, comm) == MPI_SUCCESS);
    }
}

static void given_to_handler(MPI_Comm comm)
{
    MPI_Errhandler mine;
    pthread_t t;
    CHECK(MPI_Comm_create_errhandler(handler, &mine) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(comm, mine) == MPI_SUCCESS);
#ifndef OPEN_MPI /* MPICH gives errors of requests to the handler of the world */
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine) == MPI_SUCCESS);
#endif
    if (rank == 0) {
        CHECK(pthread_create(&t, NULL, receives, &comm) == 0 && pthread_join(t, NULL) == 0);
    } else {
        send_too_much(comm, 1);
    }
    MPI_Errhandler_free(&mine);
}

/* No message comes: the call does not return, and MPI ends all the same. */
static void *waits_for_ever(void *arg)
{
    int got;
    MPI_Recv(&got, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    fprintf(stderr, "the call has returned\n");
    abort();
    return arg;
}

int main(int argc, char **argv)
{
    MPI_Comm comm, other;
    pthread_t t;
    test_begin(&argc, &argv, 1);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &other) == MPI_SUCCESS);
    given_to_handler(other);
    returned(comm);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        CHECK(pthread_create(&t, NULL, waits_for_ever, NULL) == 0);
        fprintf(stderr, "errors: done\n"); /* where the library's message goes */
        for (int i = 0; i < 3; i++) {      /* it waits, or will say so when it begins to */
            sched_yield();
        }
    }
    return MPI_Finalize();
}
