/* SPDX-License-Identifier: MIT */
/*
 * posix_spawn.c - new programs. A new program inherits the signal mask of the thread that starts it
 * and the pending signals of the process. Where threads have signals of their own (posix_signal.h),
 * the kernel only knows the mask of the kernel thread, which is a different one. What happens to
 * LD_PRELOAD in the environment: posix_children.c.
 *
 *   exec*         the kernel thread gets the thread's mask before the call, and its own back if
 *                 the call fails.
 *   posix_spawn   gets the mask as an attribute; so does pidfd_spawn.
 *   popen         is the C library's. The thread keeps its kernel thread for the call, and that has
 *                 the thread's mask meanwhile.
 *   fork          is the C library's, once no other thread is about to start the runtime.
 *   vfork         is fork: a child that shares the memory would share masks and actions, too.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include "../../core/carrier.h"
#include "../signals/posix_signal.h"
#include "mutant.h"
#include "port_posix.h"
#include "port_processes.h"
#include "posix_children.h"

extern char **environ;

/* The next definition of the name behind this library. Of posix_spawn x86-64 has two, and dlsym of
 * older C libraries (2.31) finds the first. */
static void *next_of(const char *name)
{
    void *fn = dlvsym(RTLD_NEXT, name, "GLIBC_2.15");
    fn = fn != NULL ? fn : dlsym(RTLD_NEXT, name);
    if (fn == NULL) {
        errno = ENOSYS;
    }
    return fn;
}

typedef pid_t (*fork_fn)(void);
static _Atomic(fork_fn) libc_fork;

static __attribute__((constructor)) void fork_find(void)
{
    at_store_rlx(&libc_fork, (fork_fn)dlsym(RTLD_NEXT, "fork"));
}

/* Signal handlers may call it. Before the constructor of this library, another library's may. */
pid_t pirn_posix_fork(void)
{
    fork_fn next = at_load_rlx(&libc_fork);
    if (next == NULL && (next = (fork_fn)next_of("fork")) == NULL) {
        return -1;
    }
    rt_fork_begin();
    return next();
}

struct handed_on {
    bool begun;
    bool locked;
    unsigned long irq;
    struct rt_call call;
};

/* Gives the process's pending signals back to the kernel and stops fetching them. The kernel
 * accepts the siginfo_t of a kill, or of its own signal, from the main kernel thread only. From
 * other threads, the signal looks as if the process had sent it to itself. */
static void pending_hand_on(struct handed_on *h)
{
    siginfo_t info;
    h->locked = true;
    signals_lock(&h->irq);
    while (!MUTANT(EXEC_PENDING) && pending_take_locked(&signals.process, ~UINT64_C(0), &info)) {
        if (syscall(SYS_rt_sigqueueinfo, getpid(), info.si_signo, &info) != 0) {
            syscall(SYS_kill, getpid(), info.si_signo);
        }
    }
}

/* From here on the caller stays on its kernel thread and takes no signals. */
static void mask_hand_on(struct handed_on *h, bool executes)
{
    h->begun = posix_signals_mine();
    h->locked = false;
    if (h->begun) {
        struct thread *self = rt_self();
        uint64_t mask = at_load_rlx(&self->sigmask);
        rt_call_begin(&h->call, false);
        if (executes) {
            port_exec_begin(MUTANT(EXEC_MASK) ? &(uint64_t){0} : &mask);
            pending_hand_on(h);
        } else {
            port_signal_mask(&mask);
        }
    }
}

static void mask_take_back(struct handed_on *h)
{
    if (h->begun) {
        int saved = errno;
        if (h->locked) {
            signals_unlock(h->irq);
            port_exec_end();
            port_signals_wake();
        } else {
            port_signal_mask(NULL);
        }
        rt_call_end(&h->call);
        posix_signals_take();
        posix_fail(saved);
    }
}

static int exec_at(int at, const char *path, char *const argv[], char *const env[], int flags)
{
    struct handed_on h;
    struct children_env made;
    const struct children_file file = {flags < 0 ? AT_FDCWD : at, path, false};
    env = children_env_begin(&made, &file, env, true);
    mask_hand_on(&h, true);
    int result = flags < 0 ? (int)syscall(SYS_execve, path, argv, env)
                           : (int)syscall(SYS_execveat, at, path, argv, env, flags);
    mask_take_back(&h);
    children_env_end(&made);
    return result;
}

int pirn_posix_execve(const char *path, char *const argv[], char *const env[])
{
    return exec_at(0, path, argv, env, -1);
}

