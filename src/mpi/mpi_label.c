/* SPDX-License-Identifier: MIT */
/*
 * mpi_label.c - what a thread waits for, in words: the label of its wait (<pirn/label.h>).
 *
 * Caller: mpi_block, in the thread that is about to wait. So only threads that do wait ask MPI for
 * the size of the elements, which takes time. A communicator is shown by its name if it is one of
 * MPI's own, or if the program gives names to communicators; else by its handle.
 */
#include "mpi_lib.h"

#include <string.h>

#define MESSAGE_FROM "source tag bytes comm:s comm:x"
#define MESSAGE_TO "dest tag bytes comm:s comm:x"

#ifdef OPEN_MPI
#define HANDLE(comm) ((int64_t)(uintptr_t)(comm)) /* a pointer */
#else
#define HANDLE(comm) ((int64_t)(uint32_t)(comm))
#endif

EXPORT int MPI_Comm_set_name(MPI_Comm comm, const char *comm_name)
{
    __atomic_store_n(&mpi_lib.named, true, __ATOMIC_RELAXED);
    return MPI_TURN(PMPI_Comm_set_name(comm, comm_name));
}

static int64_t bytes_of(const struct mpi_call *call)
{
    int size = MPI_UNDEFINED;
    if (call->type == MPI_DATATYPE_NULL ||
        MPI_TURN(PMPI_Type_size(call->type, &size)) != MPI_SUCCESS || size == MPI_UNDEFINED) {
        return PIRN_LABEL_NONE;
    }
    return (int64_t)size * call->count;
}

/* NULL: it has no name. */
static const char *name_of(struct mpi_waiter *w, MPI_Comm comm)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length = 0;
    if (comm == MPI_COMM_WORLD) {
        return "MPI_COMM_WORLD";
    }
    if (comm == MPI_COMM_SELF) {
        return "MPI_COMM_SELF";
    }
    if (!__atomic_load_n(&mpi_lib.named, __ATOMIC_RELAXED) ||
        MPI_TURN(PMPI_Comm_get_name(comm, name, &length)) != MPI_SUCCESS || length == 0) {
        return NULL;
    }
    size_t n = (size_t)length < sizeof(w->name) ? (size_t)length : sizeof(w->name) - 1;
    memcpy(w->name, name, n);
    w->name[n] = '\0';
    return w->name;
}

static void label_comm(struct mpi_waiter *w, MPI_Comm comm, int64_t value[2])
{
    const char *name = name_of(w, comm);
    value[0] = name != NULL ? (int64_t)(uintptr_t)name : PIRN_LABEL_NONE;
    value[1] = name != NULL ? PIRN_LABEL_NONE : HANDLE(comm);
}

static void label_message(struct mpi_waiter *w, const char *fields)
{
    const struct mpi_call *call = w->call;
    pirn_label_t *label = &w->label;
    label->fields = fields;
    label->values[0] = call->peer == MPI_ANY_SOURCE ? PIRN_LABEL_ANY : call->peer;
    label->values[1] = call->tag == MPI_ANY_TAG ? PIRN_LABEL_ANY : call->tag;
    label->values[2] = bytes_of(call);
    label_comm(w, call->comm, &label->values[3]);
}

void mpi_label(struct mpi_waiter *w)
{
    w->label.name = w->call->name;
    switch (w->call->has) {
    case MPI_HAS_NOTHING:
        w->label.fields = NULL;
        break;
    case MPI_HAS_COMM:
        w->label.fields = "comm:s comm:x";
        label_comm(w, w->call->comm, w->label.values);
        break;
    case MPI_HAS_REQUESTS:
        w->label.fields = "requests";
        w->label.values[0] = w->call->count;
        break;
    case MPI_HAS_SOURCE:
        label_message(w, MESSAGE_FROM);
        break;
    case MPI_HAS_DEST:
        label_message(w, MESSAGE_TO);
        break;
    }
}
