/* SPDX-License-Identifier: MIT */
/*
 * posix_once.c - pthread_once.
 *
 * The function may end by an exception (std::call_once), by pthread_exit or by cancellation. Then
 * it has not run, and the next caller runs it. An exception runs the cleanup attribute of `run`. So
 * does a thread that ends, if the function has unwind tables. If the function has none (plain C), a
 * cleanup buffer, as pthread_cleanup_push makes them, catches the end (posix_exit.c).
 */
#include <errno.h>

#include "posix.h"

struct running {
    __pthread_unwind_buf_t buf;
    struct rt_once *once; /* NULL: ended */
};

static void end(struct running *r, bool done)
{
    struct rt_once *once = r->once;
    if (once != NULL) {
        r->once = NULL;
        rt_once_end(once, done);
    }
}

static void leave(struct running *r)
{
    if (r->once != NULL) {
        posix_cleanup_unregister(&r->buf);
        end(r, false);
    }
}

static NOINLINE void run(struct rt_once *once, void (*fn)(void))
{
    struct running r CLEANUP(leave) = {.once = once};
    if (posix_cleanup_setjmp(r.buf.__cancel_jmp_buf) != 0) {
        end(&r, false);
        posix_cleanup_next(&r.buf);
    }
    posix_cleanup_register(&r.buf);
    fn();
    posix_cleanup_unregister(&r.buf);
    end(&r, true);
}

int pirn_pthread_once(pthread_once_t *control, void (*fn)(void))
{
    struct rt_once *once = (struct rt_once *)control;
    if (unlikely(rt_once_begin(once))) {
        run(once, fn);
    }
    return 0;
}
