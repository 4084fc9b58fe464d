/* SPDX-License-Identifier: MIT */
/*
 * posix_mq_bare.c (bare) - message queues with names and priorities: <mqueue.h>.
 *
 * Two semaphores of a queue count its messages and the room left; they choose among waiters, and
 * whoever has a unit finds a message, or room. The messages are records in a list in the order in
 * which they will be received; free records are in another list. So invariant:
 *   1. units of `items`, plus receivers that have one and not yet a message, are the messages in
 *      the list; units of `room`, plus senders likewise, are the free records.
 * Nobody can be cancelled between the unit and the record: taking a mutex is no cancellation point.
 *
 * Locks: `names.lock` guards the list of queues, their count of descriptors and the table of
 * descriptors; a queue's lock its lists. Never both.
 */
#include <errno.h>
#include <mqueue.h>
#include <string.h>

#include "../posix.h"

#define DEFAULT_MESSAGES 10
#define DEFAULT_BYTES 128
#define CREATE_FLAGS (O_CREAT | O_EXCL | O_NONBLOCK | O_ACCMODE)

struct record {
    struct record *next;
    unsigned priority;
    size_t size;
    char bytes[];
};

struct queue {
    struct queue *next;   /* (names.lock) */
    unsigned descriptors; /* (names.lock) */
    bool unlinked;        /* (names.lock) */
    long messages, bytes; /* (C) most, and most of each */
    sem_t items, room;
    pthread_mutex_t lock;
    struct record *first, *unused; /* (lock) */
    long count;                    /* (lock) */
    void *records;                 /* (C) the memory of all */
    char name[];                   /* (C) without the slash */
};

static struct {
    pthread_mutex_t lock;
    struct queue *first;
    struct descriptor {
        struct queue *queue; /* NULL: not open */
        int flags;           /* access, O_NONBLOCK */
    } open[MQ_OPEN_MAX];
} names = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- queues ---- */

static int name_error(const char *name)
{
    size_t length = strlen(name);
    if (name[0] != '/') {
        return EINVAL;
    }
    if (length > NAME_MAX + 1) {
        return ENAMETOOLONG;
    }
    return length == 1 ? ENOENT : strchr(name + 1, '/') != NULL ? EACCES : 0;
}

static struct queue *find_locked(const char *name)
{
    struct queue *q = names.first;
    while (q != NULL && (q->unlinked || strcmp(q->name, name + 1) != 0)) {
        q = q->next;
    }
    return q;
}

static size_t record_bytes(long bytes)
{
    size_t size = sizeof(struct record) + (size_t)bytes;
    return (size + _Alignof(struct record) - 1) / _Alignof(struct record) * _Alignof(struct record);
}

/* 0: more than an address space has. */
static size_t records_bytes(long messages, long bytes)
{
    size_t each = record_bytes(bytes);
    return (size_t)messages <= SIZE_MAX / 2 / each ? each * (size_t)messages : 0;
}

static size_t queue_bytes(const char *name)
{
    return sizeof(struct queue) + strlen(name) + 1;
}

static void queue_free(struct queue *q)
{
    if (q != NULL) {
        port_table_free(q->records, records_bytes(q->messages, q->bytes));
        port_table_free(q, queue_bytes(q->name));
    }
}

static bool records_make(struct queue *q)
{
    size_t each = record_bytes(q->bytes), all = records_bytes(q->messages, q->bytes);
    q->records = all != 0 ? port_table_alloc(all) : NULL;
    for (long i = q->messages; q->records != NULL && i-- > 0;) {
        struct record *r = (struct record *)((char *)q->records + (size_t)i * each);
        r->next = q->unused;
        q->unused = r;
    }
    return q->records != NULL;
}

