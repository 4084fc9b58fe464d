/* SPDX-License-Identifier: MIT */
/*
 * mpi_waits.c - functions of MPI that wait for several requests, or for something that is no
 * request, and those that set error handlers.
 *
 * Each tries, and waits until the poller sees that the next try will succeed.
 */
#include "mpi_trace.h"

#include <stdlib.h>

/* ---- all of many ----
 *
 * MPI compares each message that arrives with the receives that are outstanding, one after the
 * other. With 8, 50 and 200 threads of 64 receives each a message took 1.2, 7 and 38 us (Open MPI
 * 4.1, Intel Xeon); .6 us if the threads waited one after the other. So where very many requests
 * are outstanding, a thread that waits for many of them keeps its CPU for a while and tries again,
 * in proportion to its requests. The threads of two ranks that exchange messages fall into step by
 * this: when one rank's has its messages, so has the other's, and both send the next. With fewer
 * requests they often do not fall into step, and lose more by trying than by comparing. A thread
 * that has tried in vain makes others, or itself the next times, not try again: one, three, seven
 * ... times. */
#define MANY 32
#define VERY_MANY 3000
#define TRY_NS 3000u     /* for each request */
#define IN_STEP_NS 1000u /* likewise; it is 300 */
#define SKIP_MOST 31u

/* Of all threads; not exact. */
static struct {
    unsigned skip; /* so many waits from now on do not try again */
    unsigned last; /* what it was after the last one that has tried in vain; 0: not in vain */
    bool in_step;  /* the last one that has tried took little time */
} tries;

static bool tries_again(int count)
{
    unsigned skip = __atomic_load_n(&tries.skip, __ATOMIC_RELAXED);
    if (count < MANY || (!__atomic_load_n(&tries.in_step, __ATOMIC_RELAXED) &&
                         (uint64_t)pirn_threads_alive() * (unsigned)count < VERY_MANY)) {
        return false;
    }
    if (skip != 0) {
        __atomic_store_n(&tries.skip, skip - 1, __ATOMIC_RELAXED);
    }
    return skip == 0;
}

static void tries_ended(bool in_vain, bool in_step)
{
    unsigned skip = 0;
    if (in_vain) {
        skip = 2 * __atomic_load_n(&tries.last, __ATOMIC_RELAXED) + 1;
        skip = skip < SKIP_MOST ? skip : SKIP_MOST;
    }
    __atomic_store_n(&tries.last, skip, __ATOMIC_RELAXED);
    __atomic_store_n(&tries.skip, skip, __ATOMIC_RELAXED);
    __atomic_store_n(&tries.in_step, in_step, __ATOMIC_RELAXED);
}

static int try_all(int count, MPI_Request requests[], int *ended, MPI_Status statuses[])
{
    int error = MPI_TURN(PMPI_Testall(count, requests, ended, statuses));
    if (error != MPI_SUCCESS || *ended || !tries_again(count)) {
        return error;
    }
    uint64_t began = pirn_now(), took = 0;
    while (error == MPI_SUCCESS && !*ended && took < (uint64_t)TRY_NS * (unsigned)count) {
        error = MPI_TURN(PMPI_Testall(count, requests, ended, statuses));
        took = pirn_now() - began;
    }
    tries_ended(!*ended, *ended && took < (uint64_t)IN_STEP_NS * (unsigned)count);
    return error;
}

/* ---- operations of files ----
 *
 * MPICH's operations of files proceed only while they are tested. MPI_Waitall tests the first
 * one until it ends, then the next. MPI_Testall tests all of them, which differs in two ways. The
 * collective ones match those of the other ranks in the order in which they proceed, and after
 * MPI_Testall that would depend on the time. And it tests those again that have ended in an earlier
 * call: MPICH 4.0 ends them twice, and fails. So MPI_Testall is not used once the program has begun
 * such an operation. Only MPI knows which requests are those of files. */

void mpi_file_begun(void)
{
    if (!__atomic_load_n(&mpi_lib.files, __ATOMIC_RELAXED)) {
        mpi_own_calls();
        __atomic_store_n(&mpi_lib.files, true, __ATOMIC_RELAXED);
    }
}

