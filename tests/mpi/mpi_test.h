/* SPDX-License-Identifier: MIT */
/* mpi_test.h - what the tests of libpirn-mpi share. */
#ifndef PIRN_TESTS_MPI_TEST_H
#define PIRN_TESTS_MPI_TEST_H

#include <dlfcn.h> /* needs _GNU_SOURCE */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void test_abort(void)
{
    PMPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #cond);                     \
            test_abort();                                                                          \
        }                                                                                          \
    } while (0)

/* MPI begins, by libpirn-mpi, which raises the level that is asked for. */
static inline void test_begin(int *argc, char ***argv, int initialised_by_thread)
{
    Dl_info info;
    int level = -1, query = -1;
    if (dladdr(dlsym(RTLD_DEFAULT, "MPI_Recv"), &info) == 0 ||
        strstr(info.dli_fname, "libpirn-mpi") == NULL) {
        fprintf(stderr, "MPI_Recv is not libpirn-mpi's\n");
        exit(1);
    }
    if (initialised_by_thread) {
        CHECK(MPI_Init_thread(argc, argv, MPI_THREAD_SINGLE, &level) == MPI_SUCCESS);
        CHECK(level == MPI_THREAD_MULTIPLE);
    } else {
        CHECK(MPI_Init(argc, argv) == MPI_SUCCESS);
    }
    CHECK(MPI_Query_thread(&query) == MPI_SUCCESS && query == MPI_THREAD_MULTIPLE);
}

#endif
