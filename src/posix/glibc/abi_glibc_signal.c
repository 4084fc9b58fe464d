/* SPDX-License-Identifier: MIT */
/*
 * abi_glibc_signal.c - exports names around signals that posix.def does not list: the older
 * interfaces, those with variable arguments, and jumps that save and restore the signal mask.
 *
 * A jump buffer keeps the kernel's mask. Where threads have signals of their own (posix_signal.h),
 * the kernel's mask is the same for all. So __sigsetjmp also saves the thread's mask, behind the
 * words that the kernel writes, and siglongjmp sets it before the C library does the rest.
 */
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../signals/posix_signal.h"

#define NAMED(ret, c_name, name, params)                                                           \
    EXPORT ret c_name params __asm__(name);                                                        \
    ret c_name params
#define ALSO(name, of) __asm__(".globl " #name "\n\t.set " #name ", " #of);

NAMED(posix_handler *, abi_signal, "signal", (int number, posix_handler *handler))
{
    return posix_signal_bsd(number, handler);
}
ALSO(bsd_signal, signal)
ALSO(ssignal, signal)

NAMED(posix_handler *, abi_sysv_signal, "sysv_signal", (int number, posix_handler *handler))
{
    return posix_signal_sysv(number, handler);
}
ALSO(__sysv_signal, sysv_signal)

NAMED(posix_handler *, abi_sigset, "sigset", (int number, posix_handler *handler))
{
    return posix_sigset(number, handler);
}

ALSO(gsignal, raise)

static int pause_point(int word, bool is_mask)
{
    posix_point();
    int result = posix_sigpause(word, is_mask);
    posix_point();
    return result;
}

NAMED(int, abi_sigpause, "sigpause", (int mask))
{
    return pause_point(mask, true);
}
NAMED(int, abi_xpg_sigpause, "__xpg_sigpause", (int number))
{
    return pause_point(number, false);
}
NAMED(int, abi_gnu_sigpause, "__sigpause", (int word, int is_number))
{
    return pause_point(word, !is_number);
}

NAMED(int, abi_sigblock, "sigblock", (int mask))
{
    return posix_sigblock(mask);
}
NAMED(int, abi_sigsetmask, "sigsetmask", (int mask))
{
    return posix_sigsetmask(mask);
}
NAMED(int, abi_siggetmask, "siggetmask", (void))
{
    return posix_sigblock(0);
}

NAMED(pid_t, abi_vfork, "vfork", (void))
{
    return pirn_posix_fork();
}
ALSO(__vfork, vfork)

/* ---- exec with a list of arguments ---- */

/* The arguments lie on the caller's stack, because a child of a fork or a signal handler may call
 * exec. */
#define ARGV(argv, first, list)                                                                    \
    size_t n_ = 1;                                                                                 \
    va_list count_;                                                                                \
    va_copy(count_, list);                                                                         \
    for (const char *p_ = (first); p_ != NULL; n_++) {                                             \
        p_ = va_arg(count_, const char *);                                                         \
    }                                                                                              \
    va_end(count_);                                                                                \
    char *argv[n_];                                                                                \
    argv[0] = (char *)(first);                                                                     \
    for (size_t i_ = 1; i_ < n_; i_++) {                                                           \
        argv[i_] = va_arg(list, char *);                                                           \
    }

NAMED(int, abi_execl, "execl", (const char *path, const char *first, ...))
{
    va_list list;
    va_start(list, first);
    ARGV(argv, first, list)
    va_end(list);
    return pirn_posix_execv(path, argv);
}

NAMED(int, abi_execlp, "execlp", (const char *file, const char *first, ...))
{
    va_list list;
    va_start(list, first);
    ARGV(argv, first, list)
    va_end(list);
    return pirn_posix_execvp(file, argv);
}

NAMED(int, abi_execle, "execle", (const char *path, const char *first, ...))
{
    va_list list;
    va_start(list, first);
    ARGV(argv, first, list)
    char *const *env = va_arg(list, char *const *);
    va_end(list);
    return pirn_posix_execve(path, argv, env);
}

/* ---- jumps ---- */

#ifdef PORT_ARCH_SIGSETJMP

#define SAVED_MARK UINT64_C(0x5049524e6d61736b)

typedef NORETURN void (*jump_fn)(struct __jmp_buf_tag *env, int value);
static jump_fn next_jump;
int (*posix_next_sigsetjmp)(struct __jmp_buf_tag *env, int save)
    __attribute__((visibility("hidden")));

void posix_sigsetjmp(struct __jmp_buf_tag *env, int save)
    __attribute__((visibility("hidden"), used));

static uint64_t *saved_in(struct __jmp_buf_tag *env)
{
    return (uint64_t *)(void *)&env->__saved_mask + 1;
}

/* Runs before the C library's function, which writes the first word of the mask. */
void posix_sigsetjmp(struct __jmp_buf_tag *env, int save)
{
    if (posix_next_sigsetjmp == NULL) {
        posix_next_sigsetjmp =
            (int (*)(struct __jmp_buf_tag *, int))dlsym(RTLD_NEXT, "__sigsetjmp");
    }
    if (save != 0) {
        bool mine = posix_signals_mine();
        saved_in(env)[0] = mine ? at_load_rlx(&rt_self()->sigmask) : 0;
        saved_in(env)[1] = mine ? SAVED_MARK : 0;
    }
}

PORT_ARCH_SIGSETJMP;

static NORETURN void jump(struct __jmp_buf_tag *env, int value)
{
    struct __jmp_buf_tag to;
    if (next_jump == NULL) {
        next_jump = (jump_fn)dlsym(RTLD_NEXT, "siglongjmp");
    }
    if (env->__mask_was_saved && saved_in(env)[1] == SAVED_MARK && posix_signals_mine()) {
        posix_mask_set(rt_self(), saved_in(env)[0]);
        memcpy(&to, env, sizeof(to));
        to.__mask_was_saved = 0;
        next_jump(&to, value);
    }
    next_jump(env, value);
}

NAMED(NORETURN void, abi_siglongjmp, "siglongjmp", (struct __jmp_buf_tag * env, int value))
{
    jump(env, value);
}
ALSO(longjmp, siglongjmp)
ALSO(_longjmp, siglongjmp)

/* _FORTIFY_SOURCE: the C library's version also checks that the frame still exists. */
NAMED(NORETURN void, abi_longjmp_chk, "__longjmp_chk", (struct __jmp_buf_tag * env, int value))
{
    static jump_fn next;
    struct __jmp_buf_tag to;
    if (next == NULL) {
        next = (jump_fn)dlsym(RTLD_NEXT, "__longjmp_chk");
    }
    memcpy(&to, env, sizeof(to));
    if (env->__mask_was_saved && saved_in(env)[1] == SAVED_MARK && posix_signals_mine()) {
        posix_mask_set(rt_self(), saved_in(env)[0]);
        to.__mask_was_saved = 0;
    }
    next(&to, value);
}

#endif
