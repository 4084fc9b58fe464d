/* SPDX-License-Identifier: MIT */
/*
 * sim_shared.c - what other processes see: waiting for shared words, and the lists of robust
 * mutexes that a kernel goes through. Other processes are foreign contexts here.
 */
#include <errno.h>

#include "port_processes.h"
#include "sim_internal.h"

/* The kernel's futexes: looking at the word and going to sleep are one step. */
int port_shared_wait(_Atomic(uint32_t) *word, uint32_t value, uint64_t deadline, bool realtime)
{
    struct context *c = &sim.contexts[sim_current];
    (void)realtime;
    at_fence_seq();
    if (*(volatile uint32_t *)word != value) {
        return 0;
    }
    c->shared = word;
    sim_context_wait(c, deadline);
    bool unwoken = c->shared != NULL;
    c->shared = NULL;
    return unwoken && sim.now >= deadline ? -ETIMEDOUT : 0;
}

void port_shared_wake(_Atomic(uint32_t) *word, unsigned n)
{
    at_fence_seq();
    unsigned from = sim_choose(sim_ncontexts);
    for (unsigned i = 0; i < sim_ncontexts && n > 0; i++) {
        struct context *c = &sim.contexts[(from + i) % sim_ncontexts];
        if (c->shared == word) {
            c->shared = NULL;
            n--;
            sim_context_permit((unsigned)(c - sim.contexts));
        }
    }
}

struct port_robust_list *port_robust_list(uint32_t *tid)
{
    struct context *c = &sim.contexts[sim_current];
    if (c->robust.offset == 0) {
        c->robust.offset = PORT_ROBUST_OFFSET;
        at_init(&c->robust.first, (void *)&c->robust);
        at_init(&c->robust.pending, NULL);
    }
    *tid = sim_current + 1;
    return &c->robust;
}

bool sim_robust_finds(_Atomic(uint32_t) *word, _Atomic(void *) *entry)
{
    sim_quiet = true;
    uint32_t tid = at_load_rlx(word) & 0x3fffffffu;
    struct port_robust_list *list = tid != 0 ? &sim.contexts[tid - 1].robust : NULL;
    void *at = list != NULL ? at_load_rlx(&list->first) : NULL;
    while (at != NULL && at != (void *)list && at != (void *)entry) {
        at = at_load_rlx((_Atomic(void *) *)at);
    }
    bool found =
        list == NULL || at == (void *)entry || at_load_rlx(&list->pending) == (void *)entry;
    sim_quiet = false;
    return found;
}
