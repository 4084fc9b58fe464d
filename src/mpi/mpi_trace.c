/* SPDX-License-Identifier: MIT */
/*
 * mpi_trace.c - messages in the event trace: see mpi_trace.h.
 *
 * Nothing is added to messages. Both ranks compute the same number for a message, from what both
 * know: the communicator, the sender, the receiver, the tag, and how many such messages there were
 * before. MPI delivers messages that agree in these in the order in which they were sent. So the
 * n-th one that is sent is the n-th one that is received, unless threads send or receive such
 * messages at the same time: then nobody can say which is which, and two numbers may be exchanged.
 * The receiver counts when the receive is posted; when it is over, if it takes any source or tag.
 *
 * A communicator has no name that all its ranks know, so each gets a number when it is made: from
 * its parent's, how many were made of that before (all ranks make them in the same order, as MPI
 * demands), and the rank in MPI_COMM_WORLD of its rank 0. It is an attribute of the communicator.
 *
 * Lock: told.lock guards (L); MPI is not called with it.
 */
#include "mpi_trace.h"

#include <pirn/record.h>
#include <stdio.h>
#include <stdlib.h>

struct comm_info {
    uint64_t number;
    uint64_t made; /* communicators, of this one */
    int rank;
};

/* A table from numbers to numbers, which are not 0. Both kinds grow, and never shrink. */
struct table {
    struct entry {
        uint64_t key, value;
    } * entries;
    size_t room, used; /* used: also entries whose value is 0 again */
};

#define ROOM_FIRST 1024u
#define ROOM_MOST ((size_t)1 << 22)

static struct {
    int keyval;
    pirn_mutex_t lock;
    struct table streams;  /* (L) messages with these properties so far */
    struct table requests; /* (L) receives that are posted: struct posted */
    bool untold[MPI_UNTOLD_REASONS];
    int open; /* (L) receives in `requests` */
} told;

struct posted {
    struct mpi_call call;
    uint64_t number;
};

/* Two numbers as one (the finalizer of MurmurHash3). */
static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = a * 0x9e3779b97f4a7c15u + b;
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdu;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53u;
    return x ^ x >> 33;
}

void mpi_tell_untold(enum mpi_untold why)
{
    static const char *const text[] = {[MPI_UNTOLD_PERSISTENT] = "persistent requests",
                                       [MPI_UNTOLD_COMM] = "communicators of other origin",
                                       [MPI_UNTOLD_MEMORY] = "no memory for more"};
    if (mpi_lib.traced && !__atomic_exchange_n(&told.untold[why], true, __ATOMIC_RELAXED)) {
        pirn_record(PIRN_RECORD_UNTOLD, 0, 0, text[why]);
    }
}

/* ---- tables ---- */

static struct entry *place_of(const struct table *table, uint64_t key)
{
    size_t at = mix(key, 0) & (table->room - 1);
    while (table->entries[at].key != 0 && table->entries[at].key != key) {
        at = (at + 1) & (table->room - 1);
    }
    return &table->entries[at];
}

static bool table_grow_locked(struct table *table)
{
    struct table larger = {.room = table->room != 0 ? 2 * table->room : ROOM_FIRST};
    if (larger.room > ROOM_MOST ||
        (larger.entries = calloc(larger.room, sizeof(struct entry))) == NULL) {
        return false;
    }
    for (size_t i = 0; i < table->room; i++) {
        if (table->entries[i].value != 0) {
            *place_of(&larger, table->entries[i].key) = table->entries[i];
            larger.used++;
        }
    }
    free(table->entries);
    *table = larger;
    return true;
}

/* The value of a key, which is not 0; NULL: no memory. */
static uint64_t *value_locked(struct table *table, uint64_t key)
{
    if (2 * (table->used + 1) > table->room && !table_grow_locked(table)) {
        return NULL;
    }
    struct entry *entry = place_of(table, key);
    table->used += entry->key == 0;
    entry->key = key;
    return &entry->value;
}

enum side { SENDER = 1, RECEIVER }; /* a rank may be both */

/* The number of the next message with these properties; 0: not known. */
static uint64_t next_number(const struct comm_info *info, enum side side, int from, int to, int tag)
{
    uint64_t key = mix(mix(mix(info->number, (uint32_t)from), (uint32_t)to), (uint32_t)tag) | 1;
    pirn_mutex_lock(&told.lock);
    uint64_t *count = value_locked(&told.streams, mix(key, side) | 1);
    uint64_t n = count != NULL ? ++*count : 0;
    pirn_mutex_unlock(&told.lock);
    if (n == 0) {
        mpi_tell_untold(MPI_UNTOLD_MEMORY);
        return 0;
    }
    return mix(key, n) | 1;
}

