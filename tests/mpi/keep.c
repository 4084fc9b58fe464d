/* SPDX-License-Identifier: MIT */
/*
 * keep.c - Open MPI's component for PMIx, to which events may come late, is still there after
 * MPI_Finalize.
 */
#include "mpi_test.h"

#include <link.h>

static int count(struct dl_phdr_info *info, size_t size, void *to)
{
    (void)size;
    *(int *)to += strstr(info->dlpi_name, "/mca_pmix_") != NULL;
    return 0;
}

static int components(void)
{
    int n = 0;
    dl_iterate_phdr(count, &n);
    return n;
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, 1);
    int before = components();
    CHECK(before != 0);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    CHECK(components() == before);
    puts("keep: done");
    return 0;
}
