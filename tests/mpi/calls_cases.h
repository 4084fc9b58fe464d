/* SPDX-License-Identifier: MIT */
/*
 * calls_cases.h - cases of calls.c, which includes this file twice: CALL(Send) is MPI_Send or
 * PMPI_Send, CASE(name) the name of a function. Each case has a communicator of its own, and writes
 * down (put) everything that a call returns.
 */

static void CASE(point_to_point)(struct run *r)
{
    int right = (r->rank + 1) % r->size, left = (r->rank + r->size - 1) % r->size;
    int data[4] = {r->rank, 2, 3, 4}, got[8];
    MPI_Status status = {.MPI_ERROR = 77};
    for (int i = 0; i < 2; i++) { /* even ranks send first */
        if ((r->rank + i) % 2 == 0) {
            put(r, CALL(Send)(data, 4, MPI_INT, right, 1, r->comm));
            put(r, CALL(Ssend)(data, 3, MPI_INT, right, 2, r->comm));
        } else {
            put(r, CALL(Recv)(got, 8, MPI_INT, left, 1, r->comm, &status));
            put_status(r, &status);
            put_all(r, got, 4);
            put(r, status.MPI_ERROR);
            put(r, CALL(Recv)(got, 8, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, r->comm, &status));
            put_status(r, &status);
            put(r, CALL(Recv)(got, 8, MPI_INT, MPI_PROC_NULL, 1, r->comm, &status));
            put(r, status.MPI_SOURCE == MPI_PROC_NULL);
            put(r, CALL(Send)(got, 8, MPI_INT, MPI_PROC_NULL, 1, r->comm));
        }
    }
}

static void CASE(ready)(struct run *r)
{
    int right = (r->rank + 1) % r->size, data = r->rank + 5, got = 0;
    MPI_Request request;
    MPI_Status status;
    PMPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 3, r->comm, &request);
    put(r, CALL(Barrier)(r->comm));
    put(r, CALL(Rsend)(&data, 1, MPI_INT, right, 3, r->comm));
    put(r, CALL(Wait)(&request, &status));
    put(r, request == MPI_REQUEST_NULL);
    put_status(r, &status);
    put(r, got);
}

static void CASE(itself)(struct run *r)
{
    int data = 6, got = 0;
    MPI_Request request;
    put(r, CALL(Irecv)(&got, 1, MPI_INT, r->rank, 4, r->comm, &request));
    put(r, CALL(Send)(&data, 1, MPI_INT, r->rank, 4, r->comm));
    put(r, CALL(Wait)(&request, MPI_STATUS_IGNORE));
    put(r, CALL(Wait)(&request, MPI_STATUS_IGNORE)); /* it is null */
    put(r, got);
}

static void CASE(both_ways)(struct run *r)
{
    int right = (r->rank + 1) % r->size, left = (r->rank + r->size - 1) % r->size;
    int data[2] = {r->rank, 9}, got[2] = {0, 0}, strided[6] = {r->rank, 1, 2, 3, 4, 5};
    MPI_Status status;
    MPI_Datatype type;
    put(r, CALL(Sendrecv)(data, 2, MPI_INT, right, 5, got, 2, MPI_INT, left, 5, r->comm, &status));
    put_status(r, &status);
    put_all(r, got, 2);
    PMPI_Type_vector(3, 1, 2, MPI_INT, &type);
    PMPI_Type_commit(&type);
    put(r, CALL(Sendrecv_replace)(strided, 1, type, right, 6, left, 6, r->comm, &status));
    put(r, status.MPI_SOURCE);
    put_all(r, strided, 6);
    put(r, CALL(Sendrecv_replace)(strided, 2, MPI_INT, MPI_PROC_NULL, 6, MPI_PROC_NULL, 6, r->comm,
                                  MPI_STATUS_IGNORE));
    put_all(r, strided, 6);
    PMPI_Type_free(&type);
}

static void CASE(probes)(struct run *r)
{
    int right = (r->rank + 1) % r->size, data[3] = {r->rank, 1, 2}, got[3];
    MPI_Request request;
    MPI_Status status;
    MPI_Message message;
    PMPI_Isend(data, 3, MPI_INT, right, 7, r->comm, &request);
    put(r, CALL(Probe)(MPI_ANY_SOURCE, 7, r->comm, &status));
    put_status(r, &status);
    put(r, CALL(Mprobe)(MPI_ANY_SOURCE, MPI_ANY_TAG, r->comm, &message, &status));
    put_status(r, &status);
    put(r, CALL(Mrecv)(got, 3, MPI_INT, &message, &status));
    put(r, message == MPI_MESSAGE_NULL);
    put_status(r, &status);
    put_all(r, got, 3);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
    put(r, CALL(Probe)(MPI_PROC_NULL, 7, r->comm, &status));
    put(r, status.MPI_SOURCE == MPI_PROC_NULL);
}

