/* SPDX-License-Identifier: MIT */
/*
 * mpi_quiet.c - a rank in which nothing goes on says what its threads wait for: when for PIRN_QUIET
 * seconds (default 30) no operation has ended, no thread has begun to wait, and no thread runs.
 * In a deadlock across ranks each rank says its part.
 *
 * Callers: the poller's thread, at each look. Records of waiting threads are the poller's, so they
 * stay while they are printed.
 *
 * It is a report, not a verdict: the message that everybody waits for may still be under way, or
 * its sender may sleep or wait for input. A rank that keeps a CPU busy says nothing.
 */
#include "mpi_lib.h"

#include <pirn/label.h>
#include <stdio.h>
#include <stdlib.h>

#define SECOND_NS 1000000000u
#define QUIET_S 30u
#define LINES_MAX 100u

/* (poller) */
static struct {
    int rank, size;
    uint64_t since;    /* the last progress */
    uint64_t next;     /* when to look at threads; UINT64_MAX: never */
    uint64_t interval; /* from `since` to the next report */
    uint64_t started;  /* mpi_lib.started then */
} quiet;

/* The runtime has refused what is no number up to 3600. UINT64_MAX: no reports. */
static uint64_t interval_ns(void)
{
    const char *text = getenv("PIRN_QUIET");
    unsigned long seconds = text != NULL ? strtoul(text, NULL, 10) : QUIET_S;
    return seconds != 0 ? (uint64_t)seconds * SECOND_NS : UINT64_MAX;
}

void mpi_quiet_begin(void)
{
    PMPI_Comm_rank(MPI_COMM_WORLD, &quiet.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &quiet.size);
    quiet.interval = interval_ns();
    mpi_quiet_moved();
}

void mpi_quiet_moved(void)
{
    quiet.since = pirn_now();
    quiet.next = quiet.interval != UINT64_MAX ? quiet.since + quiet.interval : UINT64_MAX;
}

static unsigned say_waiters(const struct mpi_list *list, unsigned n)
{
    for (const struct mpi_waiter *w = list->first; w != NULL; w = w->next) {
        char text[PIRN_LABEL_TEXT_MAX];
        uint64_t id = pirn_thread_id(w->thread);
        if (++n > LINES_MAX) {
            continue;
        }
        pirn_label_text(&w->label, text, sizeof(text));
        fprintf(stderr, "pirn-mpi:   rank %d: thread %u.%u \"%s\" waits in %s\n", quiet.rank,
                (unsigned)id, (unsigned)(id >> 32), pirn_name(w->thread), text);
    }
    return n;
}

void mpi_quiet_look(uint64_t started, const struct mpi_list *whole, const struct mpi_list *others)
{
    if (started != quiet.started) {
        quiet.started = started;
        mpi_quiet_moved();
    }
    if (quiet.next == UINT64_MAX || (whole->first == NULL && others->first == NULL)) {
        return;
    }
    uint64_t now = pirn_now();
    if (now < quiet.next) {
        return;
    }
    if (pirn_threads_running() != 0) {
        quiet.next = now + SECOND_NS;
        return;
    }
    uint64_t passed = now - quiet.since;
    fprintf(stderr,
            "pirn-mpi: rank %d of %d: for %u s no operation of MPI has ended, and no thread "
            "runs:\n",
            quiet.rank, quiet.size, (unsigned)(passed / SECOND_NS));
    unsigned n = say_waiters(others, say_waiters(whole, 0));
    if (n > LINES_MAX) {
        fprintf(stderr, "pirn-mpi:   rank %d: and %u threads more\n", quiet.rank, n - LINES_MAX);
    }
    quiet.next = now + passed; /* each time after twice as long */
}
