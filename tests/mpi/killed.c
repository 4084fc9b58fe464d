/* SPDX-License-Identifier: MIT */
/*
 * killed.c SIGNAL - rank 1 gets a signal, SIGKILL or SIGSTOP, while many threads of the other ranks
 * wait for it in MPI_Recv, and their first threads in a collective operation. The script says what
 * must happen (killed.py).
 */
#include "mpi_test.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

enum { THREADS = 300, STACK = 1 << 17, KILLED = 1, READY = THREADS };

static int begun;

static void *waits(void *arg)
{
    int got, tag = (int)(long)arg;
    __atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
    MPI_Recv(&got, 1, MPI_INT, KILLED, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    fprintf(stderr, "failed: a message has come from the rank that was killed\n");
    test_abort();
    return NULL;
}

static void wait_for_it(void)
{
    pthread_t t;
    pthread_attr_t attr;
    CHECK(pthread_attr_init(&attr) == 0 && pthread_attr_setstacksize(&attr, STACK) == 0);
    for (long i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&t, &attr, waits, (void *)i) == 0);
    }
    while (__atomic_load_n(&begun, __ATOMIC_RELAXED) != THREADS) {
        sched_yield();
    }
    CHECK(MPI_Send(NULL, 0, MPI_INT, KILLED, READY, MPI_COMM_WORLD) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    fprintf(stderr, "failed: the barrier has ended without the rank that was killed\n");
    test_abort();
}

int main(int argc, char **argv)
{
    int rank, size, number = argc == 2 ? atoi(argv[1]) : 0;
    if (number != SIGKILL && number != SIGSTOP) {
        fprintf(stderr, "killed: expected the number of SIGKILL or SIGSTOP\n");
        return 2;
    }
    test_begin(&argc, &argv, 1);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("rank %d: process %d\n", rank, (int)getpid());
    fflush(stdout);
    if (rank != KILLED) {
        wait_for_it();
    }
    for (int i = 1; i < size; i++) {
        CHECK(MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, READY, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    raise(number);
    return 1;
}