/* As MPI_Waitall: all are waited for, and MPI_ERROR is written only if some fail. */
static int wait_in_turn(const struct mpi_call *call, int count, MPI_Request requests[],
                        MPI_Status statuses[])
{
    bool ignored = statuses == MPI_STATUSES_IGNORE, failed = false;
    for (int i = 0; i < count; i++) {
        MPI_Status *status = ignored ? MPI_STATUS_IGNORE : &statuses[i];
        int error = mpi_wait(call, &requests[i], status, false);
        for (int k = 0; !ignored && !failed && error != MPI_SUCCESS && k < i; k++) {
            statuses[k].MPI_ERROR = MPI_SUCCESS;
        }
        failed = failed || error != MPI_SUCCESS;
        if (!ignored && failed) {
            status->MPI_ERROR = error;
        }
    }
    return failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

int mpi_wait_all(int count, MPI_Request requests[], MPI_Status statuses[])
{
    const struct mpi_call call = {.name = "MPI_Waitall", .has = MPI_HAS_REQUESTS, .count = count};
    struct mpi_waiter w = {.kind = MPI_WAIT_ALL,
                           .call = &call,
                           .whole = true,
                           .count = count,
                           .requests = requests,
                           .statuses = statuses};
    if (__atomic_load_n(&mpi_lib.files, __ATOMIC_RELAXED)) {
        return wait_in_turn(&call, count, requests, statuses);
    }
    int ended = 0, error = try_all(count, requests, &ended, statuses);
    while (error == MPI_SUCCESS && !ended && !w.complete) {
        w.entered = false;
        mpi_block(&w);
        error = w.complete ? w.error : MPI_TURN(PMPI_Testall(count, requests, &ended, statuses));
    }
    if (!w.complete) {
        mpi_tried(&w);
    }
    return error;
}

int mpi_wait_any(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    const struct mpi_call call = {.name = "MPI_Waitany", .has = MPI_HAS_REQUESTS, .count = count};
    struct mpi_waiter w = {
        .kind = MPI_WAIT_ANY, .call = &call, .count = count, .requests = requests};
    for (;; mpi_block(&w)) {
        int ended = 0;
        int error = MPI_TURN(PMPI_Testany(count, requests, index, &ended, status));
        if (error != MPI_SUCCESS || ended) {
            mpi_tried(&w);
            return error;
        }
    }
}

int mpi_wait_some(int count, MPI_Request requests[], int *done, int indices[],
                  MPI_Status statuses[])
{
    const struct mpi_call call = {.name = "MPI_Waitsome", .has = MPI_HAS_REQUESTS, .count = count};
    struct mpi_waiter w = {
        .kind = MPI_WAIT_ANY, .call = &call, .count = count, .requests = requests};
    for (;; mpi_block(&w)) {
        int error = MPI_TURN(PMPI_Testsome(count, requests, done, indices, statuses));
        if (error != MPI_SUCCESS || *done != 0) {
            mpi_tried(&w);
            return error;
        }
    }
}

/* ---- probes, windows ---- */

EXPORT int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    int found = 0;
    if (!mpi_lib.running) {
        return PMPI_Probe(source, tag, comm, status);
    }
    int error = MPI_TURN(PMPI_Iprobe(source, tag, comm, &found, status));
    if (error != MPI_SUCCESS || found) {
        return error;
    }
    const struct mpi_call call = MPI_IN("MPI_Probe", 0, MPI_DATATYPE_NULL, source, tag, comm);
    struct mpi_waiter w = {.kind = MPI_WAIT_PROBE,
                           .call = &call,
                           .source = source,
                           .tag = tag,
                           .comm = comm,
                           .statuses = status};
    mpi_block(&w);
    return w.error;
}

EXPORT int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    int found = 0;
    MPI_Status own;
    if (!mpi_lib.running) {
        return PMPI_Mprobe(source, tag, comm, message, status);
    }
    status = mpi_lib.traced && status == MPI_STATUS_IGNORE ? &own : status;
    int error = MPI_TURN(PMPI_Improbe(source, tag, comm, &found, message, status));
    if (found && error == MPI_SUCCESS) {
        mpi_tell_taken(comm, status);
    }
    if (error != MPI_SUCCESS || found) {
        return error;
    }
    const struct mpi_call call = MPI_IN("MPI_Mprobe", 0, MPI_DATATYPE_NULL, source, tag, comm);
    struct mpi_waiter w = {.kind = MPI_WAIT_MPROBE,
                           .call = &call,
                           .source = source,
                           .tag = tag,
                           .comm = comm,
                           .message = message,
                           .statuses = status};
    mpi_block(&w);
    if (w.error == MPI_SUCCESS) {
        mpi_tell_taken(comm, status);
    }
    return w.error;
}

EXPORT int MPI_Win_wait(MPI_Win win)
{
    int ended = 0;
    if (!mpi_lib.running) {
        return PMPI_Win_wait(win);
    }
    int error = MPI_TURN(PMPI_Win_test(win, &ended));
    if (error != MPI_SUCCESS || ended) {
        return error;
    }
    static const struct mpi_call call = {.name = "MPI_Win_wait"};
    struct mpi_waiter w = {.kind = MPI_WAIT_WINDOW, .call = &call, .win = win};
    mpi_block(&w);
    return w.error;
}

/* ---- both ways at once ---- */

