/* SPDX-License-Identifier: MIT */
/*
 * mpi_start.c - the beginning and the end of MPI, and its level of thread support.
 *
 * MPI is asked for MPI_THREAD_MULTIPLE, whatever the program wants, because threads of one process
 * wait at the same time. A library that gives less is called by one thread at a time
 * (mpi_lib.serial), and this says so.
 */
#include "mpi_trace.h"

#include <stdio.h>
#include <string.h>

static const char *level_name(int level)
{
    return level == MPI_THREAD_SINGLE       ? "MPI_THREAD_SINGLE"
           : level == MPI_THREAD_FUNNELED   ? "MPI_THREAD_FUNNELED"
           : level == MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED"
                                            : "an unknown level";
}

static int start(int *argc, char ***argv, int *level)
{
    int error = PMPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, level);
    if (error != MPI_SUCCESS) {
        return error;
    }
    mpi_keep();
    mpi_lib.serial = *level < MPI_THREAD_MULTIPLE;
    mpi_quiet_begin();
    mpi_pause_begin();
    int failed = mpi_poll_begin();
    if (failed != 0) {
        fprintf(stderr, "pirn-mpi: no memory for the thread that looks for messages (%s)\n",
                strerror(-failed));
        return MPI_ERR_NO_MEM;
    }
    if (mpi_lib.serial) {
        fprintf(stderr,
                "pirn-mpi: this MPI library gives %s, not MPI_THREAD_MULTIPLE: its functions are "
                "called by one thread at a time\n",
                level_name(*level));
        *level = MPI_THREAD_MULTIPLE;
    }
    mpi_trace_begin();
    mpi_lib.running = true;
    return MPI_SUCCESS;
}

EXPORT int MPI_Init(int *argc, char ***argv)
{
    int level;
    return start(argc, argv, &level);
}

EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    (void)required;
    return start(argc, argv, provided);
}

EXPORT int MPI_Query_thread(int *provided)
{
    int error = MPI_TURN(PMPI_Query_thread(provided));
    if (error == MPI_SUCCESS && mpi_lib.serial) {
        *provided = MPI_THREAD_MULTIPLE;
    }
    return error;
}

/* The other processes may come later; meanwhile threads that do not use MPI run. */
EXPORT int MPI_Finalize(void)
{
    if (!mpi_lib.running) {
        return PMPI_Finalize();
    }
    int error = mpi_gather("MPI_Finalize", MPI_COMM_WORLD);
    if (error != MPI_SUCCESS) {
        return error;
    }
    mpi_lib.running = false;
    unsigned waiting = mpi_poll_end();
    if (waiting != 0) {
        fprintf(stderr,
                "pirn-mpi: MPI_Finalize while %u threads wait in calls of MPI, which do not return "
                "any more\n",
                waiting);
    }
    if (mpi_lib.traced) {
        mpi_trace_end();
    }
    return MPI_TURN(PMPI_Finalize());
}
