/* SPDX-License-Identifier: MIT */
/*
 * atomic.h - the only way to touch shared memory without a lock; the only user of <stdatomic.h>.
 *
 * Every operation names its order in its own name: at_load_rlx, at_load_acq, at_store_rel ... The
 * simulator compiles the same core against port/env/sim/atomic_sim.h, where each operation is a
 * scheduling point and, in its weak mode, may read any value that C11 allows.
 *
 * Fences come in three kinds:
 *   at_fence_seq()        an ordinary sequentially consistent fence
 *   at_fence_light/heavy  an asymmetric pair: light costs nothing, heavy makes every other CPU
 *                         execute a full fence (membarrier). If x is written before light and y
 *                         read after it, and y is written before heavy and x read after it, at
 *                         least one side sees the other's write. Ports without membarrier make
 *                         both full fences.
 *   at_fence_after_rmw()  a full fence directly after an atomic read-modify-write; free where that
 *                         operation is one already (x86)
 *
 * With one CPU (RT_ALONE) acquire, release and fences keep only the compiler's order, which
 * handlers of interrupts need.
 *
 * Operations that order memory between CPUs carry a comment ORDER(tag);
 * docs/internals/memory-order.md lists the tags.
 */
#ifndef PIRN_CORE_ATOMIC_H
#define PIRN_CORE_ATOMIC_H

#include "compiler.h"
#include "config.h"

#ifdef PIRN_SIM
#include "atomic_sim.h"

/* For assertions: the newest value, and no scheduling point. */
#define at_peek(p) (*(p))
#else

#include <stdatomic.h>

/* Plain initialisation of memory that no other CPU can see yet. */
#define at_init(p, v) at_store_rlx((p), (v))

#define at_load_rlx(p) atomic_load_explicit((p), memory_order_relaxed)
#if RT_ALONE
#define at_load_acq(p)                                                                             \
    __extension__({                                                                                \
        __typeof__(atomic_load_explicit((p), memory_order_relaxed)) value_ =                       \
            atomic_load_explicit((p), memory_order_relaxed);                                       \
        atomic_signal_fence(memory_order_acquire);                                                 \
        value_;                                                                                    \
    })
#else
#define at_load_acq(p) atomic_load_explicit((p), memory_order_acquire)
#endif
#define at_peek(p) at_load_rlx(p) /* for assertions */
#if defined(STORES_ARE_PLAIN)
#define at_store_rlx(p, v)                                                                         \
    ((void)(*(__typeof__(atomic_load_explicit((p), memory_order_relaxed)) volatile *)(void *)(p) = \
                (v)))
#else
#define at_store_rlx(p, v) atomic_store_explicit((p), (v), memory_order_relaxed)
#endif
#if RT_ALONE
#define at_store_rel(p, v) (atomic_signal_fence(memory_order_release), at_store_rlx((p), (v)))
#elif defined(STORES_ARE_PLAIN)
#define at_store_rel(p, v) (atomic_thread_fence(memory_order_release), at_store_rlx((p), (v)))
#else
#define at_store_rel(p, v) atomic_store_explicit((p), (v), memory_order_release)
#endif

#define at_xchg_rlx(p, v) atomic_exchange_explicit((p), (v), memory_order_relaxed)
#define at_xchg_acq(p, v) atomic_exchange_explicit((p), (v), memory_order_acquire)
#define at_xchg_rel(p, v) atomic_exchange_explicit((p), (v), memory_order_release)
#define at_xchg_acq_rel(p, v) atomic_exchange_explicit((p), (v), memory_order_acq_rel)

#define at_add_rlx(p, v) atomic_fetch_add_explicit((p), (v), memory_order_relaxed)
#define at_add_acq_rel(p, v) atomic_fetch_add_explicit((p), (v), memory_order_acq_rel)
#define at_sub_acq_rel(p, v) atomic_fetch_sub_explicit((p), (v), memory_order_acq_rel)
#define at_or_acq(p, v) atomic_fetch_or_explicit((p), (v), memory_order_acquire)
#define at_or_acq_rel(p, v) atomic_fetch_or_explicit((p), (v), memory_order_acq_rel)
#define at_and_acq_rel(p, v) atomic_fetch_and_explicit((p), (v), memory_order_acq_rel)

/* Compare *p with *want; store v if equal, else load *p into *want. True if stored. */
#define at_cas_rlx(p, want, v)                                                                     \
    atomic_compare_exchange_strong_explicit((p), (want), (v), memory_order_relaxed,                \
                                            memory_order_relaxed)
#define at_cas_acq(p, want, v)                                                                     \
    atomic_compare_exchange_strong_explicit((p), (want), (v), memory_order_acquire,                \
                                            memory_order_relaxed)
#define at_cas_rel(p, want, v)                                                                     \
    atomic_compare_exchange_strong_explicit((p), (want), (v), memory_order_release,                \
                                            memory_order_relaxed)
#define at_cas_acq_rel(p, want, v)                                                                 \
    atomic_compare_exchange_strong_explicit((p), (want), (v), memory_order_acq_rel,                \
                                            memory_order_acquire)

