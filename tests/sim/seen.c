/* SPDX-License-Identifier: MIT */
/* Open addressing; 0 marks a free slot and stands for 1. */
#include <stdlib.h>
#include <string.h>

#include "seen.h"

static struct {
    uint64_t *slots;
    size_t size, used;
} seen;

void seen_clear(void)
{
    seen.used = 0;
    if (seen.slots != NULL) {
        memset(seen.slots, 0, seen.size * sizeof(uint64_t));
    }
}

size_t seen_count(void)
{
    return seen.used;
}

static void seen_grow(void)
{
    uint64_t *old = seen.slots;
    size_t old_size = seen.size;
    seen.size = old_size != 0 ? old_size * 2 : 4096;
    seen.slots = calloc(seen.size, sizeof(uint64_t));
    if (seen.slots == NULL) {
        abort();
    }
    seen.used = 0;
    for (size_t i = 0; i < old_size; i++) {
        if (old[i] != 0) {
            seen_add(old[i]);
        }
    }
    free(old);
}

void seen_add(uint64_t hash)
{
    if (seen.used * 2 >= seen.size) {
        seen_grow();
    }
    hash = hash != 0 ? hash : 1;
    for (size_t i = hash % seen.size;; i = (i + 1) % seen.size) {
        if (seen.slots[i] == hash) {
            return;
        }
        if (seen.slots[i] == 0) {
            seen.slots[i] = hash;
            seen.used++;
            return;
        }
    }
}
