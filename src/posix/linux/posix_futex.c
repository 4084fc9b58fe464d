/* SPDX-License-Identifier: MIT */
/*
 * posix_futex.c - syscall(SYS_futex, ...): how libraries that bring their own locks wait
 * (std::atomic::wait and std::future of libstdc++, Rust's std, LLVM's OpenMP). futex(2) has the
 * operations.
 *
 * A user thread that waits for a word in memory of this process alone waits in user space
 * (sync/futex.h). All others wait in the kernel: foreign threads, user threads that wait for shared
 * memory (they hold a kernel thread meanwhile, and no CPU), and rare operations. Code that makes
 * the system call itself, without the C library's function, waits there, too, until the port has
 * redirected it (port_redirect_futexes). So whoever wakes does both: user threads first, then those
 * in the kernel, if fewer have been woken than asked for. Neither kind can miss a wake-up: each
 * compares the word under a lock that its waker takes.
 *
 * Differences from the kernel:
 *   - FUTEX_REQUEUE and FUTEX_CMP_REQUEUE wake user threads that they should move to the other
 *     word, and FUTEX_WAKE_OP may wake more of them than asked. futex(2) tells callers to expect
 *     wake-ups without cause.
 *   - A word that cannot be read ends the program with SIGSEGV, not the call with EFAULT.
 */
#include "posix_futex.h"
#include "../../sync/futex.h"
#include "../signals/posix_signal.h"
#include "port_posix.h"
#include "posix_io.h"

#include <limits.h>
#include <linux/futex.h>

#define NS_PER_S 1000000000
#define PAGE_SIZE 4096u
#define PAGES 64u
#define TIME_BITS 28u    /* of an entry; the page's number has 36 */
#define SECOND_BITS 30u  /* of ns: about a second */
#define PART_NS 10000000 /* of a wait for a word that the kernel may change */
#define PART_MAX_NS NS_PER_S
#define FAR_SECONDS (INT64_C(1) << 33) /* never */

static long in_kernel(unsigned how, const long *args)
{
    if (((int)args[1] & FUTEX_CMD_MASK) == FUTEX_WAIT) { /* the only one with an interval */
        return IO_CALL_LIMITED(how | IO_NO_POINT, 4, NULL, SYS_futex, args[0], args[1], args[2],
                               args[3]);
    }
    return IO_CALL(how | IO_NO_POINT, SYS_futex, args[0], args[1], args[2], args[3], args[4],
                   args[5]);
}

/* Pages that were private lately: std::future waits for words that are not marked, and asking costs
 * more than waiting. A page that has become shared since is taken for private for a second; its
 * waiters look at their word again. */
static _Atomic(uint64_t) private_pages[PAGES];

static bool page_is_private(const uint32_t *word)
{
    uint64_t page = (uintptr_t)word / PAGE_SIZE;
    uint64_t entry = page << TIME_BITS | (port_now() >> SECOND_BITS & ((1u << TIME_BITS) - 1));
    _Atomic(uint64_t) *known = &private_pages[page % PAGES];
    if (at_load_rlx(known) == entry) {
        return true;
    }
    bool private = port_memory_is_private(word);
    if (private) {
        at_store_rlx(known, entry);
    }
    return private;
}

static bool is_private(int op, const uint32_t *word)
{
    return (op & FUTEX_PRIVATE_FLAG) != 0 || page_is_private(word);
}

/* A user thread, and not a handler that has interrupted the runtime. Where that is not known,
 * handlers must not call the API anyway. */
static bool may_wait_here(void)
{
    return !posix_is_foreign() && (!PORT_KNOWS_INSIDE || port_may_wait());
}

/* FUTEX_WAIT has an interval on the monotonic clock, FUTEX_WAIT_BITSET a time. 0, EINVAL, or
 * ETIMEDOUT: it is over. */