/* ---- communicators ---- */

static struct comm_info *info_of(MPI_Comm comm)
{
    struct comm_info *info = NULL;
    int found = 0;
    MPI_TURN(PMPI_Comm_get_attr(comm, told.keyval, (void *)&info, &found));
    if (!found) {
        mpi_tell_untold(MPI_UNTOLD_COMM);
    }
    return found ? info : NULL;
}

static int info_free(MPI_Comm comm, int keyval, void *info, void *unused)
{
    (void)comm;
    (void)keyval;
    (void)unused;
    free(info);
    return MPI_SUCCESS;
}

static void info_add(MPI_Comm comm, uint64_t number)
{
    struct comm_info *info = malloc(sizeof(*info));
    if (info == NULL) {
        mpi_tell_untold(MPI_UNTOLD_MEMORY);
        return;
    }
    *info = (struct comm_info){.number = number};
    MPI_TURN(PMPI_Comm_rank(comm, &info->rank));
    MPI_TURN(PMPI_Comm_set_attr(comm, told.keyval, info));
}

/* Rank 0 of a communicator, as a rank of MPI_COMM_WORLD. */
static int leader_of(MPI_Comm comm)
{
    MPI_Group group, world;
    int first = 0, leader = MPI_UNDEFINED;
    MPI_TURN(PMPI_Comm_group(comm, &group));
    MPI_TURN(PMPI_Comm_group(MPI_COMM_WORLD, &world));
    MPI_TURN(PMPI_Group_translate_ranks(group, 1, &first, world, &leader));
    MPI_TURN(PMPI_Group_free(&group));
    MPI_TURN(PMPI_Group_free(&world));
    return leader;
}

void mpi_tell_comm(MPI_Comm parent, const MPI_Comm *made)
{
    struct comm_info *info = mpi_lib.traced ? info_of(parent) : NULL;
    int inter = 0;
    if (info == NULL) {
        return;
    }
    uint64_t n = ++info->made;
    if (*made != MPI_COMM_NULL && MPI_TURN(PMPI_Comm_test_inter(*made, &inter)) == MPI_SUCCESS &&
        !inter) {
        info_add(*made, mix(mix(info->number, n), (uint32_t)leader_of(*made)));
    }
}

/* ---- messages ---- */

void mpi_tell_send(const struct mpi_call *call)
{
    char text[64];
    int size = 0;
    struct comm_info *info =
        mpi_lib.traced && call->peer != MPI_PROC_NULL ? info_of(call->comm) : NULL;
    if (info == NULL) {
        return;
    }
    MPI_TURN(PMPI_Type_size(call->type, &size));
    snprintf(text, sizeof(text), "to=%d tag=%d bytes=%lld", call->peer, call->tag,
             (long long)size * call->count);
    uint64_t number = next_number(info, SENDER, info->rank, call->peer, call->tag);
    if (number != 0) {
        pirn_record(PIRN_RECORD_SEND, 0, (int64_t)number, text);
    }
}

static void tell_arrived(uint64_t number, const MPI_Status *status)
{
    char text[64];
    int bytes = 0;
    if (number == 0) {
        return;
    }
    MPI_TURN(PMPI_Get_count(status, MPI_BYTE, &bytes));
    snprintf(text, sizeof(text), "from=%d tag=%d bytes=%d", status->MPI_SOURCE, status->MPI_TAG,
             bytes);
    pirn_record(PIRN_RECORD_RECEIVE, 0, (int64_t)number, text);
}

static uint64_t number_posted(const struct mpi_call *call)
{
    bool wild = call->peer == MPI_ANY_SOURCE || call->tag == MPI_ANY_TAG;
    const struct comm_info *info = wild ? NULL : info_of(call->comm);
    return info != NULL ? next_number(info, RECEIVER, call->peer, info->rank, call->tag) : 0;
}

/* A probe's status does not say whether something was cancelled, so this asks. */
static void tell_end(const struct mpi_call *call, uint64_t number, const MPI_Status *status)
{
    int cancelled = 0;
    MPI_TURN(PMPI_Test_cancelled(status, &cancelled));
    if (cancelled) {
        return;
    }
    bool wild = call->peer == MPI_ANY_SOURCE || call->tag == MPI_ANY_TAG;
    if (wild) {
        mpi_tell_taken(call->comm, status);
    } else {
        tell_arrived(number, status);
    }
}

