/* SPDX-License-Identifier: MIT */
/*
 * fortran.c - threads that wait in MPI's Fortran interfaces, many more than CPUs: each for the next
 * thread of its process. A call that kept its CPU would stop the program.
 */
#include "mpi_test.h"

#include <pthread.h>

enum { THREADS = 100, ROUNDS = 5 };

void old_send(int *value, int tag, int dest);
int old_receive(int tag, int source);
void new_send(int *value, int tag, int dest);
int new_receive(int tag, int source);
int begin_in_fortran(void);
void end_in_fortran(void);

static int rank;

static void *passes(void *arg)
{
    int i = (int)(long)arg;
    for (int round = 0; round < ROUNDS; round++) {
        int value = 1000 * round + i;
        if (i + 1 < THREADS) {
            CHECK((i % 2 == 0 ? old_receive : new_receive)(i + 1, rank) == value + 1);
        }
        if (i != 0) {
            (round % 2 == 0 ? old_send : new_send)(&value, i, rank);
        }
    }
    return NULL;
}

int main(void)
{
    pthread_t t[THREADS];
    CHECK(begin_in_fortran() == 1);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&t[i], NULL, passes, (void *)(long)i) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(t[i], NULL) == 0);
    }
    if (rank == 0) {
        fprintf(stderr, "fortran: done\n");
    }
    end_in_fortran();
    return 0;
}