/* Requests from each other rank and to it. */
static int CASE(exchange)(struct run *r, int tag, int *sent, int *got, MPI_Request *requests)
{
    int n = 0;
    for (int i = 0; i < r->size; i++) {
        sent[i] = 100 * r->rank + i;
        CALL(Irecv)(&got[i], 1, MPI_INT, i, tag, r->comm, &requests[n++]);
    }
    for (int i = 0; i < r->size; i++) {
        CALL(Isend)(&sent[i], 1, MPI_INT, i, tag, r->comm, &requests[n++]);
    }
    return n;
}

static void CASE(wait_all)(struct run *r)
{
    int sent[RANKS], got[RANKS], n;
    MPI_Request requests[2 * RANKS + 1];
    MPI_Status statuses[2 * RANKS + 1];
    n = CASE(exchange)(r, 8, sent, got, requests);
    requests[n++] = MPI_REQUEST_NULL;
    put(r, CALL(Waitall)(n, requests, statuses));
    for (int i = 0; i < n; i++) {
        put(r, requests[i] == MPI_REQUEST_NULL);
    }
    for (int i = 0; i < r->size; i++) {
        put_status(r, &statuses[i]);
    }
    put_all(r, got, r->size);
    CASE(exchange)(r, 9, sent, got, requests);
    put(r, CALL(Waitall)(n, requests, MPI_STATUSES_IGNORE));
    put_all(r, got, r->size);
    put(r, CALL(Waitall)(0, requests, MPI_STATUSES_IGNORE));
}

static void CASE(wait_any)(struct run *r)
{
    int sent[RANKS], got[RANKS], index, sum = 0, right = 0;
    MPI_Request requests[2 * RANKS];
    MPI_Status status;
    int n = CASE(exchange)(r, 10, sent, got, requests);
    for (int i = 0; i < n; i++) {
        put(r, CALL(Waitany)(n, requests, &index, &status));
        put(r, requests[index] == MPI_REQUEST_NULL);
        sum += index;
        right += index < r->size && status.MPI_SOURCE == index;
    }
    put(r, sum);
    put(r, right);
    put(r, CALL(Waitany)(n, requests, &index, MPI_STATUS_IGNORE));
    put(r, index == MPI_UNDEFINED);
    put_all(r, got, r->size);
}

static void CASE(wait_some)(struct run *r)
{
    int sent[RANKS], got[RANKS], indices[2 * RANKS], done, left, sum = 0;
    MPI_Request requests[2 * RANKS];
    MPI_Status statuses[2 * RANKS];
    int n = CASE(exchange)(r, 11, sent, got, requests);
    for (left = n; left > 0; left -= done) {
        if (CALL(Waitsome)(n, requests, &done, indices, statuses) != MPI_SUCCESS || done < 1) {
            put(r, -1);
            return;
        }
        for (int i = 0; i < done; i++) {
            sum += indices[i];
        }
    }
    put(r, sum);
    put(r, CALL(Waitsome)(n, requests, &done, indices, MPI_STATUSES_IGNORE));
    put(r, done == MPI_UNDEFINED);
    put_all(r, got, r->size);
}

static void CASE(persistent)(struct run *r)
{
    int right = (r->rank + 1) % r->size, left = (r->rank + r->size - 1) % r->size, data = 0;
    int got = 0;
    MPI_Request requests[3];
    MPI_Status statuses[3];
    PMPI_Send_init(&data, 1, MPI_INT, right, 12, r->comm, &requests[0]);
    PMPI_Recv_init(&got, 1, MPI_INT, left, 12, r->comm, &requests[1]);
    PMPI_Recv_init(&got, 1, MPI_INT, left, 13, r->comm, &requests[2]); /* never started */
    for (int i = 0; i < 3; i++) {
        data = 10 * i + r->rank;
        put(r, CALL(Startall)(2, requests));
        put(r, i == 1 ? CALL(Wait)(&requests[1], &statuses[1]) : MPI_SUCCESS);
        put(r, CALL(Waitall)(3, requests, statuses));
        put(r, requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL);
        put(r, got);
    }
    put(r, CALL(Wait)(&requests[2], &statuses[2])); /* inactive: at once */
    for (int i = 0; i < 3; i++) {
        PMPI_Request_free(&requests[i]);
    }
}

