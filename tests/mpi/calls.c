/* SPDX-License-Identifier: MIT */
/*
 * calls.c FILE - every function of MPI that libpirn-mpi replaces, against MPI's own: each case runs
 * with MPI_x and with PMPI_x, and must return the same. FILE: a name that does not exist.
 * --handlers: with an error handler set, which changes how the library waits (mpi_poll.c).
 */
#include "mpi_test.h"

#include <string.h>

enum { RANKS = 8, ROOM = 4096 };

struct run {
    MPI_Comm comm;
    int rank, size;
    const char *file;
    int n, out[ROOM];
};

struct test_case {
    const char *name;
    void (*run)(struct run *);
};

static void put(struct run *r, int value)
{
    CHECK(r->n < ROOM);
    r->out[r->n++] = value;
}

static void put_all(struct run *r, const int *values, int n)
{
    for (int i = 0; i < n; i++) {
        put(r, values[i]);
    }
}

static void put_status_count(struct run *r, const MPI_Status *status)
{
    int count;
    PMPI_Get_count(status, MPI_INT, &count);
    put(r, count);
}

static void put_status(struct run *r, const MPI_Status *status)
{
    put(r, status->MPI_SOURCE);
    put(r, status->MPI_TAG);
    put_status_count(r, status);
}

/* What others have written into a window. MPICH 4.0.2 of Debian writes it into the window of rank
 * 0, also without this library. */
static void put_memory(struct run *r, int value)
{
#ifdef OPEN_MPI
    put(r, value);
#else
    (void)value;
    put(r, 0);
#endif
}

#define CALL(name) MPI_##name
#define CASE(name) ours_##name
#include "calls_cases.h"
#undef CALL
#undef CASE
#define CALL(name) PMPI_##name
#define CASE(name) theirs_##name
#undef FRESH
#undef TRY
#undef TRY_PAIR
#undef WRITE_READ
#include "calls_cases.h"

static void compare(const struct test_case *ours, const struct test_case *theirs, const char *file)
{
    static struct run a, b;
    a = b = (struct run){.file = file};
    struct run *both[2] = {&a, &b};
    for (int i = 0; i < 2; i++) {
        PMPI_Comm_dup(MPI_COMM_WORLD, &both[i]->comm);
        PMPI_Comm_rank(both[i]->comm, &both[i]->rank);
        PMPI_Comm_size(both[i]->comm, &both[i]->size);
        (i == 0 ? ours : theirs)->run(both[i]);
        PMPI_Comm_free(&both[i]->comm);
    }
    for (int i = 0; i < a.n || i < b.n; i++) {
        if (a.n != b.n || a.out[i] != b.out[i]) {
            fprintf(stderr, "rank %d, case %s: value %d of %d is %d, MPI's %d of %d\n", a.rank,
                    ours->name, i, a.n, a.out[i], b.out[i], b.n);
            test_abort();
        }
    }
}

int main(int argc, char **argv)
{
    bool handlers = argc > 2 && strcmp(argv[2], "--handlers") == 0;
    int rank, size, n = sizeof(ours_cases) / sizeof(ours_cases[0]);
    test_begin(&argc, &argv, 1);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc > 1 && size >= 2 && size <= RANKS);
    if (handlers) {
        CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    }
    for (int i = 0; i < n; i++) {
        compare(&ours_cases[i], &theirs_cases[i], argv[1]);
    }
    if (rank == 0) {
        printf("calls: %d cases agree\n", n);
    }
    return MPI_Finalize();
}
