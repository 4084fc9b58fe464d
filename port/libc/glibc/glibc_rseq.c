/* SPDX-License-Identifier: MIT */
/*
 * glibc_rseq.c (Linux) - restartable sequences, which glibc registers since 2.35 for each thread
 * that it starts.
 *
 * The kernel writes the number of the CPU to the address that it was given, whatever thread runs
 * there. User threads move, so kernel threads that run them give the registration up, and the area
 * of each block says that there is none: programs see it and do without.
 *
 * Where the area is, glibc tells by __rseq_offset: in the descriptor up to 2.40, and afterwards in
 * the static TLS, at its far end. In the second case it is part of what ld.so initialises.
 */
#include "glibc.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/rseq.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The number that the kernel compares: sys/rseq.h of glibc 2.35 and newer. */
#if defined(__x86_64__)
#define SIGNATURE 0x53053053u
#elif defined(__aarch64__)
#define SIGNATURE 0xd428bc00u
#endif

#ifndef AT_RSEQ_FEATURE_SIZE
#define AT_RSEQ_FEATURE_SIZE 27
#endif
#ifndef AT_RSEQ_ALIGN
#define AT_RSEQ_ALIGN 28
#endif

#ifdef SIGNATURE

static struct {
    bool exists; /* (C) the C library has registered an area */
    ptrdiff_t at;
} area;

void glibc_rseq_find(void)
{
    const unsigned *size = dlsym(RTLD_DEFAULT, "__rseq_size");
    const ptrdiff_t *offset = dlsym(RTLD_DEFAULT, "__rseq_offset");
    area.exists = size != NULL && offset != NULL && *size != 0;
    area.at = area.exists ? *offset : 0;
}

/* The kernel takes a registration back only by its size: that of the first version, or as the
 * kernel asks for it. */
void glibc_rseq_give_up(void)
{
    if (!area.exists) {
        return;
    }
    int saved = errno;
    uintptr_t at = port_arch_tp() + (uintptr_t)area.at;
    size_t align = getauxval(AT_RSEQ_ALIGN), size = getauxval(AT_RSEQ_FEATURE_SIZE);
    if (syscall(SYS_rseq, at, sizeof(struct rseq), RSEQ_FLAG_UNREGISTER, SIGNATURE) != 0 &&
        errno == EINVAL && align != 0) {
        size = (size + align - 1) / align * align;
        syscall(SYS_rseq, at, size, RSEQ_FLAG_UNREGISTER, SIGNATURE);
    }
    errno = saved;
}

void glibc_rseq_none(void *bytes, ptrdiff_t first, size_t size)
{
    ptrdiff_t at = area.at - first;
    if (area.exists && at >= 0 && (size_t)at + sizeof(struct rseq) <= size) {
        struct rseq none = {.cpu_id = (uint32_t)RSEQ_CPU_ID_UNINITIALIZED};
        memcpy((char *)bytes + at, &none, sizeof(none));
    }
}

#else /* glibc knows no signature for this architecture, and so registers none */

void glibc_rseq_find(void) {}

void glibc_rseq_give_up(void) {}

void glibc_rseq_none(void *bytes, ptrdiff_t first, size_t size)
{
    (void)bytes;
    (void)first;
    (void)size;
}

#endif
