/* SPDX-License-Identifier: MIT */
/*
 * mpi_moved.c - whether a look has moved data, by the time that it took.
 *
 * Callers: the poller's thread (mpi_poll.c), after each look.
 *
 * MPI moves a large message piece by piece, a few in each call that tests for its end, and does not
 * tell: until the last piece nothing is complete. A poller that looks less and less often then
 * leaves the message to lie, while the CPUs sleep. But such a look takes longer. With MPICH 4.0,
 * which reads 170 KB in one test, it took 70 to 110 us on an AMD EPYC, and a look in vain .1 us
 * soon after another, .3 to 3 us after a sleep.
 *
 * `usual` is the least that a look in vain has taken that followed another at once, for one
 * thread that waits and one more. A shorter one replaces it; longer ones raise it slowly, unless
 * they count as moving data. If it is far too low (another kind of requests), every look would
 * count, and the poller would never rest. So it doubles for each DOUBT_NS in which all looks
 * count and nothing is completed.
 *
 * A look also counts if an interrupt or another program has made it long. It costs one look more.
 */
#include "mpi_moved.h"

#define SOON_NS 10000u /* within this time after another look the data are in the caches */
#define TIMES 3u       /* as long as usual, */
#define SOON_SLACK_NS 1000u
#define LATE_SLACK_NS 10000u /* and so much more */
#define RISE 16u
#define DOUBT_NS 1000000000u
#define UNIT 10u /* of `usual`: tenths of a nanosecond */

bool mpi_moved(struct mpi_moved *m, uint64_t began, uint64_t ended, uint64_t tried,
               unsigned waiting, bool completed)
{
    bool soon = began - m->looked <= SOON_NS;
    uint64_t took = ended - began + tried, shares = (uint64_t)waiting + 1;
    uint64_t share = took * UNIT / shares;
    uint64_t slack = soon ? SOON_SLACK_NS : LATE_SLACK_NS;
    m->looked = ended;
    if (completed) {
        m->completed = ended;
        return true;
    }
    if (soon && (m->usual == 0 || share < m->usual)) {
        m->usual = share;
    }
    if (took > TIMES * m->usual * shares / UNIT + slack) {
        if (ended - m->completed > DOUBT_NS) {
            m->usual *= 2;
            m->completed = ended;
        }
        return true;
    }
    if (soon) {
        m->usual += (share - m->usual) / RISE;
    }
    m->completed = ended;
    return false;
}
