/* SPDX-License-Identifier: MIT */
/*
 * large.c [--handlers] - looks that move a part of a large message say that they have found
 * something, so that the poller looks again at once.
 *
 * --handlers: an error handler is set, and the receiving thread completes its request itself.
 */
#include "mpi_test.h"

#include <pirn/poll.h>

enum { BYTES = 64 << 20, MESSAGES = 4, FEW = 8 };

static enum pirn_poll (*libs_look)(void *arg);
static unsigned looks, found; /* the poller's thread; others once no message is under way */

static enum pirn_poll look(void *arg)
{
    enum pirn_poll result = libs_look(arg);
    looks++;
    found += result == PIRN_POLL_FOUND;
    return result;
}

/* In place of the runtime's: this program comes first. */
__attribute__((visibility("default"))) int pirn_poller_add(pirn_poller_t *poller,
                                                           const pirn_attr_t *attr,
                                                           enum pirn_poll (*function)(void *),
                                                           void *arg)
{
    int (*runtimes)(pirn_poller_t *, const pirn_attr_t *, enum pirn_poll (*)(void *), void *) =
        (int (*)(pirn_poller_t *, const pirn_attr_t *, enum pirn_poll (*)(void *), void *))dlsym(
            RTLD_NEXT, "pirn_poller_add");
    CHECK(runtimes != NULL && libs_look == NULL);
    libs_look = function;
    return runtimes(poller, attr, look, arg);
}

int main(int argc, char **argv)
{
    int rank;
    test_begin(&argc, &argv, 1);
    CHECK(libs_look != NULL);
    if (argc == 2 && strcmp(argv[1], "--handlers") == 0) {
        CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *buffer = malloc(BYTES);
    CHECK(buffer != NULL);
    memset(buffer, rank, BYTES);
    for (int i = 0; i < MESSAGES; i++) {
        if (rank == 0) {
            CHECK(MPI_Recv(buffer, BYTES, MPI_BYTE, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
                  MPI_SUCCESS);
            CHECK(buffer[0] == 1 && buffer[BYTES - 1] == 1);
        } else {
            CHECK(MPI_Send(buffer, BYTES, MPI_BYTE, 0, i, MPI_COMM_WORLD) == MPI_SUCCESS);
        }
    }
    if (rank == 0) {
        fprintf(stderr, "%u looks, %u have found something\n", looks, found);
        CHECK(found > MESSAGES * FEW || looks < 2 * MESSAGES * FEW);
        printf("large: done\n");
    }
    free(buffer);
    return MPI_Finalize();
}