static void CASE(collectives)(struct run *r)
{
    int n = r->size, in[RANKS * RANKS], out[RANKS * RANKS], counts[RANKS], places[RANKS];
    MPI_Datatype types[RANKS];
    for (int i = 0; i < n; i++) {
        counts[i] = 1;
        places[i] = n - 1 - i;
        types[i] = MPI_INT;
    }
#define FRESH()                                                                                    \
    for (int i = 0; i < n * n; i++) {                                                              \
        in[i] = 1000 * r->rank + i;                                                                \
        out[i] = -1;                                                                               \
    }
#define TRY(call)                                                                                  \
    FRESH();                                                                                       \
    put(r, call);                                                                                  \
    put_all(r, in, n *n);                                                                          \
    put_all(r, out, n *n)
    TRY(CALL(Bcast)(in, n, MPI_INT, n - 1, r->comm));
    TRY(CALL(Gather)(in, n, MPI_INT, out, n, MPI_INT, 1, r->comm));
    TRY(CALL(Gatherv)(in, 1, MPI_INT, out, counts, places, MPI_INT, 0, r->comm));
    TRY(CALL(Scatter)(in, n, MPI_INT, out, n, MPI_INT, 1, r->comm));
    TRY(CALL(Scatterv)(in, counts, places, MPI_INT, out, 1, MPI_INT, 0, r->comm));
    TRY(CALL(Allgather)(in, n, MPI_INT, out, n, MPI_INT, r->comm));
    TRY(CALL(Allgatherv)(in, 1, MPI_INT, out, counts, places, MPI_INT, r->comm));
    TRY(CALL(Alltoall)(in, n, MPI_INT, out, n, MPI_INT, r->comm));
    TRY(CALL(Alltoallv)(in, counts, places, MPI_INT, out, counts, places, MPI_INT, r->comm));
    for (int i = 0; i < n; i++) {
        places[i] *= (int)sizeof(int);
    }
    TRY(CALL(Alltoallw)(in, counts, places, types, out, counts, places, types, r->comm));
    TRY(CALL(Reduce)(in, out, n, MPI_INT, MPI_SUM, 1, r->comm));
    TRY(CALL(Allreduce)(in, out, n, MPI_INT, MPI_MAX, r->comm));
    TRY(CALL(Allreduce)(MPI_IN_PLACE, out, n, MPI_INT, MPI_SUM, r->comm));
    TRY(CALL(Reduce_scatter)(in, out, counts, MPI_INT, MPI_SUM, r->comm));
    TRY(CALL(Reduce_scatter_block)(in, out, n, MPI_INT, MPI_SUM, r->comm));
    TRY(CALL(Scan)(in, out, n, MPI_INT, MPI_SUM, r->comm));
    FRESH();
    put(r, CALL(Exscan)(in, out, n, MPI_INT, MPI_SUM, r->comm));
    put_all(r, out, r->rank != 0 ? n : 0);
}

/* Between rank 0 and all others, in both directions. A rank that has no part may give any count. */
static void CASE(between_groups)(struct run *r)
{
    MPI_Comm group, between;
    bool first = r->rank == 0;
    PMPI_Comm_split(r->comm, first, r->rank, &group);
    PMPI_Intercomm_create(group, 0, r->comm, first ? 1 : 0, 15, &between);
    for (int i = 0; i < 8; i++) {
        bool from_first = i % 2 == 0;
        int count = i % 4 < 2 ? 1 : 0, value = 100 * r->rank + i, sum = -1;
        int root = first != from_first ? 0 : first || r->rank == 1 ? MPI_ROOT : MPI_PROC_NULL;
        int n = root != MPI_PROC_NULL ? count : i / 4;
        put(r, CALL(Bcast)(&value, n, MPI_INT, root, between));
        put(r, value);
        put(r, CALL(Reduce)(&value, &sum, n, MPI_INT, MPI_SUM, root, between));
        put(r, sum);
    }
    put(r, CALL(Barrier)(between));
    PMPI_Comm_free(&between);
    PMPI_Comm_free(&group);
}

