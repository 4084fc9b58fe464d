/* SPDX-License-Identifier: MIT */
/*
 * bare_pool.c (bare) - the memory that the image leaves: stacks and tables from above, the C
 * library's heap (sbrk) from below.
 *
 * Free blocks are in a list, the highest first, with their size at their beginning; a block is
 * taken from the top of the first one that is large enough, and joined with its neighbours when it
 * is given back. It takes as many steps as there are free blocks, with interrupts disabled;
 * threads' stacks are recycled by the core, so that it is rarely called.
 */
#include "bare.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define UNIT 64u

struct block {
    struct block *below; /* the next lower free one */
    size_t size;
};

extern char bare_heap_begin[], bare_heap_end[];

static struct {
    uint32_t lock;
    struct block *highest;
    char *brk;
    char *lowest; /* of what has been allocated */
} pool;

static char *end_of(struct block *b)
{
    return (char *)b + b->size;
}

void pool_begin(void)
{
    uintptr_t low = ((uintptr_t)bare_heap_begin + UNIT - 1) & ~(uintptr_t)(UNIT - 1);
    RT_ASSERT(pool.highest == NULL && low < (uintptr_t)bare_heap_end);
    uintptr_t end = bare_pages_begin((uintptr_t)bare_heap_end);
    pool.brk = (char *)low;
    pool.highest = (struct block *)low;
    pool.lowest = (char *)end;
    *pool.highest = (struct block){NULL, (end - low) & ~(uintptr_t)(UNIT - 1)};
}

static size_t whole_units(size_t size)
{
    return (size + UNIT - 1) & ~(size_t)(UNIT - 1);
}

/* Where `size` bytes go at the top of the block; NULL: they do not. */
static char *fit(struct block *b, size_t size, size_t alignment)
{
    RT_ASSERT((alignment & (alignment - 1)) == 0);
    if (b->size < size) {
        return NULL;
    }
    uintptr_t at = ((uintptr_t)end_of(b) - size) & ~(uintptr_t)(alignment - 1);
    return at >= (uintptr_t)b ? (char *)at : NULL;
}

/* Put the memory back, joined with the free blocks beside it. */
static void give_locked(char *low, size_t size)
{
    struct block **link = &pool.highest;
    struct block *above = NULL;
    RT_ASSERT(bare_is_locked(&pool.lock));
    RT_ASSERT(size != 0 && ((uintptr_t)low | size) % UNIT == 0);
    RT_ASSERT(low >= pool.brk && low + size <= bare_heap_end);
    while (*link != NULL && (char *)*link > low) {
        above = *link;
        link = &above->below;
    }
    struct block *below = *link, *b = (struct block *)low;
    RT_ASSERT(above == NULL || low + size <= (char *)above); /* nothing of it is free already */
    RT_ASSERT(below == NULL || end_of(below) <= low);
    *b = (struct block){below, size};
    *link = b;
    if (above != NULL && end_of(b) == (char *)above) {
        b->size += above->size;
        struct block **to = &pool.highest;
        while (*to != above) {
            to = &(*to)->below;
        }
        *to = b;
    }
    if (below != NULL && end_of(below) == (char *)b) {
        below->size += b->size;
        struct block **to = &pool.highest;
        while (*to != b) {
            to = &(*to)->below;
        }
        *to = below;
    }
}

/* What the alignment leaves above the memory belongs to it: else the list would fill with blocks
 * that are of no use. fresh: nobody has had its lowest bytes before. */
ALWAYS_INLINE void *pool_take(size_t *size, size_t alignment, bool *fresh)
{
    char *at = NULL;
    *fresh = false;
    size_t need = whole_units(*size);
    unsigned long irq = bare_lock(&pool.lock);
    for (struct block **link = &pool.highest; *link != NULL && at == NULL;) {
        struct block *b = *link;
        if ((at = fit(b, need, alignment)) == NULL) {
            link = &b->below;
            continue;
        }
        if (at < pool.lowest) {
            pool.lowest = at;
            *fresh = true;
        }
        *size = (size_t)(end_of(b) - at);
        b->size -= *size;
        if (b->size == 0) {
            *link = b->below;
        }
    }
    RT_ASSERT((uintptr_t)at % alignment == 0);
    bare_unlock(&pool.lock, irq);
    return at;
}

void *pool_alloc(size_t size)
{
    bool fresh;
    return size <= SIZE_MAX - UNIT ? pool_take(&size, UNIT, &fresh) : NULL;
}

void pool_free(void *p, size_t size)
{
    unsigned long irq = bare_lock(&pool.lock);
    give_locked(p, whole_units(size));
    bare_unlock(&pool.lock, irq);
}

static uintptr_t whole(const char *brk)
{
    return whole_units((uintptr_t)brk);
}

/* Raise the break by `step` bytes; what is between it and the lowest block is less than a unit. */
static bool raise_locked(size_t step)
{
    struct block **link = &pool.highest;
    size_t need = whole(pool.brk + step) - whole(pool.brk);
    RT_ASSERT(bare_is_locked(&pool.lock));
    while (*link != NULL && (*link)->below != NULL) {
        link = &(*link)->below;
    }
    struct block *b = *link;
    RT_ASSERT(b == NULL || (uintptr_t)b >= whole(pool.brk)); /* the heap ends below */
    if (need != 0) {
        if (b == NULL || (uintptr_t)b != whole(pool.brk) || b->size < need) {
            return false;
        }
        struct block now = *b;
        *link = NULL;
        if (now.size > need) {
            *link = (struct block *)((char *)b + need);
            **link = (struct block){NULL, now.size - need};
        }
    }
    pool.brk += step;
    return true;
}

/* The C library's heap, under the C library's lock. It never gets smaller. */
void *sbrk(ptrdiff_t step)
{
    bool raised = false;
    unsigned long irq = bare_lock(&pool.lock);
    char *before = pool.brk;
    if (step >= 0 && (size_t)step <= (size_t)(bare_heap_end - before)) {
        raised = raise_locked((size_t)step);
    }
    bare_unlock(&pool.lock, irq);
    if (!raised) {
        errno = ENOMEM;
    }
    return raised ? before : (void *)-1;
}

/* Powers of two: a sixteenth of the stack at most. */
static size_t zone_of(size_t size)
{
#ifdef ARCH_PAGE
    (void)size;
    return ARCH_PAGE;
#else
    return size >= 16 * BARE_ZONE_MOST ? BARE_ZONE_MOST : size >= 8192 ? 512 : 64;
#endif
}

int port_stack_alloc(struct port_stack *stack, size_t size, size_t guard)
{
    size_t zone = zone_of(size), whole = zone + size;
    (void)guard; /* the zone is what there is */
    bool fresh;
    char *at = pool_take(&whole, zone, &fresh);
    if (at == NULL) {
        return -ENOMEM;
    }
    stack->low = at + zone;
    stack->size = whole - zone;
    stack->guard = zone;
    bare_guard_set(stack, zone);
    bare_page_hide(at, fresh);
    return 0;
}

void port_stack_free(struct port_stack *stack)
{
    char *at = (char *)stack->low - stack->guard;
    bare_page_show(at);
    pool_free(at, stack->guard + stack->size);
}

void *port_table_alloc(size_t size)
{
    void *p = pool_alloc(size);
    return p != NULL ? memset(p, 0, size) : NULL;
}

void port_table_free(void *p, size_t size)
{
    pool_free(p, size);
}