#ifdef PIRN_TSAN
/* ThreadSanitizer does not model fences: a read-modify-write on a dummy orders as well. */
ALWAYS_INLINE void at_fence_seq(void)
{
    static atomic_uint dummy;
    atomic_fetch_add_explicit(&dummy, 0, memory_order_seq_cst);
}
#elif RT_ALONE
#define at_fence_seq() atomic_signal_fence(memory_order_seq_cst)
#elif defined(__ARM_ARCH) && __ARM_ARCH == 6
/* The barrier of ARMv6 is a write to a coprocessor, which QEMU ignores. There a read-modify-write
 * is a barrier of the host. The compiler puts the ARMv6 barrier around it. */
ALWAYS_INLINE void at_fence_seq(void)
{
    atomic_uint dummy;
    atomic_init(&dummy, 0u);
    atomic_fetch_add_explicit(&dummy, 0, memory_order_seq_cst);
}
#else
#define at_fence_seq() atomic_thread_fence(memory_order_seq_cst)
#endif

#if defined(__x86_64__)
#define at_fence_after_rmw() atomic_signal_fence(memory_order_seq_cst)
#else
#define at_fence_after_rmw() at_fence_seq()
#endif

/* Set by the port at start if at_fence_heavy really reaches the other CPUs. */
#ifdef PIRN_BARE
#define port_fence_asymmetric false
#else
HIDDEN extern bool port_fence_asymmetric;
#endif
void port_fence_heavy(void);

ALWAYS_INLINE void at_fence_light(void)
{
    atomic_signal_fence(memory_order_seq_cst);
    if (unlikely(!port_fence_asymmetric)) {
        at_fence_seq();
    }
}

#if RT_ALONE
#define at_fence_heavy() at_fence_seq()
#else
#define at_fence_heavy() port_fence_heavy()
#endif

#endif /* PIRN_SIM */

/* For the only writer of the 32-bit word *p: add, clear bits. One instruction on x86, where the
 * compiler would use three. */
#if defined(__x86_64__) && !defined(PIRN_TSAN) && !defined(PIRN_SIM)
#define AT_ALONE(op, p, v)                                                                         \
    __asm__ volatile(op " %1, %0" : "+m"(*(p)) : "ir"((uint32_t)(v)) : "memory", "cc")
#define at_add_alone_rlx(p, n) AT_ALONE("addl", p, n)
#define at_add_alone_rel(p, n) AT_ALONE("addl", p, n)
#define at_clear_alone_rel(p, bits) AT_ALONE("andl", p, ~(uint32_t)(bits))
#else
#define at_add_alone_rlx(p, n) at_store_rlx((p), at_load_rlx(p) + (uint32_t)(n))
#define at_add_alone_rel(p, n) at_store_rel((p), at_load_rlx(p) + (uint32_t)(n))
#define at_clear_alone_rel(p, bits) at_store_rel((p), at_load_rlx(p) & ~(uint32_t)(bits))
#endif

/* Is the 32-bit word *p not 0? On x86 any load is an acquire, and this one is part of the
 * comparison. */
#if defined(__x86_64__) && !defined(PIRN_TSAN) && !defined(PIRN_SIM)
#define AT_IS_SET(p, ...)                                                                          \
    __extension__({                                                                                \
        bool set_;                                                                                 \
        __asm__ volatile("cmpl $0, %1" : "=@ccne"(set_) : "m"(*(p)) : __VA_ARGS__);                \
        set_;                                                                                      \
    })
#define at_is_set_rlx(p) AT_IS_SET(p, "cc")
#define at_is_set_acq(p) AT_IS_SET(p, "cc", "memory")
#else
#define at_is_set_rlx(p) (at_load_rlx(p) != 0)
#define at_is_set_acq(p) (at_load_acq(p) != 0)
#endif

/* Statistics: one writer, any reader, no order with anything else, and no scheduling point. Where
 * an access of 64 bits is not atomic, the value is two words, which the writer stores one after the
 * other. A reader reads until it gets the same value twice. If the writer is stopped exactly
 * between the two stores while the upper word changes, the value is wrong by 2^32. */
#if UINTPTR_MAX > 0xffffffffu
#define STAT_SET(p, n) STORE_RLX((p), (n))
#define STAT_GET(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#else
#define STAT_SET(p, n) ((void)(*(volatile uint64_t *)(p) = (n)))
#define STAT_GET(p) stat_get(p)
ALWAYS_INLINE uint64_t stat_get(const uint64_t *p)
{
    uint64_t value = *(const volatile uint64_t *)p, before;
    do {
        before = value;
        value = *(const volatile uint64_t *)p;
    } while (value != before);
    return value;
}
#endif
#if defined(PIRN_WITHOUT_STATS)
#define STAT_ADD(p, n) ((void)0)
#elif defined(__x86_64__) && !defined(PIRN_TSAN)
#define STAT_ADD(p, n) __asm__("addq %1, %0" : "+m"(*(p)) : "er"((uint64_t)(n)) : "cc")
#else
#define STAT_ADD(p, n) STAT_SET((p), *(p) + (n))
#endif
#define STAT_INC(p) STAT_ADD((p), 1)

#endif
