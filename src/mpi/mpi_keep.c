/* SPDX-License-Identifier: MIT */
/*
 * mpi_keep.c - a component of Open MPI that has to stay in memory when MPI_Finalize unloads it.
 *
 * When a rank has ended, or another one loses its connection, PMIx tells Open MPI's component
 * mca_pmix_ext3x (ext3x_event_hdlr). The component leaves the rest to Open MPI's own thread, as an
 * event. If MPI_Finalize has unloaded the component before that thread comes to the event, the
 * thread calls a function that is not there any more. (Seen with 4.1.4 and PMIx 4.2.2 on machines
 * with many more ready programs than processors: the address of the fault is that of the function.)
 * So the component is marked as one that is never unloaded.
 *
 * MPICH has nothing like that.
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

void mpi_keep(void)
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
#else
void mpi_keep(void) {}
#endif