void mpi_tell_taken(MPI_Comm comm, const MPI_Status *status)
{
    const struct comm_info *info =
        mpi_lib.traced && status->MPI_SOURCE != MPI_PROC_NULL ? info_of(comm) : NULL;
    if (info != NULL) {
        tell_arrived(next_number(info, RECEIVER, status->MPI_SOURCE, info->rank, status->MPI_TAG),
                     status);
    }
}

MPI_Status *mpi_tell_posted(struct mpi_told *told_one, const struct mpi_call *call,
                            MPI_Status *status)
{
    told_one->call = NULL;
    if (!mpi_lib.traced || call->peer == MPI_PROC_NULL) {
        return status;
    }
    told_one->call = call;
    told_one->number = number_posted(call);
    return status == MPI_STATUS_IGNORE ? &told_one->status : status;
}

void mpi_tell_received(const struct mpi_told *told_one, int error, const MPI_Status *status)
{
    if (told_one->call != NULL && error == MPI_SUCCESS) {
        tell_end(told_one->call, told_one->number, status);
    }
}

/* ---- requests ---- */

#ifdef OPEN_MPI
#define REQUEST_KEY(request) ((uint64_t)(uintptr_t)(request))
#else
#define REQUEST_KEY(request) ((uint64_t)(uint32_t)(request))
#endif

/* Take the receive of a request out of the table; NULL: it is none. */
static struct posted *posted_take_locked(MPI_Request request)
{
    if (told.requests.room == 0) {
        return NULL;
    }
    struct entry *entry = place_of(&told.requests, REQUEST_KEY(request));
    struct posted *posted =
        (struct posted *)(uintptr_t)entry->value; /* NOLINT(performance-no-int-to-ptr) */
    entry->value = 0;
    return posted;
}

/* Consumes it. */
static void posted_put(struct posted *posted, MPI_Request request)
{
    pirn_mutex_lock(&told.lock);
    uint64_t *value = value_locked(&told.requests, REQUEST_KEY(request));
    if (value != NULL) {
        *value = (uintptr_t)posted;
        told.open++;
    }
    pirn_mutex_unlock(&told.lock);
    if (value == NULL) {
        free(posted);
        mpi_tell_untold(MPI_UNTOLD_MEMORY);
    }
}

void mpi_tell_request(const struct mpi_call *call, MPI_Request request)
{
    if (!mpi_lib.traced || call->peer == MPI_PROC_NULL || request == MPI_REQUEST_NULL) {
        return;
    }
    MPI_Status status;
    int ended = 0;
    uint64_t number = number_posted(call);
    if (MPI_TURN(PMPI_Request_get_status(request, &ended, &status)) == MPI_SUCCESS && ended) {
        tell_end(call, number, &status); /* MPICH may give several of these the same handle */
        return;
    }
    struct posted *posted = malloc(sizeof(*posted));
    if (posted == NULL) {
        mpi_tell_untold(MPI_UNTOLD_MEMORY);
        return;
    }
    *posted = (struct posted){*call, number};
    posted_put(posted, request);
}

/* An array of them, or one. The two values are the same in some MPIs, not by the standard. */
static bool statuses_ignored(const MPI_Status *statuses)
{
    bool array = statuses == MPI_STATUSES_IGNORE;
    bool one = statuses == MPI_STATUS_IGNORE;
    return array || one;
}

static bool none_posted(void)
{
    pirn_mutex_lock(&told.lock);
    bool none = told.open == 0;
    pirn_mutex_unlock(&told.lock);
    return none;
}

MPI_Status *mpi_watch_begin(struct mpi_watch *watch, int count, const MPI_Request *requests,
                            MPI_Status *statuses)
{
    *watch = (struct mpi_watch){.count = 0};
    if (!mpi_lib.traced || count <= 0 || none_posted()) {
        return statuses;
    }
    watch->of = malloc((size_t)count * sizeof(*watch->of));
    watch->own = malloc((size_t)count * sizeof(*watch->own));
    if (watch->of == NULL || watch->own == NULL) {
        free(watch->of);
        free(watch->own);
        mpi_tell_untold(MPI_UNTOLD_MEMORY);
        return statuses;
    }
    pirn_mutex_lock(&told.lock);
    for (int i = 0; i < count; i++) {
        watch->of[i] = (struct watched){posted_take_locked(requests[i]), requests[i]};
        told.open -= watch->of[i].posted != NULL;
    }
    pirn_mutex_unlock(&told.lock);
    watch->count = count;
    return statuses_ignored(statuses) ? watch->own : statuses;
}

