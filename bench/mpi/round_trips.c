/* SPDX-License-Identifier: MIT */
/*
 * round_trips.c - thread i of an even rank sends to thread i of the next rank and receives its
 * answer, again and again, by calls that block. Rank 0 prints the microseconds a round trip:
 * elapsed time by the number of round trips of all threads of a rank.
 *
 * --window: in each round a thread of either rank sends that many messages, receives as many, and
 * waits for all at once; they count as so many round trips. --work: between two rounds a thread
 * computes. --silent: it computes only.
 */
#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/options.h"

enum { BYTES_MOST = 1 << 26, STACK = 1 << 16 };

static uint64_t threads = 8, rounds = 1000, bytes = 64, window = 1, work = 0;
static bool errors_return, silent;
static int rank;

static void round_trip(char *message, int other, int tag)
{
    if (rank % 2 == 0) {
        MPI_Send(message, (int)bytes, MPI_BYTE, other, tag, MPI_COMM_WORLD);
    }
    MPI_Recv(message, (int)bytes, MPI_BYTE, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank % 2 != 0) {
        MPI_Send(message, (int)bytes, MPI_BYTE, other, tag, MPI_COMM_WORLD);
    }
}

/* All messages leave from the same bytes; each arrives in bytes of its own. */
static void whole_window(char *messages, MPI_Request *requests, int other, int tag)
{
    for (uint64_t i = 0; i < window; i++) {
        MPI_Irecv(messages + (i + 1) * bytes, (int)bytes, MPI_BYTE, other, tag, MPI_COMM_WORLD,
                  &requests[i]);
    }
    for (uint64_t i = 0; i < window; i++) {
        MPI_Isend(messages, (int)bytes, MPI_BYTE, other, tag, MPI_COMM_WORLD,
                  &requests[window + i]);
    }
    MPI_Waitall((int)(2 * window), requests, MPI_STATUSES_IGNORE);
}

static void compute(void)
{
    uint64_t x = 1;
    for (uint64_t i = 0; i < work; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
    }
}

static void *trips(void *arg)
{
    int tag = (int)(long)arg, other = rank ^ 1;
    char *messages = calloc(window + 1, bytes);
    MPI_Request *requests = calloc(2 * window, sizeof(*requests));
    if (messages == NULL || requests == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (uint64_t i = 0; i < rounds; i++) {
        if (window > 1) {
            whole_window(messages, requests, other, tag);
        } else if (!silent) {
            round_trip(messages, other, tag);
        }
        compute();
    }
    free(requests);
    free(messages);
    return NULL;
}

static double run(pthread_t *t)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    MPI_Barrier(MPI_COMM_WORLD);
    double from = MPI_Wtime();
    for (uint64_t i = 0; i < threads; i++) {
        if (pthread_create(&t[i], &attr, trips, (void *)(long)i) != 0) {
            fprintf(stderr, "round_trips: cannot create thread %lu\n", (unsigned long)i);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    for (uint64_t i = 0; i < threads; i++) {
        pthread_join(t[i], NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime() - from;
}

int main(int argc, char **argv)
{
    const struct option_spec options[] = {
        option_count("threads", &threads, 1, 10000, "threads of each rank (default 8)"),
        option_count("rounds", &rounds, 1, INT_MAX, "round trips of each thread (default 1000)"),
        option_count("bytes", &bytes, 1, BYTES_MOST, "bytes of a message (default 64)"),
        option_count("window", &window, 1, 4096, "messages at once in each direction (default 1)"),
        option_count("work", &work, 0, 1000000000,
                     "steps of computing after each round (default 0)"),
        option_flag("silent", &silent, "no messages, only work"),
        option_flag("errors-return", &errors_return,
                    "an error handler: MPI_ERRORS_RETURN (as mpi4py sets it)"),
        {.name = NULL}};
    const struct option_page page = {"Round trips of messages between threads of MPI ranks.", NULL,
                                     options};
    int level, ranks;
    options_parse(argc, argv, &page);
    if (silent && window > 1) {
        fprintf(stderr, "round_trips: --silent has no messages: --window must be 1, not %lu\n",
                (unsigned long)window);
        return 2;
    }
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (errors_return) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    }
    pthread_t *t = calloc(threads, sizeof(*t));
    if (level != MPI_THREAD_MULTIPLE || ranks % 2 != 0 || t == NULL) {
        fprintf(stderr, "round_trips: needs MPI_THREAD_MULTIPLE and an even number of ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    double seconds = run(t);
    if (rank == 0) {
        printf("%.3f\n", seconds * 1e6 / (double)(threads * rounds * window));
    }
    free(t);
    return MPI_Finalize();
}
