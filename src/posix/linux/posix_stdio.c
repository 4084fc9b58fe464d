/* SPDX-License-Identifier: MIT */
/*
 * posix_stdio.c - flockfile, ftrylockfile, funlockfile. If another thread holds the stream across a
 * yield or a wait, the waiting thread lets the other threads of its CPU run. The lock is the C
 * library's own, so that stdio's functions respect it. They wait for it in the kernel, and
 * releasing it notifies no user thread. So the waiter tries again, at growing intervals.
 *
 * A tick does not switch a thread that holds a stream: every thread that printed meanwhile would
 * stop a worker. It loses its CPU instead (core/carrier.h).
 *
 * Where threads share TLS, the C library tells owners apart by their workers, and nothing needs to
 * be done.
 */
#include <dlfcn.h>

#include "../posix.h"
#include "port_posix.h"

#define YIELDS 16
#define SLEEP_MIN_NS 20000u
#define SLEEP_MAX_NS 1000000u

typedef int (*try_fn)(FILE *);
typedef void (*file_fn)(FILE *);

static struct {
    _Atomic(try_fn) try;
    _Atomic(file_fn) lock, unlock;
} libc;

/* Several threads may look them up at once; all find the same. */
static COLD void libc_find(void)
{
    at_store_rlx(&libc.lock, (file_fn)dlsym(RTLD_NEXT, "flockfile"));
    at_store_rlx(&libc.unlock, (file_fn)dlsym(RTLD_NEXT, "funlockfile"));
    at_store_rlx(&libc.try, (try_fn)dlsym(RTLD_NEXT, "ftrylockfile"));
}

static try_fn libc_try(void)
{
    if (unlikely(at_load_rlx(&libc.try) == NULL)) {
        libc_find();
    }
    return at_load_rlx(&libc.try);
}

/* Gives a CPU to a thread that has lost its own: when it unlocks, the count must include this
 * lock. */
static bool is_user_thread(void)
{
    return port_tls_own && (port_cpu_self() != NULL || !rt_is_foreign());
}

int pirn_posix_ftrylockfile(FILE *file)
{
    int busy = libc_try()(file);
    if (busy == 0 && is_user_thread()) {
        port_tls_files++;
    }
    return busy;
}

void pirn_posix_flockfile(FILE *file)
{
    if (!is_user_thread()) {
        if (libc_try() != NULL) {
            at_load_rlx (&libc.lock)(file);
        }
        return;
    }
    uint64_t wait = SLEEP_MIN_NS;
    for (unsigned round = 0; pirn_posix_ftrylockfile(file) != 0; round++) {
        if (round < YIELDS) {
            rt_yield();
        } else {
            rt_sleep_until(port_now() + wait);
            wait = wait < SLEEP_MAX_NS ? 2 * wait : wait;
        }
    }
}

void pirn_posix_funlockfile(FILE *file)
{
    if (libc_try() != NULL) {
        at_load_rlx (&libc.unlock)(file);
    }
    if (port_tls_files != 0 && is_user_thread()) {
        port_tls_files--;
    }
}
