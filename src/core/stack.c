/* SPDX-License-Identifier: MIT */
/*
 * stack.c - see stack.h.
 *
 * Layout of a pair, low to high: guard (port's), stack, struct thread, TLS block if threads have
 * such, colour. The colour moves all that within its page by a multiple of two cache lines from
 * pair to pair: without it the hot lines of all threads would compete for the same few cache sets.
 *
 * Invariants:
 *   1. cpu->stacks[] is touched by its CPU only, with interrupts disabled.
 *   2. pool.total counts what lies in the global pool, the sum of what lies there of each kind. A
 *      CPU's cache holds at most reservoir / (2 * ncpu), the pool the other half of the reservoir,
 *      so that all together stay within the limit; but less than STACK_BATCH pairs of other nodes,
 *      which each CPU collects, are not counted.
 *   3. Where the user has not said how many (rt.reservoir_grows), the pool takes all pairs. So it
 *      never has more than the program had threads at once. What lay there unused from one
 *      rt_trim_memory to the next goes back by halves, until the reservoir's half is left.
 * Lock: pool.lock (RANK_STACK), never held while calling the port.
 */
#include <errno.h>
#include <string.h>

#include "cpu.h"
#include "id.h"
#include "nodes.h"
#include "port_processes.h"
#include "runtime.h"
#include "stack_cache.h"
#include "wake.h"

#define STACK_BATCH 32u
#define STACK_PAGE 4096u
#define STACK_COLOURS 20u
#define STACK_TRIM 8192u /* at most so many go back at once */
#define STACK_SHARE 32u  /* of address space that is limited: the part that is cached */
#define STACK_POOLS (RT_NODES ? PORT_NODES_MAX * STACK_CLASSES : STACK_CLASSES)

static struct {
    spinlock_t lock;
    size_t size[STACK_CLASSES]; /* (lock) usable bytes of the class, 0 = free; only grows;
                                        * [0] is not used: rt.stack_size */
    struct {
        struct thread *first;
        uint32_t count;
        uint32_t least;       /* the smallest count since the last rt_trim_memory */
    } kinds[STACK_POOLS];     /* (lock) by stack_class */
    _Atomic(uint32_t) total;  /* (lock) to write; a hint to others */
    bool limited;             /* (C) address space is */
    _Atomic(uint32_t) colour; /* of foreign threads */
} pool;

ALWAYS_INLINE size_t stack_pair_size(size_t usable)
{
    size_t want = usable + sizeof(struct thread) + rt.tls_room + STACK_COLOURS * 128u;
    if (usable == RT_STACK_DEFAULT && usable == rt.stack_size) {
        want = usable; /* the native default is that of the whole pair: powers of two pack best */
    }
    return (want + STACK_PAGE - 1) & ~(size_t)(STACK_PAGE - 1);
}

/* The program's own allocations do not see the caches. So these are small where the process has a
 * limit of its address space, which is read once; stacks larger than the default are not cached
 * there, because the reservoir counts pairs. */
void stack_begin(void)
{
    uint64_t limit = port_memory_limit();
    uint64_t most = limit / STACK_SHARE / stack_pair_size(rt.stack_size);
    pool.limited = limit != UINT64_MAX;
    rt.reservoir_grows = rt.reservoir_grows && !pool.limited;
    if (pool.limited && most < rt.reservoir) {
        rt.reservoir = most;
        rt.stack_cache_limit = (uint32_t)(most / (2 * rt.ncpu));
    }
}

static unsigned stack_class_locked(size_t size)
{
    if (pool.limited && size > rt.stack_size) {
        return STACK_NO_CLASS;
    }
    for (unsigned c = 1; c < STACK_CLASSES; c++) {
        if (pool.size[c] == 0) {
            pool.size[c] = size;
        }
        if (pool.size[c] == size) {
            return c;
        }
    }
    return STACK_NO_CLASS;
}

/* Class 0 is the default's. */
static unsigned stack_class(size_t size)
{
    if (likely(size == rt.stack_size)) {
        return 0;
    }
    spin_lock(&pool.lock, RANK_STACK);
    unsigned class = stack_class_locked(size);
    spin_unlock(&pool.lock, RANK_STACK);
    return class;
}

static size_t stack_class_size(unsigned class)
{
    return class == 0 ? rt.stack_size : pool.size[class];
}

/* Each CPU counts for itself: a common counter would be a word for which all of them compete. */
static unsigned stack_colour(struct cpu *cpu)
{
    unsigned n = cpu != NULL ? cpu->id + cpu->colour++ : at_add_rlx(&pool.colour, 1u);
    return n % STACK_COLOURS;
}

static struct thread *stack_new(struct cpu *cpu, size_t size, size_t guard, unsigned class)
{
    struct port_stack stack;
    if (port_stack_alloc(&stack, stack_pair_size(size), guard) != 0) {
        return NULL;
    }
    uintptr_t top = (uintptr_t)stack.low + stack.size - stack_colour(cpu) * 128u - rt.tls_room;
    struct thread *t =
        (struct thread *)((top - sizeof(struct thread)) & ~(uintptr_t)(RT_CACHELINE - 1));
    thread_init_bare(t, 0, "");
    t->stack = stack;
    t->stack_top = t;
    t->stack_class =
        (uint8_t)(class == STACK_NO_CLASS || cpu == NULL ? class : class + stack_classes_of(cpu));
    if (id_assign(t) != 0) {
        port_stack_free(&stack);
        return NULL;
    }
    if (cpu != NULL) {
        STAT_INC(&cpu->stats.stacks_new);
    }
    return t;
}

