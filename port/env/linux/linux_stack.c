/* SPDX-License-Identifier: MIT */
/*
 * linux_stack.c (Linux) - stacks from arenas.
 *
 * An arena is one mapping of equal slots, each a guard (usually a page) and a stack. Guards are
 * made with MADV_GUARD_INSTALL (kernel 6.13), which needs no mapping of its own; before that with
 * mprotect, which splits the mapping, so that vm.max_map_count limits the number of stacks: then
 * the error says so, once.
 *
 * Invariants: those of linux_arena.h, and: a slot that was never handed out has no guard yet; a
 * free slot has given its pages back. Lock: `lock`.
 */
#include "linux.h"
#include "linux_arena.h"
#include "port_processes.h"
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
#define ARENA_SLOTS_LEAST 16u /* of large stacks: it is only address space */
#define ARENA_SHARE 256u      /* of address space that is limited: an arena's part of it */

static struct arenas arenas = {.spare = {&arenas.spare, &arenas.spare}}; /* (lock) */
static struct arena_kind *recent; /* (lock) used last, or NULL */
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

static struct arena *arena_map(size_t slot, unsigned slots)
{
    struct arena *a = port_table_alloc(sizeof(struct arena));
    RT_ASSERT(slots != 0 && slots <= ARENA_SLOTS && slot % PAGE_SIZE == 0);
    if (a == NULL) {
        return NULL;
    }
    a->base = map(slot * slots, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK);
    if (a->base == MAP_FAILED) {
        port_table_free(a, sizeof(*a));
        return NULL;
    }
    advise(a->base, slot * slots, MADV_NOHUGEPAGE);
    a->slots = slots;
    return a;
}

/* One stack of an arena keeps all of it. Where address space is limited, arenas are small, so that
 * the program gets back the space of stacks that it does not use any more. */
static unsigned arena_slots(size_t slot)
{
    uint64_t limit = port_memory_limit(), fit = ARENA_BYTES / slot, least = ARENA_SLOTS_LEAST;
    if (limit != UINT64_MAX) {
        uint64_t part = limit / ARENA_SHARE / slot;
        fit = part < fit ? part : fit;
        least = 1;
    }
    fit = fit < least ? least : fit;
    return fit < ARENA_SLOTS ? (unsigned)fit : ARENA_SLOTS;
}

/* As large as there is room for: a process near its limit still gets single stacks. */
static struct arena *arena_map_some(size_t slot)
{
    unsigned slots = arena_slots(slot);
    struct arena *a = NULL;
    for (; slots != 0 && a == NULL; slots /= 2) {
        a = arena_map(slot, slots);
    }
    return a;
}

/* kind: NULL if this is its first arena. */
static struct arena *arena_new_locked(struct arena_kind *kind, size_t slot, size_t guard)
{
    RT_ASSERT(arena_is_locked() && guard < slot);
    bool first = kind == NULL;
    if (first && (kind = port_table_alloc(sizeof(struct arena_kind))) == NULL) {
        return NULL;
    }
    struct arena *a = arena_map_some(slot);
    if (a != NULL) {
        arena_add(&arenas, kind, slot, guard, a);
    } else if (first) {
        port_table_free(kind, sizeof(*kind));
    }
    return a;
}

bool stack_guards_are_mappings(void)
{
    return guard_by_protect;
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

/* The kernel does not know the advice (EINVAL), or a sandbox refuses it (EPERM, ENOSYS). QEMU's
 * user mode takes any advice and follows none: the first guard is tried out. */
static bool guard_advise(char *low, size_t size)
{
    static bool tried;
    if (advise(low, size, MADV_GUARD_INSTALL) != 0) {
        guard_by_protect = errno != ENOMEM && errno != EAGAIN;
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

/* A slot of the arena, with its guard; NULL: there can be none. */
static char *arena_take_locked(struct arena *a)
{
    bool fresh;
    RT_ASSERT(arena_is_locked());
    char *slot = a->base + arena_next(a, &fresh) * a->kind->slot;
    if (fresh && guard_install(slot, a->kind->guard) != 0) {
        return NULL;
    }
    arena_taken(&arenas, a, fresh);
    return slot;
}

static struct arena *arena_find_locked(size_t slot, size_t guard)
{
    RT_ASSERT(arena_is_locked());
    struct arena_kind *kind = recent;
    if (kind == NULL || kind->slot != slot || kind->guard != guard) {
        kind = arena_kind_find(&arenas, slot, guard);
    }
    struct arena *a = arena_of_kind(kind);
    if (a == NULL) {
        a = arena_new_locked(kind, slot, guard);
    }
    recent = a != NULL ? a->kind : recent;
    return a;
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
    struct arena *a = arena_find_locked(slot, guard);
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

/* An arena that is in no list any more; and its kind, if it was the last of that. */
static void arena_unmap(struct arena *a, size_t slot, struct arena_kind *kind)
{
    unmap(a->base, slot * a->slots);
    port_table_free(a, sizeof(*a));
    if (kind != NULL) {
        port_table_free(kind, sizeof(*kind));
    }
}

void port_stack_free(struct port_stack *stack)
{
    int saved = errno;
    struct arena *a = stack->arena;
    size_t size = a->kind->slot;
    ptrdiff_t slot = ((char *)stack->low - a->base) / (ptrdiff_t)size; /* the guard rounds off */
    RT_ASSERT((char *)stack->low == a->base + (size_t)slot * size + a->kind->guard);
    valgrind_forget(a->known[slot]);
    advise(stack->low, stack->size, MADV_DONTNEED);
    arena_lock();
    struct arena_kind *kind = NULL;
    arena_return(&arenas, a, (unsigned)slot);
    struct arena *surplus = arena_surplus(&arenas, &kind);
    size = surplus != NULL ? surplus->kind->slot : 0;
    recent = recent == kind ? NULL : recent;
    arena_unlock();
    if (surplus != NULL) {
        arena_unmap(surplus, size, kind);
    }
    errno = saved;
}

void stack_forked(void)
{
    lock = 0;
}
