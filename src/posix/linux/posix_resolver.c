/* SPDX-License-Identifier: MIT */
/*
 * posix_resolver.c - functions of the C library that ask other computers or programs for names. A
 * user thread gives its CPU away before it calls one: the C library waits in the kernel, by calls
 * that no library can replace. In between it may call whatever it likes, also this library (by the
 * program's malloc); then the thread gets a CPU again, and the rest of the function holds it.
 * Afterwards the thread has a CPU in any case.
 */
#include "posix_io.h"

#include <dlfcn.h>
#include <netdb.h>
#include <resolv.h>

typedef void (*any_fn)(void);

/* The C library's function; the same for all that look it up at once. NULL: it has none. */
static any_fn next_of(_Atomic(any_fn) *known, const char *name)
{
    any_fn next = at_load_rlx(known);
    if (unlikely(next == NULL)) {
        next = (any_fn)dlsym(RTLD_NEXT, name);
        at_store_rlx(known, next);
    }
    return next;
}

static bool away_begin(void)
{
    return !io_is_plain() && rt_self() != NULL && rt_call_unannounced();
}

/* errno is the C library's, also if the thread goes on elsewhere. */
static NOINLINE void away_end(bool away)
{
    if (away) {
        int error = io_errno();
        rt_self();
        posix_fail(error);
    }
}

#define RESOLVER(ret, none, name, params, args)                                                    \
    ret pirn_posix_##name params;                                                                  \
    ret pirn_posix_##name params                                                                   \
    {                                                                                              \
        static _Atomic(any_fn) known;                                                              \
        ret(*next) params = (ret(*) params)next_of(&known, #name);                                 \
        if (next == NULL) {                                                                        \
            return none;                                                                           \
        }                                                                                          \
        bool away = away_begin();                                                                  \
        ret result = next args;                                                                    \
        away_end(away);                                                                            \
        return result;                                                                             \
    }
#include "resolver.def"