static void stack_destroy(struct thread *t)
{
    struct port_stack stack = t->stack;
    thread_fini_bare(t);
    port_stack_free(&stack);
}

size_t stack_asked(const struct thread *t)
{
    if (t->stack_class < STACK_POOLS) {
        return stack_class_size(t->stack_class % STACK_CLASSES); /* it does not change any more */
    }
    return t->flags & (THREAD_OWN_STACK | THREAD_STATIC)
               ? t->stack.size
               : (size_t)((uintptr_t)t->stack_top - (uintptr_t)t->stack.low);
}

static void pool_count_locked(unsigned class, uint32_t count)
{
    at_store_rlx(&pool.total, at_load_rlx(&pool.total) - pool.kinds[class].count + count);
    pool.kinds[class].count = count;
    if (count < pool.kinds[class].least) {
        pool.kinds[class].least = count;
    }
}

/* Take up to a batch of the node's class from the pool, as a list through rq.next. */
static struct thread *pool_take(unsigned class, unsigned *count)
{
    *count = 0;
    if (at_load_rlx(&pool.total) == 0) {
        return NULL; /* most of the time while a program makes its first threads */
    }
    spin_lock(&pool.lock, RANK_STACK);
    struct thread *first = pool.kinds[class].first;
    struct thread *last = NULL;
    unsigned n = 0;
    for (struct thread *t = first; t != NULL && n < STACK_BATCH; t = (struct thread *)t->rq.next) {
        last = t;
        n++;
    }
    if (last != NULL) {
        pool.kinds[class].first = (struct thread *)last->rq.next;
        last->rq.next = NULL;
        pool_count_locked(class, pool.kinds[class].count - n);
    }
    spin_unlock(&pool.lock, RANK_STACK);
    *count = n;
    return first;
}

struct thread *stack_get_slow(struct cpu *cpu, size_t size)
{
    unsigned class = stack_class(size);
    if (class == STACK_NO_CLASS) {
        return stack_new(cpu, size, RT_GUARD_DEFAULT, class);
    }
    if (cpu != NULL && cpu->stacks[class].first == NULL) {
        cpu->stacks[class].first =
            pool_take(stack_classes_of(cpu) + class, &cpu->stacks[class].count);
    }
    if (cpu == NULL || cpu->stacks[class].first == NULL) {
        return stack_new(cpu, size, RT_GUARD_DEFAULT, class);
    }
    struct thread *t = cpu->stacks[class].first;
    cpu->stacks[class].first = (struct thread *)t->rq.next;
    cpu->stacks[class].count--;
    STAT_INC(&cpu->stats.stacks_recycled);
    return t;
}

struct thread *stack_get_guarded(struct cpu *cpu, size_t size, size_t guard)
{
    return stack_new(cpu, size, guard, STACK_NO_CLASS);
}

static bool pool_has_room_locked(void)
{
    return rt.reservoir_grows || at_load_rlx(&pool.total) < rt.reservoir / 2;
}

/* More lies there than is kept for ever. */
static bool pool_has_more(void)
{
    return rt.reservoir_grows && at_load_rlx(&pool.total) > rt.reservoir / 2;
}

/* Move a list to the pool, each pair to its class; what exceeds the reservoir is returned. */
static struct thread *pool_put(struct thread *list)
{
    spin_lock(&pool.lock, RANK_STACK);
    while (list != NULL && pool_has_room_locked()) {
        struct thread *next = (struct thread *)list->rq.next;
        unsigned class = list->stack_class;
        list->rq.next = (struct list *)pool.kinds[class].first;
        pool.kinds[class].first = list;
        pool_count_locked(class, pool.kinds[class].count + 1);
        list = next;
    }
    spin_unlock(&pool.lock, RANK_STACK);
    if (pool_has_more()) {
        port_memory_kept();
    }
    return list;
}

static void stack_destroy_list(struct thread *list)
{
    while (list != NULL) {
        struct thread *next = (struct thread *)list->rq.next;
        stack_destroy(list);
        list = next;
    }
}

/* The cache is full: send its coldest part, all but half, to the pool. */
static void stack_spill(struct cpu *cpu, unsigned class)
{
    struct stack_cache *cache = &cpu->stacks[class];
    unsigned keep = cache->count / 2;
    struct thread *t = cache->first;
    if (t == NULL) {
        return;
    }
    for (unsigned i = 1; i < keep; i++) {
        t = (struct thread *)t->rq.next;
    }
    struct thread *rest = keep != 0 ? (struct thread *)t->rq.next : cache->first;
    if (keep != 0) {
        t->rq.next = NULL;
    } else {
        cache->first = NULL;
    }
    cache->count = keep;
    stack_destroy_list(pool_put(rest));
}

