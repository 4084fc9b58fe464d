/* SPDX-License-Identifier: MIT */
/* sys/mman.h (boards' tests) - zeroed memory, as the cases use mmap. */
#ifndef BOARD_SYS_MMAN_H
#define BOARD_SYS_MMAN_H

#include <stddef.h>
#include <sys/types.h>

enum { PROT_NONE = 0, PROT_READ = 1, PROT_WRITE = 2 };
enum { MAP_SHARED = 1, MAP_PRIVATE = 2, MAP_ANONYMOUS = 32 };
#define MAP_FAILED ((void *)-1)

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
int munmap(void *at, size_t size);
int mprotect(void *at, size_t size, int protection);

#endif
