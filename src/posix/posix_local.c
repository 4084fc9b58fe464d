/* SPDX-License-Identifier: MIT */
/*
 * posix_local.c - allocates and releases thread->local.
 *
 * The memory comes from the port and not from malloc, because an allocator may itself use keys.
 * Lock: pool.lock (RANK_STACK), taken alone.
 */
#include <errno.h>

#include "posix.h"
#include "posix_platform.h"

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

/* Returns the first record of a new slab; the others go to the pool. */
static struct posix_local *pool_grow(void)
{
    struct posix_local *slab = port_table_alloc(POSIX_SLAB_BYTES);
    if (slab == NULL) {
        return NULL;
    }
    posix_sanitizer_root(slab, POSIX_SLAB_BYTES, true);
    for (size_t i = 1; i < POSIX_SLAB_BYTES / sizeof(*slab); i++) {
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
    struct thread *self = rt_identity();
    return likely(self->local != NULL) ? self->local : local_make(self);
}

void posix_local_end(struct thread *self)
{
    posix_keys_end(self->local);
    posix_local_drop(self);
}

void posix_local_drop(struct thread *self)
{
    struct posix_local *local = self->local;
    self->local = NULL;
    if (local->slots != local->inline_slots) {
        posix_sanitizer_root(local->slots, PTHREAD_KEYS_MAX * sizeof(struct posix_slot), false);
        port_table_free(local->slots, PTHREAD_KEYS_MAX * sizeof(struct posix_slot));
    }
    pool_put(local);
}

void posix_local_forked(void)
{
    at_init(&pool.lock.word, 0u);
}

int posix_fail(int error)
{
    errno = error;
    return -1;
}
