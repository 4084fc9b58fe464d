/* SPDX-License-Identifier: MIT */
/*
 * posix_sanitizer.h - programs that are built with AddressSanitizer or ThreadSanitizer:
 * posix_sanitizer.c.
 */
#ifndef PIRN_POSIX_SANITIZER_H
#define PIRN_POSIX_SANITIZER_H

#include "../posix.h"

/* (C) The program has a sanitizer, and this library is not built with it. */
extern bool posix_sanitized;

/* Called before a runtime starts, at the latest in the library's constructor. */
void posix_sanitizer_begin(void);

/* rt_personality.tools_end: the end of a thread. */
void posix_sanitizer_end(struct thread *self);
void posix_sanitizer_exit(void);

/* Room for the keys of the sanitizer's runtime, behind all others. */
#define POSIX_TOOL_KEYS 8u
#define POSIX_TOOL_KEY PTHREAD_KEYS_MAX
#define POSIX_TOOL_KEY_NONE (POSIX_TOOL_KEY + POSIX_TOOL_KEYS)

/* A key for the sanitizer's runtime; POSIX_TOOL_KEY_NONE if another caller asks. Values: as
 * pthread_*, for any kernel thread, at any time. */
pthread_key_t posix_sanitizer_key(void (*destructor)(void *));
void *posix_sanitizer_getspecific(pthread_key_t key);
int posix_sanitizer_setspecific(pthread_key_t key, const void *value);

/* True if the thread must be a kernel thread, a helper of the sanitizer: then it has been made, and
 * *error is set. */
bool posix_sanitizer_helper(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                            void *arg, int *error);

/* pthread_self in a helper: the C library's. */
pthread_t posix_sanitizer_self(void);
int posix_sanitizer_getattr(pthread_t thread, pthread_attr_t *attr);

/* The caller has created a thread. The sanitizer will wait for that thread in the kernel. */
void posix_sanitizer_created(void);

/* Memory of ours may hold the only pointer to a block of the program's; is false: no longer. */
void posix_sanitizer_root(const void *low, size_t size, bool is);

/* The definition that the program's call of this name reaches: the sanitizer's interceptor. */
void *posix_sanitizer_outer(const char *name);

#endif
