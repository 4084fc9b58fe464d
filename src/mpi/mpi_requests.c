/* SPDX-License-Identifier: MIT */
/*
 * mpi_requests.c - functions of MPI that begin a receive or end requests. A receive ends with its
 * request, which is what the event trace tells (mpi_trace.h).
 */
#include "mpi_trace.h"

EXPORT int MPI_Irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag,
                     MPI_Comm comm, MPI_Request *request)
{
    const struct mpi_call call = MPI_IN("MPI_Irecv", count, datatype, source, tag, comm);
    int error = MPI_TURN(PMPI_Irecv(buf, count, datatype, source, tag, comm, request));
    if (error == MPI_SUCCESS) {
        mpi_tell_request(&call, *request);
    }
    return error;
}

EXPORT int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                       MPI_Status *status)
{
    MPI_Status own;
    status = mpi_lib.traced && status == MPI_STATUS_IGNORE ? &own : status;
    int error = MPI_TURN(PMPI_Improbe(source, tag, comm, flag, message, status));
    if (error == MPI_SUCCESS && *flag) {
        mpi_tell_taken(comm, status);
    }
    return error;
}

EXPORT int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    static const struct mpi_call call = {.name = "MPI_Wait", .has = MPI_HAS_REQUESTS, .count = 1};
    struct mpi_watch watch;
    if (!mpi_lib.running) {
        return PMPI_Wait(request, status);
    }
    status = mpi_watch_begin(&watch, 1, request, status);
    int error = mpi_wait(&call, request, status, false);
    mpi_watch_end(&watch, error == MPI_SUCCESS, NULL, request, status);
    return error;
}

EXPORT int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    struct mpi_watch watch;
    if (!mpi_lib.running) {
        return PMPI_Waitall(count, requests, statuses);
    }
    statuses = mpi_watch_begin(&watch, count, requests, statuses);
    int error = mpi_wait_all(count, requests, statuses);
    mpi_watch_end(&watch, error == MPI_SUCCESS ? count : 0, NULL, requests, statuses);
    return error;
}

EXPORT int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    struct mpi_watch watch;
    if (!mpi_lib.running) {
        return PMPI_Waitany(count, requests, index, status);
    }
    status = mpi_watch_begin(&watch, count, requests, status);
    int error = mpi_wait_any(count, requests, index, status);
    mpi_watch_end(&watch, error == MPI_SUCCESS && *index != MPI_UNDEFINED, index, requests, status);
    return error;
}

/* MPI_UNDEFINED: no request was active. */
static int count_of(int error, int done)
{
    return error == MPI_SUCCESS && done != MPI_UNDEFINED ? done : 0;
}

EXPORT int MPI_Waitsome(int count, MPI_Request requests[], int *done, int indices[],
                        MPI_Status statuses[])
{
    struct mpi_watch watch;
    if (!mpi_lib.running) {
        return PMPI_Waitsome(count, requests, done, indices, statuses);
    }
    statuses = mpi_watch_begin(&watch, count, requests, statuses);
    int error = mpi_wait_some(count, requests, done, indices, statuses);
    mpi_watch_end(&watch, count_of(error, *done), indices, requests, statuses);
    return error;
}

EXPORT int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    struct mpi_watch watch;
    status = mpi_watch_begin(&watch, 1, request, status);
    int error = MPI_TURN(PMPI_Test(request, flag, status));
    mpi_watch_end(&watch, error == MPI_SUCCESS && *flag, NULL, request, status);
    return error;
}

EXPORT int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    struct mpi_watch watch;
    statuses = mpi_watch_begin(&watch, count, requests, statuses);
    int error = MPI_TURN(PMPI_Testall(count, requests, flag, statuses));
    mpi_watch_end(&watch, error == MPI_SUCCESS && *flag ? count : 0, NULL, requests, statuses);
    return error;
}

EXPORT int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    struct mpi_watch watch;
    status = mpi_watch_begin(&watch, count, requests, status);
    int error = MPI_TURN(PMPI_Testany(count, requests, index, flag, status));
    mpi_watch_end(&watch, error == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED, index, requests,
                  status);
    return error;
}

EXPORT int MPI_Testsome(int count, MPI_Request requests[], int *done, int indices[],
                        MPI_Status statuses[])
{
    struct mpi_watch watch;
    statuses = mpi_watch_begin(&watch, count, requests, statuses);
    int error = MPI_TURN(PMPI_Testsome(count, requests, done, indices, statuses));
    mpi_watch_end(&watch, count_of(error, *done), indices, requests, statuses);
    return error;
}
