/* SPDX-License-Identifier: MIT */
/*
 * cache.c - see cache.h.
 */
#include "cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "port_cache.h"

struct cache cache;

/* Digits, and K, M or G behind them. 0: not valid. */
static uintptr_t size_of(const char *value)
{
    char *end;
    unsigned long long n = strtoull(value, &end, 10);
    unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    bool whole = *value >= '0' && *value <= '9' && end[shift != 0] == '\0';
    return whole && n <= CACHE_MOST >> shift ? (uintptr_t)n << shift : 0;
}

int cache_set_size(const char *value, const char **why)
{
    uint64_t known = strcmp(value, "auto") == 0 ? port_cache_size() : 0;
    cache.size = known != 0 && known < CACHE_MOST ? (uintptr_t)known : CACHE_MOST;
    if (strcmp(value, "auto") != 0 && (cache.size = size_of(value)) == 0) {
        *why = "cache takes auto, or bytes: digits, and K, M or G behind them, at least 1";
        return -EINVAL;
    }
    return 0;
}

void cache_init(unsigned ncpu)
{
    at_init(&cache.lock.word, 0u);
    at_init(&cache.used, (uintptr_t)0);
    at_init(&cache.need, (uintptr_t)0);
    if (cache.size == 0) {
        cache.size = CACHE_MOST; /* a build in which nobody sets options */
    }
    for (unsigned i = 0; i < ncpu; i++) {
        cache.cpus[i] = (struct cache_cpu){0};
        at_init(&cache.cpus[i].charge, (uintptr_t)0);
    }
}

void cache_thread_exit(struct thread *t)
{
    (void)t;
    cache_of(port_cpu_self())->ends = true;
}

void cache_stat(struct cpu *self, void (*emit)(void *to, const char *name, uint64_t value),
                void *to)
{
    const struct cache_cpu *c = cache_of(self);
    emit(to, "cache-taken", STAT_GET(&c->taken));
    emit(to, "cache-refused", STAT_GET(&c->refused));
}

void cache_check_locked(void)
{
    uintptr_t sum = 0;
    for (unsigned i = 0; i < rt.ncpu; i++) {
        sum += at_load_rlx(&cache.cpus[i].charge);
    }
    RT_VERIFY(sum == at_load_rlx(&cache.used));
}
