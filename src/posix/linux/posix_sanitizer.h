/* SPDX-License-Identifier: MIT */
/*
 * posix_sanitizer.h - programs that are built with AddressSanitizer or ThreadSanitizer:
 * posix_sanitizer.c.
 */
#ifndef PIRN_POSIX_SANITIZER_H
#define PIRN_POSIX_SANITIZER_H

#include "../posix.h"

/* The program has one, and this library is not built with it. (C) */
extern bool posix_sanitized;

/* Before a runtime starts, at the latest in the library's constructor. */
void posix_sanitizer_begin(void);

/* Of rt_personality. */
void posix_sanitizer_end(struct thread *self);
void posix_sanitizer_exit(void);

/* The keys of its runtime come after all others. */
#define POSIX_TOOL_KEYS 8u
#define POSIX_TOOL_KEY PTHREAD_KEYS_MAX
#define POSIX_TOOL_KEY_NONE (POSIX_TOOL_KEY + POSIX_TOOL_KEYS)

/* A key for its runtime; POSIX_TOOL_KEY_NONE if it is not that which asks. Values: as pthread_*, of
 * any kernel thread, at any time. */
pthread_key_t posix_sanitizer_key(void (*destructor)(void *));
void *posix_sanitizer_getspecific(pthread_key_t key);
int posix_sanitizer_setspecific(pthread_key_t key, const void *value);

/* Is the thread to be a kernel thread, a helper? Then it is made, and *error is set. */
bool posix_sanitizer_helper(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                            void *arg, int *error);

/* In a helper: what the C library says. */
pthread_t posix_sanitizer_self(void);
int posix_sanitizer_getattr(pthread_t thread, pthread_attr_t *attr);

/* The caller has created a thread, for which the sanitizer is going to wait in the kernel. */
void posix_sanitizer_created(void);

/* Memory of ours that may have the only pointer to a block of the program's; not any more. */
void posix_sanitizer_root(const void *low, size_t size, bool is);

/* What the program gets if it calls this name: the sanitizer's interceptor. */
void *posix_sanitizer_outer(const char *name);

#endif
