/* SPDX-License-Identifier: MIT */
/*
 * mqueue.h (boards) - message queues with names and priorities, after POSIX.1-2017 (XSH mq_open and
 * following). Queues live in the runtime's memory, from mq_open until they are unlinked and no
 * descriptor is open any more.
 *
 * Functions return 0, a descriptor or a number of bytes; or -1 (mqd_t: (mqd_t)-1) and set errno.
 * Times are absolute, of CLOCK_REALTIME. Waiters are served by priority, then in order of arrival.
 *
 * Context: threads. Cancellation points are mq_send, mq_timedsend, mq_receive and mq_timedreceive.
 * Handlers of interrupts use <pirn/queue.h>. A descriptor must not be closed while a thread waits
 * with it.
 */
#ifndef PIRN_BARE_MQUEUE_H
#define PIRN_BARE_MQUEUE_H

#include <fcntl.h>
#include <limits.h>
#include <sys/types.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int mqd_t;

struct mq_attr {
    long mq_flags;   /* O_NONBLOCK or 0; of the descriptor */
    long mq_maxmsg;  /* messages that the queue has room for */
    long mq_msgsize; /* bytes of a message at most */
    long mq_curmsgs; /* messages in the queue */
};

/* Open the queue, with O_RDONLY, O_WRONLY or O_RDWR; with O_CREAT (mode_t, struct mq_attr *) make
 * it if there is none: by default for 10 messages of 128 bytes. The mode has no effect. A name is a
 * slash and 1 to 255 characters without one.
 * EACCES: another slash; EEXIST: O_CREAT and O_EXCL, and there is one; EINVAL: no slash at the
 * beginning, or an attribute that is not above 0; EMFILE: MQ_OPEN_MAX are open; ENAMETOOLONG;
 * ENOENT: there is none; ENOSPC: no memory. */
mqd_t mq_open(const char *name, int flags, ...);

/* EBADF: not open. */
int mq_close(mqd_t queue);

/* The name goes at once, the queue when it is closed. ENOENT: no such name. */
int mq_unlink(const char *name);

/* Send `size` bytes with a priority, 0 to MQ_PRIO_MAX - 1. They wait for room unless O_NONBLOCK is
 * set. EAGAIN: full; EBADF: not open for writing; EINVAL: the priority, or, if it has to wait, the
 * time; EMSGSIZE: larger than mq_msgsize; ETIMEDOUT. */
int mq_send(mqd_t queue, const char *message, size_t size, unsigned priority);
int mq_timedsend(mqd_t queue, const char *message, size_t size, unsigned priority,
                 const struct timespec *time);

/* Receive the oldest message of the highest priority: its size. *priority is set if not NULL.
 * EAGAIN: empty; EBADF: not open for reading; EINVAL: it has to wait, and the time; EMSGSIZE: size
 * is less than mq_msgsize; ETIMEDOUT. */
ssize_t mq_receive(mqd_t queue, char *message, size_t size, unsigned *priority);
ssize_t mq_timedreceive(mqd_t queue, char *message, size_t size, unsigned *priority,
                        const struct timespec *time);

/* setattr changes O_NONBLOCK of mq_flags only; `old`, if not NULL, gets what was before. EBADF;
 * EINVAL: another flag. */
int mq_getattr(mqd_t queue, struct mq_attr *attr);
int mq_setattr(mqd_t queue, const struct mq_attr *attr, struct mq_attr *old);

/* ENOSYS: there are no signals. A thread that waits in mq_receive does what a notification would
 * start. */
struct sigevent;
int mq_notify(mqd_t queue, const struct sigevent *event);

#ifdef __cplusplus
}
#endif

#endif
