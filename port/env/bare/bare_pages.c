/* SPDX-License-Identifier: MIT */
/*
 * bare_pages.c (bare) - pages without memory below stacks, where translation tables are in use
 * (ARCH_PAGE). Called by the first core before it has a stack of its own, and by bare_pool.c.
 *
 * The tables of the image map memory by blocks. What is behind the image is mapped by pages here,
 * before it is used: the block's entry is cleared, and forgotten by all cores, before it shows the
 * table of pages. Later an entry changes between its page and nothing. So no core ever has two
 * translations of an address.
 *
 * Invariants:
 *   1. When bare_pages_begin replaces blocks, only the first core is running, on a stack in the
 *      image.
 *   2. The callers of bare_page_hide and bare_page_show own the page.
 */
#include "bare.h"

#ifdef ARCH_PAGE

extern char bare_heap_begin[], bare_end[], bare_first_guard[];

struct bare_pages bare_pages;

static void written(const arch_translation_t *first, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        arch_translation_clean(&first[i]);
    }
    arch_translations_ready();
}

/* The tables are the upper end of the memory below `end`; returns what is left. */
uintptr_t bare_pages_begin(uintptr_t end)
{
    uintptr_t from = ((uintptr_t)bare_heap_begin + ARCH_BLOCK - 1) & ~(uintptr_t)(ARCH_BLOCK - 1);
    uintptr_t to = (uintptr_t)bare_end & ~(uintptr_t)(ARCH_BLOCK - 1);
    size_t size = (to - from) / ARCH_PAGE * sizeof(arch_translation_t);
    uintptr_t tables = (end - size) & ~(uintptr_t)(ARCH_PAGE - 1);
    if (from >= to || tables < from) {
        return end; /* there is no block behind the image: no guards */
    }
    bare_pages.from = from;
    bare_pages.count = (to - from) / ARCH_PAGE;
    bare_pages.entry = (arch_translation_t *)tables;
    for (uintptr_t at = from; at < to; at += ARCH_PAGE) {
        bare_pages.entry[(at - from) / ARCH_PAGE] = ARCH_PAGE_OF(at);
    }
    written(bare_pages.entry, bare_pages.count);
    for (uintptr_t at = from; at < to; at += ARCH_BLOCK) {
        *arch_block(at) = 0;
    }
    written(arch_block(from), (to - from) / ARCH_BLOCK);
    arch_translations_forget();
    for (uintptr_t at = from; at < to; at += ARCH_BLOCK) {
        *arch_block(at) = ARCH_TABLE_OF((uintptr_t)&bare_pages.entry[(at - from) / ARCH_PAGE]);
    }
    written(arch_block(from), (to - from) / ARCH_BLOCK);
    bare_page_hide(bare_first_guard, false);
    return tables;
}

void bare_page_show(void *page)
{
    uintptr_t number = ((uintptr_t)page - bare_pages.from) / ARCH_PAGE;
    if (likely(number < bare_pages.count)) {
        RT_ASSERT(bare_pages.entry[number] == 0);
        bare_pages.entry[number] = ARCH_PAGE_OF((uintptr_t)page);
        arch_translation_clean(&bare_pages.entry[number]);
        arch_translations_ready();
    }
}

#endif
