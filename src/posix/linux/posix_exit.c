/* SPDX-License-Identifier: MIT */
/*
 * posix_exit.c - pthread_exit, the end of a cancelled thread, and the cleanup handlers of C
 * programs.
 *
 * pthread_exit unwinds the stack by force, for C++ and code built with -fexceptions: destructors
 * and cleanup attributes of the frames run. Plain C instead registers a buffer (a jump target) for
 * each pthread_cleanup_push. The stop function visits every frame, innermost first. When the frames
 * below the newest buffer are gone, it jumps to the buffer. The handler runs and returns through
 * posix_cleanup_next, which unwinds from there to the next older buffer. At the end of the stack
 * the thread ends; then key destructors run (posix_local.c).
 *
 * A buffer lies in the frame that pushed it. So that frame has been reached when the visited
 * frame's canonical address is above the buffer: the visited frame is then the one above it. The
 * frame itself is plain C and has nothing else to clean up.
 */
#include <errno.h>
#include <string.h>

#include "../posix.h"
#include "life.h"

/* __pad[0] links to the next older buffer. __pad[1] keeps the cancellation type for the _defer
 * variants. */
#define OLDER(buf) ((buf)->__pad[0])
#define TYPE_BEFORE(buf) ((buf)->__pad[1])

static NORETURN void fatal(const char *text)
{
    port_write(text, strlen(text));
    port_panic();
}

static struct posix_local *local_or_die(void)
{
    struct posix_local *local = posix_local();
    if (local == NULL) {
        fatal("pirn: no memory for a cleanup handler\n");
    }
    return local;
}

void posix_cleanup_register(posix_cleanup *buf)
{
    struct posix_local *local = local_or_die();
    OLDER(buf) = local->cleanup;
    local->cleanup = buf;
}

void posix_cleanup_unregister(posix_cleanup *buf)
{
    local_or_die()->cleanup = OLDER(buf);
}

void posix_cleanup_register_defer(posix_cleanup *buf)
{
    posix_cleanup_register(buf);
    TYPE_BEFORE(buf) = (void *)(intptr_t)posix_cancel_type(PTHREAD_CANCEL_DEFERRED);
}

void posix_cleanup_unregister_restore(posix_cleanup *buf)
{
    posix_cleanup_unregister(buf);
    posix_cancel_type((int)(intptr_t)TYPE_BEFORE(buf));
}

static NORETURN void thread_end(struct thread *self)
{
    if (self->flags & THREAD_MAIN) {
        life_main_exit(self->arg_ret);
    }
    rt_thread_exit(self->arg_ret);
}

/* Removes the buffer first: a handler that calls pthread_exit continues with the next older one. */
static NORETURN void jump_to(struct posix_local *local, posix_cleanup *buf)
{
    local->cleanup = OLDER(buf);
    posix_cleanup_longjmp(buf->__cancel_jmp_buf, 1);
}

static _Unwind_Reason_Code stop(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                struct _Unwind_Exception *exception,
                                struct _Unwind_Context *context, void *unused)
{
    struct thread *self = rt_self();
    struct posix_local *local = self->local;
    posix_cleanup *buf = local->cleanup;
    bool end = actions & _UA_END_OF_STACK;
    (void)version;
    (void)class;
    (void)exception;
    (void)unused;
    if (buf != NULL && (end || (uintptr_t)_Unwind_GetCFA(context) > (uintptr_t)buf)) {
        jump_to(local, buf);
    }
    if (end) {
        thread_end(self);
    }
    return _URC_NO_REASON;
}

static void swallowed(_Unwind_Reason_Code reason, struct _Unwind_Exception *exception)
{
    (void)reason;
    (void)exception;
    fatal("pirn: FATAL: the exception of pthread_exit was caught and not rethrown\n");
}

static NORETURN void unwind(struct thread *self)
{
    struct posix_local *local = posix_local();
    if (local != NULL) {
        memset(&local->unwind, 0, sizeof(local->unwind));
        local->unwind.exception.exception_cleanup = swallowed;
        _Unwind_ForcedUnwind(&local->unwind.exception, stop, NULL);
        /* _Unwind_ForcedUnwind returns only if it cannot unwind a frame. */
        if (local->cleanup != NULL) {
            jump_to(local, local->cleanup);
        }
    }
    thread_end(self);
}

void posix_cleanup_next(posix_cleanup *buf)
{
    (void)buf;
    unwind(rt_self());
}

/* The field of the argument is unused after the thread has started, so it holds the return
 * value. */
void pirn_pthread_exit(void *ret)
{
    struct thread *self = rt_self();
    if (self->flags & THREAD_FOREIGN) {
        fatal("pirn: pthread_exit in a kernel thread that Pirn did not make\n");
    }
    rt_cancel_set(self, CANCEL_ENDING, 0); /* handlers and destructors are not cancelled */
    self->arg_ret = ret;
    unwind(self);
}