/* An exchange: what is received, and what is sent. */
struct exchange {
    void *buf;
    struct mpi_call in, out;
    struct mpi_told told;
    MPI_Request receive, send;
};

/* The status of a receive from nobody is that of MPI_Recv: calls.def. */
static int receive_end(struct exchange *x, MPI_Status *status)
{
    const struct mpi_call *in = &x->in;
    int error = mpi_wait(in, &x->receive, status, false);
    mpi_tell_received(&x->told, error, status);
    return in->peer != MPI_PROC_NULL ? error
                                     : MPI_TURN(PMPI_Recv(x->buf, in->count, in->type, in->peer,
                                                          in->tag, in->comm, status));
}

/* Both are waited for, also if one fails: the buffers are the caller's again. */
static int exchange(struct exchange *x, const void *sent, MPI_Status *status)
{
    const struct mpi_call *in = &x->in, *out = &x->out;
    x->receive = x->send = MPI_REQUEST_NULL;
    status = mpi_tell_posted(&x->told, in, status);
    mpi_tell_send(out);
    int error =
        MPI_TURN(PMPI_Irecv(x->buf, in->count, in->type, in->peer, in->tag, in->comm, &x->receive));
    if (error != MPI_SUCCESS) {
        return error;
    }
    error =
        MPI_TURN(PMPI_Isend(sent, out->count, out->type, out->peer, out->tag, out->comm, &x->send));
    if (error != MPI_SUCCESS) {
        MPI_TURN(PMPI_Cancel(&x->receive)); /* nobody will answer */
        mpi_wait(in, &x->receive, MPI_STATUS_IGNORE, false);
        return error;
    }
    int received = receive_end(x, status);
    int ended = mpi_wait(out, &x->send, MPI_STATUS_IGNORE, false);
    return received != MPI_SUCCESS ? received : ended;
}

EXPORT int MPI_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest,
                        int sendtag, void *recvbuf, int recvcount, MPI_Datatype recvtype,
                        int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    struct exchange x = {.buf = recvbuf,
                         .in = MPI_IN("MPI_Sendrecv", recvcount, recvtype, source, recvtag, comm),
                         .out = MPI_OUT("MPI_Sendrecv", sendcount, sendtype, dest, sendtag, comm)};
    if (!mpi_lib.running) {
        return PMPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
                             recvtype, source, recvtag, comm, status);
    }
    return exchange(&x, sendbuf, status);
}

/* A packed copy of the data, to be freed by the caller; NULL: *error says why. */
static void *packed(const void *buf, int count, MPI_Datatype type, MPI_Comm comm, int *size,
                    int *error)
{
    int room = 0;
    *size = 0;
    *error = MPI_TURN(PMPI_Pack_size(count, type, comm, &room));
    void *copy = *error == MPI_SUCCESS ? malloc(room > 0 ? (size_t)room : 1) : NULL;
    if (*error == MPI_SUCCESS && copy == NULL) {
        *error = MPI_TURN(PMPI_Comm_call_errhandler(comm, MPI_ERR_NO_MEM));
        *error = MPI_ERR_NO_MEM;
    } else if (copy != NULL) {
        *error = MPI_TURN(PMPI_Pack(buf, count, type, copy, room, size, comm));
    }
    if (*error != MPI_SUCCESS) {
        free(copy);
        return NULL;
    }
    return copy;
}

EXPORT int MPI_Sendrecv_replace(void *buf, int count, MPI_Datatype type, int dest, int sendtag,
                                int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    int size, error;
    if (!mpi_lib.running) {
        return PMPI_Sendrecv_replace(buf, count, type, dest, sendtag, source, recvtag, comm,
                                     status);
    }
    void *copy = packed(buf, count, type, comm, &size, &error);
    if (copy == NULL) {
        return error;
    }
    struct exchange x = {
        .buf = buf,
        .in = MPI_IN("MPI_Sendrecv_replace", count, type, source, recvtag, comm),
        .out = MPI_OUT("MPI_Sendrecv_replace", size, MPI_PACKED, dest, sendtag, comm)};
    error = exchange(&x, copy, status);
    free(copy);
    return error;
}

/* ---- error handlers ---- */

/* From now on the program may meet errors: mpi_poll.c. */

EXPORT int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
{
    mpi_own_calls();
    return MPI_TURN(PMPI_Comm_set_errhandler(comm, handler));
}

EXPORT int MPI_Win_set_errhandler(MPI_Win win, MPI_Errhandler handler)
{
    mpi_own_calls();
    return MPI_TURN(PMPI_Win_set_errhandler(win, handler));
}

#undef MPI_Errhandler_set
int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler handler);
/* MPI-1's, which headers of MPI-3 may lack. */
EXPORT int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler handler)
{
    return MPI_Comm_set_errhandler(comm, handler);
}
