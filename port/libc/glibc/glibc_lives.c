/* SPDX-License-Identifier: MIT */
/*
 * glibc_lives.c - the lives that a TLS block serves, one after the other.
 *
 * The program's part of a block is new in each life: the static TLS of its modules is copied from
 * an image, dynamic TLS is freed. libc's own TLS stays, because it contains malloc's cache and
 * arena, of which only the cache can be emptied (glibc_malloc.c). Only errno, h_errno, the locale,
 * the pending message of dlerror and the resolver's state are reset there.
 *
 * Most lives leave nothing. So a life's end looks at the words of libc's TLS that show whether
 * there is a destructor, a message or a full cache, and calls the functions that end these only
 * then. Where the words lie is found once (watch_find). If they are not found, the functions are
 * always called.
 *
 * Modules come and go (dlopen, dlclose). glibc counts generations of the set of modules with TLS.
 * dlopen first raises the generation, then initialises the static TLS of the new module in every
 * block on its list; our blocks are on it from the beginning. Each block remembers the generation
 * of the image from which it was reset. A life begins only on a block of the present generation:
 *   - the block was reset before dlopen's initialisation: that has written the new module's part;
 *   - it was reset meanwhile or afterwards from an older image: the generations differ, and it is
 *     reset again.
 * The image comes from ld.so itself (a block made for it), under ld.so's lock.
 *
 * If no module had static TLS but libc and this library when the image was taken, and the block is
 * of the image's generation (image.kept, one word), nothing is copied at a life's end. The block
 * keeps its generation then, so if the set of modules has changed meanwhile, the next life begins
 * with a copy.
 *
 * Locks: image.lock; nothing is called under it but ld.so's functions.
 */
#include "glibc_layout.h"

#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <netdb.h>
#include <resolv.h>
#include <stdlib.h>
#include <string.h>

#define NO_GENERATION SIZE_MAX

/* Static TLS of all modules as a new thread has it. `seq` is odd while it changes; readers look at
 * it before and after. ORDER(tls-image) */
static struct {
    uint32_t lock;
    uint32_t seq;
    size_t generation; /* (lock) to write */
    size_t used;       /* (lock) to write */
    size_t kept;       /* (lock) to write: the generation if no module has static TLS that is new in
                        * each life, else NO_GENERATION */
    char *bytes;       /* (C) static TLS of a block, lowest address first */
    char *tcb;         /* (C) a block that nobody uses, for ld.so to fill in */
} image;

/* The ranges that a recycled block keeps, in the order of addresses. (C) */
static struct glibc_range kept[2];

/* Generation of the caller's block. */
static __thread size_t block_generation __attribute__((tls_model("initial-exec")));

/* Where words lie that show what a life has left, from the thread pointer. 0: not known; the word
 * at the thread pointer is never NULL. (C) */
static struct {
    ptrdiff_t destructors; /* of thread_local objects: the first of a list */
    ptrdiff_t message;     /* of dlerror */
} watch;

/* Where errno and h_errno lie, from the thread pointer. (C) */
static ptrdiff_t errno_at, h_errno_at;

/* ---- what a life has left ---- */

ALWAYS_INLINE uintptr_t watched(uintptr_t tp, ptrdiff_t at)
{
    return *(const uintptr_t *)(tp + (uintptr_t)at);
}

/* libstdc++ calls it, too, for each object of a thread (Itanium C++ ABI, 3.3.6.5). */
int __cxa_thread_atexit_impl(void (*destroy)(void *object), void *object, void *in_module);

/* Of its list: what all known versions have. */
struct destructor {
    void (*destroy)(void *object); /* mangled */
    void *object;
    void *module;
    struct destructor *next;
};

static void destroy_nothing(void *unused)
{
    (void)unused;
}

/* Registers a destructor, and takes it out again: the word that led to it is the list. It may not
 * be run, because the caller may have others. 0: not found. */
static ptrdiff_t destructors_find(void)
{
    struct destructor **word = (struct destructor **)((char *)port_arch_tp() + glibc.libc.at);
    size_t words = glibc.libc.size / sizeof(*word);
    struct destructor *before[LIBC_TLS_MAX / sizeof(*word)];
    int saved = errno;
    memcpy(before, word, glibc.libc.size);
    if (__cxa_thread_atexit_impl(destroy_nothing, &watch, &watch) != 0) {
        return 0;
    }
    errno = saved; /* now only pointers have changed: the list, perhaps malloc's and a module */
    for (size_t i = 0; i < words; i++) {
        struct destructor *first = word[i];
        if (first != before[i] && first->object == &watch && first->next == before[i]) {
            word[i] = first->next;
            free(first);
            return (char *)&word[i] - (char *)port_arch_tp();
        }
    }
    return 0;
}