void mpi_watch_end(struct mpi_watch *watch, int ended, const int *indices,
                   const MPI_Request *requests, const MPI_Status *statuses)
{
    for (int i = 0; i < ended && watch->count != 0; i++) {
        int at = indices != NULL ? indices[i] : i;
        struct posted *posted = watch->of[at].posted;
        if (posted != NULL && requests[at] == MPI_REQUEST_NULL) {
            tell_end(&posted->call, posted->number, &statuses[i]);
            free(posted);
            watch->of[at].posted = NULL;
        }
    }
    for (int i = 0; i < watch->count; i++) {
        if (watch->of[i].posted != NULL) {
            posted_put(watch->of[i].posted, watch->of[i].request);
        }
    }
    if (watch->count != 0) {
        free(watch->of);
        free(watch->own);
    }
}

/* ---- begin, end ---- */

/* Exchanges with rank 0; the one with the shortest round trip counts. */
#define EXCHANGES 32

/* How far the clock of `rank` is ahead of this one's, by how much that may be wrong at most, and
 * the other clock at that time. The reply was read between the two readings here, at an unknown
 * moment: the middle is assumed. */
static void measure(MPI_Comm comm, int rank, int64_t result[3])
{
    uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < EXCHANGES; i++) {
        uint64_t theirs = 0, before = pirn_now();
        PMPI_Send(NULL, 0, MPI_BYTE, rank, 0, comm);
        PMPI_Recv(&theirs, sizeof(theirs), MPI_BYTE, rank, 0, comm, MPI_STATUS_IGNORE);
        uint64_t trip = pirn_now() - before;
        if (trip < shortest) {
            shortest = trip;
            result[0] = (int64_t)(theirs - (before + trip / 2));
            result[1] = (int64_t)(trip / 2 + 1);
            result[2] = (int64_t)theirs;
        }
    }
    PMPI_Send(result, 3 * sizeof(*result), MPI_BYTE, rank, 0, comm);
}

static void answer(MPI_Comm comm, int64_t result[3])
{
    for (int i = 0; i < EXCHANGES; i++) {
        PMPI_Recv(NULL, 0, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE);
        uint64_t now = pirn_now();
        PMPI_Send(&now, sizeof(now), MPI_BYTE, 0, 0, comm);
    }
    PMPI_Recv(result, 3 * sizeof(*result), MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE);
}

static MPI_Comm clocks; /* messages of its own */
static int64_t aligned[2][3];
static uint64_t job;

static void align(int point)
{
    int rank, size;
    PMPI_Comm_rank(clocks, &rank);
    PMPI_Comm_size(clocks, &size);
    for (int other = 1; other < size && rank == 0; other++) {
        int64_t result[3];
        measure(clocks, other, result);
    }
    if (rank != 0) {
        answer(clocks, aligned[point]);
    } else {
        aligned[point][2] = (int64_t)pirn_now();
    }
}

/* A trace that loses its oldest events has them at its end. */
static void record_all(int points)
{
    int rank, size;
    char text[64];
    PMPI_Comm_rank(clocks, &rank);
    PMPI_Comm_size(clocks, &size);
    snprintf(text, sizeof(text), "%d/%d", rank, size);
    pirn_record(PIRN_RECORD_JOB, 0, (int64_t)job, text);
    for (int i = 0; i < points; i++) {
        snprintf(text, sizeof(text), "%lld %lld", (long long)aligned[i][1],
                 (long long)(aligned[i][2] / 1000));
        pirn_record(PIRN_RECORD_ALIGN, (unsigned)i + 1, aligned[i][0], text);
    }
}

void mpi_trace_begin(void)
{
    int here = pirn_recording(), everywhere = 0;
    PMPI_Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!everywhere) {
        return;
    }
    job = mix(pirn_now(), (uint64_t)(uintptr_t)&here);
    PMPI_Bcast(&job, sizeof(job), MPI_BYTE, 0, MPI_COMM_WORLD);
    PMPI_Comm_dup(MPI_COMM_WORLD, &clocks);
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, info_free, &told.keyval, NULL);
    info_add(MPI_COMM_WORLD, 1);
    info_add(MPI_COMM_SELF, mix(2, (uint32_t)leader_of(MPI_COMM_SELF)));
    align(0);
    record_all(1);
    mpi_lib.traced = true;
}

void mpi_trace_end(void)
{
    mpi_lib.traced = false;
    align(1);
    record_all(2);
    PMPI_Comm_free(&clocks);
    PMPI_Comm_delete_attr(MPI_COMM_WORLD, told.keyval);
    PMPI_Comm_delete_attr(MPI_COMM_SELF, told.keyval);
    PMPI_Comm_free_keyval(&told.keyval);
}
