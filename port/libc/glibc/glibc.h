/* SPDX-License-Identifier: MIT */
/*
 * glibc.h - the internals of one C library, glibc, as far as this port uses them. Which versions
 * are known: glibc_facts.c. Used by glibc_*.c and linux_tls.c only.
 *
 * A TLS block is the memory that glibc allots to a kernel thread: its descriptor (struct pthread),
 * the static TLS of all modules beside it, and the table (dtv) of the dynamic ones. ld.so fills in
 * the TLS. The rest, which glibc's thread start would fill in, comes from a template: the
 * descriptor and the libc TLS of one real thread.
 */
#ifndef PIRN_PORT_LINUX_GLIBC_H
#define PIRN_PORT_LINUX_GLIBC_H

#include "linux.h"

/* Where a module's TLS lies, from the thread pointer. */
struct glibc_range {
    ptrdiff_t at;
    size_t size;
};

/* Doubly linked, as glibc links its thread descriptors. */
struct glibc_list {
    struct glibc_list *next, *prev;
};

/* One entry of the dtv; entry -1 holds the number of entries, entry 0 a generation. */
struct glibc_dtv {
    void *block;
    void *to_free; /* NULL: static TLS, or none yet */
};

/* (C) after glibc_find. */
struct glibc_facts {
    /* ld.so and libc functions that are exported, but not for programs */
    void *(*allocate)(void *tcb);
    void *(*allocate_init)(void *tcb, bool init);
    void (*deallocate)(void *tcb, bool free_tcb);
    void (*call_destructors)(void);

    size_t descriptor;            /* sizeof(struct pthread) */
    size_t static_size;           /* of a block, descriptor included in variant 2 */
    size_t align;                 /* of the thread pointer */
    size_t tid_at, list_at;       /* fields of the descriptor */
    size_t dtv_at;                /* from the thread pointer */
    size_t first_dynamic;         /* module number: those below are never unloaded */
    struct glibc_range libc, own; /* modules that a recycled block keeps */
    ptrdiff_t cache_at;           /* from the thread pointer: the pointer to malloc's cache */

    const size_t *generation;   /* grows when modules with TLS come and go */
    const size_t *static_used;  /* bytes of static TLS that modules have */
    const size_t *module_max;   /* highest module number */
    struct glibc_list *blocks;  /* dlopen initialises static TLS in all blocks of this list */
    struct glibc_list *threads; /* and of this one: threads on glibc's own stacks */
    uint32_t *blocks_lock;      /* of both */
};

extern struct glibc_facts glibc;

/* Find all that, and check it as far as possible. 0, or -ENOTSUP and *why. */
int glibc_find(const char **why);

/* Symbols of libpthread that only debuggers see, while that was a library of its own (up to 2.33):
 * glibc_libpthread.c. NULL: there is none of this name. */
void glibc_libpthread_open(void);
void *glibc_libpthread_symbol(const char *name);

/* Restartable sequences: glibc_rseq.c. find: once, at the start, because it takes the linker's
 * lock. */
void glibc_rseq_find(void);
void glibc_rseq_give_up(void); /* of the calling kernel thread */
/* Of `size` bytes of a block, or of a copy, that begin at `first` from the thread pointer: if the
 * area lies there, it says that nothing is registered. */
void glibc_rseq_none(void *bytes, ptrdiff_t first, size_t size);

/* The cache of malloc: glibc_malloc.c, sets glibc.cache_at. none: it is not known (yet). find: in a
 * thread that has freed nothing; its libc TLS was `libc_before`. is_much: is there much in a cache?
 * empty: the calling thread ends: give back what it has cached. */
void glibc_malloc_none(void);
void glibc_malloc_find(const char *libc_before);
bool glibc_malloc_is_much(const void *cache);
void glibc_malloc_empty(void);

/* Has the calling thread cached much? */
ALWAYS_INLINE bool glibc_malloc_has_much(void)
{
    const void *cache = *(void **)(port_arch_tp() + (uintptr_t)glibc.cache_at);
    return cache != NULL && glibc_malloc_is_much(cache);
}

/* Memory that a descriptor has: texts on the heap; the state of getrandom (2.41 and newer).
 * glibc_buffers.c: where it points to them; 0: nowhere. before: the descriptor, before the thread
 * did anything. */
enum { BUFFER_STRERROR, BUFFER_STRSIGNAL, BUFFER_GETRANDOM, BUFFERS };
void glibc_buffers_find(size_t *at);
size_t glibc_random_find(const char *before);

/* A lock of glibc's: 0 free, 1 held, 2 held and somebody waits in the kernel. */
void glibc_lock(uint32_t *lock);
void glibc_unlock(uint32_t *lock);

/* For assertions: by somebody. */
UNUSED ALWAYS_INLINE bool glibc_is_locked(const uint32_t *lock)
{
    return __atomic_load_n(lock, __ATOMIC_RELAXED) != 0;
}

/* Ids of all kernel threads that glibc knows, `room` of them at most; returns their number. One
 * that is being created may be missing until its creator has left pthread_create. */
unsigned glibc_kernel_threads(pid_t *tids, unsigned room);

/* Above every kernel thread id (2^22), and below the bits that a futex word has for other things
 * (2^30): locks of the C library tell their owners by these numbers. Ids of blocks of ours. */
#define GLIBC_FIRST_TID 0x10000000

/* Bytes of a descriptor, before glibc_find: 0 if it is not known. */
size_t glibc_descriptor_size(void);

/* From a descriptor to the thread pointer. */
ALWAYS_INLINE size_t glibc_descriptor_offset(void)
{
    return PORT_ARCH_TLS_VARIANT == 1 ? glibc.descriptor : 0;
}

/* Take the template. 0 or -errno. */
int glibc_block_init(void);

/* State that a block leaves for the next one when its memory is freed: glibc_block.c. */
struct tls_leftover;

/* Room for a block, alignment included. */
size_t glibc_block_room(void);

/* Make a block at the top of [low, low + size), the thread's stack with room for a block. May
 * allocate. Thread pointer, or 0 without memory. */
uintptr_t glibc_block_make(char *low, size_t size, struct tls_leftover **leftover);

/* Give it up; its memory may be used for anything afterwards. Allocates nothing, frees nothing. */
void glibc_block_drop(uintptr_t tp, struct tls_leftover *leftover);

/* Of the caller's block (glibc_lives.c): a life begins; thread_local destructors; the life is over,
 * as new. */
void glibc_block_begin(void);
void glibc_block_end(void);
void glibc_block_reset(void);
bool glibc_block_reset_unused(void); /* port_tls_reset_unused */

#endif
