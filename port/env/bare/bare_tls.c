/* SPDX-License-Identifier: MIT */
/*
 * bare_tls.c (bare) - thread-local storage: each thread has a block of its own, laid out and filled
 * as the C library (picolibc) does it, and each core one for its scheduler context. A block begins
 * at a multiple of its alignment, which is not above TLS_ALIGNMENT.
 *
 * In front of a block, in its header, stands whose it is (BARE_THREAD): from life to life, as a
 * thread may be interrupted while it makes its block new.
 */
#include "bare.h"
#include "port_tls.h"

#include <errno.h>
#include <picotls.h>
#include <string.h>

/* image.ld: what a block begins with. */
extern const char __tdata_source[], __tdata_size[], __tbss_size[], __tbss_offset[];

/* As the C library's _init_tls, by this library's own functions. */
static void tls_fill(char *block)
{
    memcpy(block, __tdata_source, (uintptr_t)__tdata_size);
    memset(block + (uintptr_t)__tbss_offset, 0, (uintptr_t)__tbss_size);
}

size_t tls_size(void)
{
    return (ARCH_TLS_HEADER + _tls_size() + TLS_ALIGNMENT - 1) & ~(size_t)(TLS_ALIGNMENT - 1);
}

uintptr_t tls_make(void *at, struct thread *t)
{
    char *block = (char *)at + ARCH_TLS_HEADER;
    RT_ASSERT((uintptr_t)at % TLS_ALIGNMENT == 0);
    tls_fill(block);
    uintptr_t tp = (uintptr_t)block + ARCH_TLS_OFFSET;
    BARE_THREAD(tp) = t;
    return tp;
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
    rt_thread_port(t)->tls = tls_make(aligned(at), t);
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
    uintptr_t tp = port_arch_tp();
    RT_ASSERT(tp == rt_thread_port(BARE_THREAD(tp))->tls);
    tls_fill((char *)(tp - ARCH_TLS_OFFSET));
}

bool port_tls_reset_unused(void)
{
    port_tls_reset();
    return true;
}
