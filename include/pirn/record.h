/* SPDX-License-Identifier: MIT */
/*
 * record.h - records in the event trace that concern several processes: `pirn trace merge` puts the
 * traces of one job on one time line by them. For libraries that send messages between processes,
 * as libpirn-mpi does. Marks of a program's own are pirn_mark (pirn.h).
 *
 * Linux and the simulator; not on boards. The conventions are those of pirn.h.
 */
#ifndef PIRN_RECORD_H
#define PIRN_RECORD_H

#include <pirn/pirn.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pirn_record {
    /* This process is one of a job. value: a number that all processes of the job, and no others,
     * have; text: "1/4", its rank and how many there are. */
    PIRN_RECORD_JOB,
    /* This process's clock (pirn_now) beside that of rank 0. small: 1 at the beginning, 2 at the
     * end; value: how many ns it is ahead; text: "812 123456", how many ns the value may be wrong
     * by, and the µs that this clock had then. */
    PIRN_RECORD_ALIGN,
    /* A message leaves this process, and arrives. value: a number that both have, and no other
     * message of the job; text: for people. */
    PIRN_RECORD_SEND,
    PIRN_RECORD_RECEIVE,
    /* Messages that have no such records, from now on; text: which. */
    PIRN_RECORD_UNTOLD,
};

#define PIRN_RECORD_TEXT_MAX 32u /* bytes of a text that are kept */

/* Is a trace being recorded now (option trace, pirn_trace)? Any context; no cancellation point. */
bool pirn_recording(void);

/*
 * Record, with the time of this call. Without a trace it costs a few instructions. Any context;
 * no cancellation point.
 */
void pirn_record(enum pirn_record what, unsigned small, int64_t value, const char *text);

#ifdef __cplusplus
}
#endif

#endif
