/* SPDX-License-Identifier: MIT */
/*
 * waits.h - how long threads waited: a histogram by reason, object, active call and place.
 */
#ifndef PIRN_PROF_WAITS_H
#define PIRN_PROF_WAITS_H

#include "atomic.h"
#include "prof.h"

enum prof_wait_kind {
    PROF_WAITED,  /* by the thread that waited, where it did */
    PROF_RELEASED /* by the thread that ended the wait for a lock, where it did */
};

struct prof_wait_key {
    uint32_t kind, reason; /* the latter: enum wait_reason, or one of waits.c */
    uintptr_t object;      /* 0: none, or of no interest */
    uint32_t node;
    uintptr_t pc; /* 0: not known */
};

struct prof_wait {
    _Atomic(uint32_t) state;  /* as prof_node.state: ORDER(prof-node) */
    struct prof_wait_key key; /* (C) */
    _Atomic(uintptr_t) count;
    _Atomic(uintptr_t) waited, ready; /* ns: up to the wake-up, and from then on for a CPU */
    _Atomic(uintptr_t) longest;       /* ns: of both together, as measured */
};

struct waits {
    struct prof_wait *places; /* (C) a power of two; NULL: none are recorded */
    uint32_t mask;            /* (C) */
    uint32_t every_ns;        /* (C) one stack is looked at in so much time of waiting */
    _Atomic(uintptr_t) since; /* what began earlier is not known */
    _Atomic(uintptr_t) lost;
};

HIDDEN extern struct waits waits;

#ifndef PIRN_WITHOUT_WAITS

/* 0 or -ENOMEM. */
int waits_make(uint32_t places, uint32_t every_ns);
void waits_drop(void);

/* Record from now on, or no more. */
void waits_set_on(bool on);

const char *waits_reason_name(uint32_t reason);

#else

ALWAYS_INLINE int waits_make(uint32_t places, uint32_t every_ns)
{
    (void)places;
    (void)every_ns;
    return 0;
}
ALWAYS_INLINE void waits_drop(void) {}
ALWAYS_INLINE void waits_set_on(bool on)
{
    (void)on;
}
ALWAYS_INLINE const char *waits_reason_name(uint32_t reason)
{
    (void)reason;
    return "";
}

#endif

#endif
