/* SPDX-License-Identifier: MIT */
/*
 * mpi_pause.c - a thread that waits within a call of MPI (others.def, and those of calls.def whose
 * ranks have gathered) looks for messages again and again. In between it lets other threads of its
 * rank run, or, if none is ready, offers its processor to other programs: the message may be that
 * of a rank that waits for a processor.
 *
 * Callers: the MPI library, by mpi_redirect.c, in place of a function that it calls in each round
 * of such a wait. Open MPI calls sched_yield after a round in vain, if mpirun knows that there are
 * more ranks than processors. Of libpirn-pthread that is a switch to another thread of the rank,
 * and nothing if there is none. MPICH never yields, but it gives its lock back in each round. There
 * mpi_pause_begin finds out whether there are more ranks than processors. If not, other threads of
 * the rank run all the same, because the call of one of them may be that for which another rank
 * waits. But no processor is offered: it may go to another program for milliseconds, and nobody
 * gains.
 *
 * A call that does not wait makes few rounds, and offers nothing. The poller, and threads that test
 * for the end of their requests, do not wait in MPI, so their rounds do not count (mpi_enter, and
 * mpi_rounds_none in mpi_poll.c).
 */
#include "mpi_lib.h"

#include <limits.h>
#include <sched.h>

/* Two threads that both wait in MPI let each other run, and nobody else: an offer now and then all
 * the same. */
#define OFFER_EACH 8u

__thread int mpi_rounds __attribute__((tls_model("initial-exec")));

void mpi_rounds_none(void)
{
    mpi_rounds = INT_MIN;
}

static void let_others_run(void)
{
    static unsigned pauses; /* not exact */
    unsigned n = __atomic_load_n(&pauses, __ATOMIC_RELAXED) + 1;
    __atomic_store_n(&pauses, n, __ATOMIC_RELAXED);
    pirn_poll_pause(n % OFFER_EACH == 0);
}

#ifdef OPEN_MPI
#define ROUNDS_BEFORE 4 /* a few microseconds */

void mpi_pause_begin(void) {}

int mpi_pause(void)
{
    if (mpi_rounds > ROUNDS_BEFORE) {
        let_others_run();
    } else {
        mpi_rounds++;
        pirn_yield();
    }
    return 0;
}
#else
#define ROUNDS_BEFORE 16 /* a few microseconds */
#define ROUNDS_EACH 2

static bool crowded; /* (C) from MPI_Init on: more ranks than processors */

void mpi_pause_begin(void)
{
    MPI_Comm node;
    cpu_set_t set;
    int ranks;
    CPU_ZERO(&set); /* on machines with more processors the call fails, and there are enough */
    bool known = sched_getaffinity(0, sizeof(set), &set) == 0;
    PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    PMPI_Comm_size(node, &ranks);
    PMPI_Allreduce(MPI_IN_PLACE, &set, sizeof(set), MPI_BYTE, MPI_BOR, node);
    crowded = known && ranks > CPU_COUNT(&set);
    PMPI_Comm_free(&node);
}

int mpi_pause(pthread_mutex_t *lock)
{
    int error = pthread_mutex_unlock(lock);
    if (++mpi_rounds >= ROUNDS_BEFORE + ROUNDS_EACH) {
        mpi_rounds = ROUNDS_BEFORE;
        if (crowded) {
            let_others_run();
        } else {
            pirn_yield();
        }
    }
    return error;
}
#endif
