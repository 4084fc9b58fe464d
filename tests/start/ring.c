/* SPDX-License-Identifier: MIT */
/* ring.c [threads] - that many threads of each process send to the next process, by MPI. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST 64

static int rank, size;

static void *sends(void *arg)
{
    int tag = (int)(long)arg;
    MPI_Send(&tag, 1, MPI_INT, (rank + 1) % size, tag, MPI_COMM_WORLD);
    return NULL;
}

static int receives(int threads)
{
    int sum = 0;
    for (int i = 0; i < threads; i++) {
        int got = 0;
        MPI_Recv(&got, 1, MPI_INT, (rank + size - 1) % size, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sum += got;
    }
    return sum;
}

int main(int argc, char **argv)
{
    pthread_t t[MOST];
    char *end = "";
    long wanted = argc > 1 ? strtol(argv[1], &end, 10) : 8;
    if (*end != '\0' || wanted < 1 || wanted > MOST) {
        fprintf(stderr, "ring: threads \"%s\": not a number from 1 to %d\n", argv[1], MOST);
        return 2;
    }
    int threads = (int)wanted, level, all = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (level != MPI_THREAD_MULTIPLE) {
        fprintf(stderr, "level %d\n", level);
        return 1;
    }
    for (long i = 0; i < threads; i++) {
        if (pthread_create(&t[i], NULL, sends, (void *)i) != 0) {
            return 1;
        }
    }
    int sum = receives(threads);
    for (int i = 0; i < threads; i++) {
        pthread_join(t[i], NULL);
    }
    MPI_Reduce(&sum, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        puts(all == size * threads * (threads - 1) / 2 ? "done" : "wrong");
    }
    return MPI_Finalize();
}
