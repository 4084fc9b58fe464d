/* SPDX-License-Identifier: MIT */
/*
 * glibc_block.c - TLS blocks: made, and given up. A block serves many lives (glibc_lives.c).
 *
 * When a block's memory is freed, libc's TLS, the dtv and the descriptor's pointers to memory (of
 * strerror, strsignal and getrandom) move into its *leftover*, and on to the next block that is
 * made. So there are as many leftovers and malloc caches as there ever were blocks at once, and
 * giving up a block neither allocates nor frees.
 *
 * Locks: leftovers.lock; nothing is called under it.
 */
#include "glibc_layout.h"
#include "port_posix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SLAB_BYTES (64u << 10)

struct tls_leftover {
    struct tls_leftover *next; /* (leftovers.lock) */
    pid_t tid;                 /* (C) unique among blocks */
    struct glibc_dtv *dtv;     /* NULL: none yet */
    uintptr_t descriptor;      /* that the libc TLS points to; 0: unused yet */
    char *buffer[BUFFERS];
    char libc[]; /* glibc.libc.size */
};

static struct {
    uint32_t lock;
    struct tls_leftover *first; /* (lock) */
    unsigned made;              /* (lock) */
} leftovers;

/* Words of a descriptor that are not the same in each. */
enum patch_kind {
    PATCH_SELF,       /* points into the descriptor */
    PATCH_STACK,      /* lowest address of the stack */
    PATCH_STACK_SIZE, /* its size */
    PATCH_ZERO,       /* points into the stack */
};

struct patch {
    uint16_t at;
    uint16_t kind;
};

/* (C) A real thread's descriptor and libc TLS, as they were before it did anything. */
static struct {
    char *descriptor;
    uintptr_t descriptor_at;
    char *stack;
    size_t stack_size;
    struct patch patch[64];
    unsigned npatches;
    size_t buffer_at[BUFFERS]; /* in the descriptor; 0: not there */
    char libc[LIBC_TLS_MAX];
} template;

/* ---- the template ---- */

static struct glibc_list *link_of(uintptr_t tp)
{
    return (struct glibc_list *)(tp - glibc_descriptor_offset() + glibc.list_at);
}

/* Runs as a kernel thread of its own, of which a sanitizer knows nothing: there it must not
 * allocate. */
static void *template_take(void *unused)
{
    uintptr_t tp = port_arch_tp();
    (void)unused;
    foreign_is_helper();
    RT_ASSERT(port_cpu_self() == NULL && tp == port_arch_tp());
    memcpy(template.libc, (char *)tp + glibc.libc.at, glibc.libc.size);
    template.descriptor_at = tp - glibc_descriptor_offset();
    memcpy(template.descriptor, (void *)template.descriptor_at, glibc.descriptor);
    if (port_sanitizer() == SANITIZER_NONE) {
        glibc_malloc_find(template.libc);
        template.buffer_at[BUFFER_GETRANDOM] = glibc_random_find(template.descriptor);
        glibc_buffers_find(template.buffer_at);
    }
    return (void *)(intptr_t)(*(pid_t *)(template.descriptor_at + glibc.tid_at));
}

static bool inside(uintptr_t p, uintptr_t low, size_t size)
{
    return p - low < size;
}

static bool template_patch_kind(uintptr_t word, uint16_t *kind)
{
    uintptr_t stack = (uintptr_t) template.stack;
    if (inside(word, template.descriptor_at, glibc.descriptor)) {
        *kind = PATCH_SELF;
    } else if (word == stack) {
        *kind = PATCH_STACK;
    } else if (word == template.stack_size) {
        *kind = PATCH_STACK_SIZE;
    } else if (inside(word, stack, template.stack_size)) {
        *kind = PATCH_ZERO;
    } else {
        return false;
    }
    return true;
}

static int template_analyse(void)
{
    bool self = false, size = false;
    for (size_t at = 0; at + sizeof(uintptr_t) <= glibc.descriptor; at += sizeof(uintptr_t)) {
        bool list = at == glibc.list_at || at == glibc.list_at + sizeof(void *);
        uint16_t kind;
        if (list || (!VARIANT_1 && at == glibc.dtv_at) ||
            !template_patch_kind(*(uintptr_t *)(template.descriptor + at), &kind)) {
            continue;
        }
        if (template.npatches == ARRAY_SIZE(template.patch)) {
            return -ENOTSUP;
        }
        template.patch[template.npatches++] = (struct patch){(uint16_t)at, kind};
        self |= kind == PATCH_SELF;
        size |= kind == PATCH_STACK_SIZE;
    }
    return self && size ? 0 : -ENOTSUP;
}

