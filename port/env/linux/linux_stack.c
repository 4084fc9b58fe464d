/* SPDX-License-Identifier: MIT */
/*
 * linux_stack.c (Linux) - stacks from arenas.
 *
 * An arena is one mapping of equal slots, each a guard (usually a page) and a stack. Guards are
 * made with MADV_GUARD_INSTALL (kernel 6.13), which needs no mapping of its own; before that with
 * mprotect, which splits the mapping, so that vm.max_map_count limits the number of stacks: then
 * the error says so, once.
 *
 * Invariants: a slot is free (on its arena's list), or handed out; slots at and above `bump` were
 * never used and have no guard yet. A free slot has given its pages back. Lock: `lock`.
 */
#include "linux.h"
#include "port_tools.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif
#ifndef MADV_NOHUGEPAGE
#define MADV_NOHUGEPAGE 15
#endif

#define ARENA_BYTES (32ul << 20)
#define ARENA_SLOTS 512u

struct arena {
    struct arena *next;
    char *base;
    size_t slot;  /* bytes, guard included */
    size_t guard; /* bytes, may be 0 */
    unsigned slots, bump, nfree;
    uint16_t free[ARENA_SLOTS];
    uint32_t known[ARENA_SLOTS]; /* what Valgrind calls the stacks that are handed out */
};

static struct arena *arenas; /* (lock) newest first */
static uint32_t lock;
static bool guard_by_protect; /* (lock) */

static void arena_lock(void)
{
    for (unsigned round = 0; __atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE) != 0;
         round++) { /* ORDER(arena) */
        port_relax(round);
    }
}

/* For assertions: by somebody. */
UNUSED ALWAYS_INLINE bool arena_is_locked(void)
{
    return __atomic_load_n(&lock, __ATOMIC_RELAXED) == 1;
}

static void arena_unlock(void)
{
    RT_ASSERT(arena_is_locked());
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE); /* ORDER(arena) */
}

#if defined(PIRN_TSAN) || defined(PIRN_ASAN)
/* The sanitizer must see what becomes of memory. */
static void *map(size_t size, int flags)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
}

static void unmap(void *p, size_t size)
{
    munmap(p, size);
}
#else
/* By the kernel itself: the C library's functions may be the program's own, or call it (hooks of
 * RDMA libraries); that would enter the runtime, which may hold a lock, or be about to learn who
 * calls. */
static void *map(size_t size, int flags)
{
    long at = syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
    return at != -1 ? (void *)at : MAP_FAILED;
}

static void unmap(void *p, size_t size)
{
    syscall(SYS_munmap, p, size);
}
#endif

/* Likewise. */
static int advise(void *p, size_t size, int advice)
{
    return (int)syscall(SYS_madvise, p, size, advice);
}

void *port_table_alloc(size_t size)
{
    void *p = map(size, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
    return p != MAP_FAILED ? p : NULL;
}

void port_table_free(void *p, size_t size)
{
    unmap(p, size);
}

static struct arena *arena_map(size_t slot, size_t guard, unsigned slots)
{
    struct arena *a = port_table_alloc(sizeof(struct arena));
    RT_ASSERT(slots != 0 && slots <= ARENA_SLOTS && guard < slot && slot % PAGE_SIZE == 0);
    if (a == NULL) {
        return NULL;
    }
    a->base = map(slot * slots, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK);
    if (a->base == MAP_FAILED) {
        port_table_free(a, sizeof(*a));
        return NULL;
    }
    advise(a->base, slot * slots, MADV_NOHUGEPAGE);
    a->slot = slot;
    a->guard = guard;
    a->slots = slots;
    return a;
}

/* As large as there is room for: a process near its limit still gets single stacks. */
static struct arena *arena_new(size_t slot, size_t guard)
{
    size_t fit = ARENA_BYTES / slot;
    unsigned slots = fit < 1 ? 1 : fit > ARENA_SLOTS ? ARENA_SLOTS : (unsigned)fit;
    if (slots < 16) {
        slots = 16; /* large stacks: only address space */
    }
    for (; slots != 0; slots /= 2) {
        struct arena *a = arena_map(slot, guard, slots);
        if (a != NULL) {
            return a;
        }
    }
    return NULL;
}

/* Can the kernel read the page? It says so instead of sending a signal. */
static bool guard_holds(const char *page)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        return true; /* cannot tell */
    }
    bool holds = syscall(SYS_write, ends[1], page, 1) != 1;
    syscall(SYS_close, ends[0]); /* the name may be the POSIX layer's */
    syscall(SYS_close, ends[1]);
    return holds;
}

/* QEMU's user mode takes any advice and follows none: the first guard is tried out. */
static bool guard_advise(char *low, size_t size)
{
    static bool tried;
    if (advise(low, size, MADV_GUARD_INSTALL) != 0) {
        guard_by_protect = errno == EINVAL;
        return false;
    }
    guard_by_protect = !tried && !guard_holds(low);
    tried = true;
    return !guard_by_protect;
}

