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