static void message_drop(void)
{
    while (unlikely(dlerror() != NULL)) {
    }
}

/* Up to 2.33 it is not in TLS. */
static ptrdiff_t message_find(void)
{
    const char *word = dlsym(RTLD_DEFAULT, "__libc_dlerror_result");
    if (word == NULL) {
        message_drop(); /* about this symbol */
        return 0;
    }
    return word - (char *)port_arch_tp();
}

/* By the thread that starts the runtime. It may hold the linker's lock, which both functions take:
 * so no other thread may do this for it. */
static void watch_find(void)
{
    ptrdiff_t message = message_find();
    ptrdiff_t destructors = message != 0 ? destructors_find() : 0;
    if (destructors != 0) {
        watch.destructors = destructors;
        watch.message = message;
    }
}

/* ---- the image ---- */

/* From the thread pointer: where static TLS of modules begins and ends if `used` bytes are used. */
static ptrdiff_t used_from(size_t used)
{
    return VARIANT_1 ? 2 * (ptrdiff_t)sizeof(void *) : -(ptrdiff_t)used;
}

static ptrdiff_t used_to(size_t used)
{
    return VARIANT_1 ? (ptrdiff_t)used : 0;
}

/* Has no module static TLS but libc and this library? */
static bool is_all_kept(size_t used)
{
    return used_from(used) >= kept[0].at && kept[0].at + (ptrdiff_t)kept[0].size >= kept[1].at &&
           kept[1].at + (ptrdiff_t)kept[1].size >= used_to(used);
}

static void image_take(void)
{
    size_t before = generation_now();
    RT_ASSERT(glibc_is_locked(&image.lock) && (image.seq & 1u) == 0);
    glibc.allocate_init(image.tcb, true);
    __atomic_store_n(&image.seq, image.seq + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE); /* ORDER(tls-image) */
    memcpy(image.bytes, static_low((uintptr_t)image.tcb), static_bytes());
    glibc_rseq_none(image.bytes, static_first(), static_bytes());
    __atomic_store_n(&image.used, *glibc.static_used, __ATOMIC_RELAXED);
    __atomic_store_n(&image.kept, is_all_kept(*glibc.static_used) ? before : NO_GENERATION,
                     __ATOMIC_RELAXED);
    __atomic_store_n(&image.generation, before, __ATOMIC_RELAXED);
    __atomic_store_n(&image.seq, image.seq + 1, __ATOMIC_RELEASE); /* ORDER(tls-image) */
}

static COLD void image_refresh(void)
{
    glibc_lock(&image.lock);
    while (image.generation != generation_now()) {
        image_take();
    }
    glibc_unlock(&image.lock);
}

ALWAYS_INLINE void image_copy_range(uintptr_t tp, ptrdiff_t from, ptrdiff_t to)
{
    if (from < to) {
        char *at = (char *)tp + from;
        memcpy(at, image.bytes + (at - static_low(tp)), (size_t)(to - from));
    }
}

/* To the caller's block: what a recycled one does not keep. */
static NOINLINE void image_copy_modules(void)
{
    uintptr_t tp = port_arch_tp();
    size_t used = __atomic_load_n(&image.used, __ATOMIC_RELAXED);
    image_copy_range(tp, used_from(used), kept[0].at);
    image_copy_range(tp, kept[0].at + (ptrdiff_t)kept[0].size, kept[1].at);
    image_copy_range(tp, kept[1].at + (ptrdiff_t)kept[1].size, used_to(used));
}

static void image_copy(void)
{
    for (;;) {
        uint32_t seq = __atomic_load_n(&image.seq, __ATOMIC_ACQUIRE); /* ORDER(tls-image) */
        block_generation = __atomic_load_n(&image.generation, __ATOMIC_RELAXED);
        if (block_generation != __atomic_load_n(&image.kept, __ATOMIC_RELAXED)) {
            image_copy_modules();
        }
        __atomic_thread_fence(__ATOMIC_ACQUIRE); /* ORDER(tls-image) */
        if (likely(!(seq & 1u) && __atomic_load_n(&image.seq, __ATOMIC_RELAXED) == seq)) {
            return;
        }
        port_cpu_relax();
    }
}