static int deadline_of(int op, const struct timespec *limit, uint64_t *deadline)
{
    *deadline = UINT64_MAX;
    if (limit == NULL) {
        return 0;
    }
    if (limit->tv_sec < 0 || limit->tv_nsec < 0 || limit->tv_nsec >= NS_PER_S) {
        return EINVAL;
    }
    if ((op & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET) {
        struct posix_limit until = {
            (op & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC, limit};
        return posix_deadline(&until, deadline);
    }
    if (limit->tv_sec < FAR_SECONDS) {
        *deadline = port_now() + (uint64_t)limit->tv_sec * NS_PER_S + (uint64_t)limit->tv_nsec;
    }
    return 0;
}

/* Whoever wakes may not come here: the kernel, when a thread ends that clone has made
 * (CLONE_CHILD_CLEARTID; such words are not marked as private), or code that makes the call itself.
 * So the wait is a row of short ones, each as long as
 * all before: the word is looked at again. */
static int wait_and_look(_Atomic(uint32_t) *word, const struct futex_wait *wait, uint64_t *part)
{
    struct futex_wait now = *wait;
    uint64_t limit = port_now() + *part;
    now.deadline = limit < wait->deadline ? limit : wait->deadline;
    int error = rt_futex_wait(word, &now);
    if (error == -ETIMEDOUT && now.deadline < wait->deadline) {
        *part = *part < PART_MAX_NS ? 2 * *part : *part;
        return at_load_rlx(word) != wait->value ? 0 : -ETIME; /* the caller looks again, too */
    }
    return error;
}

/* As in the kernel, a handler with SA_RESTART ends a wait that has a limit, and no other. */
static int wait_here(_Atomic(uint32_t) *word, const struct futex_wait *wait, bool looks)
{
    int error;
    uint64_t part = PART_NS;
    posix_signals_expect();
    do {
        error = looks ? wait_and_look(word, wait, &part) : rt_futex_wait(word, wait);
    } while (error == -ETIME ||
             (error == -EINTR && !posix_interrupted(wait->deadline == UINT64_MAX)));
    return -error;
}

/* looks: private words, too, are looked at again. */
static long wait_call(const long *args, bool looks)
{
    _Atomic(uint32_t) *word = (_Atomic(uint32_t) *)args[0];
    int op = (int)args[1];
    struct futex_wait wait = {.value = (uint32_t)args[2], .reason = WAIT_FUTEX};
    if (!may_wait_here() || ((uintptr_t)word & 3) != 0 || !is_private(op, (uint32_t *)args[0])) {
        return in_kernel(IO_BLOCKS, args);
    }
    bool differs = at_load_rlx(word) != wait.value; /* a bad address is the caller's fault here */
    int error = deadline_of(op, (const struct timespec *)args[3], &wait.deadline);
    if (error != EINVAL && differs) {
        error = EAGAIN;
    } else if (error == 0) {
        error = wait_here(word, &wait, looks || (op & FUTEX_PRIVATE_FLAG) == 0);
    }
    return error == 0 ? 0 : posix_fail(error);
}

/* How many user threads: as many as asked, or as there are. */
static long wake_here(long word, long n)
{
    return n > 0 && at_load_acq(&rt.started) == 2 /* ORDER(start) */
               ? (long)rt_futex_wake((const _Atomic(uint32_t) *)word, (unsigned)n)
               : 0;
}

/* The kernel's result, and those woken here. */
static long sum(long here, long kernel)
{
    return kernel >= 0 ? here + kernel : here != 0 ? here : kernel;
}

static long wake_call(const long *args)
{
    long n = (int)args[2], here = wake_here(args[0], n);
    if (here == n && n > 0) {
        return here;
    }
    long rest[6] = {args[0], args[1], n - here, args[3], args[4], args[5]};
    return sum(here, in_kernel(0, rest));
}

/* args[3]: how many are to be moved. */
static long futex_requeue(const long *args)
{
    long n = (int)args[2], moved = (int)args[3];
    if (n < 0 || moved < 0) {
        return posix_fail(EINVAL);
    }
    if (((int)args[1] & FUTEX_CMD_MASK) == FUTEX_CMP_REQUEUE &&
        at_load_rlx((_Atomic(uint32_t) *)args[0]) != (uint32_t)args[5]) {
        return posix_fail(EAGAIN);
    }
    long all = n + moved < INT_MAX ? n + moved : INT_MAX, here = wake_here(args[0], all);
    if (here == all && all > 0) {
        return here;
    }
    long left = n > here ? n - here : 0;
    long rest[6] = {args[0], args[1], left, all - here - left, args[4], args[5]};
    return sum(here, in_kernel(0, rest));
}

static long futex_wake_op(const long *args)
{
    long kernel = in_kernel(0, args);
    return kernel < 0
               ? kernel
               : kernel + wake_here(args[0], (int)args[2]) + wake_here(args[4], (int)args[3]);
}

static long call(const long *args, bool looks)
{
    switch ((int)args[1] & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
        return wait_call(args, looks);
    case FUTEX_WAIT_BITSET:
        return (uint32_t)args[5] == FUTEX_BITSET_MATCH_ANY ? wait_call(args, looks)
                                                           : in_kernel(IO_BLOCKS, args);
    case FUTEX_WAKE:
        return wake_call(args);
    case FUTEX_WAKE_BITSET:
        return (uint32_t)args[5] != 0 ? wake_call(args) : posix_fail(EINVAL);
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
        return futex_requeue(args);
    case FUTEX_WAKE_OP:
        return futex_wake_op(args);
    default: /* with priority inheritance */
        return in_kernel(0, args);
    }
}

long posix_futex(const long *args)
{
    return call(args, false);
}

/* Of a module whose instructions have been changed. Another module may wake the same word by
 * instructions that have not. */
static long redirected(const long *args)
{
    return call(args, true);
}

static __attribute__((constructor)) void redirect(void)
{
    port_redirect_futexes(redirected);
}
