/* SPDX-License-Identifier: MIT */
/*
 * mpi_poll.c - threads that wait for MPI, and the poller that looks for them.
 *
 * Callers: the functions of MPI in this folder.
 *
 * The thread tries first (MPI_Test); if that does not end it, it hands a record to the poller, and
 * waits. Errors of an operation belong to the error handler of its communicator, in the thread that
 * has called. As long as the program has set no error handler, all errors end the program
 * (MPI_ERRORS_ARE_FATAL), and it does not matter who meets them. Then the poller completes the
 * requests of many threads by one call of MPI_Testsome ("whole"). Once a handler was set the thread
 * makes the last call itself. Open MPI says which requests are complete and completes nothing
 * (MPI_Request_get_status). MPICH 4.0 gives errors to the wrong handler there, so with MPICH each
 * look sends all threads to try again, and none of these tries prolongs the poller's eagerness.
 * Some operations proceed only when they are tested (MPICH: files, generalized requests), so each
 * is tested now and then in any case.
 *
 * Errors of files are returned even then, so a thread makes its last call itself also once the
 * program has begun a nonblocking operation of a file.
 *
 * Invariants:
 *   1. A record is in mpi_lib.incoming, under the lock, or in one of the poller's lists, which only
 *      its thread touches.
 *   2. Each record is posted once, and is its thread's again then: the poller unlinks it before.
 *   3. pirn_poller_tell follows each record: poll.h says that a look begins after it. It does not
 *      follow the record of a thread that has tried again in vain. Such a thread counts in
 *      mpi_lib.trying until its record is in `incoming`; while there is either, the poller says
 *      that something is pending, and looks again.
 *   4. In serial mode the poller holds the turn only while it calls MPI, never while it waits.
 * Locks: mpi_lib.lock; mpi_lib.turn, in which `lock` is not taken.
 */
#include "mpi_lib.h"
#include "mpi_moved.h"

#include <stddef.h>

#define BATCH 128
#define LOOKS 64 /* then a request is tested by itself */

/* Open MPI receives messages through shared memory at every eighth call only (opal_progress), and
 * says one call later that a request is complete. */
#ifdef OPEN_MPI
#define TESTS 9
#else
#define TESTS 1
#endif

struct mpi_lib mpi_lib;

/* (poller) */
static struct {
    struct mpi_list whole, others;
} polled;

static void list_clear(struct mpi_list *list)
{
    list->first = NULL;
    list->end = &list->first;
}

static void list_append(struct mpi_list *list, struct mpi_waiter *w)
{
    w->next = NULL;
    *list->end = w;
    list->end = &w->next;
}

/* Unlink the record that *at points to. */
static struct mpi_waiter *list_take(struct mpi_list *list, struct mpi_waiter **at)
{
    struct mpi_waiter *w = *at;
    *at = w->next;
    if (w->next == NULL) {
        list->end = at;
    }
    return w;
}

/* ---- threads that wait ---- */

void mpi_block(struct mpi_waiter *w)
{
    bool again = w->again;
    uint64_t tried = again ? pirn_now() - w->woken : 0;
    pirn_sem_init(&w->done, 0);
    mpi_label(w);
    w->thread = pirn_self();
    w->again = false;
    w->at = 0;
    w->looks = 0;
    pirn_mutex_lock(&mpi_lib.lock);
    mpi_lib.trying -= again;
    mpi_lib.tried += tried;
    mpi_lib.started += !again;
    w->whole = w->whole && !mpi_lib.own_calls;
    list_append(&mpi_lib.incoming, w);
    pirn_mutex_unlock(&mpi_lib.lock);
    if (again) {
        pirn_sem_wait_as(&w->done, &w->label);
    } else {
        pirn_poller_wait(&mpi_lib.poller, &w->done, &w->label);
    }
    w->woken = pirn_now();
}

void mpi_own_calls(void)
{
    pirn_mutex_lock(&mpi_lib.lock);
    mpi_lib.own_calls = true;
    pirn_mutex_unlock(&mpi_lib.lock);
}

void mpi_tried(struct mpi_waiter *w)
{
    if (w->again) {
        pirn_mutex_lock(&mpi_lib.lock);
        mpi_lib.trying--;
        pirn_mutex_unlock(&mpi_lib.lock);
    }
}

int mpi_wait(const struct mpi_call *call, MPI_Request *request, MPI_Status *status, bool file)
{
    struct mpi_waiter w = {.kind = file ? MPI_WAIT_FILE : MPI_WAIT_ALL,
                           .call = call,
                           .whole = !file,
                           .count = 1,
                           .requests = request,
                           .statuses = status};
    if (status == MPI_STATUS_IGNORE) {
        w.statuses = MPI_STATUSES_IGNORE;
    }
    for (;;) {
        int ended = 0;
        int error = MPI_TURN(PMPI_Test(request, &ended, status));
        if (error != MPI_SUCCESS || ended) {
            mpi_tried(&w);
            return error;
        }
        w.entered = true;
        mpi_block(&w);
        if (w.complete) {
            return w.error;
        }
    }
}

