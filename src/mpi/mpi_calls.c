/* SPDX-License-Identifier: MIT */
/*
 * mpi_calls.c - MPI's functions by table: those that begin an operation and wait for it
 * (calls.def), and those that are called as they are (others.def, others_data.def).
 *
 * Callers: programs; libraries that are written in MPI, the Fortran interface of MPICH among them.
 */
#include "mpi_lib.h"

#define ARGS(...) __VA_ARGS__

/* Begin, wait. Before MPI_Init and after MPI_Finalize MPI itself says what is wrong. Last:
 * a struct mpi_call. */
#define BEGIN_AND_WAIT(start, args, status, file, ...)                                             \
    const struct mpi_call call_ = __VA_ARGS__;                                                     \
    MPI_Request request_ = MPI_REQUEST_NULL;                                                       \
    int begun_ = MPI_TURN(PMPI_##start(ARGS args, &request_));                                     \
    return begun_ == MPI_SUCCESS ? mpi_wait(&call_, &request_, status, file) : begun_

#define WITHOUT_STATUS(name, start, params, args, ...)                                             \
    EXPORT int MPI_##name params                                                                   \
    {                                                                                              \
        if (!mpi_lib.running) {                                                                    \
            return PMPI_##name args;                                                               \
        }                                                                                          \
        BEGIN_AND_WAIT(start, args, MPI_STATUS_IGNORE, false, __VA_ARGS__);                        \
    }
#define SENDS(name, start, params, args)                                                           \
    WITHOUT_STATUS(name, start, params, args,                                                      \
                   MPI_OUT("MPI_" #name, count, datatype, dest, tag, comm))
#define COLLECTIVE(name, start, params, args)                                                      \
    WITHOUT_STATUS(name, start, params, args, MPI_ALL("MPI_" #name, comm))

#define WITH_STATUS(name, start, at_once, params, args, file, ...)                                 \
    EXPORT int MPI_##name params                                                                   \
    {                                                                                              \
        if (!mpi_lib.running || (at_once)) {                                                       \
            return MPI_TURN(PMPI_##name(ARGS args, status));                                       \
        }                                                                                          \
        BEGIN_AND_WAIT(start, args, status, file, __VA_ARGS__);                                    \
    }
#define RECEIVES(name, start, nothing, params, args)                                               \
    WITH_STATUS(name, start, nothing, params, args, false,                                         \
                MPI_IN("MPI_" #name, count, datatype, source, tag, comm))
#define RECEIVES_MATCHED(name, start, nothing, params, args)                                       \
    WITH_STATUS(name, start, nothing, params, args, false, MPI_NOTHING("MPI_" #name))
#define FILE(name, start, params, args)                                                            \
    WITH_STATUS(name, start, false, params, args, true, MPI_NOTHING("MPI_" #name))

#define GATHERED(name, comm, params, args)                                                         \
    EXPORT int MPI_##name params                                                                   \
    {                                                                                              \
        int error_ = mpi_lib.running ? mpi_gather("MPI_" #name, comm) : MPI_SUCCESS;               \
        return error_ == MPI_SUCCESS ? MPI_TURN(PMPI_##name args) : error_;                        \
    }

#define OTHER(name, params, args)                                                                  \
    EXPORT int MPI_##name params                                                                   \
    {                                                                                              \
        return MPI_TURN(PMPI_##name args);                                                         \
    }

#include "calls.def"
#include "others.def"
#include "others_data.def"