int pirn_posix_execv(const char *path, char *const argv[])
{
    return pirn_posix_execve(path, argv, environ);
}

int pirn_posix_execveat(int at, const char *path, char *const argv[], char *const env[], int flags)
{
    return exec_at(at, path, argv, env, flags & 0x7fffffff);
}

int pirn_posix_fexecve(int fd, char *const argv[], char *const env[])
{
    struct handed_on h;
    int (*next)(int, char *const[], char *const[]) =
        (int (*)(int, char *const[], char *const[]))next_of("fexecve");
    if (next == NULL) {
        return -1;
    }
    struct children_env made;
    env = children_env_begin(&made, &(struct children_file){fd, "", false}, env, true);
    mask_hand_on(&h, true);
    int result = next(fd, argv, env);
    mask_take_back(&h);
    children_env_end(&made);
    return result;
}

int pirn_posix_execvpe(const char *file, char *const argv[], char *const env[])
{
    struct handed_on h;
    int (*next)(const char *, char *const[], char *const[]) =
        (int (*)(const char *, char *const[], char *const[]))next_of("execvpe");
    if (next == NULL) {
        return -1;
    }
    struct children_env made;
    env = children_env_begin(&made, &(struct children_file){AT_FDCWD, file, true}, env, true);
    mask_hand_on(&h, true);
    int result = next(file, argv, env);
    mask_take_back(&h);
    children_env_end(&made);
    return result;
}

int pirn_posix_execvp(const char *file, char *const argv[])
{
    return pirn_posix_execvpe(file, argv, environ);
}

typedef int (*spawn_fn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                        const posix_spawnattr_t *, char *const[], char *const[]);

/* child: or the descriptor. */
static int spawn_masked(const char *name, pid_t *child, const char *file,
                        const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
                        char *const argv[], char *const env[])
{
    spawn_fn next = (spawn_fn)next_of(name);
    posix_spawnattr_t with_mask;
    short flags = 0;
    if (next == NULL) {
        return ENOSYS;
    }
    if (attr != NULL) {
        posix_spawnattr_getflags(attr, &flags);
    }
    if ((flags & POSIX_SPAWN_SETSIGMASK) || !posix_signals_mine()) {
        return next(child, file, actions, attr, argv, env);
    }
    sigset_t mask;
    pirn_pthread_sigmask(SIG_BLOCK, NULL, &mask);
    if (attr != NULL) {
        with_mask = *attr;
    } else {
        posix_spawnattr_init(&with_mask);
    }
    posix_spawnattr_setsigmask(&with_mask, &mask);
    posix_spawnattr_setflags(&with_mask, (short)(flags | POSIX_SPAWN_SETSIGMASK));
    return next(child, file, actions, &with_mask, argv, env);
}

/* A file's name is looked at from here, even if the child changes its folder: then the decision of
 * posix_children.c may be that for another file. */
static int spawn(const char *name, pid_t *child, const char *file, bool searched,
                 const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
                 char *const argv[], char *const env[])
{
    struct children_env made;
    const struct children_file at = {AT_FDCWD, file, searched};
    env = children_env_begin(&made, &at, env, false);
    int error = spawn_masked(name, child, file, actions, attr, argv, env);
    children_env_end(&made);
    return error;
}

int pirn_posix_posix_spawn(pid_t *child, const char *path,
                           const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
                           char *const argv[], char *const env[])
{
    return spawn("posix_spawn", child, path, false, actions, attr, argv, env);
}

int pirn_posix_posix_spawnp(pid_t *child, const char *file,
                            const posix_spawn_file_actions_t *actions,
                            const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
    return spawn("posix_spawnp", child, file, true, actions, attr, argv, env);
}

/* glibc 2.39 and newer, otherwise ENOSYS. A descriptor of the process in place of its id. */
int pirn_posix_pidfd_spawn(int *fd, const char *path, const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
    return spawn("pidfd_spawn", fd, path, false, actions, attr, argv, env);
}

int pirn_posix_pidfd_spawnp(int *fd, const char *file, const posix_spawn_file_actions_t *actions,
                            const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
    return spawn("pidfd_spawnp", fd, file, true, actions, attr, argv, env);
}

FILE *pirn_posix_popen(const char *command, const char *mode)
{
    struct handed_on h;
    FILE *(*next)(const char *, const char *) =
        (FILE * (*)(const char *, const char *)) next_of("popen");
    if (next == NULL) {
        return NULL;
    }
    mask_hand_on(&h, false);
    FILE *f = next(command, mode);
    mask_take_back(&h);
    return f;
}
