/* SPDX-License-Identifier: MIT */
/*
 * guard.cpp - static variables of functions: the first thread initializes, others wait as threads
 * do. Compilers call these functions, after the Itanium C++ ABI 3.3.2 and that for ARM, 3.2.3: the
 * guard's first byte is 1 once the variable is initialized; it is read without a lock. The other
 * bytes belong to us: `busy` while a thread initializes. Only written under the mutex.
 */
#include "cxx.h"

namespace
{

constexpr uint32_t ready = 1, busy = 1u << 8;
pirn_mutex_t mutex = PIRN_MUTEX_INIT;
pirn_cond_t changed = PIRN_COND_INIT;

void end(uint32_t *guard, uint32_t state)
{
    pirn_mutex_lock(&mutex);
    __atomic_store_n(guard, state, __ATOMIC_RELEASE);
    pirn_cond_broadcast(&changed);
    pirn_mutex_unlock(&mutex);
}

} // namespace

/* 1: the caller initializes, and calls one of the others. */
extern "C" int __cxa_guard_acquire(uint32_t *guard)
{
    if (__atomic_load_n(guard, __ATOMIC_ACQUIRE) == ready) {
        return 0;
    }
    pirn_mutex_lock(&mutex);
    while (*guard == busy) {
        pirn_cond_wait(&changed, &mutex);
    }
    const bool mine = *guard == 0;
    if (mine) {
        __atomic_store_n(guard, busy, __ATOMIC_RELAXED);
    }
    pirn_mutex_unlock(&mutex);
    return mine ? 1 : 0;
}

extern "C" void __cxa_guard_release(uint32_t *guard)
{
    end(guard, ready);
}

extern "C" void __cxa_guard_abort(uint32_t *guard)
{
    end(guard, 0);
}
