/* SPDX-License-Identifier: MIT */
/*
 * sample.h - a histogram of samples by CPU, innermost active call, and code address.
 */
#ifndef PIRN_PROF_SAMPLE_H
#define PIRN_PROF_SAMPLE_H

#include "atomic.h"

struct prof_place {
    _Atomic(uint32_t) state; /* as prof_node.state: ORDER(prof-node) */
    uint32_t cpu, node;      /* (C) cpu: RT_NO_CPU for none */
    uintptr_t pc;            /* (C) */
    _Atomic(uintptr_t) count;
};

struct sample {
    struct prof_place *places; /* (C) a power of two */
    uint32_t mask;             /* (C) */
    bool frames;               /* (C) samples include their callers */
    _Atomic(uintptr_t) lost;
};

HIDDEN extern struct sample sample;

/* 0 or -ENOMEM. */
int sample_make(uint32_t places, bool frames);
void sample_drop(void);

#endif