static void CASE(neighbours)(struct run *r)
{
    int dims[1] = {r->size}, periods[1] = {1}, in[2], out[2], counts[2] = {1, 1},
        places[2] = {1, 0};
    MPI_Aint bytes[2] = {sizeof(int), 0};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    MPI_Comm ring;
    put(r, CALL(Cart_create)(r->comm, 1, dims, periods, 0, &ring));
#define TRY_PAIR(call)                                                                             \
    in[0] = 10 * r->rank;                                                                          \
    in[1] = in[0] + 1;                                                                             \
    out[0] = out[1] = -1;                                                                          \
    put(r, call);                                                                                  \
    put_all(r, out, 2)
    TRY_PAIR(CALL(Neighbor_allgather)(in, 1, MPI_INT, out, 1, MPI_INT, ring));
    TRY_PAIR(CALL(Neighbor_allgatherv)(in, 1, MPI_INT, out, counts, places, MPI_INT, ring));
    TRY_PAIR(CALL(Neighbor_alltoall)(in, 1, MPI_INT, out, 1, MPI_INT, ring));
    TRY_PAIR(
        CALL(Neighbor_alltoallv)(in, counts, places, MPI_INT, out, counts, places, MPI_INT, ring));
    TRY_PAIR(CALL(Neighbor_alltoallw)(in, counts, bytes, types, out, counts, bytes, types, ring));
    PMPI_Comm_free(&ring);
}

static void CASE(communicators)(struct run *r)
{
    MPI_Comm dup, half, between, all;
    int size, rank, sum = 0, low = r->rank % 2;
    put(r, CALL(Comm_dup)(r->comm, &dup));
    put(r, CALL(Allreduce)(&r->rank, &sum, 1, MPI_INT, MPI_SUM, dup));
    put(r, sum);
    put(r, CALL(Comm_split)(dup, low, r->rank, &half));
    PMPI_Comm_size(half, &size);
    PMPI_Comm_rank(half, &rank);
    put(r, size);
    put(r, rank);
    put(r, CALL(Intercomm_create)(half, 0, dup, 1 - low, 14, &between));
    put(r, CALL(Barrier)(between));
    put(r, CALL(Intercomm_merge)(between, low, &all));
    PMPI_Comm_rank(all, &rank);
    put(r, rank);
    PMPI_Comm_free(&all);
    PMPI_Comm_free(&between);
    PMPI_Comm_free(&half);
    PMPI_Comm_free(&dup);
}

static void CASE(fence)(struct run *r)
{
    int memory = -1, right = (r->rank + 1) % r->size;
    MPI_Win win;
    put(r, CALL(Win_create)(&memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, r->comm, &win));
    put(r, CALL(Win_fence)(0, win));
    put(r, CALL(Put)(&r->rank, 1, MPI_INT, right, 0, 1, MPI_INT, win));
    put(r, CALL(Win_fence)(MPI_MODE_NOSUCCEED, win));
    put_memory(r, memory);
    put(r, CALL(Win_free)(&win));
}

static void CASE(post_and_start)(struct run *r)
{
    int *memory, right = (r->rank + 1) % r->size, left = (r->rank + r->size - 1) % r->size;
    MPI_Win win;
    MPI_Group all, from, to;
    put(r, CALL(Win_allocate)(sizeof(int), sizeof(int), MPI_INFO_NULL, r->comm, &memory, &win));
    PMPI_Comm_group(r->comm, &all);
    PMPI_Group_incl(all, 1, &left, &from);
    PMPI_Group_incl(all, 1, &right, &to);
    put(r, CALL(Win_post)(from, 0, win));
    put(r, CALL(Win_start)(to, 0, win));
    put(r, CALL(Put)(&r->rank, 1, MPI_INT, right, 0, 1, MPI_INT, win));
    put(r, CALL(Win_complete)(win));
    put(r, CALL(Win_wait)(win));
    put_memory(r, memory[0]);
    PMPI_Group_free(&all);
    PMPI_Group_free(&from);
    PMPI_Group_free(&to);
    put(r, CALL(Win_free)(&win));
}

