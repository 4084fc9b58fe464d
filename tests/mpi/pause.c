/* SPDX-License-Identifier: MIT */
/*
 * pause.c [--room] - a thread that waits within a call of MPI lets other threads of its rank run,
 * and offers its processor where there are more ranks than processors. Rank 1 comes to the call
 * only when another thread of rank 0 says so: otherwise the test hangs.
 *
 * --room: there may be as many processors as ranks, and nothing is offered. The rank must have one
 * worker and no preemption (PIRN_CPUS=1, PIRN_PREEMPT=0).
 */
#include "mpi_test.h"

#include <pirn/poll.h>
#include <pthread.h>
#include <sched.h>

static int pauses, counting, offers, room;

/* In place of the runtime's: this program comes first. */
__attribute__((visibility("default"))) void pirn_poll_pause(bool always)
{
    void (*runtimes)(bool) = (void (*)(bool))dlsym(RTLD_NEXT, "pirn_poll_pause");
    CHECK(runtimes != NULL);
    if (__atomic_load_n(&counting, __ATOMIC_ACQUIRE)) {
        __atomic_add_fetch(&offers, always, __ATOMIC_RELAXED);
        __atomic_add_fetch(&pauses, 1, __ATOMIC_RELEASE);
    }
    runtimes(always);
}

/* Unless --room, until an offer, too, which does not depend on other threads. */
static void *tells(void *unused)
{
    (void)unused;
    while (!room && __atomic_load_n(&offers, __ATOMIC_ACQUIRE) == 0) {
        sched_yield();
    }
    CHECK(MPI_Send(NULL, 0, MPI_INT, 1, 1, MPI_COMM_WORLD) == MPI_SUCCESS);
    return NULL;
}

/* All ranks may use the first processor only. */
static void crowd(void)
{
    cpu_set_t all, one;
    int cpu = 0;
    CHECK(sched_getaffinity(0, sizeof(all), &all) == 0);
    while (!CPU_ISSET(cpu, &all)) {
        cpu++;
    }
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
}

int main(int argc, char **argv)
{
    int memory = 0, rank;
    MPI_Win win;
    pthread_t t;
    room = argc == 2 && strcmp(argv[1], "--room") == 0;
    if (!room) {
        crowd();
    }
    test_begin(&argc, &argv, 1);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(MPI_Win_create(&memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win) ==
          MPI_SUCCESS);
    if (rank == 0) {
        __atomic_store_n(&counting, 1, __ATOMIC_RELEASE);
        CHECK(pthread_create(&t, NULL, tells, NULL) == 0);
    } else {
        CHECK(MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
    if (rank == 0) {
        CHECK(pthread_join(t, NULL) == 0);
        printf("pause: done\n");
    }
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
    return MPI_Finalize();
}
