/* SPDX-License-Identifier: MIT */
/*
 * posix_memory.c - the memory functions that this library calls, by the linker's --wrap. They call
 * the C library's, or are plain loops in a program with a sanitizer. Its interceptors have the C
 * library's names. An interceptor would count our accesses as the program's, and it knows of
 * nothing that orders them: descriptors move between threads under the runtime's locks.
 *
 * volatile keeps the compiler from turning the loops into calls of the same functions.
 */
#include "posix_sanitizer.h"

void *__wrap_memcpy(void *to, const void *from, size_t n);
void *__wrap_memset(void *to, int c, size_t n);
int __wrap_memcmp(const void *a, const void *b, size_t n);
size_t __wrap_strlen(const char *s);
size_t __wrap_strnlen(const char *s, size_t max);
void *__real_memcpy(void *to, const void *from, size_t n);
void *__real_memset(void *to, int c, size_t n);
int __real_memcmp(const void *a, const void *b, size_t n);
size_t __real_strlen(const char *s);
size_t __real_strnlen(const char *s, size_t max);

/* Copies words where both are aligned: TLS blocks are long. */
static void copy(volatile char *to, const volatile char *from, size_t n)
{
    if ((((uintptr_t)to | (uintptr_t)from) & 7) == 0) {
        for (; n >= 8; n -= 8, to += 8, from += 8) {
            *(volatile uint64_t *)to = *(const volatile uint64_t *)from;
        }
    }
    while (n-- != 0) {
        *to++ = *from++;
    }
}

static void fill(volatile char *to, char c, size_t n)
{
    while (n-- != 0) {
        *to++ = c;
    }
}

void *__wrap_memcpy(void *to, const void *from, size_t n)
{
    if (likely(!posix_sanitized)) {
        return __real_memcpy(to, from, n);
    }
    copy(to, from, n);
    return to;
}

void *__wrap_memset(void *to, int c, size_t n)
{
    if (likely(!posix_sanitized)) {
        return __real_memset(to, c, n);
    }
    fill(to, (char)c, n);
    return to;
}

int __wrap_memcmp(const void *a, const void *b, size_t n)
{
    if (likely(!posix_sanitized)) {
        return __real_memcmp(a, b, n);
    }
    const volatile unsigned char *x = a, *y = b;
    for (size_t i = 0; i < n; i++) {
        if (x[i] != y[i]) {
            return x[i] < y[i] ? -1 : 1;
        }
    }
    return 0;
}

size_t __wrap_strnlen(const char *s, size_t max)
{
    if (likely(!posix_sanitized)) {
        return __real_strnlen(s, max);
    }
    size_t n = 0;
    while (n < max && ((const volatile char *)s)[n] != '\0') {
        n++;
    }
    return n;
}

size_t __wrap_strlen(const char *s)
{
    return likely(!posix_sanitized) ? __real_strlen(s) : __wrap_strnlen(s, SIZE_MAX);
}
