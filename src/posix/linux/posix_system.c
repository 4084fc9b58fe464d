/* SPDX-License-Identifier: MIT */
/*
 * posix_system.c - system(). The C library's would wait in the kernel and could not be interrupted.
 *
 * Where signals are the kernel's (posix_signal.h), the whole function is one call (rt_call_begin):
 * the thread stays on its kernel thread, whose signal mask has SIGCHLD meanwhile, and others have
 * its CPU. A request that comes during the wait ends the child: the child is killed and waited for,
 * and the function fails with ECANCELED. The exported name's wrapper acts on it.
 *
 * The process ignores SIGINT and SIGQUIT while any thread is in system(). Lock: `ignored.lock`.
 */
#include "../signals/posix_signal.h"
#include "posix_io.h"

#include <signal.h>
#include <spawn.h>

static struct {
    struct rt_mutex lock;
    unsigned users; /* (lock) */
    struct sigaction interrupt, quit;
} ignored;

static void ignore_begin(void)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    rt_mutex_lock_until(&ignored.lock, UINT64_MAX);
    if (ignored.users++ == 0) {
        pirn_posix_sigaction(SIGINT, &ignore, &ignored.interrupt);
        pirn_posix_sigaction(SIGQUIT, &ignore, &ignored.quit);
    }
    rt_mutex_unlock(&ignored.lock);
}

static void ignore_end(void)
{
    rt_mutex_lock_until(&ignored.lock, UINT64_MAX);
    if (--ignored.users == 0) {
        pirn_posix_sigaction(SIGINT, &ignored.interrupt, NULL);
        pirn_posix_sigaction(SIGQUIT, &ignored.quit, NULL);
    }
    rt_mutex_unlock(&ignored.lock);
}

/* Starts the shell with the mask from before the call; signals that were not ignored before are not
 * ignored in it. 0 or an error number. */
static int shell_start(pid_t *child, const char *command, const sigset_t *mask)
{
    char *const arguments[] = {(char *)"sh", (char *)"-c", (char *)command, NULL};
    posix_spawnattr_t attr;
    sigset_t reset;
    sigemptyset(&reset);
    if (ignored.interrupt.sa_handler != SIG_IGN) {
        sigaddset(&reset, SIGINT);
    }
    if (ignored.quit.sa_handler != SIG_IGN) {
        sigaddset(&reset, SIGQUIT);
    }
    int error = posix_spawnattr_init(&attr);
    if (error != 0) {
        return error;
    }
    posix_spawnattr_setsigmask(&attr, mask);
    posix_spawnattr_setsigdefault(&attr, &reset);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    error = posix_spawn(child, "/bin/sh", NULL, &attr, arguments, environ);
    posix_spawnattr_destroy(&attr);
    return error;
}

/* One attempt; returns -errno. Where threads have signals of their own, their handlers run between
 * attempts, outside a call. */
static long shell_wait_once(struct thread *self, const long *args)
{
    if (posix_signals_mine()) {
        return io_call(IO_BLOCKS, args) < 0 ? -io_errno() : 0;
    }
    return self != NULL && cancel_is_enabled(self) ? io_call_stoppable(self, true, args)
                                                   : io_call_plain(args);
}

/* Returns the child's status or -errno. -ECANCELED: the child has been killed. Handlers do not end
 * the wait. */
static long shell_wait(struct thread *self, pid_t child)
{
    int status = -1;
    const long args[] = {SYS_wait4, child, (long)&status, 0, 0, 0, 0};
    long result;
    do {
        result = shell_wait_once(self, args);
    } while (result == -EINTR);
    if (result == -ECANCELED) {
        syscall(SYS_kill, child, SIGKILL);
        while (io_call_plain(args) == -EINTR) {
        }
    }
    return result < 0 ? result : status;
}

static long shell_run(struct thread *self, const char *command)
{
    sigset_t chld, before;
    pid_t child;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    pirn_pthread_sigmask(SIG_BLOCK, &chld, &before);
    int error = shell_start(&child, command, &before);
    long result = error == 0 ? shell_wait(self, child) : error == ENOENT ? 127 << 8 : -error;
    pirn_pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

int pirn_posix_system(const char *command)
{
    struct rt_call call;
    struct thread *self = posix_is_foreign() ? NULL : rt_self();
    if (command == NULL) {
        return access("/bin/sh", X_OK) == 0;
    }
    ignore_begin();
    bool one_call = !posix_signals_begin();
    if (one_call) {
        rt_call_begin(&call, true);
    }
    long result = shell_run(self, command);
    if (one_call) {
        rt_call_end(&call);
    }
    ignore_end();
    return result < 0 ? posix_fail((int)-result) : (int)result;
}