/* What the CPU has collected of other nodes. */
static struct thread *stack_take_far(struct cpu *cpu)
{
    struct thread *list = RT_NODES ? cpu->far[0].first : NULL;
    memset(cpu->far, 0, sizeof(cpu->far));
    return list;
}

/* A pair of another node: with the next ones it goes back under one lock. */
static struct thread *stack_put_far(struct cpu *cpu, struct thread *t)
{
    struct stack_cache *far = &cpu->far[0];
    t->rq.next = (struct list *)far->first;
    far->first = t;
    return ++far->count < STACK_BATCH ? NULL : pool_put(stack_take_far(cpu));
}

void stack_put_slow(struct cpu *cpu, struct thread *t)
{
    unsigned class = t->stack_class;
    if (class == STACK_NO_CLASS || rt.reservoir == 0) {
        stack_destroy(t);
        return;
    }
    t->rq.next = NULL;
    if (cpu == NULL) {
        stack_destroy_list(pool_put(t));
    } else if (class - stack_classes_of(cpu) < STACK_CLASSES) {
        stack_spill(cpu, class - stack_classes_of(cpu));
        stack_destroy_list(pool_put(t));
    } else if (RT_NODES) {
        stack_destroy_list(stack_put_far(cpu, t));
    }
}

void stack_free_cached(struct cpu *cpu)
{
    for (unsigned class = 0; class < STACK_CLASSES; class ++) {
        struct thread *list = cpu->stacks[class].first;
        cpu->stacks[class] = (struct stack_cache){0};
        stack_destroy_list(list);
    }
    stack_destroy_list(stack_take_far(cpu));
}

void stack_reclaim(void)
{
    unsigned long irq;
    struct cpu *self = rt_enter(&irq);
    for (unsigned class = 0; class < STACK_POOLS; class ++) {
        unsigned n;
        for (struct thread *list; (list = pool_take(class, &n)) != NULL;) {
            stack_destroy_list(list);
        }
    }
    for (unsigned i = 0; i < rt.ncpu; i++) {
        if (rt.cpus[i] == self) {
            stack_free_cached(self);
        } else {
            rt_post(rt.cpus[i], RT_PENDING_STACKS);
        }
    }
    rt_leave(irq);
}

void rt_idle_memory(void)
{
    stack_reclaim();
}

/* Half of what lay in the pool unused. */
static unsigned pool_unused(unsigned class)
{
    spin_lock(&pool.lock, RANK_STACK);
    unsigned unused = (pool.kinds[class].least + 1) / 2;
    pool.kinds[class].least = pool.kinds[class].count;
    spin_unlock(&pool.lock, RANK_STACK);
    return unused < STACK_TRIM ? unused : STACK_TRIM;
}

static void pool_trim(unsigned class)
{
    unsigned unused = pool_unused(class), n = 0;
    for (unsigned done = 0; done < unused && pool_has_more(); done += n) {
        stack_destroy_list(pool_take(class, &n));
        if (n == 0) {
            break;
        }
    }
}

void rt_trim_memory(void)
{
    unsigned long irq;
    rt_enter(&irq);
    for (unsigned class = 0; class < STACK_POOLS; class ++) {
        pool_trim(class);
    }
    rt_leave(irq);
}

bool rt_memory_to_trim(void)
{
    return pool_has_more();
}

bool stack_reclaiming(void)
{
    for (unsigned i = 0; i < rt.ncpu; i++) {
        if (at_load_rlx(&rt.cpus[i]->pending) & RT_PENDING_STACKS) {
            return true;
        }
    }
    return false;
}

unsigned stack_cached(void)
{
    unsigned n = at_load_rlx(&pool.total);
    for (unsigned i = 0; i < rt.ncpu; i++) {
        for (unsigned class = 0; class < STACK_CLASSES; class ++) {
            n += rt.cpus[i]->stacks[class].count;
        }
        n += RT_NODES ? rt.cpus[i]->far[0].count : 0;
    }
    return n;
}

void stack_forget_all(void)
{
    for (unsigned i = 0; RT_NODES && i < rt.ncpu; i++) {
        if (rt.cpus[i] != NULL) {
            stack_take_far(rt.cpus[i]);
        }
    }
    for (unsigned class = 0; class < STACK_CLASSES; class ++) {
        for (unsigned i = 0; i < rt.ncpu; i++) {
            if (rt.cpus[i] != NULL) { /* while the runtime starts: fork.c */
                rt.cpus[i]->stacks[class] = (struct stack_cache){0};
            }
        }
        pool.size[class] = 0;
    }
    memset(pool.kinds, 0, sizeof(pool.kinds));
    at_init(&pool.total, 0u);
    at_init(&pool.colour, 0u);
    at_init(&pool.lock.word, 0u);
}

void stack_drain_all(void)
{
    for (unsigned i = 0; i < rt.ncpu; i++) {
        stack_free_cached(rt.cpus[i]);
    }
    for (unsigned class = 0; class < STACK_POOLS; class ++) {
        stack_destroy_list(pool.kinds[class].first);
    }
    stack_forget_all();
}