/* A stack size that no other word of a descriptor has. */
#define TEMPLATE_STACK ((148u << 10) + ((glibc.static_size + 4095) & ~(size_t)4095))

static int template_init(void)
{
    void *tid = NULL;
    template.stack_size = TEMPLATE_STACK;
    glibc_malloc_none();
    template.descriptor = port_table_alloc(glibc.descriptor);
    template.stack = port_table_alloc(template.stack_size);
    if (template.descriptor == NULL || template.stack == NULL) {
        return -ENOMEM;
    }
    int error = kernel_thread_run(template_take, &tid, template.stack, template.stack_size);
    if (error == 0) {
        error = tid != NULL ? template_analyse() : -ENOTSUP;
        glibc_rseq_none(template.descriptor, -(ptrdiff_t)glibc_descriptor_offset(),
                        glibc.descriptor);
    }
    if (port_sanitizer() != SANITIZER_NONE) {
        glibc_buffers_find(template.buffer_at);
    }
    port_table_free(template.stack, template.stack_size);
    return error;
}

int glibc_block_init(void)
{
    if (glibc.libc.size > LIBC_TLS_MAX || glibc.libc.size % sizeof(uintptr_t) != 0 ||
        glibc.descriptor > UINT16_MAX) {
        return -ENOTSUP;
    }
    int error = template_init();
    return error != 0 ? error : glibc_lives_init();
}

/* ---- leftovers ---- */

static void leftover_put(struct tls_leftover *leftover)
{
    glibc_lock(&leftovers.lock);
    RT_ASSERT(leftovers.first != leftover && leftover->tid >= GLIBC_FIRST_TID);
    leftover->next = leftovers.first;
    leftovers.first = leftover;
    glibc_unlock(&leftovers.lock);
}

static bool leftovers_grow_locked(void)
{
    RT_ASSERT(glibc_is_locked(&leftovers.lock) && leftovers.first == NULL);
    char *slab = port_table_alloc(SLAB_BYTES);
    size_t size = sizeof(struct tls_leftover) + glibc.libc.size;
    for (size_t at = 0; slab != NULL && at + size <= SLAB_BYTES; at += size) {
        struct tls_leftover *leftover = (struct tls_leftover *)(slab + at);
        leftover->tid = (pid_t)(GLIBC_FIRST_TID + leftovers.made++);
        leftover->next = leftovers.first;
        leftovers.first = leftover;
    }
    return slab != NULL;
}

static struct tls_leftover *leftover_get(void)
{
    glibc_lock(&leftovers.lock);
    struct tls_leftover *leftover = NULL;
    if (leftovers.first != NULL || leftovers_grow_locked()) {
        leftover = leftovers.first;
        leftovers.first = leftover->next;
    }
    glibc_unlock(&leftovers.lock);
    return leftover;
}

/* ---- blocks ---- */

size_t glibc_block_room(void)
{
    RT_ASSERT(template.npatches != 0); /* glibc_block_init has run */
    return glibc.static_size + glibc_descriptor_offset() + glibc.align;
}

/* Its dtv, and the static TLS of all modules. Not to be called inside the runtime: the C library
 * takes locks of the linker and the allocator here, and would wait for them with the caller's CPU
 * (docs/internals/design.md, "Calls that block"). */
static bool block_fill_tls(uintptr_t tp, const struct tls_leftover *leftover)
{
    RT_ASSERT(port_irq_is_on());
    *dtv_of(tp) = leftover->dtv;
    return leftover->dtv != NULL ? glibc.allocate_init((void *)tp, true) != NULL
                                 : glibc.allocate((void *)tp) != NULL;
}

