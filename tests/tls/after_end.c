/* SPDX-License-Identifier: MIT */
/*
 * after_end.c - the C library calls the program's free() at the very end of a kernel thread, behind
 * the destructors of its keys; and free() calls a function of the threads' library that must know
 * its caller. The next kernel thread of the C library gets the same stack, with the descriptor as
 * it was left there.
 *
 * The kernel threads are those of aio, which the C library makes itself, and ends when they have
 * had nothing to do for a second.
 */
#include <aio.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void __libc_free(void *p);

enum { ROUNDS = 3, IDLE_US = 1300000 };

static pthread_mutex_t mutex;
static int ready;

/* An errorcheck mutex knows its owner. */
void free(void *p)
{
    if (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) != 0 && pthread_mutex_lock(&mutex) == 0) {
        pthread_mutex_unlock(&mutex);
    }
    __libc_free(p);
}

static void check(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "after_end: %s: %s\n", what, strerror(errno));
        _exit(1);
    }
}

static void read_once(int fd)
{
    char c = 0;
    struct aiocb request = {.aio_fildes = fd, .aio_buf = &c, .aio_nbytes = 1};
    const struct aiocb *list[] = {&request};
    request.aio_sigevent.sigev_notify = SIGEV_NONE;
    check(aio_read(&request) == 0, "aio_read");
    while (aio_error(&request) == EINPROGRESS) {
        aio_suspend(list, 1, NULL);
    }
    check(aio_return(&request) == 1 && c == 'x', "aio_return");
}

int main(void)
{
    int ends[2];
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&mutex, &attr);
    check(pipe(ends) == 0, "pipe");
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < ROUNDS; i++) {
        check(write(ends[1], "x", 1) == 1, "write");
        read_once(ends[0]);
        usleep(IDLE_US); /* it ends; if it has not, the next round is the same one's */
    }
    return 0;
}
