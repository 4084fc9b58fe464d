/* SPDX-License-Identifier: MIT */
/*
 * faults.c - wrong arguments and messages that are too long, in many threads at once: each thread
 * gets the error of its own call, and the same as from MPI's function. A thread that is cancelled
 * in MPI_Recv receives its message first.
 */
#include "mpi_test.h"

#include <pthread.h>

enum { THREADS = 100, STACK = 1 << 17, TURNS = 5, WRONG_RANK = 1000, WRONG_TAG = -77 };

static int rank, size;
static pthread_attr_t attr;

static int class_of(int error)
{
    int class;
    CHECK(MPI_Error_class(error, &class) == MPI_SUCCESS);
    return class;
}

/* ---- wrong arguments ---- */

#define WORLD MPI_COMM_WORLD
#define NO_COMM MPI_COMM_NULL
#define NONE MPI_STATUS_IGNORE
#define CASES(C)                                                                                   \
    C(send_rank, Send, (a, 1, MPI_INT, WRONG_RANK, 1, WORLD))                                      \
    C(send_tag, Send, (a, 1, MPI_INT, 0, WRONG_TAG, WORLD))                                        \
    C(send_comm, Send, (a, 1, MPI_INT, 0, 1, NO_COMM))                                             \
    C(send_type, Send, (a, 1, MPI_DATATYPE_NULL, 0, 1, WORLD))                                     \
    C(ssend_rank, Ssend, (a, 1, MPI_INT, WRONG_RANK, 1, WORLD))                                    \
    C(rsend_count, Rsend, (a, -1, MPI_INT, 0, 1, WORLD))                                           \
    C(recv_rank, Recv, (a, 1, MPI_INT, WRONG_RANK, 1, WORLD, NONE))                                \
    C(recv_tag, Recv, (a, 1, MPI_INT, 0, WRONG_TAG, WORLD, NONE))                                  \
    C(recv_comm, Recv, (a, 1, MPI_INT, 0, 1, NO_COMM, NONE))                                       \
    C(recv_count, Recv, (a, -1, MPI_INT, 0, 1, WORLD, NONE))                                       \
    C(recv_type, Recv, (a, 1, MPI_DATATYPE_NULL, 0, 1, WORLD, NONE))                               \
    C(both_rank, Sendrecv, (a, 1, MPI_INT, 0, 1, b, 1, MPI_INT, WRONG_RANK, 1, WORLD, NONE))       \
    C(both_comm, Sendrecv, (a, 1, MPI_INT, 0, 1, b, 1, MPI_INT, 0, 1, NO_COMM, NONE))              \
    C(replace_rank, Sendrecv_replace, (a, 1, MPI_INT, WRONG_RANK, 1, 0, 1, WORLD, NONE))           \
    C(probe_rank, Probe, (WRONG_RANK, 1, WORLD, NONE))                                             \
    C(mprobe_rank, Mprobe, (WRONG_RANK, 1, WORLD, &message, NONE))                                 \
    C(barrier_comm, Barrier, (NO_COMM))                                                            \
    C(bcast_comm, Bcast, (a, 1, MPI_INT, 0, NO_COMM))                                              \
    C(bcast_root, Bcast, (a, 1, MPI_INT, WRONG_RANK, WORLD))                                       \
    C(reduce_root, Reduce, (a, b, 1, MPI_INT, MPI_SUM, WRONG_RANK, WORLD))                         \
    C(allreduce_op, Allreduce, (a, b, 1, MPI_INT, MPI_OP_NULL, WORLD))                             \
    C(allreduce_comm, Allreduce, (a, b, 1, MPI_INT, MPI_SUM, NO_COMM))                             \
    C(gather_count, Gather, (a, -1, MPI_INT, b, -1, MPI_INT, 0, WORLD))                            \
    C(dup_comm, Comm_dup, (NO_COMM, &made))                                                        \
    C(split_comm, Comm_split, (NO_COMM, 0, 0, &made))

/* The same wrong call by MPI_x and by PMPI_x. */
#define DEFINE(name, function, args)                                                               \
    static int wrong_##name(bool ours)                                                             \
    {                                                                                              \
        int a[4] = {0}, b[4] = {0};                                                                \
        MPI_Comm made = MPI_COMM_NULL;                                                             \
        MPI_Message message = MPI_MESSAGE_NULL;                                                    \
        (void)a, (void)b, (void)made, (void)message;                                               \
        return ours ? MPI_##function args : PMPI_##function args;                                  \
    }
CASES(DEFINE)

#define ROW(name, function, args) {#name, wrong_##name},
static const struct wrong {
    const char *name;
    int (*call)(bool ours);
} wrongs[] = {CASES(ROW)};
enum { WRONGS = sizeof(wrongs) / sizeof(wrongs[0]) };

