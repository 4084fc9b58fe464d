/* SPDX-License-Identifier: MIT */
/*
 * mpi_calls.c - MPI's functions by table: those that begin an operation and wait for it
 * (calls.def), and those that are called as they are (others.def, others_data.def).
 *
 * Callers: programs; libraries that are written in MPI, the Fortran interface of MPICH among them.
 */
#include "mpi_trace.h"

#define ARGS(...) __VA_ARGS__

/* Start the nonblocking form, and wait for it. `call_` is the caller's description of the call.
 * Before MPI_Init and after MPI_Finalize the functions below call MPI, which says what is wrong. */
#define WAITED(start, args, status, file)                                                          \
    __extension__({                                                                                \
        MPI_Request request_ = MPI_REQUEST_NULL;                                                   \
        int begun_ = MPI_TURN(PMPI_##start(ARGS args, &request_));                                 \
        begun_ == MPI_SUCCESS ? mpi_wait(&call_, &request_, status, file) : begun_;                \
    })

#define SENDS(name, start, params, args)                                                           \
    EXPORT int MPI_##name params                                                                   \
    {                                                                                              \
        if (!mpi_lib.running) {                                                                    \
            return PMPI_##name args;                                                               \
        }                                                                                          \
        const struct mpi_call call_ = MPI_OUT("MPI_" #name, count, datatype, dest, tag, comm);     \
        mpi_tell_send(&call_);                                                                     \
        return WAITED(start, args, MPI_STATUS_IGNORE, false);                                      \
    }
#define OTHER_SENDS(name, params, args)                                                            \
    EXPORT int MPI_##name params                                                                   \
    {                                                                                              \
        const struct mpi_call call_ = MPI_OUT("MPI_" #name, count, datatype, dest, tag, comm);     \
        mpi_tell_send(&call_);                                                                     \
        return MPI_TURN(PMPI_##name args);                                                         \
    }

#define RECEIVES(name, start, nothing, params, args)                                               \
    EXPORT int MPI_##name params                                                                   \
    {                                                                                              \
        if (!mpi_lib.running || (nothing)) {                                                       \
            return MPI_TURN(PMPI_##name(ARGS args, status));                                       \
        }                                                                                          \
        struct mpi_told told_;                                                                     \
        const struct mpi_call call_ = MPI_IN("MPI_" #name, count, datatype, source, tag, comm);    \
        status = mpi_tell_posted(&told_, &call_, status);                                          \
        int error_ = WAITED(start, args, status, false);                                           \
        mpi_tell_received(&told_, error_, status);                                                 \
        return error_;                                                                             \
    }

#define COLLECTIVE(name, start, params, args)                                                      \
    EXPORT int MPI_##name params                                                                   \
    {                                                                                              \
        if (!mpi_lib.running) {                                                                    \
            return PMPI_##name args;                                                               \
        }                                                                                          \
        const struct mpi_call call_ = MPI_ALL("MPI_" #name, comm);                                 \
        return WAITED(start, args, MPI_STATUS_IGNORE, false);                                      \
    }

/* Open MPI 4.1 numbers a communicator's nonblocking operations in each rank, but Ibcast and Ireduce
 * not if the count is 0. Between groups, where the count of a rank with MPI_PROC_NULL says nothing,
 * the numbers then differ, and all later operations hang. So without data one byte travels. */
static bool carries_nothing(int count, int root, MPI_Comm comm)
{
    int inter = 0;
    if (root != MPI_PROC_NULL && count == 0 && comm != MPI_COMM_NULL) {
        MPI_TURN(PMPI_Comm_test_inter(comm, &inter));
    }
    return root == MPI_PROC_NULL || inter;
}

#define COLLECTIVE_EMPTIED(name, start, emptied, params, args)                                     \
    EXPORT int MPI_##name params                                                                   \
    {                                                                                              \
        char nothing_[2] = {0};                                                                    \
        if (!mpi_lib.running) {                                                                    \
            return PMPI_##name args;                                                               \
        }                                                                                          \
        if (carries_nothing(count, root, comm)) {                                                  \
            (void)emptied;                                                                         \
        }                                                                                          \
        const struct mpi_call call_ = MPI_ALL("MPI_" #name, comm);                                 \
        return WAITED(start, args, MPI_STATUS_IGNORE, false);                                      \
    }
#define COLLECTIVE_COMM(name, start, comm, newcomm, params, args)                                  \
    EXPORT int MPI_##name params                                                                   \
    {                                                                                              \
        if (!mpi_lib.running) {                                                                    \
            return PMPI_##name args;                                                               \
        }                                                                                          \
        const struct mpi_call call_ = MPI_ALL("MPI_" #name, comm);                                 \
        int error_ = WAITED(start, args, MPI_STATUS_IGNORE, false);                                \
        if (error_ == MPI_SUCCESS) {                                                               \
            mpi_tell_comm(comm, newcomm);                                                          \
        }                                                                                          \
        return error_;                                                                             \
    }

#define WITH_STATUS(name, start, at_once, params, args, file)                                      \
    EXPORT int MPI_##name params                                                                   \
    {                                                                                              \
        if (!mpi_lib.running || (at_once)) {                                                       \
            return MPI_TURN(PMPI_##name(ARGS args, status));                                       \
        }                                                                                          \
        const struct mpi_call call_ = MPI_NOTHING("MPI_" #name);                                   \
        return WAITED(start, args, status, file);                                                  \
    }
#define RECEIVES_MATCHED(name, start, nothing, params, args)                                       \
    WITH_STATUS(name, start, nothing, params, args, false)
#define FILE(name, start, params, args) WITH_STATUS(name, start, false, params, args, true)

#define GATHERED(name, comm, params, args)                                                         \
    EXPORT int MPI_##name params                                                                   \
    {                                                                                              \
        int error_ = mpi_lib.running ? mpi_gather("MPI_" #name, comm) : MPI_SUCCESS;               \
        return error_ == MPI_SUCCESS ? MPI_TURN(PMPI_##name args) : error_;                        \
    }
#define GATHERED_COMM(name, comm, newcomm, params, args)                                           \
    EXPORT int MPI_##name params                                                                   \
    {                                                                                              \
        int error_ = mpi_lib.running ? mpi_gather("MPI_" #name, comm) : MPI_SUCCESS;               \
        error_ = error_ == MPI_SUCCESS ? MPI_TURN(PMPI_##name args) : error_;                      \
        if (error_ == MPI_SUCCESS) {                                                               \
            mpi_tell_comm(comm, newcomm);                                                          \
        }                                                                                          \
        return error_;                                                                             \
    }
#define OTHER_UNTOLD(name, why, params, args)                                                      \
    EXPORT int MPI_##name params                                                                   \
    {                                                                                              \
        mpi_tell_untold(why);                                                                      \
        return MPI_TURN(PMPI_##name args);                                                         \
    }

#define OTHER_OF_FILE(name, params, args)                                                          \
    EXPORT int MPI_##name params                                                                   \
    {                                                                                              \
        mpi_file_begun();                                                                          \
        return MPI_TURN(PMPI_##name args);                                                         \
    }

#define OTHER(name, params, args)                                                                  \
    EXPORT int MPI_##name params                                                                   \
    {                                                                                              \
        return MPI_TURN(PMPI_##name args);                                                         \
    }

#include "calls.def"
#include "others.def"
#include "others_data.def"