static void block_fill_descriptor(uintptr_t tp, char *low, size_t size,
                                  const struct tls_leftover *leftover)
{
    char *descriptor = (char *)(tp - glibc_descriptor_offset());
    struct glibc_dtv *dtv = *dtv_of(tp);
    RT_ASSERT(template.npatches != 0 && leftover->tid >= GLIBC_FIRST_TID);
    memcpy(descriptor, template.descriptor, glibc.descriptor);
    for (unsigned i = 0; i < template.npatches; i++) {
        uintptr_t *word = (uintptr_t *)(descriptor + template.patch[i].at);
        switch (template.patch[i].kind) {
        case PATCH_SELF:
            *word += (uintptr_t)descriptor - template.descriptor_at;
            break;
        case PATCH_STACK:
            *word = (uintptr_t)low;
            break;
        case PATCH_STACK_SIZE:
            *word = size;
            break;
        default:
            *word = 0;
        }
    }
    *dtv_of(tp) = dtv;
    *(pid_t *)(descriptor + glibc.tid_at) = leftover->tid;
    for (unsigned i = 0; i < BUFFERS; i++) {
        if (template.buffer_at[i] != 0) {
            *(char **)(descriptor + template.buffer_at[i]) = leftover->buffer[i];
        }
    }
}

/* Pointers into the descriptor that it was part of point into this one. */
static void block_fill_libc(uintptr_t tp, const struct tls_leftover *leftover)
{
    bool used = leftover->descriptor != 0;
    const char *from = used ? leftover->libc : template.libc;
    uintptr_t before = used ? leftover->descriptor : template.descriptor_at;
    uintptr_t now = tp - glibc_descriptor_offset();
    for (size_t at = 0; at < glibc.libc.size; at += sizeof(uintptr_t)) {
        uintptr_t word = *(const uintptr_t *)(from + at);
        if (inside(word, before, glibc.descriptor)) {
            word += now - before;
        }
        *(uintptr_t *)((char *)tp + glibc.libc.at + at) = word;
    }
}

static void block_link(uintptr_t tp)
{
    struct glibc_list *link = link_of(tp);
    glibc_lock(glibc.blocks_lock);
    RT_ASSERT(glibc.blocks->next->prev == glibc.blocks);
    link->next = glibc.blocks->next;
    link->prev = glibc.blocks;
    link->next->prev = link;
    glibc.blocks->next = link;
    glibc_unlock(glibc.blocks_lock);
}

static void block_unlink(uintptr_t tp)
{
    struct glibc_list *link = link_of(tp);
    glibc_lock(glibc.blocks_lock);
    RT_ASSERT(link->next->prev == link && link->prev->next == link);
    link->next->prev = link->prev;
    link->prev->next = link->next;
    glibc_unlock(glibc.blocks_lock);
}

uintptr_t glibc_block_make(char *low, size_t size, struct tls_leftover **leftover)
{
    uintptr_t end = (uintptr_t)low + size;
    uintptr_t tp = (end - (VARIANT_1 ? glibc.static_size : glibc.descriptor)) & ~(glibc.align - 1);
    size_t generation = generation_now();
    *leftover = leftover_get();
    if (*leftover == NULL) {
        return 0;
    }
    if (!block_fill_tls(tp, *leftover)) {
        leftover_put(*leftover);
        return 0;
    }
    RT_ASSERT(*dtv_of(tp) != NULL && (tp & (glibc.align - 1)) == 0);
    glibc_rseq_none(static_low(tp), static_first(), static_bytes());
    block_fill_descriptor(tp, low, size, *leftover);
    block_fill_libc(tp, *leftover);
    glibc_lives_made(tp, generation);
    block_link(tp);
    return tp;
}

void glibc_block_drop(uintptr_t tp, struct tls_leftover *leftover)
{
    RT_ASSERT(tp != port_arch_tp() && leftover->tid >= GLIBC_FIRST_TID);
    RT_ASSERT(*(pid_t *)(tp - glibc_descriptor_offset() + glibc.tid_at) == leftover->tid);
    block_unlink(tp);
    leftover->dtv = *dtv_of(tp);
    leftover->descriptor = tp - glibc_descriptor_offset();
    memcpy(leftover->libc, (char *)tp + glibc.libc.at, glibc.libc.size);
    for (unsigned i = 0; i < BUFFERS; i++) {
        leftover->buffer[i] = *(char **)(leftover->descriptor + template.buffer_at[i]);
    }
    leftover_put(leftover);
}

void glibc_block_forked(void)
{
    leftovers.lock = 0;
    glibc_lives_forked();
}
