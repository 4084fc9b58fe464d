/* SPDX-License-Identifier: MIT */
/*
 * mpi_keep.c - what Open MPI gives up too early: a component that MPI_Finalize unloads, and the
 * progress of nonblocking collective operations.
 *
 * The component. When a rank has ended, or another one loses its connection, PMIx tells Open MPI's
 * component mca_pmix_ext3x (ext3x_event_hdlr). The component leaves the rest to Open MPI's own
 * thread, as an event. If MPI_Finalize has unloaded the component before that thread comes to the
 * event, the thread calls a function that is not there any more. (Seen with 4.1.4 and PMIx 4.2.2 on
 * machines with many more ready programs than processors: the address of the fault is that of the
 * function.) So the component is marked as one that is never unloaded.
 *
 * The progress. Open MPI's component libnbc counts the communicators with which it has worked. The
 * first one registers its progress function, the end of the last one takes it out, and no lock
 * covers count and function together. So if one thread frees the last such communicator while
 * another begins with the first, the function may be taken out after it was to be registered. Then
 * no nonblocking collective operation of this rank goes on any more. (4.1.4: MPICH's test
 * comm_create_group_threads2 hung so; versions up to 6.0 have the same code.) Programs of blocking
 * calls would never meet it, but this library makes nonblocking calls of them. So it begins with
 * MPI_COMM_WORLD, which lives until MPI_Finalize. Where that has one rank, so have all others.
 *
 * MPICH has nothing like these.
 */
#include "mpi_lib.h"

#ifdef OPEN_MPI
#include <dlfcn.h>
#include <link.h>
#include <string.h>

enum { KEPT = 4 };

struct names {
    const char *name[KEPT]; /* the linker's, of libraries that are not unloaded before MPI ends */
    unsigned n;
};

static int note(struct dl_phdr_info *info, size_t size, void *to)
{
    struct names *names = to;
    (void)size;
    if (strstr(info->dlpi_name, "/mca_pmix_") != NULL && names->n < KEPT) {
        names->name[names->n++] = info->dlpi_name;
    }
    return 0;
}

static void component_keep(void)
{
    struct names names = {.n = 0};
    dl_iterate_phdr(note, &names);
    for (unsigned i = 0; i < names.n; i++) {
        void *library = dlopen(names.name[i], RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
        if (library != NULL) {
            dlclose(library);
        }
    }
}

static void progress_keep(void)
{
    MPI_Request request;
    if (PMPI_Ibarrier(MPI_COMM_WORLD, &request) == MPI_SUCCESS) {
        PMPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

void mpi_keep(void)
{
    component_keep();
    progress_keep();
}
#else
void mpi_keep(void) {}
#endif