int mpi_gather(const char *name, MPI_Comm comm)
{
    struct mpi_call call = {.name = name, .has = MPI_HAS_COMM, .comm = comm};
    MPI_Request request = MPI_REQUEST_NULL;
    int error = MPI_TURN(PMPI_Ibarrier(comm, &request));
    return error == MPI_SUCCESS ? mpi_wait(&call, &request, MPI_STATUS_IGNORE, false) : error;
}

/* ---- the poller ---- */

/* The request for which w waits now: where MPI is to write its status. */
static MPI_Status *status_of(const struct mpi_waiter *w)
{
    return w->statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &w->statuses[w->at];
}

/* MPI_Testsome does not return requests that are inactive, so each is looked at by itself once.
 * True: all are complete. */
static bool whole_ends(struct mpi_waiter *w)
{
    while (w->error == MPI_SUCCESS && w->at < w->count && !w->entered) {
        int ended = 0;
        w->error = PMPI_Test(&w->requests[w->at], &ended, status_of(w));
        w->at += ended != 0;
        w->entered = !ended;
    }
    return w->error != MPI_SUCCESS || w->at == w->count;
}

struct batch {
    int n, done;
    MPI_Request requests[BATCH];
    struct mpi_waiter *of[BATCH];
    int indices[BATCH];
    MPI_Status statuses[BATCH];
};

/* Only where errors are fatal: it returns no error. */
static void batch_test(struct batch *b)
{
    if (PMPI_Testsome(b->n, b->requests, &b->done, b->indices, b->statuses) != MPI_SUCCESS ||
        b->done == MPI_UNDEFINED) {
        b->done = 0;
    }
    for (int i = 0; i < b->done; i++) {
        struct mpi_waiter *w = b->of[b->indices[i]];
        w->requests[w->at] = b->requests[b->indices[i]];
        if (w->statuses != MPI_STATUSES_IGNORE) {
            int kept = w->statuses[w->at].MPI_ERROR;
            w->statuses[w->at] = b->statuses[i];
            w->statuses[w->at].MPI_ERROR = kept;
        }
        w->at++;
        w->entered = false;
    }
    b->n = 0;
}

static void whole_test(void)
{
    static struct batch b;
    for (struct mpi_waiter *w = polled.whole.first; w != NULL; w = w->next) {
        if (++w->looks % LOOKS == 0) {
            w->entered = false;
        }
        if (w->entered) {
            b.of[b.n] = w;
            b.requests[b.n++] = w->requests[w->at];
        }
        if (b.n != 0 && (b.n == BATCH || w->next == NULL)) {
            batch_test(&b);
        }
    }
}

/* Look for those whose requests the poller completes. */
static void whole_look(struct mpi_list *ended)
{
    struct mpi_waiter **at, *w;
    whole_test();
    for (at = &polled.whole.first; (w = *at) != NULL;) {
        if (whole_ends(w)) {
            list_append(ended, list_take(&polled.whole, at));
            w->complete = true;
        } else {
            at = &w->next;
        }
    }
}

enum end { PENDING, TRY, ENDED };

#ifdef OPEN_MPI
/* An error is for the thread to meet. */
static bool request_ends(MPI_Request request)
{
    int ended = 0;
    return PMPI_Request_get_status(request, &ended, MPI_STATUS_IGNORE) != MPI_SUCCESS || ended;
}

static bool any_ends(const struct mpi_waiter *w)
{
    for (int i = 0; i < w->count; i++) {
        if (w->requests[i] != MPI_REQUEST_NULL && request_ends(w->requests[i])) {
            return true;
        }
    }
    return false;
}

static bool all_end(struct mpi_waiter *w)
{
    while (w->at < w->count && request_ends(w->requests[w->at])) {
        w->at++;
    }
    return w->at == w->count;
}

static enum end requests_end(struct mpi_waiter *w)
{
    if (w->kind == MPI_WAIT_ANY ? any_ends(w) : all_end(w)) {
        return ENDED;
    }
    return ++w->looks == LOOKS ? TRY : PENDING;
}
#else
static enum end requests_end(struct mpi_waiter *w)
{
    (void)w;
    return TRY;
}
#endif

static enum end other_ends(struct mpi_waiter *w)
{
    int ended = 0;
    switch (w->kind) {
    case MPI_WAIT_ALL:
    case MPI_WAIT_ANY:
        return requests_end(w);
    case MPI_WAIT_FILE:
        w->error = PMPI_Test(w->requests, &ended, status_of(w));
        break;
    case MPI_WAIT_PROBE:
        w->error = PMPI_Iprobe(w->source, w->tag, w->comm, &ended, w->statuses);
        break;
    case MPI_WAIT_MPROBE:
        w->error = PMPI_Improbe(w->source, w->tag, w->comm, &ended, w->message, w->statuses);
        break;
    case MPI_WAIT_WINDOW:
        w->error = PMPI_Win_test(w->win, &ended);
        break;
    }
    w->complete = ended || w->error != MPI_SUCCESS;
    return w->complete ? ENDED : PENDING;
}

