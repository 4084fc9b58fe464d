/* SPDX-License-Identifier: MIT */
/*
 * bare_atomic64.c (bare) - accesses to 64 bits at once, for architectures without instructions for
 * them: what the compiler calls then. One lock for all; the runtime uses them on rare ways only,
 * where others are its statistics (atomic.h).
 */
#include "bare.h"

#if __GCC_ATOMIC_LLONG_LOCK_FREE != 2

static uint32_t lock;

/* The names are the compiler's. */
uint64_t wide_load(const volatile void *at, int order) __asm__("__atomic_load_8");
void wide_store(volatile void *at, uint64_t value, int order) __asm__("__atomic_store_8");
uint64_t wide_exchange(volatile void *at, uint64_t value, int order) __asm__("__atomic_exchange_8");
uint64_t wide_add(volatile void *at, uint64_t n, int order) __asm__("__atomic_fetch_add_8");
uint64_t wide_or(volatile void *at, uint64_t bits, int order) __asm__("__atomic_fetch_or_8");
uint64_t wide_and(volatile void *at, uint64_t bits, int order) __asm__("__atomic_fetch_and_8");
bool wide_compare(volatile void *at, void *want, uint64_t value, int success,
                  int failure) __asm__("__atomic_compare_exchange_8");

uint64_t wide_load(const volatile void *at, int order)
{
    (void)order;
    RT_ASSERT((uintptr_t)at % 8 == 0); /* one word for all that access it */
    unsigned long irq = bare_lock(&lock);
    uint64_t value = *(const volatile uint64_t *)at;
    bare_unlock(&lock, irq);
    return value;
}

static uint64_t replace(volatile uint64_t *at, uint64_t keep, uint64_t flip, uint64_t add)
{
    RT_ASSERT((uintptr_t)at % 8 == 0);
    unsigned long irq = bare_lock(&lock);
    uint64_t before = *at;
    *at = ((before & keep) ^ flip) + add;
    bare_unlock(&lock, irq);
    return before;
}

void wide_store(volatile void *at, uint64_t value, int order)
{
    (void)order;
    replace(at, 0, value, 0);
}

uint64_t wide_exchange(volatile void *at, uint64_t value, int order)
{
    (void)order;
    return replace(at, 0, value, 0);
}

uint64_t wide_add(volatile void *at, uint64_t n, int order)
{
    (void)order;
    return replace(at, UINT64_MAX, 0, n);
}

uint64_t wide_or(volatile void *at, uint64_t bits, int order)
{
    (void)order;
    return replace(at, ~bits, bits, 0);
}

uint64_t wide_and(volatile void *at, uint64_t bits, int order)
{
    (void)order;
    return replace(at, bits, 0, 0);
}

bool wide_compare(volatile void *at, void *want, uint64_t value, int success, int failure)
{
    (void)success;
    (void)failure;
    RT_ASSERT((uintptr_t)at % 8 == 0 && (uintptr_t)want % 8 == 0);
    unsigned long irq = bare_lock(&lock);
    volatile uint64_t *word = at;
    uint64_t before = *word, *wanted = want;
    bool same = before == *wanted;
    if (same) {
        *word = value;
    } else {
        *wanted = before;
    }
    bare_unlock(&lock, irq);
    return same;
}

#endif