static int queue_make_locked(const char *name, const struct mq_attr *attr, struct queue **made)
{
    long messages = attr != NULL ? attr->mq_maxmsg : DEFAULT_MESSAGES;
    long bytes = attr != NULL ? attr->mq_msgsize : DEFAULT_BYTES;
    if (messages <= 0 || bytes <= 0) {
        return EINVAL;
    }
    if (messages > SEM_VALUE_MAX || bytes > LONG_MAX / 2) {
        return ENOSPC;
    }
    struct queue *q = port_table_alloc(queue_bytes(name + 1));
    if (q == NULL) {
        return ENOSPC;
    }
    *q = (struct queue){.messages = messages, .bytes = bytes};
    strcpy(q->name, name + 1);
    if (!records_make(q)) {
        port_table_free(q, queue_bytes(q->name));
        return ENOSPC;
    }
    pirn_posix_sem_init(&q->items, 0, 0);
    pirn_posix_sem_init(&q->room, 0, (unsigned)messages);
    q->next = names.first;
    names.first = q;
    *made = q;
    return 0;
}

/* Nobody can find it any more: out of the list. NULL: somebody has it open. */
static struct queue *take_unused_locked(struct queue *q)
{
    if (!q->unlinked || q->descriptors != 0) {
        return NULL;
    }
    struct queue **at = &names.first;
    while (*at != q) {
        at = &(*at)->next;
    }
    *at = q->next;
    return q;
}

/* ---- descriptors ---- */

static int descriptor_find_locked(void)
{
    int d = 0;
    while (d < MQ_OPEN_MAX && names.open[d].queue != NULL) {
        d++;
    }
    return d;
}

static int open_locked(const char *name, int flags, const struct mq_attr *attr, mqd_t *opened)
{
    struct queue *q = find_locked(name);
    int d = descriptor_find_locked(), error = 0;
    if (q != NULL && (flags & O_CREAT) && (flags & O_EXCL)) {
        return EEXIST;
    }
    if (d == MQ_OPEN_MAX) {
        return EMFILE;
    }
    if (q == NULL) {
        error = flags & O_CREAT ? queue_make_locked(name, attr, &q) : ENOENT;
    }
    if (error == 0) {
        names.open[d] = (struct descriptor){q, flags & (O_ACCMODE | O_NONBLOCK)};
        q->descriptors++;
        *opened = d;
    }
    return error;
}

mqd_t pirn_posix_mq_open(const char *name, int flags, const struct mq_attr *attr)
{
    mqd_t opened = -1;
    int error = name_error(name);
    if (error == 0 && ((flags & ~CREATE_FLAGS) || (flags & O_ACCMODE) == O_ACCMODE)) {
        error = EINVAL;
    }
    if (error == 0) {
        pirn_pthread_mutex_lock(&names.lock);
        error = open_locked(name, flags, attr, &opened);
        pirn_pthread_mutex_unlock(&names.lock);
    }
    return error == 0 ? opened : posix_fail(error);
}

/* The descriptor's queue and flags; NULL: it is not open. */
static struct descriptor descriptor_of(mqd_t d)
{
    struct descriptor found = {0};
    if (d >= 0 && d < MQ_OPEN_MAX) {
        pirn_pthread_mutex_lock(&names.lock);
        found = names.open[d];
        pirn_pthread_mutex_unlock(&names.lock);
    }
    return found;
}

int pirn_posix_mq_close(mqd_t d)
{
    struct queue *unused = NULL;
    if (descriptor_of(d).queue == NULL) {
        return posix_fail(EBADF);
    }
    pirn_pthread_mutex_lock(&names.lock);
    struct queue *q = names.open[d].queue;
    if (q != NULL) {
        names.open[d].queue = NULL;
        q->descriptors--;
        unused = take_unused_locked(q);
    }
    pirn_pthread_mutex_unlock(&names.lock);
    queue_free(unused);
    return 0;
}

int pirn_posix_mq_unlink(const char *name)
{
    struct queue *unused = NULL;
    int error = name_error(name);
    if (error != 0) {
        return posix_fail(error);
    }
    pirn_pthread_mutex_lock(&names.lock);
    struct queue *q = find_locked(name);
    if (q != NULL) {
        q->unlinked = true;
        unused = take_unused_locked(q);
    }
    pirn_pthread_mutex_unlock(&names.lock);
    queue_free(unused);
    return q != NULL ? 0 : posix_fail(ENOENT);
}

int pirn_posix_mq_getattr(mqd_t d, struct mq_attr *attr)
{
    struct descriptor open = descriptor_of(d);
    if (open.queue == NULL) {
        return posix_fail(EBADF);
    }
    pirn_pthread_mutex_lock(&open.queue->lock);
    *attr = (struct mq_attr){open.flags & O_NONBLOCK, open.queue->messages, open.queue->bytes,
                             open.queue->count};
    pirn_pthread_mutex_unlock(&open.queue->lock);
    return 0;
}