static void others_look(struct mpi_list *ended, struct mpi_list *tries)
{
    struct mpi_waiter **at, *w;
    for (at = &polled.others.first; (w = *at) != NULL;) {
        enum end end = other_ends(w);
        if (end == PENDING) {
            at = &w->next;
        } else {
            w->again = !w->complete;
            list_append(end == ENDED ? ended : tries, list_take(&polled.others, at));
        }
    }
}

/* Records that have come since the last look. How many threads have begun to wait ever. */
static uint64_t take_incoming(uint64_t *tried)
{
    pirn_mutex_lock(&mpi_lib.lock);
    uint64_t started = mpi_lib.started;
    *tried = mpi_lib.tried;
    mpi_lib.tried = 0;
    struct mpi_waiter *w = mpi_lib.incoming.first;
    list_clear(&mpi_lib.incoming);
    pirn_mutex_unlock(&mpi_lib.lock);
    while (w != NULL) {
        struct mpi_waiter *next = w->next;
        list_append(w->whole ? &polled.whole : &polled.others, w);
        w = next;
    }
    return started;
}

static unsigned count_tries(const struct mpi_list *list)
{
    unsigned n = 0;
    for (const struct mpi_waiter *w = list->first; w != NULL; w = w->next) {
        n += w->again;
    }
    return n;
}

static void post_all(const struct mpi_list *list)
{
    for (struct mpi_waiter *w = list->first, *next; w != NULL; w = next) {
        next = w->next;
        pirn_sem_post(&w->done);
    }
}

/* Threads that wait, but for the incoming. */
static unsigned polled_count(void)
{
    unsigned n = 0;
    for (const struct mpi_waiter *w = polled.whole.first; w != NULL; w = w->next) {
        n++;
    }
    for (const struct mpi_waiter *w = polled.others.first; w != NULL; w = w->next) {
        n++;
    }
    return n;
}

static enum pirn_poll look(void *unused)
{
    static struct mpi_moved times;
    struct mpi_list ended, tries;
    (void)unused;
    list_clear(&ended);
    list_clear(&tries);
    uint64_t tried, started = take_incoming(&tried);
    mpi_quiet_look(started, &polled.whole, &polled.others);
    unsigned waiting = polled_count();
    uint64_t began = pirn_now();
    mpi_enter();
    mpi_rounds_none();
    for (int i = 0; i < TESTS && ended.first == NULL; i++) {
        whole_look(&ended);
        others_look(&ended, &tries);
    }
    mpi_leave();
    bool found = mpi_moved(&times, began, pirn_now(), tried, waiting, ended.first != NULL);
    pirn_mutex_lock(&mpi_lib.lock);
    mpi_lib.trying += count_tries(&ended) + count_tries(&tries);
    bool pending = mpi_lib.trying != 0 || mpi_lib.incoming.first != NULL ||
                   polled.whole.first != NULL || polled.others.first != NULL;
    pirn_mutex_unlock(&mpi_lib.lock);
    if (ended.first != NULL) {
        mpi_quiet_moved();
    }
    if (ended.first != NULL && ended.first->next == NULL && !pending) {
        return pirn_poller_done(&mpi_lib.poller, &ended.first->done);
    }
    post_all(&ended);
    if (tries.first != NULL) {
        post_all(&tries);
        pirn_yield(); /* the tries are a part of this look: threads to run later would prolong the
                       * poller's pause */
    }
    return found ? PIRN_POLL_FOUND : pending ? PIRN_POLL_PENDING : PIRN_POLL_NONE;
}

/* The program's reduction operations, and callbacks of other kinds, may run on this stack. */
#define STACK_SIZE ((size_t)8 << 20)

int mpi_poll_begin(void)
{
    pirn_attr_t attr = {.name = "mpi", .stack_size = STACK_SIZE};
    list_clear(&mpi_lib.incoming);
    list_clear(&polled.whole);
    list_clear(&polled.others);
    return pirn_poller_add(&mpi_lib.poller, &attr, look, NULL);
}

unsigned mpi_poll_end(void)
{
    uint64_t tried;
    pirn_poller_remove(&mpi_lib.poller);
    take_incoming(&tried);
    return polled_count();
}

/* ---- turns ---- */

/* Only the holder finds itself in `holder`. */
void mpi_turn_take(void)
{
    pirn_thread_t self = pirn_self();
    if (__atomic_load_n(&mpi_lib.holder, __ATOMIC_RELAXED) != self) {
        pirn_mutex_lock(&mpi_lib.turn);
        __atomic_store_n(&mpi_lib.holder, self, __ATOMIC_RELAXED);
    }
    mpi_lib.depth++;
}

void mpi_turn_give(void)
{
    if (--mpi_lib.depth == 0) {
        __atomic_store_n(&mpi_lib.holder, NULL, __ATOMIC_RELAXED);
        pirn_mutex_unlock(&mpi_lib.turn);
    }
}
