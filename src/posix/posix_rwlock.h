/* SPDX-License-Identifier: MIT */
/*
 * posix_rwlock.h - readers-writer locks between processes (posix_rwlock_shared.c), for
 * posix_rwlock.c.
 */
#ifndef PIRN_POSIX_RWLOCK_H
#define PIRN_POSIX_RWLOCK_H

#include "posix.h"

void shrwlock_init(pthread_rwlock_t *lock, bool prefer_writer);
int shrwlock_destroy(pthread_rwlock_t *lock);
int shrwlock_lock(pthread_rwlock_t *lock, bool write, const struct posix_limit *limit);
int shrwlock_trylock(pthread_rwlock_t *lock, bool write);
int shrwlock_unlock(pthread_rwlock_t *lock);

#endif