static int guard_install(char *low, size_t size)
{
    RT_ASSERT(arena_is_locked());
    if (size == 0 || (!guard_by_protect && guard_advise(low, size))) {
        return 0;
    }
    if (guard_by_protect && syscall(SYS_mprotect, low, size, PROT_NONE) == 0) {
        return 0;
    }
    static bool said;
    if (guard_by_protect && errno == ENOMEM && !said) {
        static const char text[] =
            "pirn: no more guard pages: this kernel needs a mapping for each stack; the limit is "
            "the sysctl vm.max_map_count\n";
        said = true;
        port_write(text, sizeof(text) - 1);
    }
    return -ENOMEM;
}

static char *arena_take_locked(struct arena *a)
{
    RT_ASSERT(arena_is_locked() && a->nfree <= a->bump && a->bump <= a->slots);
    if (a->nfree != 0) {
        return a->base + a->free[--a->nfree] * a->slot;
    }
    if (a->bump == a->slots) {
        return NULL;
    }
    char *slot = a->base + a->bump * a->slot;
    if (guard_install(slot, a->guard) != 0) {
        return NULL;
    }
    a->bump++;
    return slot;
}

ALWAYS_INLINE bool arena_has(const struct arena *a, size_t slot, size_t guard)
{
    return a->slot == slot && a->guard == guard && (a->nfree != 0 || a->bump != a->slots);
}

/* The first arena of the kind with room comes to the front. */
static struct arena *arena_find_locked(size_t slot, size_t guard)
{
    RT_ASSERT(arena_is_locked());
    for (struct arena **link = &arenas; *link != NULL; link = &(*link)->next) {
        struct arena *a = *link;
        if (arena_has(a, slot, guard)) {
            *link = a->next;
            a->next = arenas;
            arenas = a;
            return a;
        }
    }
    return NULL;
}

ALWAYS_INLINE size_t round_up(size_t size)
{
    return (size + PAGE_SIZE - 1) & ~(size_t)(PAGE_SIZE - 1);
}

#ifdef PORT_ARCH_VALGRIND

/* Valgrind otherwise takes a switch for a change of one stack's depth. Its name for the stack. */
ALWAYS_INLINE uint32_t valgrind_stack(const char *low, size_t size)
{
    return (uint32_t)PORT_ARCH_VALGRIND(0x1501, low, low + size - 1);
}

ALWAYS_INLINE void valgrind_forget(uint32_t known)
{
    PORT_ARCH_VALGRIND(0x1502, known, 0);
}

#else

ALWAYS_INLINE uint32_t valgrind_stack(const char *low, size_t size)
{
    (void)low;
    (void)size;
    return 0;
}

ALWAYS_INLINE void valgrind_forget(uint32_t known)
{
    (void)known;
}

#endif

/* Stacks of the program's have no arena. */
void port_stack_begin(struct port_stack *stack)
{
    stack->arena = (void *)(uintptr_t)valgrind_stack(stack->low, stack->size);
}

void port_stack_end(struct port_stack *stack)
{
    valgrind_forget((uint32_t)(uintptr_t)stack->arena);
}

int port_stack_alloc(struct port_stack *stack, size_t size, size_t guard)
{
    int saved = errno;
    guard = round_up(guard);
    size_t slot = round_up(size) + guard;
    arena_lock();
    struct arena *a = arenas;
    if (a == NULL || !arena_has(a, slot, guard)) {
        a = arena_find_locked(slot, guard);
    }
    if (a == NULL && (a = arena_new(slot, guard)) != NULL) {
        a->next = arenas;
        arenas = a;
    }
    char *base = a != NULL ? arena_take_locked(a) : NULL;
    arena_unlock();
    errno = saved;
    if (base == NULL) {
        return -ENOMEM;
    }
    *stack =
        (struct port_stack){.low = base + guard, .size = slot - guard, .guard = guard, .arena = a};
    a->known[(base - a->base) / (ptrdiff_t)slot] = valgrind_stack(stack->low, stack->size);
    return 0;
}

/* An arena without users, other than the front one, is unmapped. */
static void arena_drop_locked(struct arena *a)
{
    RT_ASSERT(arena_is_locked() && a->nfree == a->bump);
    for (struct arena **link = &arenas->next; *link != NULL; link = &(*link)->next) {
        if (*link == a) {
            *link = a->next;
            unmap(a->base, a->slot * a->slots);
            port_table_free(a, sizeof(*a));
            return;
        }
    }
}

void port_stack_free(struct port_stack *stack)
{
    int saved = errno;
    struct arena *a = stack->arena;
    ptrdiff_t slot = ((char *)stack->low - a->base) / (ptrdiff_t)a->slot; /* the guard rounds off */
    RT_ASSERT((char *)stack->low == a->base + (size_t)slot * a->slot + a->guard);
    valgrind_forget(a->known[slot]);
    advise(stack->low, stack->size, MADV_DONTNEED);
    arena_lock();
    RT_ASSERT(a->nfree < a->bump && (unsigned)slot < a->bump);
    a->free[a->nfree++] = (uint16_t)slot;
    if (a->nfree == a->bump) {
        arena_drop_locked(a);
    }
    arena_unlock();
    errno = saved;
}

void stack_forked(void)
{
    lock = 0;
}
