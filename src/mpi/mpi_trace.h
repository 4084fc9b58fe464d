/* SPDX-License-Identifier: MIT */
/*
 * mpi_trace.h - what a rank's event trace says about other ranks, for `pirn trace merge`: which
 * messages go and come, and how its clock differs from that of rank 0. Only if all ranks are traced
 * when MPI begins (mpi_lib.traced); otherwise each of these calls is a test of that.
 */
#ifndef PIRN_MPI_TRACE_H
#define PIRN_MPI_TRACE_H

#include "mpi_lib.h"

/* After MPI has begun, before it ends. All ranks call both, in one thread. */
void mpi_trace_begin(void);
void mpi_trace_end(void);

/* All ranks of `parent` have made a communicator of it. */
void mpi_tell_comm(MPI_Comm parent, const MPI_Comm *made);

/* There are messages that the trace does not tell. Once for each reason (a string's address). */
enum mpi_untold { MPI_UNTOLD_PERSISTENT, MPI_UNTOLD_COMM, MPI_UNTOLD_MEMORY, MPI_UNTOLD_REASONS };
void mpi_tell_untold(enum mpi_untold why);

/* A message is about to be sent. */
void mpi_tell_send(const struct mpi_call *call);

/* A receive is posted, ..., and over. `number`: 0 if it is known only when the message is there. */
struct mpi_told {
    const struct mpi_call *call; /* NULL: nothing to tell */
    uint64_t number;
    MPI_Status status; /* where the caller wants none */
};
MPI_Status *mpi_tell_posted(struct mpi_told *told, const struct mpi_call *call, MPI_Status *status);
void mpi_tell_received(const struct mpi_told *told, int error, const MPI_Status *status);

/* A probe has taken a message. */
void mpi_tell_taken(MPI_Comm comm, const MPI_Status *status);

/* A receive is posted, and the end of `request` is its end. */
void mpi_tell_request(const struct mpi_call *call, MPI_Request request);

/* Around a call that may end requests. It gets the statuses that are returned. When it is over its
 * requests may be used again by other threads, so what belongs to them is taken away before, and
 * put back if they have not ended. */
struct mpi_watch {
    int count; /* 0: nothing to tell */
    struct watched {
        struct posted *posted; /* NULL: no receive */
        MPI_Request request;
    } * of;
    MPI_Status *own;
};
MPI_Status *mpi_watch_begin(struct mpi_watch *watch, int count, const MPI_Request *requests,
                            MPI_Status *statuses);
/* `ended` of them: those at `indices`, with statuses in the same order; NULL: the first ones. */
void mpi_watch_end(struct mpi_watch *watch, int ended, const int *indices,
                   const MPI_Request *requests, const MPI_Status *statuses);

#endif
