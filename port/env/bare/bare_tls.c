/* SPDX-License-Identifier: MIT */
/*
 * bare_tls.c (bare) - thread-local storage: each thread has a block of its own, laid out and filled
 * as the C library (picolibc) does it, and each core one for its scheduler context. A block begins
 * at a multiple of its alignment, which is not above TLS_ALIGNMENT.
 *
 * bare_thread lies in it, and shows whose it is from life to life: a thread may be interrupted
 * while it makes its block new.
 */
#include "bare.h"
#include "port_tls.h"

#include <errno.h>
#include <picotls.h>
#include <string.h>

__thread struct thread *bare_thread;

/* image.ld: where the initialized part comes from, and its size; the zeroed part. */
extern char __tdata_source[], __tdata_size[], __tbss_offset[], __tbss_size[];

size_t tls_size(void)
{
    return (ARCH_TLS_HEADER + _tls_size() + TLS_ALIGNMENT - 1) & ~(size_t)(TLS_ALIGNMENT - 1);
}

uintptr_t tls_make(void *at)
{
    char *block = (char *)at + ARCH_TLS_HEADER;
    RT_ASSERT((uintptr_t)at % TLS_ALIGNMENT == 0);
    _init_tls(block);
    return (uintptr_t)block + ARCH_TLS_OFFSET;
}

int port_tls_start(bool by_syscall, const char **why)
{
    (void)by_syscall;
    if (_tls_align() > TLS_ALIGNMENT) {
        *why = "a variable's alignment is larger than 64";
        return -ENOTSUP;
    }
    return 0;
}

size_t port_tls_room(void)
{
    return tls_size() + TLS_ALIGNMENT;
}

static void *aligned(void *at)
{
    return (void *)(((uintptr_t)at + TLS_ALIGNMENT - 1) & ~(uintptr_t)(TLS_ALIGNMENT - 1));
}

int port_tls_alloc(struct thread *t, void *at)
{
    RT_ASSERT(rt_thread_port(t)->tls == 0); /* it keeps its block from life to life */
    uintptr_t tp = tls_make(aligned(at));
    uintptr_t of_thread = (uintptr_t)&bare_thread - port_arch_tp();
    *(struct thread **)(tp + of_thread) = t;
    rt_thread_port(t)->tls = tp;
    return 0;
}

void port_tls_free(struct thread *t)
{
    RT_ASSERT(rt_thread_port(t)->tls != 0 && rt_thread_port(t)->tls != port_arch_tp());
    rt_thread_port(t)->tls = 0;
}

void port_tls_begin(void) {}

/* The C library keeps no list of destructors for threads; C++'s is the POSIX layer's. */
void port_tls_end(void) {}

void port_tls_reset(void)
{
    char *block = (char *)(port_arch_tp() - ARCH_TLS_OFFSET);
    char *zeroed = block + (uintptr_t)__tbss_offset, *end = zeroed + (uintptr_t)__tbss_size;
    char *kept = (char *)&bare_thread;
    RT_ASSERT(port_arch_tp() == rt_thread_port(bare_thread)->tls);
    RT_ASSERT(zeroed <= kept && kept + sizeof(bare_thread) <= end);
    memcpy(block, __tdata_source, (uintptr_t)__tdata_size);
    memset(zeroed, 0, (size_t)(kept - zeroed));
    kept += sizeof(bare_thread);
    memset(kept, 0, (size_t)(end - kept));
}
