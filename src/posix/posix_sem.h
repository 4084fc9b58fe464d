/* SPDX-License-Identifier: MIT */
/*
 * posix_sem.h - declarations that unnamed and named semaphores share.
 */
#ifndef PIRN_POSIX_SEM_H
#define PIRN_POSIX_SEM_H

#include "../sync/shared.h"
#include "posix.h"

#define SEM(sem) ((struct rt_sem *)(sem))
#define SHSEM(sem) ((struct rt_shsem *)(sem))

void shsem_init(sem_t *sem, unsigned value);

#endif
