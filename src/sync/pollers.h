/* SPDX-License-Identifier: MIT */
/* pollers.h - pollers, and the threads that call their functions: pollers.c. */
#ifndef PIRN_SYNC_POLLERS_H
#define PIRN_SYNC_POLLERS_H

#include "thread.h"

struct pirn_label;
struct rt_sem;

enum rt_poll { POLL_NONE, POLL_PENDING, POLL_FOUND, POLL_DONE };

struct rt_poller {
    enum rt_poll (*look)(void *arg); /* (C) */
    void *arg;                       /* (C) */
    struct rt_sem *found;            /* (O) POLL_DONE: to be posted */
    struct thread *thread;           /* (C) once it is added */
    uint64_t since;                  /* (O) its thread: when something was told or found last */
    uint64_t pause;                  /* (O) ns until the look after the next one, if in vain */
    uint32_t alone;                  /* (O) how surely one thread at a time waits: ALONE */
    uint32_t shared;                 /* (O) others want its processor: offers until this is over */
    bool told;                       /* (L) since the last look began */
    bool ending;                     /* (L) its thread is to end */
    bool eager;                      /* (L) it waits, and a CPU without work wakes it */
};

/* A zeroed poller with `look` and `arg` is valid. rt_poller_run is its thread's function; the
 * thread is stored in `thread` before the poller is removed. */
void *rt_poller_run(void *poller);
void rt_poller_tell(struct rt_poller *p);
void rt_poller_wait(struct rt_poller *p, struct rt_sem *found, const struct pirn_label *label);
void rt_poller_remove(struct rt_poller *p);

/* For the idle loop: core/objects.h. */
bool rt_pollers_wake(struct cpu *cpu);

/* Forget all pollers: in the child of a fork, between runs of the simulator. */
void rt_pollers_reset(void);

#endif