static int expected[WRONGS];

static void *calls_wrongly(void *arg)
{
    for (int i = 0; i < TURNS * WRONGS; i++) {
        int at = (i + (int)(long)arg) % WRONGS;
        int class = class_of(wrongs[at].call(true));
        if (class != expected[at]) {
            fprintf(stderr, "failed: %s: error class %d, MPI's is %d\n", wrongs[at].name, class,
                    expected[at]);
            test_abort();
        }
    }
    return NULL;
}

/* ---- messages that are too long ---- */

/* Thread i expects an integer; every other one is sent two. */
static void *receives(void *arg)
{
    int got[2] = {-1, -1}, i = (int)(long)arg;
    MPI_Status status;
    int error = MPI_Recv(got, 1, MPI_INT, 1, i, MPI_COMM_WORLD, &status);
    CHECK(class_of(error) == (i % 2 == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE));
    CHECK(i % 2 != 0 || got[0] == i);
    CHECK(got[1] == -1);
    CHECK(status.MPI_SOURCE == 1 && status.MPI_TAG == i);
    return NULL;
}

/* In MPI_Sendrecv and MPI_Mrecv; what is sent arrives all the same. */
static void *exchanges(void *arg)
{
    int got[2] = {-1, -1}, sent = 7;
    MPI_Message message;
    CHECK(class_of(MPI_Sendrecv(&sent, 1, MPI_INT, 1, THREADS, got, 1, MPI_INT, 1, THREADS,
                                MPI_COMM_WORLD, MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
    CHECK(MPI_Mprobe(1, THREADS + 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(class_of(MPI_Mrecv(got, 1, MPI_INT, &message, MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
    CHECK(got[1] == -1);
    return arg;
}

static void send_too_much(void)
{
    int got = 0;
    for (int i = 0; i < THREADS; i++) {
        int data[2] = {i, i};
        CHECK(MPI_Send(data, 1 + i % 2, MPI_INT, 0, i, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    CHECK(MPI_Recv(&got, 1, MPI_INT, 0, THREADS, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(got == 7);
    for (int i = 0; i < 2; i++) {
        int data[2] = {i, i};
        CHECK(MPI_Send(data, 2, MPI_INT, 0, THREADS + i, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
}

/* ---- cancellation ---- */

static int received;

static void *is_cancelled(void *arg)
{
    CHECK(MPI_Send(NULL, 0, MPI_INT, 1, 1, MPI_COMM_WORLD) == MPI_SUCCESS);
    int error = MPI_Recv(&received, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(error == MPI_SUCCESS && received == 5);
    pthread_testcancel();
    fprintf(stderr, "failed: the thread is not cancelled after MPI_Recv\n");
    test_abort();
    return arg;
}

/* Rank 1 sends the message when the thread has been cancelled. */
static void cancel_one(void)
{
    int five = 5;
    pthread_t t;
    void *result;
    if (rank == 0) {
        CHECK(pthread_create(&t, NULL, is_cancelled, NULL) == 0);
        CHECK(MPI_Recv(NULL, 0, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(pthread_cancel(t) == 0);
        CHECK(MPI_Send(NULL, 0, MPI_INT, 1, 3, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(pthread_join(t, &result) == 0 && result == PTHREAD_CANCELED && received == 5);
    } else {
        CHECK(MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Send(NULL, 0, MPI_INT, 0, 3, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_Recv(NULL, 0, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Send(&five, 1, MPI_INT, 0, 2, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
}

/* ---- */

static void in_threads(void *(*function)(void *), int n)
{
    pthread_t t[THREADS];
    for (long i = 0; i < n; i++) {
        CHECK(pthread_create(&t[i], &attr, function, (void *)i) == 0);
    }
    for (int i = 0; i < n; i++) {
        CHECK(pthread_join(t[i], NULL) == 0);
    }
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, 1);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size == 2);
    CHECK(pthread_attr_init(&attr) == 0 && pthread_attr_setstacksize(&attr, STACK) == 0);
    cancel_one();
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    for (int i = 0; i < WRONGS; i++) {
        expected[i] = class_of(wrongs[i].call(false));
        CHECK(expected[i] != MPI_SUCCESS);
    }
    in_threads(calls_wrongly, THREADS);
    if (rank == 0) {
        in_threads(receives, THREADS);
        in_threads(exchanges, 1);
    } else {
        send_too_much();
    }
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    if (rank == 0) {
        printf("faults: %d wrong calls, messages that are too long, cancellation\n", WRONGS);
    }
    return MPI_Finalize();
}
