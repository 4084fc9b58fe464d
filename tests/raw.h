/* SPDX-License-Identifier: MIT */
/*
 * raw.h - a system call that the program makes itself, as some languages and libraries do: the
 * library under test does not see it, as it would see syscall().
 */
#ifndef PIRN_TESTS_RAW_H
#define PIRN_TESTS_RAW_H

#include <sys/syscall.h>

/* The kernel's result: -errno if it fails. Other architectures: by syscall, which passes it on. */
#if defined(__x86_64__)
static __attribute__((noinline, unused)) long raw_call(long number, long a, long b, long c, long d)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = 0;
    register long r9 __asm__("r9") = 0;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
static __attribute__((noinline, unused)) long raw_call(long number, long a, long b, long c, long d)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = 0;
    register long x5 __asm__("x5") = 0;
    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
}
#else
#include <errno.h>
#include <unistd.h>
static __attribute__((noinline, unused)) long raw_call(long number, long a, long b, long c, long d)
{
    long result = syscall(number, a, b, c, d, 0L, 0L);
    return result == -1 ? -errno : result;
}
#endif

#endif
