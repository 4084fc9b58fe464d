/* SPDX-License-Identifier: MIT */
/*
 * glibc_malloc.c - the cache that glibc's malloc has for each thread, given back when a thread ends
 * with much in it. glibc does so at the end of its own threads, in functions that it does not
 * export; a block of ours would keep up to seven pieces of each of 64 sizes, 230 KB, for its next
 * life, and there may be as many blocks as there ever were threads at once.
 *
 * The cache (versions 2.30 to 2.41) has a number and a list of free pieces for each size; a pointer
 * in libc's TLS leads to it. Where that pointer lies, and whether the cache is as expected, is
 * found out by freeing pieces of one size in a thread that has freed none: glibc_malloc_find. If
 * anything differs (another version, an allocator of the program's, no cache at all, or tunables
 * that let it hold more than PIECES of a size), nothing is given back.
 *
 * Invariants:
 *   1. Only the thread itself touches its cache, at its end, outside the runtime: no handler runs
 *      meanwhile, because this is the library's code or the C library's.
 *   2. A list is taken out of the cache before its pieces are freed, and its number is FULL until
 *      they are: free() then puts none back, but into the arena from which each came.
 *
 * A cache with less than KEPT_BYTES stays: a thread that begins on the block finds it warm.
 */
#include "glibc.h"

#include <stddef.h>
#include <stdlib.h>

enum { BINS = 64, PIECES = 32, FULL = -1, KEPT_BYTES = 8192 };

struct piece {
    struct piece *next; /* since 2.32 mixed with its own address */
    uintptr_t key;      /* not 0: it is in a cache */
};

struct cache {
    int16_t count[BINS];
    struct piece *first[BINS];
};

static bool mixed; /* (C) after glibc_malloc_find: links are */

/* Where a thread of which no cache is known has its pointer to it. */
static __thread struct cache *none __attribute__((tls_model("initial-exec")));

#define NEAR ((uintptr_t)64 << 20)
#define BIN_SIZE(bin) (16 * (bin) + 24) /* of its largest request */

static struct piece *next_of(const struct piece *p)
{
    uintptr_t word = (uintptr_t)p->next;
    return (struct piece *)(mixed ? word ^ ((uintptr_t)&p->next >> 12) : word);
}

/* Are pieces[number - 1] to pieces[0] the list from `p` on? */
static bool list_is(const struct piece *p, struct piece *const *pieces, unsigned number)
{
    while (number > 0 && p == pieces[number - 1]) {
        p = next_of(p);
        number--;
    }
    return number == 0 && p == NULL;
}

/* May the word of libc's TLS be a pointer to the heap? It might be two numbers, say errno's, which
 * are no address near. */
static bool is_near(uintptr_t word, const struct piece *piece)
{
    return word % 16 == 0 && word - (uintptr_t)piece + NEAR < 2 * NEAR;
}

/* Some of these pieces have been freed into it, and nothing else of that size. */
static bool is_cache(const struct cache *c, unsigned bin, struct piece *const *pieces)
{
    unsigned count = c->count[bin];
    if (count < 2 || count >= PIECES || c->first[bin] != pieces[count - 1]) {
        return false;
    }
    mixed = true;
    if (!list_is(c->first[bin], pieces, count)) {
        mixed = false;
    }
    return mixed || list_is(c->first[bin], pieces, count);
}

void glibc_malloc_none(void)
{
    glibc.cache_at = (ptrdiff_t)((uintptr_t)&none - port_arch_tp());
}

void glibc_malloc_find(const char *libc_before)
{
    const unsigned bin = 1;
    struct piece *pieces[PIECES];
    const char *libc = (const char *)port_arch_tp() + glibc.libc.at;
    for (unsigned i = 0; i < PIECES; i++) {
        pieces[i] = malloc(BIN_SIZE(bin));
    }
    for (unsigned i = 0; i < PIECES; i++) {
        free(pieces[i]);
    }
    for (size_t at = 0; at < glibc.libc.size; at += sizeof(uintptr_t)) {
        uintptr_t word = *(const uintptr_t *)(const void *)(libc + at);
        if (*(const uintptr_t *)(const void *)(libc_before + at) == 0 && is_near(word, pieces[0]) &&
            is_cache((struct cache *)word, bin, pieces)) {
            glibc.cache_at = glibc.libc.at + (ptrdiff_t)at;
            return;
        }
    }
}

/* As a thread's end must be short, by a loop that compilers make vectors of: a sum of products of
 * 16-bit numbers. */
static int bytes_in(const struct cache *c)
{
#define EIGHT(n)                                                                                   \
    BIN_SIZE(n), BIN_SIZE(n + 1), BIN_SIZE(n + 2), BIN_SIZE(n + 3), BIN_SIZE(n + 4),               \
        BIN_SIZE(n + 5), BIN_SIZE(n + 6), BIN_SIZE(n + 7)
    static const int16_t size[BINS] = {EIGHT(0),  EIGHT(8),  EIGHT(16), EIGHT(24),
                                       EIGHT(32), EIGHT(40), EIGHT(48), EIGHT(56)};
    int sum = 0;
    for (unsigned bin = 0; bin < BINS; bin++) {
        sum += c->count[bin] * size[bin];
    }
    return sum;
}

bool glibc_malloc_is_much(const void *cache)
{
    return unlikely(bytes_in(cache) > KEPT_BYTES);
}

/* free, and nobody's in its place: these pieces are free already for who counts them. */
void __libc_free(void *memory);

void glibc_malloc_empty(void)
{
    struct cache *c = *(struct cache **)(port_arch_tp() + (uintptr_t)glibc.cache_at);
    RT_ASSERT(c != NULL && port_irq_is_on());
    for (unsigned bin = 0; bin < BINS; bin++) {
        struct piece *p = c->first[bin], *next;
        if (p == NULL) {
            continue;
        }
        c->first[bin] = NULL;
        c->count[bin] = FULL;
        for (; p != NULL; p = next) {
            next = next_of(p);
            p->key = 0;
            __libc_free(p);
        }
        c->count[bin] = 0;
    }
}
