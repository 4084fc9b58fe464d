/* SPDX-License-Identifier: MIT */
/*
 * mpi_lib.h - libpirn-mpi: MPI's functions for threads of Pirn, over the profiling interface (each
 * MPI_x calls PMPI_x). A call that would block begins the operation by its nonblocking form; then
 * the calling thread waits like for any other object of the runtime, and its CPU runs other
 * threads. A poller (<pirn/poll.h>) looks for the ends of all operations.
 *
 * Callers: programs. Every function here is for threads; a kernel thread that is no worker may call
 * them, too, and waits in the kernel.
 */
#ifndef PIRN_MPI_LIB_H
#define PIRN_MPI_LIB_H

#include <mpi.h>
#include <pirn/label.h>
#include <pirn/poll.h>
#include <pthread.h>

#define EXPORT __attribute__((visibility("default")))

struct mpi_waiter;

/* Waiters in the order in which they came. */
struct mpi_list {
    struct mpi_waiter *first, **end;
};

struct mpi_lib {
    bool
        running; /* from MPI_Init to MPI_Finalize; written while there is one thread that may call */
    bool traced; /* likewise: messages are recorded, mpi_trace.h */
    bool serial; /* (C) from MPI_Init on: MPI's level is below MPI_THREAD_MULTIPLE */
    pirn_poller_t poller;
    pirn_mutex_t lock;        /* guards (L) */
    struct mpi_list incoming; /* (L) not yet taken by the poller */
    bool own_calls;           /* (L) threads make their last call themselves: mpi_poll.c */
    bool files;               /* (A) the program has begun a nonblocking operation of a file */
    bool named;               /* the program has given a communicator a name: never false again */
    uint64_t started;         /* (L) waits */
    unsigned trying;          /* (L) threads that the poller has sent to try again */
    uint64_t tried;           /* (L) ns that their tries in vain have taken since the last look */
    pirn_mutex_t turn;        /* serial: held by the thread that calls MPI */
    pirn_thread_t holder;     /* of `turn`; a thread compares it with itself */
    unsigned depth;           /* (turn) calls of the holder: callbacks call MPI, too */
};
extern struct mpi_lib mpi_lib;

void mpi_turn_take(void);
void mpi_turn_give(void);

/* What the MPI library calls in each round of a wait of its own, and what it calls instead. */
#ifdef OPEN_MPI
#define MPI_PAUSE_NAME "sched_yield"
int mpi_pause(void);
#else
#define MPI_PAUSE_NAME "pthread_mutex_unlock"
int mpi_pause(pthread_mutex_t *lock);
#endif
extern __thread int mpi_rounds __attribute__((tls_model("initial-exec"))); /* of its call of MPI */
void mpi_pause_begin(void); /* in MPI_Init, in all ranks */

/* In MPI_Init, in all ranks: keep what Open MPI would give up too early. mpi_keep.c */
void mpi_keep(void);
void mpi_rounds_none(void); /* until the thread's next mpi_enter they do not count */

/* Around each call of MPI. */
static inline void mpi_enter(void)
{
    mpi_rounds = 0;
    if (__builtin_expect(mpi_lib.serial, 0)) {
        mpi_turn_take();
    }
}

static inline void mpi_leave(void)
{
    if (__builtin_expect(mpi_lib.serial, 0)) {
        mpi_turn_give();
    }
}

/* The value of a call of MPI, in its turn. */
#define MPI_TURN(call)                                                                             \
    __extension__({                                                                                \
        mpi_enter();                                                                               \
        int mpi_error_ = (call);                                                                   \
        mpi_leave();                                                                               \
        mpi_error_;                                                                                \
    })

/* What a call of the program waits for, for people: mpi_label.c makes words of it. */
enum mpi_what { MPI_HAS_NOTHING, MPI_HAS_COMM, MPI_HAS_REQUESTS, MPI_HAS_SOURCE, MPI_HAS_DEST };
struct mpi_call {
    const char *name; /* "MPI_Recv" */
    enum mpi_what has;
    int peer, tag; /* SOURCE, DEST */
    int count;     /* of elements: SOURCE, DEST; of requests: REQUESTS */
    MPI_Datatype type;
    MPI_Comm comm; /* not REQUESTS */
};

