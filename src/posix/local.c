/* SPDX-License-Identifier: MIT */
/*
 * local.c - thread->local: allocation, and the hooks that the core calls.
 *
 * The memory comes from the port and not from malloc: an allocator may itself use keys. Lock:
 * pool.lock (RANK_STACK), taken alone.
 */
#include <errno.h>
#include <sys/resource.h>

#include "../sync/shared.h"
#include "sanitizer.h"
#include "signal.h"

#define SLAB_BYTES (64u << 10)

static struct {
    spinlock_t lock;
    struct posix_local *first; /* (lock) */
} pool;

static void pool_put(struct posix_local *local)
{
    unsigned long irq;
    rt_enter_lock(&irq, &pool.lock, RANK_STACK);
    local->next = pool.first;
    pool.first = local;
    rt_leave_unlock(irq, &pool.lock, RANK_STACK);
}

static struct posix_local *pool_get(void)
{
    unsigned long irq;
    rt_enter_lock(&irq, &pool.lock, RANK_STACK);
    struct posix_local *local = pool.first;
    if (local != NULL) {
        pool.first = local->next;
    }
    rt_leave_unlock(irq, &pool.lock, RANK_STACK);
    return local;
}

/* The first of a new slab; the others go to the pool. */
static struct posix_local *pool_grow(void)
{
    struct posix_local *slab = port_table_alloc(SLAB_BYTES);
    if (slab == NULL) {
        return NULL;
    }
    posix_sanitizer_root(slab, SLAB_BYTES, true);
    for (size_t i = 1; i < SLAB_BYTES / sizeof(*slab); i++) {
        pool_put(&slab[i]);
    }
    return slab;
}

static COLD struct posix_local *local_make(struct thread *self)
{
    struct posix_local *local = pool_get();
    if (local == NULL && (local = pool_grow()) == NULL) {
        return NULL;
    }
    *local = (struct posix_local){.nslots = POSIX_INLINE_SLOTS};
    local->slots = local->inline_slots;
    self->local = local;
    return local;
}

struct posix_local *posix_local(void)
{
    struct thread *self = rt_self();
    return likely(self->local != NULL) ? self->local : local_make(self);
}

void posix_local_end(struct thread *self)
{
    struct posix_local *local = self->local;
    posix_keys_end(local);
    self->local = NULL;
    if (local->slots != local->inline_slots) {
        posix_sanitizer_root(local->slots, PTHREAD_KEYS_MAX * sizeof(struct posix_slot), false);
        port_table_free(local->slots, PTHREAD_KEYS_MAX * sizeof(struct posix_slot));
    }
    pool_put(local);
}

size_t posix_stack_default(void)
{
    struct rlimit limit;
    size_t size = 8u << 20;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        size = limit.rlim_cur;
    }
    size = size < RT_STACK_MIN ? RT_STACK_MIN : size > RT_STACK_MAX ? RT_STACK_MAX : size;
    return size & ~(size_t)4095;
}

_Atomic(uint32_t) posix_process_id;

static void process_is(void)
{
    at_store_rlx(&posix_process_id, (uint32_t)getpid());
}

/* A child has one kernel thread: nobody else holds our locks. */
static void posix_forked(void)
{
    process_is();
    rt_shared_reset();
    at_init(&pool.lock.word, 0u);
    posix_attr_forked();
    posix_signals_forked();
}

/* Before anything can start the runtime, and before the program's own fork handlers: those of ours
 * are to run first in a child. */
static __attribute__((constructor)) void posix_hook(void)
{
    process_is();
    posix_sanitizer_hook();
    if (port_fork_watch() != 0 || pthread_atfork(NULL, NULL, posix_forked) != 0) {
        static const char text[] = "pirn: no memory for a fork handler\n";
        port_write(text, sizeof(text) - 1);
        port_exit_now(1);
    }
    posix_signals_hook();
    rt_local_end = posix_local_end;
    rt_cancel_act = posix_cancel_now;
    rt_stack_default = posix_stack_default();
    rt_main_name = program_invocation_short_name;
    rt_tls_default = true;
    rt_preempt_default = true;
    rt_surprise_default = true;
    rt_classes_default = true;
}

int posix_fail(int error)
{
    errno = error;
    return -1;
}
