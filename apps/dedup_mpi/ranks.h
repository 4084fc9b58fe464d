/* SPDX-License-Identifier: MIT
 *
 * dedup_mpi: what its ranks send each other, and the threads of a rank.
 *
 *   rank 0    dispatch ──part──→ workers of all ranks ──┬─ask──→ owners of all ranks
 *             collect ←──records and contents───────────┘ ←reply─
 *                └─→ reorder, write (as in dedup)
 *
 * A digest is owned by a rank, which alone knows the contents with that digest that were seen so
 * far, and compares their bytes: all ranks have the input in memory. Contents are named by the
 * place of the chunk with which they were found first.
 *
 * Invariants:
 *  1. A worker waits for one answer at a time, from a rank that it knows; the tag names the worker.
 *  2. Owners wait for questions alone, and dispatch and the writer for nothing that needs them, so
 *     each question is answered.
 *  3. At most `inflight` parts are under way, counted from the first that is not completely written
 *     (reorder.c). Contents that the writer misses belong to a part that has been handed out,
 *     because its worker has asked for them; so they come.
 *  4. A worker's last message to collect says that it has ended, after all its others.
 *
 * All ranks have the same byte order and layout of structs.
 */
#ifndef APPS_DEDUP_MPI_RANKS_H
#define APPS_DEDUP_MPI_RANKS_H

#include "pipeline.h"

#include <mpi.h>

enum { TAG_WANT = 1, TAG_ASK, TAG_PART, TAG_REPLY }; /* TAG_REPLY + worker: to a worker */
enum { WORKERS_MOST = 1000 };

/* A part of the input: a fragment of dedup. From dispatch to a worker. */
struct part {
    uint64_t at, size; /* size 0: there are no more */
    uint64_t number;
};

struct question {
    uint64_t at;
    uint32_t size, worker;
    uint8_t digest[SHA1_SIZE];
};

struct answer {
    uint64_t at; /* the name of the contents */
    uint64_t fresh;
};

/* Of a chunk, in a message to collect: the part, its chunks, then the compressed contents of those
 * that are fresh and packed. */
struct chunk_record {
    uint64_t at, name;
    uint32_t size, stored_size;
    uint8_t digest[SHA1_SIZE];
    uint8_t fresh, packed;
};

struct rank_state {
    int rank, ranks;
    const uint8_t *input; /* the whole file */
    uint64_t size;
    struct encoding *encoding; /* options; with rank 0 also what dedup's last stage needs */
};

struct worker {
    struct rank_state *state;
    uint32_t number; /* of its rank */
    pthread_t thread;
};

void *worker_main(void *worker);  /* all ranks */
void *owner_main(void *state);    /* all ranks; until it is asked for 0 bytes */
void *dispatch_main(void *state); /* rank 0 */
void *collect_main(void *state);  /* rank 0 */

#endif