#define MPI_IN(name_, count_, type_, source_, tag_, comm_)                                         \
    {                                                                                              \
        .name = (name_), .has = MPI_HAS_SOURCE, .peer = (source_), .tag = (tag_),                  \
        .count = (count_), .type = (type_), .comm = (comm_)                                        \
    }
#define MPI_NOTHING(name_)                                                                         \
    {                                                                                              \
        .name = (name_)                                                                            \
    }
#define MPI_ALL(name_, comm_)                                                                      \
    {                                                                                              \
        .name = (name_), .has = MPI_HAS_COMM, .comm = (comm_)                                      \
    }
#define MPI_OUT(name_, count_, type_, dest_, tag_, comm_)                                          \
    {                                                                                              \
        .name = (name_), .has = MPI_HAS_DEST, .peer = (dest_), .tag = (tag_), .count = (count_),   \
        .type = (type_), .comm = (comm_)                                                           \
    }

/* What a thread waits for. */
enum mpi_wait {
    MPI_WAIT_ALL,    /* all of its requests */
    MPI_WAIT_ANY,    /* one of them */
    MPI_WAIT_FILE,   /* its request, of a file: MPICH makes progress in MPI_Test only */
    MPI_WAIT_PROBE,  /* a message that matches */
    MPI_WAIT_MPROBE, /* likewise, and takes it */
    MPI_WAIT_WINDOW  /* the end of a window's exposure epoch */
};

/* On the stack of a thread that waits; the poller's until `done` is posted. */
struct mpi_waiter {
    enum mpi_wait kind;
    bool whole;     /* the poller completes the requests. Otherwise it only looks, and the thread
                    * calls MPI again */
    bool complete;  /* the poller has done what the thread waits for; `error` says how */
    bool again;     /* the thread has been sent to try again: it counts in `trying` */
    bool entered;   /* requests[at] is known to be active */
    uint64_t woken; /* when it was sent to try again, or to return */
    unsigned looks; /* (poller) since requests[at] was the first that is not complete */
    int error;
    int count, at;         /* of `requests`; those before `at` are complete */
    MPI_Request *requests; /* the caller's */
    MPI_Status *statuses;  /* the caller's, or one of MPI's constants */
    int source, tag;
    MPI_Comm comm;
    MPI_Message *message;
    MPI_Win win;
    const struct mpi_call *call;
    pirn_thread_t thread;
    pirn_label_t label;             /* what pirn ps and others show */
    char name[PIRN_LABEL_WORD_MAX]; /* the communicator's */
    struct mpi_waiter *next;
    pirn_sem_t done;
};

/* The calling thread waits until the poller has found what w describes, or, if w->complete is false
 * then, until it should try again. After the last try, if there has been one, mpi_tried. */
void mpi_block(struct mpi_waiter *w);
void mpi_tried(struct mpi_waiter *w);

/* w->label, by w->call. */
void mpi_label(struct mpi_waiter *w);

/* From now on each thread makes its last call itself. The program begins a nonblocking operation of
 * a file: mpi_waits.c. */
void mpi_own_calls(void);
void mpi_file_begun(void);

/* Wait for a request, as MPI_Wait does. file: its errors go to the handler of a file. */
int mpi_wait(const struct mpi_call *call, MPI_Request *request, MPI_Status *status, bool file);

/* The waits of MPI_Waitall, ..., while MPI runs: mpi_waits.c. */
int mpi_wait_all(int count, MPI_Request requests[], MPI_Status statuses[]);
int mpi_wait_any(int count, MPI_Request requests[], int *index, MPI_Status *status);
int mpi_wait_some(int count, MPI_Request requests[], int *done, int indices[],
                  MPI_Status statuses[]);

/* Wait until all processes of `comm` call this, for a call of that name. */
int mpi_gather(const char *name, MPI_Comm comm);

/* A rank in which nothing goes on says so: mpi_quiet.c. The poller has found something; is about to
 * look for the threads in these lists. */
void mpi_quiet_begin(void);
void mpi_quiet_moved(void);
void mpi_quiet_look(uint64_t started, const struct mpi_list *whole, const struct mpi_list *others);

/* Before and after MPI: mpi_poll.c. 0 or -errno. */
int mpi_poll_begin(void);
unsigned mpi_poll_end(void); /* threads that still wait */

#endif
