/* SPDX-License-Identifier: MIT */
/*
 * linux_tls.c (Linux) - thread-local storage of user threads: the calls of port.h.
 *
 * Either every thread of the process has a TLS block of its own, or none: port_tls_start decides,
 * once. The program's main thread keeps the block with which it was started, on every worker. A
 * worker's idle thread has that of the worker's kernel thread (CPU 0, whose kernel thread is the
 * main thread's, one of ours). All others have blocks at the top of their stacks.
 *
 * The switch relies on these facts:
 *   1. A block belongs to one thread for all its life. So the address of a TLS variable, which
 *      compilers keep in registers, stays right when the thread moves to another worker.
 *   2. Only port_tls_self has a value that changes with the worker. The switch writes it in the
 *      incoming block, on which no thread runs, before it writes the thread pointer; port_cpu_self
 *      reads it by a volatile instruction each time.
 *   3. No kernel state is tied to a block's address: kernel threads that run user threads give up
 *      restartable sequences.
 *
 * Blocks are made with preemption off: ld.so may call the program's malloc with its lock held.
 *
 * Under a sanitizer threads have no blocks: its runtime keeps its own per-thread state in TLS.
 */
#include "glibc.h"
#include "port_tls.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

__thread struct thread *port_tls_thread;
__thread uint32_t port_tls_files;
bool port_tls_own;
bool port_tls_by_instruction;

#if PORT_ARCH_TLS_VARIANT == 1
uintptr_t port_tls_handle_offset;

/* Without it (a C library that is not known) the thread pointer itself is the handle. */
void *port_tls_handle_early(void)
{
    if (port_tls_handle_offset == 0) {
        port_tls_handle_offset = glibc_descriptor_size();
    }
    return port_tls_handle_self();
}
#endif

#if defined(PIRN_TSAN) || defined(PIRN_ASAN)
static int blocks_start(const char **why)
{
    *why = "this library is built with a sanitizer, whose runtime keeps its own data in a kernel "
           "thread's TLS";
    return -ENOSYS;
}
#elif !defined(__x86_64__) && !defined(__aarch64__)
static int blocks_start(const char **why)
{
    *why = "there is no such block on this architecture yet (on x86-64 and AArch64 there is)";
    return -ENOTSUP;
}
#else
static int blocks_start(const char **why)
{
    int error = glibc_find(why);
    if (error == 0 && ((error = glibc_block_init()) != 0 || (error = everywhere_start()) != 0)) {
        *why = error == -ENOMEM ? "there is no memory for it"
                                : "this C library's thread descriptor is not as expected";
    }
    return error;
}
#endif

static const char *why_shared = "option tls, or the native API, asks for it";

const char *tls_why_shared(void)
{
    return port_tls_own ? "" : why_shared;
}

int port_tls_start(bool by_syscall, const char **why)
{
    RT_ASSERT(!port_tls_own);
    int error = blocks_start(why);
    if (error != 0) {
        why_shared = *why;
        return error;
    }
    (void)port_tls_handle_early();
    RT_ASSERT(port_tls_handle_offset == glibc_descriptor_offset());
    bool may = (getauxval(AT_HWCAP2) & PORT_ARCH_TLS_HWCAP2) == PORT_ARCH_TLS_HWCAP2;
    port_tls_by_instruction = may && !by_syscall;
    port_tls_own = true;
    return 0;
}

/* For assertions: does the calling thread run on the block that is its own? */
UNUSED static bool tls_is_own(void)
{
    return port_tls_own && port_tls_thread != NULL &&
           rt_thread_port(port_tls_thread)->tls == port_arch_tp();
}

size_t port_tls_room(void)
{
    RT_ASSERT(port_tls_own);
    return glibc_block_room();
}

void tls_adopt(struct thread *t)
{
    if (port_tls_own) {
        RT_ASSERT(port_tls_thread == NULL || port_tls_thread == t);
        glibc_rseq_give_up();
        rt_thread_port(t)->tls = port_arch_tp();
        port_tls_thread = t;
    }
}

int port_tls_alloc(struct thread *t, void *at)
{
    struct port_thread *port = rt_thread_port(t);
    char *low = rt_thread_stack(t), *end = (char *)at + port_tls_room();
    uintptr_t slot;
    RT_ASSERT(port_tls_own && low < (char *)at);
    port->tls = glibc_block_make(low, (size_t)(end - low), &port->leftover);
    if (port->tls == 0) {
        return -ENOMEM;
    }
    RT_ASSERT(port->tls > (uintptr_t)low && port->tls < (uintptr_t)end);
    PORT_ARCH_TLS_OFFSET(slot, port_tls_thread);
    *(struct thread **)(port->tls + slot) = t;
    PORT_ARCH_TLS_OFFSET(slot, port_tls_self);
    *(struct cpu **)(port->tls + slot) = NULL;
    PORT_ARCH_TLS_OFFSET(slot, port_tls_inside);
    *(uint32_t *)(port->tls + slot) = 1; /* a thread begins inside the runtime, and ends there */
    return 0;
}

void port_tls_free(struct thread *t)
{
    struct port_thread *port = rt_thread_port(t);
    RT_ASSERT(port->tls != 0 && port->tls != port_arch_tp()); /* nobody runs on it */
    glibc_block_drop(port->tls, port->leftover);
    port->tls = 0;
}

int port_tls_tid(void)
{
    RT_ASSERT(port_tls_own);
    return *(const int *)(port_arch_tp() - glibc_descriptor_offset() + glibc.tid_at);
}

void port_tls_begin(void)
{
    RT_ASSERT(tls_is_own());
    glibc_block_begin();
    direct_thread_begins();
}

void port_tls_end(void)
{
    RT_ASSERT(tls_is_own());
    glibc_block_end();
}

void port_tls_reset(void)
{
    RT_ASSERT(tls_is_own());
    glibc_block_reset();
    port_tls_files = 0;
}

bool port_tls_reset_unused(void)
{
    RT_ASSERT(tls_is_own());
    if (unlikely(!glibc_block_reset_unused())) {
        return false;
    }
    port_tls_files = 0;
    return true;
}
