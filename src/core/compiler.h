/* SPDX-License-Identifier: MIT */
/*
 * compiler.h - what we use of GNU C beyond C11, under names of our own.
 *
 * Included by everything; includes nothing of Pirn.
 */
#ifndef PIRN_CORE_COMPILER_H
#define PIRN_CORE_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#ifdef PIRN_WITHOUT_SPEED /* src/features.cmake: the compiler decides, for size */
#define ALWAYS_INLINE static inline
#define SHARED_INLINE HIDDEN __attribute__((weak, noinline)) /* the linker keeps one */
#else
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define SHARED_INLINE ALWAYS_INLINE
#endif
#define NOINLINE __attribute__((noinline))
#define COLD __attribute__((cold, noinline))
#define NORETURN __attribute__((noreturn))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#define ALIGNED(n) __attribute__((aligned(n)))
#define CLEANUP(fn) __attribute__((cleanup(fn))) /* also when an exception leaves the frame */
#define UNUSED __attribute__((unused))
/* For the declaration of a variable that is used often: the access bypasses the table of symbols
 * that other libraries may define. (-fvisibility=hidden concerns definitions only.) */
#define HIDDEN __attribute__((visibility("hidden")))
#define EXPORT __attribute__((visibility("default")))

#define CONTAINER_OF(p, type, member) ((type *)((char *)(p)-offsetof(type, member)))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Stores to words that are not _Atomic (those that are: atomic.h). gcc before 14 makes each such
 * store on RISC-V, also a relaxed one, a read-modify-write (amoswap), which goes to the memory that
 * all processors share. A plain store does, after a fence if it releases (the RISC-V
 * specification's mapping of C11 to its instructions). */
#if defined(__riscv) && !defined(__clang__) && __GNUC__ < 14
#define STORES_ARE_PLAIN
#define STORE_RLX(p, v) ((void)(*(__typeof__(*(p)) volatile *)(p) = (v)))
#define STORE_REL(p, v) (__atomic_thread_fence(__ATOMIC_RELEASE), STORE_RLX((p), (v)))
#else
#define STORE_RLX(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define STORE_REL(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#endif

#define NO_TSAN __attribute__((no_sanitize("thread")))

/* The sanitizer that instruments this build; gcc and clang tell it in different ways. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PIRN_TSAN 1
#elif __has_feature(address_sanitizer)
#define PIRN_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define PIRN_TSAN 1
#elif defined(__SANITIZE_ADDRESS__)
#define PIRN_ASAN 1
#endif

#endif