int pirn_posix_mq_setattr(mqd_t d, const struct mq_attr *attr, struct mq_attr *old)
{
    struct mq_attr before;
    if (attr->mq_flags & ~(long)O_NONBLOCK) {
        return posix_fail(EINVAL);
    }
    if (pirn_posix_mq_getattr(d, &before) != 0) {
        return -1;
    }
    pirn_pthread_mutex_lock(&names.lock);
    names.open[d].flags = (names.open[d].flags & O_ACCMODE) | (int)attr->mq_flags;
    pirn_pthread_mutex_unlock(&names.lock);
    if (old != NULL) {
        *old = before;
    }
    return 0;
}

int pirn_posix_mq_notify(mqd_t d, const struct sigevent *event)
{
    (void)d;
    (void)event;
    return posix_fail(ENOSYS);
}

/* ---- messages ---- */

/* A unit of the semaphore; time NULL: without limit. */
static int take_unit(const struct descriptor *open, sem_t *sem, const struct timespec *time)
{
    if (open->flags & O_NONBLOCK) {
        return pirn_posix_sem_trywait(sem);
    }
    return time != NULL ? pirn_posix_sem_timedwait(sem, time) : pirn_posix_sem_wait(sem);
}

/* Behind those of the same priority and higher ones. */
static void insert_locked(struct queue *q, struct record *r)
{
    struct record **at = &q->first;
    while (*at != NULL && (*at)->priority >= r->priority) {
        at = &(*at)->next;
    }
    r->next = *at;
    *at = r;
    q->count++;
}

int pirn_posix_mq_timedsend(mqd_t d, const char *message, size_t size, unsigned priority,
                            const struct timespec *time)
{
    posix_point();
    struct descriptor open = descriptor_of(d);
    struct queue *q = open.queue;
    if (priority >= MQ_PRIO_MAX) {
        return posix_fail(EINVAL);
    }
    if (q == NULL || (open.flags & O_ACCMODE) == O_RDONLY) {
        return posix_fail(EBADF);
    }
    if (size > (size_t)q->bytes) {
        return posix_fail(EMSGSIZE);
    }
    if (take_unit(&open, &q->room, time) != 0) {
        return -1;
    }
    pirn_pthread_mutex_lock(&q->lock);
    struct record *r = q->unused;
    RT_ASSERT(r != NULL);
    q->unused = r->next;
    r->priority = priority;
    r->size = size;
    memcpy(r->bytes, message, size);
    insert_locked(q, r);
    pirn_pthread_mutex_unlock(&q->lock);
    pirn_posix_sem_post(&q->items);
    return 0;
}

int pirn_posix_mq_send(mqd_t d, const char *message, size_t size, unsigned priority)
{
    return pirn_posix_mq_timedsend(d, message, size, priority, NULL);
}

ssize_t pirn_posix_mq_timedreceive(mqd_t d, char *message, size_t size, unsigned *priority,
                                   const struct timespec *time)
{
    posix_point();
    struct descriptor open = descriptor_of(d);
    struct queue *q = open.queue;
    if (q == NULL || (open.flags & O_ACCMODE) == O_WRONLY) {
        return posix_fail(EBADF);
    }
    if (size < (size_t)q->bytes) {
        return posix_fail(EMSGSIZE);
    }
    if (take_unit(&open, &q->items, time) != 0) {
        return -1;
    }
    pirn_pthread_mutex_lock(&q->lock);
    struct record *r = q->first;
    RT_ASSERT(r != NULL);
    q->first = r->next;
    q->count--;
    size_t got = r->size;
    memcpy(message, r->bytes, got);
    if (priority != NULL) {
        *priority = r->priority;
    }
    r->next = q->unused;
    q->unused = r;
    pirn_pthread_mutex_unlock(&q->lock);
    pirn_posix_sem_post(&q->room);
    return (ssize_t)got;
}

ssize_t pirn_posix_mq_receive(mqd_t d, char *message, size_t size, unsigned *priority)
{
    return pirn_posix_mq_timedreceive(d, message, size, priority, NULL);
}
