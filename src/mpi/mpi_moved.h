/* SPDX-License-Identifier: MIT */
/* mpi_moved.h - whether a look has moved data, by the time that it took: mpi_moved.c. */
#ifndef PIRN_MPI_MOVED_H
#define PIRN_MPI_MOVED_H

#include <stdbool.h>
#include <stdint.h>

/* How long a look takes that moves no data. Zeroed: not known yet. Times in nanoseconds. */
struct mpi_moved {
    uint64_t usual;     /* for one thread that waits, in tenths of a nanosecond */
    uint64_t looked;    /* when the last look ended */
    uint64_t completed; /* the last look that completed something, or moved nothing */
};

/*
 * A look for `waiting` threads has taken the time from `began` to `ended`, and has completed
 * something or not. Threads that were sent to try again have spent the time `tried` on that since
 * the look before. True: the look or these tries have moved data, and the next look probably will.
 * Context: the poller's thread.
 */
bool mpi_moved(struct mpi_moved *m, uint64_t began, uint64_t ended, uint64_t tried,
               unsigned waiting, bool completed);

#endif