static void CASE(locks)(struct run *r)
{
    int *memory, right = (r->rank + 1) % r->size, data = 50 + r->rank;
    MPI_Win win;
    MPI_Request request;
    put(r, CALL(Win_allocate)(sizeof(int), sizeof(int), MPI_INFO_NULL, r->comm, &memory, &win));
    put(r, CALL(Barrier)(r->comm));
    put(r, CALL(Win_lock)(MPI_LOCK_EXCLUSIVE, right, 0, win));
    put(r, CALL(Rput)(&data, 1, MPI_INT, right, 0, 1, MPI_INT, win, &request));
    put(r, CALL(Wait)(&request, MPI_STATUS_IGNORE));
    put(r, CALL(Win_unlock)(right, win));
    put(r, CALL(Barrier)(r->comm));
    put(r, CALL(Win_lock)(MPI_LOCK_SHARED, r->rank, 0, win)); /* makes it visible */
    put_memory(r, memory[0]);
    put(r, CALL(Win_unlock)(r->rank, win));
    put(r, CALL(Win_free)(&win));
}

static void CASE(files)(struct run *r)
{
    enum { N = 16 };
    int data[N], got[N], mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    MPI_Offset mine = (MPI_Offset)(r->rank * N * (int)sizeof(int));
    MPI_Request request;
    MPI_Status status;
    MPI_File file;
    for (int i = 0; i < N; i++) {
        data[i] = 100 * r->rank + i;
    }
    put(r, CALL(File_open)(r->comm, r->file, mode, MPI_INFO_NULL, &file));
#define WRITE_READ(write, read)                                                                    \
    memset(got, 0, sizeof(got));                                                                   \
    put(r, write);                                                                                 \
    put_status_count(r, &status);                                                                  \
    put(r, CALL(File_sync)(file));                                                                 \
    put(r, CALL(Barrier)(r->comm));                                                                \
    put(r, read);                                                                                  \
    put_status_count(r, &status);                                                                  \
    put_all(r, got, N);                                                                            \
    put(r, CALL(Barrier)(r->comm))
    WRITE_READ(CALL(File_write_at)(file, mine, data, N, MPI_INT, &status),
               CALL(File_read_at)(file, mine, got, N, MPI_INT, &status));
    WRITE_READ(CALL(File_write_at_all)(file, mine, data, N, MPI_INT, &status),
               CALL(File_read_at_all)(file, mine, got, N, MPI_INT, &status));
    WRITE_READ((CALL(File_iwrite_at)(file, mine, data, N, MPI_INT, &request),
                CALL(Wait)(&request, &status)),
               (CALL(File_iread_at)(file, mine, got, N, MPI_INT, &request),
                CALL(Waitall)(1, &request, &status)));
    put(r, CALL(File_seek)(file, mine, MPI_SEEK_SET));
    WRITE_READ(CALL(File_write)(file, data, N, MPI_INT, &status),
               (CALL(File_seek)(file, mine, MPI_SEEK_SET),
                CALL(File_read)(file, got, N, MPI_INT, &status)));
    put(r, CALL(File_seek)(file, mine, MPI_SEEK_SET));
    WRITE_READ(CALL(File_write_all)(file, data, N, MPI_INT, &status),
               (CALL(File_seek)(file, mine, MPI_SEEK_SET),
                CALL(File_read_all)(file, got, N, MPI_INT, &status)));
    /* Which part is whose depends on the order of the processes. */
    put(r, CALL(File_seek_shared)(file, 0, MPI_SEEK_SET));
    put(r, CALL(File_write_shared)(file, data, N, MPI_INT, &status));
    put_status_count(r, &status);
    put(r, CALL(Barrier)(r->comm));
    put(r, CALL(File_seek_shared)(file, 0, MPI_SEEK_SET));
    put(r, CALL(File_read_shared)(file, got, N, MPI_INT, &status));
    put_status_count(r, &status);
    put(r, got[1] - got[0]);
    put(r, CALL(Barrier)(r->comm));
    put(r, CALL(File_close)(&file));
}

static const struct test_case CASE(cases)[] = {
    {"point_to_point", CASE(point_to_point)},
    {"ready", CASE(ready)},
    {"itself", CASE(itself)},
    {"both_ways", CASE(both_ways)},
    {"probes", CASE(probes)},
    {"wait_all", CASE(wait_all)},
    {"wait_any", CASE(wait_any)},
    {"wait_some", CASE(wait_some)},
    {"persistent", CASE(persistent)},
    {"collectives", CASE(collectives)},
    {"between_groups", CASE(between_groups)},
    {"neighbours", CASE(neighbours)},
    {"communicators", CASE(communicators)},
    {"fence", CASE(fence)},
    {"post_and_start", CASE(post_and_start)},
    {"locks", CASE(locks)},
    {"files", CASE(files)},
};
