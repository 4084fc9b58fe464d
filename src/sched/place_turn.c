/* SPDX-License-Identifier: MIT */
/* place_turn.c - threads go round the CPUs in turn: place.h without loads. */
#include "place.h"

#include "capacities.h"
#include "classes.h"
#include "runtime.h"

static _Atomic(uint32_t) next_cpu;

int place_init(unsigned ncpu)
{
    (void)ncpu;
    at_init(&next_cpu, 0u);
    capacity_init();
    return 0;
}

int place_thread_init(struct thread *t, struct thread *creator)
{
    if (sched_has_classes()) {
        classes_thread_init(t, creator);
    }
    struct pinned *p = pinned_of(t);
    *p = (struct pinned){0};
    if (!(t->flags & THREAD_MAIN)) {
        p->home = (uint16_t)capacity_turn(at_add_rlx(&next_cpu, 1u));
        if (creator != NULL) {
            pinned_inherit(p, pinned_of(creator));
        }
        t->cpu = rt.cpus[p->home];
    }
    return 0;
}