int glibc_lives_init(void)
{
    bool libc_first = glibc.libc.at < glibc.own.at;
    kept[0] = libc_first ? glibc.libc : glibc.own;
    kept[1] = libc_first ? glibc.own : glibc.libc;
    image.tcb = glibc.allocate(NULL);
    image.bytes = port_table_alloc(static_bytes());
    if (image.tcb == NULL || image.bytes == NULL) {
        return -ENOMEM;
    }
    watch_find();
    errno_at = (char *)&errno - (char *)port_arch_tp();
    h_errno_at = (char *)&h_errno - (char *)port_arch_tp();
    image.generation = generation_now() - 1;
    image.kept = NO_GENERATION;
    image_refresh();
    return 0;
}

/* ---- lives ---- */

/* dlopen may be initialising a new module's part of this block right now, from the generation that
 * it has published before: either we copy that generation's image last, or we see it and copy
 * again. ORDER(tls-generation) */
static COLD void block_renew(void)
{
    do {
        image_refresh();
        image_copy();
        __atomic_thread_fence(__ATOMIC_SEQ_CST); /* ORDER(tls-generation) */
    } while (block_generation != generation_now());
}

void glibc_lives_made(uintptr_t tp, size_t generation)
{
    uintptr_t slot;
    PORT_ARCH_TLS_OFFSET(slot, block_generation);
    *(size_t *)(tp + slot) = generation;
}

void glibc_block_begin(void)
{
    RT_ASSERT(port_irq_is_on());
    if (unlikely(block_generation != generation_now())) {
        block_renew();
    }
    uselocale(LC_GLOBAL_LOCALE); /* and its character tables, as they are now */
}

void glibc_block_end(void)
{
    RT_ASSERT(port_irq_is_on()); /* destructors are the program's code */
    glibc.call_destructors();
}

static COLD void free_dynamic(void)
{
    struct glibc_dtv *dtv = *dtv_of(port_arch_tp());
    RT_ASSERT(dtv != NULL);
    size_t entries = (size_t)dtv[-1].block;
    for (size_t i = glibc.first_dynamic; i <= entries; i++) {
        if (dtv[i].to_free != NULL) {
            free(dtv[i].to_free);
            dtv[i].to_free = NULL;
            dtv[i].block = (void *)-1; /* glibc's mark of a block that is not there yet */
        }
    }
}

static COLD void resolver_close(void)
{
    res_nclose(&_res);
    memset(&_res, 0, sizeof(_res));
}

ALWAYS_INLINE void reset_words(uintptr_t tp)
{
    if (block_generation != __atomic_load_n(&image.kept, __ATOMIC_RELAXED)) {
        image_copy();
    }
    *(int *)(tp + (uintptr_t)errno_at) = 0;
    *(int *)(tp + (uintptr_t)h_errno_at) = 0;
}

ALWAYS_INLINE bool has_dynamic(void)
{
    return unlikely(*glibc.module_max >= glibc.first_dynamic);
}

void glibc_block_reset(void)
{
    RT_ASSERT(port_irq_is_on());
    glibc.call_destructors(); /* of objects that destructors of keys have made */
    message_drop();
    if (_res.options & RES_INIT) {
        resolver_close();
    }
    if (has_dynamic()) {
        free_dynamic();
    }
    if (glibc_malloc_has_much()) {
        glibc_malloc_empty();
    }
    reset_words(port_arch_tp());
}

bool glibc_block_reset_unused(void)
{
    uintptr_t tp = port_arch_tp();
    if (unlikely((watched(tp, watch.destructors) | watched(tp, watch.message)) != 0 ||
                 (_res.options & RES_INIT) != 0 || has_dynamic() || glibc_malloc_has_much())) {
        return false;
    }
    reset_words(tp);
    return true;
}

/* A writer of the image was perhaps at work: the next life begins with a new one. */
void glibc_lives_forked(void)
{
    image.lock = 0;
    image.seq += image.seq & 1u;
    image.generation = generation_now() - 1;
    image.kept = NO_GENERATION;
}
