/* SPDX-License-Identifier: MIT */
/*
 * level.c - preloaded: an MPI library that gives MPI_THREAD_SERIALIZED only, and notices when two
 * threads call it at once.
 */
#include <dlfcn.h> /* needs _GNU_SOURCE */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int inside;

static void *begin(const char *name)
{
    if (__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST) != 1) {
        fprintf(stderr, "level: %s is called while another thread is in MPI\n", name);
        abort();
    }
    return dlsym(RTLD_NEXT, name);
}

static int end(int error)
{
    __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
    return error;
}

int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int (*next)(int *, char ***, int, int *);
    (void)required;
    *(void **)&next = begin("PMPI_Init_thread");
    int error = end(next(argc, argv, MPI_THREAD_SERIALIZED, provided));
    *provided = MPI_THREAD_SERIALIZED; /* a library may give more than is asked for */
    return error;
}

#define EXCLUSIVE(name, params, args)                                                              \
    int PMPI_##name params                                                                         \
    {                                                                                              \
        int(*next) params;                                                                         \
        *(void **)&next = begin("PMPI_" #name);                                                    \
        return end(next args);                                                                     \
    }

EXCLUSIVE(Isend,
          (const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
           MPI_Request *request),
          (buf, count, type, dest, tag, comm, request))
EXCLUSIVE(Irecv,
          (void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
           MPI_Request *request),
          (buf, count, type, source, tag, comm, request))
EXCLUSIVE(Test, (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status))
EXCLUSIVE(Testall, (int count, MPI_Request requests[], int *flag, MPI_Status statuses[]),
          (count, requests, flag, statuses))
EXCLUSIVE(Testsome,
          (int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]),
          (count, requests, done, indices, statuses))
EXCLUSIVE(Iprobe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status),
          (source, tag, comm, flag, status))
